// SPDX-License-Identifier: BSD-2-Clause
/* Rules in the program, by table and by chance: seeded random rules on seeded random
 * frames, each decision beside the naive oracle's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/bytes.h"
#include "effort.h"
#include "steer/steer.h"
#include "steer_naive.h"
#include "steer_words.h"

#define RULE_SETS	 150
#define FRAMES_PER_SET	 400
#define RANDOM_RULES_MAX 6

static struct steer_rig rig;
static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

static const char *pick(const char *const *from, unsigned cnt)
{
	return from[random_below(cnt)];
}
#define PICK(table) pick(table, SHUNT_ARRAY_LEN(table))

static const char *const macs[] = {
	FRAME_OWN_MAC,
	FRAME_OWN_MAC,
	FRAME_OWN_MAC,
	FRAME_THIRD_MAC,
	"\xff\xff\xff\xff\xff\xff",
	"\x33\x33\xff\0\0\x01",
	"\x01\x80\xc2\0\0\x03",
};
static const char *const addrs4[] = {
	"192.0.2.1",   "192.0.2.2", "10.0.0.255",  "10.1.2.3",	"198.51.100.7", "198.51.100.200",
	"203.0.113.5", "127.0.0.1", "169.254.1.1", "224.0.0.5", "240.0.0.1",	"0.0.0.0",
};
static const char *const addrs6[] = {
	"2001:db8::1", "2001:db8::2", "2001:db8:1::5", "2001:db8:1:8000::5",
	"fd00::1",     "64:ff9b::1",  "fe80::1",       "ff02::5",
	"::1",
};
static const char *const prefixes4[] = {
	"10.0.0.0/8", "198.51.100.0/25", "198.51.100.128/25", "192.0.2.2/32", "128.0.0.0/1",
};
static const char *const prefixes6[] = {
	"2001:db8::/32", "2001:db8:1::/49", "2001:db8:1:8000::/49", "2001:db8::2/128", "fe80::/10",
};
static const char *const protos[] = {"tcp", "udp", "sctp", "icmp", "icmpv6", "89", "59", "0"};
static const char *const port_ranges[] = {"53", "0-1023", "1024-65535", "1-65534", "0", "65535"};
static const char *const types[] = {"arp", "0x88cc", "0x9100", "mpls"};
static const uint16_t ports[] = {0, 1, 53, 1023, 1024, 40000, 65534, 65535};
static const uint8_t nexthdrs[] = {6, 17, 132, 58, 59, 0, 43, 44, 60, 51, 89};

/* ---- frames --------------------------------------------------------------------------------- */

static void put_tags(struct frame *f)
{
	for (uint32_t tags = random_below(6); tags && tags < 4; tags--) {
		f->data[f->len - 2] = random_below(2) ? 0x81 : 0x88;
		f->data[f->len - 1] = f->data[f->len - 2] == 0x81 ? 0x00 : 0xa8;
		frame_put16(f, random_below(4096));
		frame_put16(f, 0x0800);
	}
}

static void put_type(struct frame *f, uint16_t type)
{
	f->data[f->len - 2] = type >> 8;
	f->data[f->len - 1] = type & 0xff;
}

static void put_ports(struct frame *f)
{
	frame_ports(f, ports[random_below(SHUNT_ARRAY_LEN(ports))],
		    ports[random_below(SHUNT_ARRAY_LEN(ports))]);
}

static void put_ipv4(struct frame *f)
{
	static const uint8_t l4[] = {6, 17, 17, 132, 1, 89};
	size_t at = f->len;

	put_type(f, 0x0800);
	frame_ipv4(f, PICK(addrs4), PICK(addrs4), random_below(8) ? 64 : random_below(3),
		   l4[random_below(SHUNT_ARRAY_LEN(l4))], 8);
	if (random_below(6) == 0)
		f->data[at + 6] = random_below(2) ? 0x20 : random_below(64);
	if (random_below(6) == 0) {
		uint8_t words = 1 + random_below(10);

		f->data[at] += words;
		f->data[at + 3] += 4 * words;
		memset(f->data + f->len, 1, 4 * words);
		f->len += 4 * words;
	}
	put_ports(f);
}

static void put_ipv6(struct frame *f)
{
	size_t at = f->len, next_at;

	put_type(f, 0x86dd);
	frame_ipv6(f, PICK(addrs6), PICK(addrs6), random_below(8) ? 64 : random_below(3), 17, 0);
	next_at = at + 6;
	for (uint32_t i = random_below(3) ? 0 : random_below(9); i < 8; i++) {
		uint8_t next = nexthdrs[random_below(SHUNT_ARRAY_LEN(nexthdrs))];
		uint8_t len = next == 44 ? 0 : random_below(3);

		f->data[next_at] = next;
		if (next != 0 && next != 43 && next != 44 && next != 60)
			break;
		next_at = f->len;
		frame_put(f, (uint8_t[]){17, len, 0, 0, 0, 0, 0, 0}, 8);
		if (next == 44 && random_below(3) == 0)
			f->data[f->len - 5] = random_below(256);
		memset(f->data + f->len, 0, 8 * len);
		f->len += 8 * len;
	}
	put_ports(f);
	f->data[at + 5] = f->len - at - 40;
}

static void random_frame(struct frame *f)
{
	const char *dst = PICK(macs);

	switch (random_below(8)) {
	case 0:
		frame_arp(f, dst, PICK(addrs4));
		break;
	case 1:
		frame_solicit(f, dst, PICK(addrs6));
		break;
	case 2:
		frame_eth(f, dst, FRAME_PEER_MAC, random_below(2) ? 0x88cc : 0x9100);
		f->len = 60;
		break;
	default:
		frame_eth(f, dst, FRAME_PEER_MAC, 0);
		put_tags(f);
		if (random_below(2))
			put_ipv4(f);
		else
			put_ipv6(f);
	}
	for (uint32_t flips = random_below(8) ? 0 : 1 + random_below(3); flips; flips--)
		f->data[random_below(f->len)] ^= 1 << random_below(8);
	if (random_below(8) == 0)
		f->len = 14 + random_below(f->len - 13);
}

/* ---- rules ---------------------------------------------------------------------------------- */

static void random_rule(char *text, size_t len)
{
	static const char *const lanes[] = {"user", "kernel", "drop"};
	int used = 0, is_v6 = random_below(2);

	text[0] = 0;
	if (random_below(5) == 0) {
		snprintf(text, len, "ethertype %s lane %s", PICK(types), PICK(lanes));
		return;
	}
	if (random_below(2))
		used += snprintf(text + used, len - used, "from %s ",
				 is_v6 ? PICK(prefixes6) : PICK(prefixes4));
	if (random_below(2))
		used += snprintf(text + used, len - used, "to %s ",
				 is_v6 ? PICK(prefixes6) : PICK(prefixes4));
	if (random_below(8) == 0)
		used += snprintf(text + used, len - used, is_v6 ? "ipv6 " : "ipv4 ");
	if (random_below(2)) {
		const char *proto = PICK(protos);
		bool has_ports = proto[0] != 'i' && proto[0] > '9';

		used += snprintf(text + used, len - used, "proto %s ", proto);
		if (has_ports && random_below(2))
			used += snprintf(text + used, len - used, "sport %s ", PICK(port_ranges));
		if (has_ports && random_below(2))
			used += snprintf(text + used, len - used, "dport %s ", PICK(port_ranges));
	}
	/* A rule for everything would leave nothing to the others. */
	snprintf(text + used, len - used, "%slane %s", used ? "" : "proto sctp ", PICK(lanes));
}

static unsigned random_rules(struct shunt_rule *rules)
{
	unsigned cnt = random_below(RANDOM_RULES_MAX + 1);
	char text[RANDOM_RULES_MAX][SHUNT_RULE_TEXT_MAX];
	const char *texts[RANDOM_RULES_MAX];

	for (unsigned i = 0; i < cnt; i++) {
		random_rule(text[i], sizeof(text[i]));
		texts[i] = text[i];
	}
	steer_rig_rules(&rig, texts, cnt, rules);
	return cnt;
}

static void check_frame(const struct naive_world *world, uint64_t seed, uint64_t *seen)
{
	char hex[2 * FRAME_MAX + 1] = "", rules[1024] = "";
	struct frame f;
	int want, got;
	size_t used = 0;

	random_frame(&f);
	want = naive_steer(world, f.data, f.len);
	got = steer_rig_run(&rig, f.data, f.len);
	seen[got]++;
	if (got == want)
		return;
	for (size_t i = 0; i < f.len; i++)
		sprintf(hex + 2 * i, "%02x", f.data[i]);
	for (unsigned i = 0; i < world->rule_cnt && used < sizeof(rules); i++) {
		used += shunt_rule_print(&world->rules[i], rules + used, sizeof(rules) - used);
		used += snprintf(rules + used, sizeof(rules) - used, "; ");
	}
	cr_assert_fail("seed %llu mode %d: expected %s/%s, got %s/%s for %s under %s",
		       (unsigned long long)seed, world->mode,
		       shunt_steer_lane_name(shunt_steer_reason_lane(want)),
		       shunt_steer_reason_name(want),
		       shunt_steer_lane_name(shunt_steer_reason_lane(got)),
		       shunt_steer_reason_name(got), hex, rules);
}

/* The oracle is of lane user; test_steer_lane.c has the others. */
static bool is_of_other_lane(enum shunt_steer_reason reason)
{
	return reason == SHUNT_STEER_TRANSLATED ||
	       (reason >= SHUNT_STEER_LANE_KERNEL && reason != SHUNT_STEER_RULE_DROP);
}

Test(steer_random, program_agrees_with_naive_oracle, .timeout = 120)
{
	const char *seed_text = getenv("SHUNT_SEED");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 20260722;
	static const enum shunt_steer_mode modes[] = {
		SHUNT_STEER_MODE_LAYER3,	  SHUNT_STEER_MODE_XCONNECT,
		SHUNT_STEER_MODE_LAYER3,	  SHUNT_STEER_MODE_MIX,
		SHUNT_STEER_MODE_BRIDGE,	  SHUNT_STEER_MODE_TRANSPARENT,
		SHUNT_STEER_MODE_BRIDGE_UNTAGGED,
	};
	uint64_t seen[SHUNT_STEER_REASON_CNT] = {0};
	struct shunt_rule rules[RANDOM_RULES_MAX];
	struct naive_world world = {
		.rules = rules,
		.local4 = steer_local4,
		.local4_cnt = STEER_LOCAL4_CNT,
		.local6 = steer_local6,
		.local6_cnt = STEER_LOCAL6_CNT,
	};

	random_state = seed;
	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (int set = 0; set < RULE_SETS; set++) {
		world.rule_cnt = random_rules(rules);
		world.mode = modes[set % SHUNT_ARRAY_LEN(modes)];
		steer_rig_mode(&rig, world.mode);
		for (int i = 0; i < EFFORT(FRAMES_PER_SET); i++)
			check_frame(&world, seed, seen);
	}
	/* Frames that missed a whole branch would prove little. */
	for (int i = 0; i < SHUNT_STEER_REASON_CNT; i++) {
		if (i != SHUNT_STEER_OFF && i != SHUNT_STEER_CLOSED && i != SHUNT_STEER_NO_SOCKET &&
		    i != SHUNT_STEER_HUNG && i != SHUNT_STEER_DRY && i != SHUNT_STEER_PUNTED &&
		    i != SHUNT_STEER_TOO_LONG && i != SHUNT_STEER_STATION &&
		    !is_of_other_lane((enum shunt_steer_reason)i))
			cr_expect_gt(seen[i], 0, "no random frame ended as %s",
				     shunt_steer_reason_name(i));
	}
	steer_rig_fini(&rig);
}

/* ---- by table ------------------------------------------------------------------------------- */

Test(steer_rules, first_match_decides)
{
	static const char *const texts[] = {
		"from 198.51.100.1 proto udp dport 53 lane kernel",
		"from 198.51.100.0/24 proto udp lane drop",
		"from 198.51.0.0/16 lane user",
		"ipv6 proto udp sport 1000 lane drop",
		"ethertype arp lane user",
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	steer_rig_rules(&rig, texts, SHUNT_ARRAY_LEN(texts), NULL);
	frame_good4(&f);
	expect(&f, RULE_KERNEL);
	f.data[37] = 54; /* another port */
	expect(&f, RULE_DROP);
	f.data[23] = 6; /* another protocol */
	expect(&f, RULE_USER);
	f.data[22] = 1; /* rules come before the default */
	expect(&f, RULE_USER);
	f.data[26] = 8; /* another source */
	expect(&f, TTL);
	frame_good6(&f);
	expect(&f, RULE_DROP);
	f.data[55]++;
	expect(&f, FORWARD6);
	frame_arp(&f, FRAME_OWN_MAC, "192.0.2.1");
	expect(&f, RULE_USER);
	steer_rig_fini(&rig);
}

Test(steer_rules, last_of_the_most_rules_there_can_be)
{
	const char *texts[SHUNT_STEER_RULES_MAX];
	struct frame f;

	for (int i = 0; i < SHUNT_STEER_RULES_MAX; i++)
		texts[i] = "from 203.0.113.0/24 lane drop";
	texts[SHUNT_STEER_RULES_MAX - 1] = "from 198.51.100.1 lane drop";
	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	frame_good4(&f);
	steer_rig_rules(&rig, texts, SHUNT_STEER_RULES_MAX, NULL);
	expect(&f, RULE_DROP);
	rig.half->rule_cnt--;
	expect(&f, FORWARD4);
	rig.half->rule_cnt = 0xffffffff; /* never written by us; still bounded */
	expect(&f, RULE_DROP);
	steer_rig_fini(&rig);
}

Test(steer_rules, fragments_tags_and_extension_headers)
{
	static const char *const texts[] = {"proto udp dport 53 lane drop"};
	struct frame f, tagged;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	steer_rig_rules(&rig, texts, 1, NULL);
	frame_good4(&f);
	f.data[5] = 9;
	expect(&f, RULE_DROP);
	for (int tags = 1; tags <= 3; tags++) {
		tagged = f;
		for (int i = 0; i < tags; i++) {
			memmove(tagged.data + 16, tagged.data + 12, tagged.len - 12);
			memcpy(tagged.data + 12, "\x81\0\0\x05", 4);
			tagged.len += 4;
		}
		steer_expect(&rig, __FILE__, tags, &tagged,
			     tags <= 2 ? SHUNT_STEER_RULE_DROP : SHUNT_STEER_RULE_UNDECIDED);
	}
	f.data[20] = 0x20; /* first fragment: ports are there, and not looked at */
	expect(&f, RULE_UNDECIDED);
	f.data[21] = 1; /* later fragment: they are not */
	expect(&f, RULE_UNDECIDED);
	f.data[23] = 6; /* of another protocol than the rule's */
	expect(&f, BRIDGED);
	frame_eth(&f, FRAME_THIRD_MAC, FRAME_PEER_MAC, 0x86dd);
	frame_ipv6(&f, "2001:db8::7", "2001:db8::8", 64, 43, 32);
	frame_put(&f,
		  "\x2c\0\0\0\0\0\0\0"
		  "\x3c\0\0\0\0\0\0\0"
		  "\x11\0\0\0\0\0\0\0",
		  24);
	frame_ports(&f, 1, 53);
	expect(&f, RULE_DROP);
	f.data[14 + 40 + 8 + 3] = 8; /* later fragment, of what is not said */
	expect(&f, RULE_UNDECIDED);
	f.data[14 + 40 + 8] = 17; /* of UDP */
	expect(&f, RULE_UNDECIDED);
	f.data[14 + 40 + 8] = 58;
	expect(&f, BRIDGED);
	steer_rig_fini(&rig);
}

Test(steer_rules, six_extension_headers_are_seen_through)
{
	static const char *const texts[] = {"proto udp lane drop"};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	steer_rig_rules(&rig, texts, 1, NULL);
	for (int headers = 0; headers <= 8; headers++) {
		frame_eth(&f, FRAME_THIRD_MAC, FRAME_PEER_MAC, 0x86dd);
		frame_ipv6(&f, "2001:db8::7", "2001:db8::8", 64, headers ? 60 : 17, 8);
		for (int i = 1; i <= headers; i++) {
			frame_put(&f, (uint8_t[8]){i < headers ? 60 : 17, i % 2}, 8);
			f.len += i % 2 * 8;
		}
		frame_ports(&f, 1, 53);
		steer_expect(&rig, __FILE__, headers, &f,
			     headers <= 6 ? SHUNT_STEER_RULE_DROP : SHUNT_STEER_RULE_UNDECIDED);
	}
	steer_rig_fini(&rig);
}
