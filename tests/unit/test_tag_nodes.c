// SPDX-License-Identifier: BSD-2-Clause
/* Tagged frames through the IP nodes: in by a VLAN device, out by one, in every combination with
 * none; what goes to the kernel goes as it came. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <string.h>

#include "graph/tag.h"
#include "base/bytes.h"
#include "ip_rig.h"
#include "measure/rng.h"
#include "shunt_bond.h"
#include "shunt_tables.h"

#define TAGGED	    IP_RIG_NET_CNT	 /* by device `out`, on port 1 */
#define TAGGED_BACK (IP_RIG_NET_CNT + 1) /* by device `in` */
#define DOUBLE	    (IP_RIG_NET_CNT + 2) /* by device `twice` */
#define L3_LEN	    46u

static struct ip_rig *rig;
static uint32_t in, out, twice;

struct bytes {
	uint8_t data[IP_RIG_FRAME_MAX];
	uint32_t len;
};

static uint32_t add_device(unsigned port, unsigned id, uint64_t pcps, unsigned inner)
{
	struct shunt_device device = {
		.ifindex = id,
		.member_cnt = 1,
		.members = {(uint8_t)port},
		.tag_cnt = inner ? 2 : 1,
		.flags = SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6,
		.tags = {{htons(inner ? ETH_P_8021AD : ETH_P_8021Q), htons((uint16_t)id)},
			 {htons(ETH_P_8021Q), htons((uint16_t)inner)}},
		.priorities = 0x03000000, /* PCP 6: priority 3 */
		.pcps = {pcps, pcps},
	};

	return ip_rig_add_device(rig, &device);
}

static void add_route(unsigned net, uint32_t number)
{
	struct shunt_adj adj = {.eth = {2, 0, 0, 0, 0xaa, 9, 2, 0, 0, 0, 0, 3},
				.mtu = 1500,
				.port = SHUNT_ADJ_TAGGED,
				.above = (uint16_t)number,
				.kind = SHUNT_ADJ_REWRITE};

	ip_rig_add_route(rig, net, &adj);
}

static void start(void)
{
	rig = ip_rig_create(0);
	in = add_device(0, 100, 0, 0);
	out = add_device(1, 200, 0x5000, 0); /* priority 3: PCP 5 */
	twice = add_device(1, 300, 0, 301);
	add_route(TAGGED, out);
	add_route(TAGGED_BACK, in);
	add_route(DOUBLE, twice);
}

static void stop(void)
{
	ip_rig_destroy(rig);
}

TestSuite(tag_nodes, .init = start, .fini = stop);

static void put(struct bytes *f, const void *bytes, uint32_t len)
{
	memcpy(f->data + f->len, bytes, len);
	f->len += len;
}

static void put16(struct bytes *f, unsigned v)
{
	const uint8_t bytes[] = {(uint8_t)(v >> 8), (uint8_t)v};

	put(f, bytes, 2);
}

static uint16_t sum_of(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void seal(uint8_t *ip)
{
	uint16_t sum;

	memset(ip + 10, 0, 2);
	sum = sum_of(ip);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* tags: pairs of type and TCI, 0 ends them. */
static struct bytes packet(const uint8_t *macs, const uint16_t *tags, bool is_ip6, unsigned net,
			   unsigned ttl)
{
	struct bytes f = {.len = 0};
	uint8_t ip[L3_LEN] = {0};

	put(&f, macs, 12);
	for (; *tags; tags++)
		put16(&f, *tags);
	put16(&f, is_ip6 ? ETH_P_IPV6 : ETH_P_IP);
	if (is_ip6) {
		memcpy(ip, "\x60\0\0\0\0\x06\x11", 7);
		ip[7] = (uint8_t)ttl;
		memcpy(ip + 8, "\x20\x01\x0d\xb8\xff\xff\0\0\0\0\0\0\0\0\0\x05", 16);
		memcpy(ip + 24, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16);
		ip[29] = (uint8_t)net;
	} else {
		memcpy(ip, "\x45\x00\0\x2e\0\0\0\0\0\x11", 10);
		ip[8] = (uint8_t)ttl;
		memcpy(ip + 12, "\xc6\x12\0\1\x0a", 5);
		ip[17] = (uint8_t)net;
		ip[19] = 9;
		seal(ip);
	}
	put(&f, ip, sizeof(ip));
	return f;
}

static const uint8_t to_us[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x77};
static const uint8_t onward[12] = {2, 0, 0, 0, 0xaa, 9, 2, 0, 0, 0, 0, 3};
static const uint8_t onward_far[12] = {2, 0, 0, 0, 0xaa, 1, 2, 0, 0, 0, 0, 2};

#define NONE		  ((const uint16_t[]){0})
#define VLAN(tci)	  ((const uint16_t[]){ETH_P_8021Q, tci, 0})
#define VLANS(outer, tci) ((const uint16_t[]){ETH_P_8021AD, outer, ETH_P_8021Q, tci, 0})

static void leaves(const uint16_t *tags, unsigned net, bool is_ip6, const uint8_t *macs,
		   const uint16_t *tags_out, int line)
{
	const struct bytes sent = packet(to_us, tags, is_ip6, net, 64);
	const struct bytes want = packet(macs, tags_out, is_ip6, net, 63);
	const struct ip_outcome *got = ip_rig_run(rig, sent.data, sent.len);

	cr_expect_eq(got->fate, IP_SENT, "line %d: fate %d, reason %u", line, got->fate,
		     got->reason);
	cr_expect(got->len == want.len && !memcmp(got->bytes, want.data, want.len), "line %d",
		  line);
}

#define LEAVES(tags, net, is_ip6, macs, tags_out) \
	leaves(tags, net, is_ip6, macs, tags_out, __LINE__)

Test(tag_nodes, in_and_out)
{
	for (int is_ip6 = 0; is_ip6 < 2; is_ip6++) {
		LEAVES(VLAN(100), IP_RIG_FAR, is_ip6, onward_far, NONE);
		LEAVES(NONE, TAGGED, is_ip6, onward, VLAN(200));
		LEAVES(VLAN(100), TAGGED, is_ip6, onward, VLAN(200));
		LEAVES(VLAN(100), DOUBLE, is_ip6, onward, VLANS(300, 301));
		LEAVES(NONE, DOUBLE, is_ip6, onward, VLANS(300, 301));
		LEAVES(NONE, TAGGED_BACK, is_ip6, onward,
		       VLAN(100)); /* another device of the port */
	}
	LEAVES(VLAN(100 | 6 << 13), TAGGED, false, onward, VLAN(200)); /* IPv4: by its TOS */
	LEAVES(VLAN(100 | 6 << 13), TAGGED, true, onward, VLAN(200 | 5 << 13));
}

static void punted(const uint16_t *tags, unsigned net, enum shunt_punt reason, int line)
{
	const struct bytes sent =
		packet(to_us, tags, false, net, reason == SHUNT_PUNT_expired ? 1 : 64);
	const struct ip_outcome *got = ip_rig_run(rig, sent.data, sent.len);

	cr_expect(got->fate == IP_PUNTED && got->reason == reason, "line %d: fate %d, reason %u",
		  line, got->fate, got->reason);
}

#define PUNTED(tags, net, reason) punted(tags, net, SHUNT_PUNT_##reason, __LINE__)

/* Of two members the one without a queue drops: by that it is seen who was chosen. */
Test(tag_nodes, bond)
{
	struct shunt_device bond = {
		.member_cnt = 2,
		.members = {1, 40},
		.policy = SHUNT_BOND_LAYER2,
		.flags = SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6,
	};
	/* 0x09 ^ 0x03 ^ 0x0800, and 0x86dd: the first for IPv4, the second for IPv6 */
	const struct bytes sent = packet(to_us, NONE, true, TAGGED, 64);

	add_route(TAGGED, ip_rig_add_device(rig, &bond));
	LEAVES(NONE, TAGGED, false, onward, NONE);
	LEAVES(VLAN(100), TAGGED, false, onward, NONE);
	cr_expect_eq(ip_rig_run(rig, sent.data, sent.len)->fate, IP_DROPPED);
	bond.members[0] = 40;
	bond.members[1] = 1;
	bond.tag_cnt = 1;
	bond.tags[0] = (struct shunt_vlan_tag){htons(ETH_P_8021Q), htons(700)};
	add_route(TAGGED, ip_rig_add_device(rig, &bond));
	LEAVES(NONE, TAGGED, true, onward, VLAN(700));
	/* A second tag hides the packet: 0x09 ^ 0x03 ^ 0x8100 */
	bond.tag_cnt = 2;
	bond.tags[1] = (struct shunt_vlan_tag){htons(ETH_P_8021Q), htons(701)};
	bond.members[0] = 1;
	bond.members[1] = 40;
	bond.tags[0].type_be = htons(ETH_P_8021AD);
	add_route(TAGGED, ip_rig_add_device(rig, &bond));
	LEAVES(NONE, TAGGED, true, onward, VLANS(700, 701));
	/* Back by the bond that it came in by: the kernel may redirect. */
	bond.tag_cnt = 0;
	ip_rig_live(rig)->own = (uint16_t)(SHUNT_ADJ_TAGGED + ip_rig_add_device(rig, &bond));
	add_route(TAGGED, ip_rig_live(rig)->own - SHUNT_ADJ_TAGGED);
	PUNTED(NONE, TAGGED, redirect);
}

Test(tag_nodes, kernels)
{
	PUNTED(VLAN(101), IP_RIG_FAR, no_device);
	PUNTED(VLAN(0), IP_RIG_FAR, no_device);
	PUNTED(VLANS(100, 101), IP_RIG_FAR, no_device);
	PUNTED(((const uint16_t[]){ETH_P_8021Q, 100, ETH_P_8021Q, 0xfff, 0}), IP_RIG_FAR,
	       no_device);
	PUNTED(VLAN(100), TAGGED_BACK, redirect);
	PUNTED(VLAN(100), IP_RIG_GLEAN, glean);
	PUNTED(VLAN(100), IP_RIG_LOCAL, local);
	PUNTED(VLAN(100), IP_RIG_FAR, expired);
}

Test(tag_nodes, what_was_taken_is_given_back)
{
	const uint16_t *const all[] = {VLAN(100 | 7 << 13), VLANS(5, 6 | 1 << 12)};
	uint8_t mem[2048];

	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(all); i++) {
		const struct bytes f = packet(to_us, all[i], false, 1, 64);
		const struct bytes bare = packet(to_us, NONE, false, 1, 64);
		const struct shunt_tag tag = {.device = 77, .space = 5, .cnt = (uint8_t)(i + 1)};
		struct shunt_pkt pkt = {.addr = 256, .len = f.len};

		memcpy(mem + 256, f.data, f.len);
		shunt_tag_take(&pkt, mem, &tag, tag.cnt);
		cr_expect(pkt.len == bare.len &&
			  !memcmp(mem + pkt.addr + 12, bare.data + 12, bare.len - 12));
		cr_expect_eq(shunt_tag_of(mem + pkt.addr)->device, 77);
		cr_expect_eq(shunt_tag_of(mem + pkt.addr)->space, 5);
		shunt_tag_give(&pkt, mem);
		cr_expect(pkt.addr == 256 && pkt.len == f.len &&
			  !memcmp(mem + pkt.addr, f.data, f.len));
	}
}

/* --- spaces ----------------------------------------------------------------------------------- */

#define BOTH	   (SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6)
#define SPACE4(n)  ((n) << SHUNT_TABLES_SPACE4_SHIFT)
#define SPACE6(n)  ((n) << SHUNT_TABLES_SPACE6_SHIFT)
#define VLAN_OF(i) VLAN((uint16_t)(400 + (i)))

/* A batch of packets of one family, which are told apart by their last byte. */
struct batch {
	uint8_t frames[SHUNT_BATCH_MAX][IP_RIG_FRAME_MAX];
	uint32_t lens[SHUNT_BATCH_MAX];
	unsigned cnt;
	struct ip_outcome out[SHUNT_BATCH_MAX];
};

static void add_to(struct batch *batch, const struct bytes *f)
{
	memcpy(batch->frames[batch->cnt], f->data, f->len);
	batch->frames[batch->cnt][f->len - 1] = (uint8_t)batch->cnt;
	batch->lens[batch->cnt++] = f->len;
}

/* Runs the batch, and empties it; left[i]: what of packet i has left, NULL: nothing. */
static void run(struct batch *batch, const struct ip_outcome **left)
{
	const unsigned sent = ip_rig_batch(rig, batch->frames, batch->lens, batch->cnt, batch->out);

	memset(left, 0, SHUNT_BATCH_MAX * sizeof(*left));
	for (unsigned i = 0; i < sent; i++)
		left[batch->out[i].bytes[batch->out[i].len - 1]] = &batch->out[i];
	batch->cnt = 0;
}

/* In by three devices and the port, of which each goes by another space; one has no route. */
Test(tag_nodes, batches_by_spaces)
{
	static const enum ip_rig_net nets[4] = {IP_RIG_FAR, IP_RIG_NEAR, IP_RIG_NET_CNT,
						IP_RIG_NARROW};
	static struct batch batch;
	const struct ip_outcome *left[SHUNT_BATCH_MAX];
	uint64_t rng = 20260101;
	unsigned by[SHUNT_BATCH_MAX], i, round, space;

	for (space = 0; space < 3; space++)
		ip_rig_set_flags(rig, add_device(0, 400 + space, 0, 0),
				 BOTH | SPACE4(space) | SPACE6(space + 10));
	ip_rig_live(rig)->space4 = 3;
	ip_rig_live(rig)->space6 = 13;
	for (space = 1; space < 4; space++) {
		if (nets[space] == IP_RIG_NET_CNT)
			continue;
		ip_rig_add_route_in(rig, space, IP_RIG_FAR, &ip_rig_adjs[nets[space]]);
		ip_rig_add_route_in(rig, space + 10, IP_RIG_FAR, &ip_rig_adjs[nets[space]]);
	}
	ip_rig_add_route_in(rig, 2, IP_RIG_NEAR, &ip_rig_adjs[IP_RIG_NEAR]);
	ip_rig_add_route_in(rig, 12, IP_RIG_NEAR, &ip_rig_adjs[IP_RIG_NEAR]);
	ip_rig_add_route_in(rig, 10, IP_RIG_FAR, &ip_rig_adjs[IP_RIG_FAR]);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < SHUNT_BATCH_MAX; i++) {
			struct bytes f;

			by[i] = (unsigned)shunt_rng_below(&rng, 4);
			f = packet(to_us, by[i] < 3 ? VLAN_OF(by[i]) : NONE, round & 1, IP_RIG_FAR,
				   64);
			add_to(&batch, &f);
		}
		run(&batch, left);
		for (i = 0; i < SHUNT_BATCH_MAX; i++) {
			cr_assert_eq(!left[i], by[i] == 2, "round %u, packet %u", round, i);
			cr_assert(!left[i] ||
					  !memcmp(left[i]->bytes, ip_rig_adjs[nets[by[i]]].eth, 12),
				  "round %u, packet %u by %u", round, i, by[i]);
		}
	}
}

#define RPF	     SHUNT_TABLES_RPF4
#define NO_LOCAL     SHUNT_TABLES_NO_LOCAL
#define ABROAD	     SHUNT_TABLES_FAR
#define INTO_FIVE    (IP_RIG_NET_CNT + 3) /* by what is in space 5, */
#define INTO_UNKNOWN (IP_RIG_NET_CNT + 4) /* and in one that only the kernel knows */
#define SOURCES	     100u		  /* the first row's source */

/* Of the device that a packet comes in by, or of the port. */
static const struct {
	uint32_t flags;
	unsigned dst;
	unsigned space; /* that alone has a way to the source: back, or where it is local: there */
	bool is_local;
	bool goes;
} sources[] = {
	{0, IP_RIG_NEAR, 5, true, true},
	{RPF, IP_RIG_NEAR, 0, false, true},
	{RPF, IP_RIG_NEAR, 5, false, false},
	{RPF, INTO_FIVE, 0, false, true},
	{RPF, INTO_FIVE, 5, false, false},
	{RPF, INTO_UNKNOWN, 0, false, true},
	{RPF, IP_RIG_GROUP, 0, false, true},
	{RPF | SPACE4(6), IP_RIG_NEAR, 6, false, true},
	{RPF | SPACE4(6), IP_RIG_NEAR, 0, false, false},
	{RPF | ABROAD, IP_RIG_NEAR, 0, false, true},
	{RPF | ABROAD, IP_RIG_NEAR, 5, false, false},
	{RPF | ABROAD, INTO_FIVE, 0, false, false},
	{RPF | ABROAD, INTO_FIVE, 5, false, true},
	{RPF | ABROAD, INTO_FIVE, 5, true, false},
	{RPF | ABROAD, INTO_UNKNOWN, 0, false, false},
	{RPF | ABROAD, IP_RIG_GROUP, 0, false, false},
	{RPF | ABROAD | SPACE4(6), IP_RIG_NEAR, 0, false, true},
	{RPF | ABROAD | SPACE4(6), IP_RIG_NEAR, 6, false, false},
	{RPF | ABROAD | SPACE4(6), INTO_FIVE, 5, false, true},
	{NO_LOCAL, IP_RIG_NEAR, 0, true, false},
	{NO_LOCAL, INTO_FIVE, 5, true, true},
	{NO_LOCAL | ABROAD, IP_RIG_NEAR, 0, true, false},
	{NO_LOCAL | ABROAD, INTO_FIVE, 0, true, true},
	{NO_LOCAL | ABROAD, INTO_FIVE, 5, true, false},
	{NO_LOCAL | ABROAD, INTO_UNKNOWN, 0, false, false},
	{NO_LOCAL | ABROAD, IP_RIG_GROUP, 0, false, false},
};

/* back: by what a packet came in. */
static void start_source(unsigned row, const struct shunt_adj *back)
{
	ip_rig_add_route_in(rig, sources[row].space, SOURCES + row,
			    sources[row].is_local ? &ip_rig_adjs[IP_RIG_LOCAL] : back);
}

static void start_spaces(void)
{
	struct shunt_adj adj = ip_rig_adjs[IP_RIG_NEAR];

	ip_rig_add_route_in(rig, 6, IP_RIG_NEAR, &adj);
	adj.space = 5;
	ip_rig_add_route(rig, INTO_FIVE, &adj);
	ip_rig_add_route_in(rig, 6, INTO_FIVE, &adj);
	adj.space = SHUNT_ADJ_NO_SPACE;
	ip_rig_add_route(rig, INTO_UNKNOWN, &adj);
	ip_rig_add_route_in(rig, 5, IP_RIG_NET_CNT, &adj); /* it is there, whatever the rows have */
}

static struct bytes packet_of(unsigned row, const uint16_t *tags)
{
	struct bytes f = packet(to_us, tags, false, sources[row].dst, 64);
	uint8_t *ip = f.data + f.len - L3_LEN;

	ip[12] = 10;
	ip[13] = (uint8_t)(SOURCES + row);
	seal(ip);
	return f;
}

static void expect_fate(const struct ip_outcome *got, unsigned row)
{
	cr_expect_eq(got->fate, sources[row].goes ? IP_SENT : IP_PUNTED, "row %u", row);
	cr_expect(sources[row].goes || got->reason == SHUNT_PUNT_rp_filter, "row %u: reason %u",
		  row, got->reason);
}

Test(tag_nodes, sources_of_the_port)
{
	struct shunt_port_live *live = ip_rig_live(rig);

	start_spaces();
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(sources); i++) {
		const uint32_t flags = sources[i].flags;
		const struct bytes f = packet_of(i, NONE);

		start_source(i, &ip_rig_adjs[IP_RIG_BACK]);
		live->rpf4 = flags & RPF	? SHUNT_SOURCE_RPF
			     : flags & NO_LOCAL ? SHUNT_SOURCE_NOT_LOCAL
						: SHUNT_SOURCE_ANY;
		live->is_far4 = !!(flags & ABROAD);
		live->space4 = (flags & SHUNT_TABLES_SPACE4) >> SHUNT_TABLES_SPACE4_SHIFT;
		expect_fate(ip_rig_run(rig, f.data, f.len), i);
	}
}

/* One by one, and all in a batch, each by its own device. */
Test(tag_nodes, sources_of_devices)
{
	static struct batch batch;
	const struct ip_outcome *left[SHUNT_BATCH_MAX];
	const unsigned cnt = SHUNT_ARRAY_LEN(sources);
	unsigned i, first;

	start_spaces();
	for (i = 0; i < cnt; i++) {
		struct shunt_adj back = ip_rig_adjs[IP_RIG_BACK];
		const struct bytes f = packet_of(i, VLAN_OF(i));

		back.port = SHUNT_ADJ_TAGGED;
		back.above = (uint16_t)add_device(0, 400 + i, 0, 0);
		ip_rig_set_flags(rig, back.above, BOTH | sources[i].flags);
		start_source(i, &back);
		expect_fate(ip_rig_run(rig, f.data, f.len), i);
	}
	for (first = 0; first < cnt; first++) {
		for (i = 0; i < cnt; i++) {
			const unsigned row = (first + i) % cnt;
			const struct bytes f = packet_of(row, VLAN_OF(row));

			add_to(&batch, &f);
		}
		run(&batch, left);
		for (i = 0; i < cnt; i++)
			cr_assert_eq(!!left[i], sources[(first + i) % cnt].goes,
				     "row %u first, row %u", first, (first + i) % cnt);
	}
}

/* --- losses ----------------------------------------------------------------------------------- */

static void lost(uint32_t ifindex, enum shunt_loss_kind kind, unsigned reason, uint64_t cnt,
		 int line)
{
	const struct shunt_loss loss = {
		.ifindex = ifindex, .kind = (uint8_t)kind, .reason = (uint8_t)reason};

	cr_expect_eq(ip_rig_lost(rig, loss), cnt, "line %d: %llu", line,
		     (unsigned long long)ip_rig_lost(rig, loss));
}

#define LOST(ifindex, kind, reason, cnt) lost(ifindex, SHUNT_LOSS_##kind, reason, cnt, __LINE__)

static void goes_in(const uint16_t *tags, unsigned net, unsigned ttl)
{
	const struct bytes f = packet(to_us, tags, false, net, ttl);

	ip_rig_run(rig, f.data, f.len);
}

/* Each with its device: a VLAN device, a bond, or the port itself. */
Test(tag_nodes, losses_have_their_device)
{
	struct shunt_device bond = {.ifindex = 77, .member_cnt = 1};

	goes_in(VLAN(100), IP_RIG_BLACKHOLE, 64);
	LOST(100, DROP, SHUNT_DROP_blackhole, 1);
	goes_in(VLAN(100 | 5 << 13), IP_RIG_BLACKHOLE, 64);
	LOST(100, DROP, SHUNT_DROP_blackhole, 2);
	goes_in(NONE, IP_RIG_BLACKHOLE, 64);
	LOST(100, DROP, SHUNT_DROP_blackhole, 2);
	LOST(IP_RIG_IFINDEX, DROP, SHUNT_DROP_blackhole, 1);
	goes_in(VLAN(100), IP_RIG_FAR, 1);
	LOST(100, PUNT_FAILED, SHUNT_PUNT_expired, 1);
	LOST(100, DROP, SHUNT_DROP_punt_failed, 1);
	goes_in(VLAN(999), IP_RIG_FAR, 64); /* no device's */
	LOST(IP_RIG_IFINDEX, PUNT_FAILED, SHUNT_PUNT_no_device, 1);
	LOST(IP_RIG_IFINDEX, DROP, SHUNT_DROP_punt_failed, 1);
	ip_rig_live(rig)->own = (uint16_t)(SHUNT_ADJ_TAGGED + ip_rig_add_device(rig, &bond));
	goes_in(NONE, IP_RIG_BLACKHOLE, 64);
	LOST(77, DROP, SHUNT_DROP_blackhole, 1);
	goes_in(VLAN(999), IP_RIG_FAR, 64);
	LOST(77, PUNT_FAILED, SHUNT_PUNT_no_device, 1);
	goes_in(VLAN(100), IP_RIG_BLACKHOLE, 64);
	LOST(100, DROP, SHUNT_DROP_blackhole, 3);
	LOST(IP_RIG_IFINDEX, DROP, SHUNT_DROP_blackhole, 1);
}

/* A batch that is lost is counted packet by packet. */
Test(tag_nodes, losses_of_a_batch)
{
	static struct batch batch;
	const struct ip_outcome *left[SHUNT_BATCH_MAX];
	unsigned i;

	for (i = 0; i < 30; i++) {
		const struct bytes f = packet(to_us, i % 3 ? VLAN(100) : NONE, false,
					      i % 2 ? IP_RIG_BLACKHOLE : IP_RIG_FAR, 64);

		add_to(&batch, &f);
	}
	run(&batch, left);
	LOST(100, DROP, SHUNT_DROP_blackhole, 10);
	LOST(IP_RIG_IFINDEX, DROP, SHUNT_DROP_blackhole, 5);
}
