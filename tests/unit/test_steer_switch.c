// SPDX-License-Identifier: BSD-2-Clause
/* Bridging in lane xdp, and shares of the lanes: the steering program against the table of
 * lib/fib/mac.h that it shares, seeded. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "fib/mac.h"
#include "xdp/macs.h"
#include "measure/rng.h"
#include "steer/steer.h"
#include "steer_rig.h"

#define SEED	    0x73776974ULL
#define LOOPBACK    1u /* an ifindex that is always there */
#define IN	    2u /* the port's own number */
#define PORT_CNT    4u
#define STATION_CNT 3000u
#define BRIDGE	    3u

static struct shunt_err err;
static struct steer_rig rig;
static struct shunt_xdp_macs *shared;
static struct shunt_mac_table *table;
static uint64_t rng;
static int xsk;

static void put(const struct bpf_map *map, unsigned key, unsigned value)
{
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(map), &key, &value, 0), 0);
}

static void start(uint32_t lane)
{
	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	xsk = socket(AF_XDP, SOCK_RAW, 0);
	cr_assert_geq(xsk, 0);
	put(rig.skel->maps.shunt_xsks, 0, (unsigned)xsk);
	for (unsigned i = 0; i < PORT_CNT; i++)
		put(rig.skel->maps.shunt_ports, i, LOOPBACK);
	cr_assert_eq(shunt_xdp_macs_open(&shared, &err), 0, "%s", err.msg);
	put(rig.skel->maps.shunt_macs, 0, (unsigned)shared->fd);
	cr_assert_eq(shunt_mac_create_in(&table, shared->buckets, SHUNT_XDP_MACS_BYTES,
					 SHUNT_MAC_MAX_DEFAULT, SEED, &err),
		     0, "%s", err.msg);
	shared->bridge->factor = table->factor;
	shunt_mac_watch(table, steer_rig_forget, &rig);
	shared->bridge->forwarding = (1u << PORT_CNT) - 1;
	rng = SEED;
	for (int h = 0; h < 2; h++) {
		rig.ctl->half[h].lane = lane;
		rig.ctl->half[h].in_port = IN;
		rig.ctl->half[h].bridge = BRIDGE + 1;
	}
}

static void stop(void)
{
	close(xsk);
	shunt_mac_destroy(table);
	shunt_xdp_macs_close(shared);
	steer_rig_fini(&rig);
}

/* Unicast, not the host's. */
static uint8_t *station(unsigned number, uint8_t mac[6])
{
	const uint8_t made[6] = {
		0x06, 0x11, 0, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};

	memcpy(mac, made, sizeof(made));
	return mac;
}

static uint64_t key(unsigned number)
{
	uint8_t mac[6];

	return shunt_mac_key(station(number, mac), BRIDGE);
}

static unsigned port_of(unsigned number)
{
	return shunt_mac_lookup(table, shunt_mac_hash(table, key(number)));
}

static int run(unsigned dst, unsigned src)
{
	struct frame f;

	frame_udp4(&f, "198.51.100.1", "198.51.100.2");
	station(dst, f.data);
	station(src, f.data + 6);
	return steer_rig_run(&rig, f.data, f.len);
}

/* Known to known, between ports that may forward: nothing else is finished here. */
static int naive(unsigned dst, unsigned src)
{
	unsigned to = port_of(dst);
	struct shunt_mac_entry entry;
	bool is_pinned = !shunt_mac_get(table, key(src), &entry) && entry.is_static;

	if (port_of(src) != IN && !is_pinned)
		return SHUNT_STEER_BRIDGED;
	if (to >= PORT_CNT || to == IN || !(shared->bridge->forwarding >> to & 1))
		return SHUNT_STEER_BRIDGED;
	return SHUNT_STEER_XDP_BRIDGED;
}

Test(steer_switch, finds_what_the_table_holds)
{
	unsigned finished = 0, i;

	start(SHUNT_LANE_XDP);
	for (i = 0; i < STATION_CNT; i++) {
		unsigned port = i % 7 ? i % 3 ? IN : i % PORT_CNT : SHUNT_MAC_HOST;

		if (i % 11 == 0)
			shunt_mac_set(table, key(i), port, true);
		else
			shunt_mac_learn(table, key(i), port);
	}
	shared->bridge->forwarding &= ~2ULL; /* port 1 may not */
	for (i = 0; i < 2 * STATION_CNT; i++) {
		unsigned dst = (unsigned)shunt_rng_below(&rng, STATION_CNT + 100);
		unsigned src = (unsigned)shunt_rng_below(&rng, STATION_CNT + 100);
		int want = naive(dst, src);

		cr_assert_eq(run(dst, src), want, "seed %llx, station %u to %u",
			     (unsigned long long)SEED, src, dst);
		finished += want == SHUNT_STEER_XDP_BRIDGED;
	}
	cr_expect_gt(finished, 100);
	shared->bridge->forwarding &= ~(1ULL << IN);
	cr_expect_eq(run(4, 1), SHUNT_STEER_BRIDGED, "a port that may not forward");
	shared->bridge->forwarding |= 1ULL << IN;
	cr_expect_eq(run(3, 1), SHUNT_STEER_XDP_BRIDGED);
	shared->bridge->kernels = 1ULL << IN;
	cr_expect_eq(run(3, 1), SHUNT_STEER_BRIDGED, "the kernel's bridge's");
	shared->bridge->kernels = 1ULL << port_of(3);
	cr_expect_eq(run(3, 1), SHUNT_STEER_XDP_BRIDGED, "only what comes in there");
	stop();
}

/* A sender is looked up again when the table has changed, or time went by, and only then. */
Test(steer_switch, remembers_who_is_heard)
{
	const uint64_t hash = (start(SHUNT_LANE_XDP), shunt_mac_hash(table, key(1)));
	struct shunt_mac_bucket *bucket;
	uint64_t word;
	unsigned at;

	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED);
	bucket = shunt_mac_find(table, hash, &at, &word);
	cr_assert_not_null(bucket);
	bucket->slots[at] = 0; /* unseen */
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED, "it is remembered");
	steer_rig_forget(&rig);
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "it is looked up");
	bucket->slots[at] = word;
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED);
	shunt_mac_learn(table, key(1), IN + 1);
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "it has moved");
	shunt_mac_learn(table, key(1), IN);
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED);
	shunt_mac_del(table, key(1));
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "it is gone");
	shunt_mac_set(table, key(1), IN, false);
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED);
	shunt_mac_set(table, key(1), SHUNT_MAC_HOST, false);
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "it is this host's");
	stop();
}

/* So is when it was heard: the byte is written once for each tick that the programs are told. */
Test(steer_switch, remembers_no_longer_than_a_tick)
{
	struct shunt_mac_entry entry;

	start(SHUNT_LANE_XDP);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	run(2, 1);
	shunt_mac_age(table, NULL, NULL);
	shared->bridge->tick = table->tick;
	steer_rig_forget(&rig);
	run(2, 1);
	cr_assert_eq(shunt_mac_get(table, key(1), &entry), 0);
	cr_expect_eq(entry.age_ticks, 0);
	cr_assert_eq(shunt_mac_get(table, key(2), &entry), 0);
	cr_expect_eq(entry.age_ticks, 1);
	stop();
}

/* Before the program is told, and where a rule gives it such a frame. */
Test(steer_switch, leaves_tags_of_a_port_with_vlan_devices)
{
	struct frame f;

	start(SHUNT_LANE_XDP);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	frame_eth(&f, FRAME_THIRD_MAC, FRAME_PEER_MAC, 0x8100);
	frame_put(&f, "\0\x0a\x08\0", 4);
	station(2, f.data);
	station(1, f.data + 6);
	cr_expect_eq(steer_rig_run(&rig, f.data, f.len), SHUNT_STEER_XDP_BRIDGED);
	shared->bridge->kernels = shared->bridge->untagged = 1ULL << IN;
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED, "what is untagged");
	cr_expect_eq(steer_rig_run(&rig, f.data, f.len), SHUNT_STEER_BRIDGED, "the worker's");
	f.data[12] = 0x88;
	f.data[13] = 0xa8;
	cr_expect_eq(steer_rig_run(&rig, f.data, f.len), SHUNT_STEER_BRIDGED);
	shared->bridge->forwarding &= ~(1ULL << IN);
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "a port that may not forward");
	shared->bridge->forwarding |= 1ULL << IN;
	shared->bridge->untagged = 0;
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "all is the kernel's");
	stop();
}

/* What lane xdp hears does not age, and one that moved is the worker's to learn. */
Test(steer_switch, hears_and_sees_moves)
{
	struct shunt_mac_entry entry;

	start(SHUNT_LANE_XDP);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	for (unsigned i = 0; i < 2 * SHUNT_MAC_AGE_TICKS; i++) {
		shunt_mac_age(table, NULL, NULL);
		shared->bridge->tick = table->tick;
		steer_rig_forget(&rig);
		shunt_mac_learn(table, key(2), 0); /* heard elsewhere */
		cr_assert_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED, "after %u ticks", i);
	}
	cr_expect_eq(shunt_mac_get(table, key(1), &entry), 0);
	cr_expect_eq(entry.age_ticks, 0);
	shunt_mac_learn(table, key(1), 3);
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED, "it was heard elsewhere since");
	shunt_mac_learn(table, key(1), IN);
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED);
	shunt_mac_learn(table, key(2), 1);
	cr_expect_eq(run(2, 1), SHUNT_STEER_XDP_BRIDGED, "to where it is now");
	shunt_mac_del(table, key(2));
	cr_expect_eq(run(2, 1), SHUNT_STEER_BRIDGED);
	stop();
}

Test(steer_switch, groups_and_bad_sources_are_the_workers)
{
	struct frame f;

	start(SHUNT_LANE_XDP);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	frame_udp4(&f, "198.51.100.1", "198.51.100.2");
	station(1, f.data + 6);
	memset(f.data, 0xff, 6);
	steer_expect(&rig, __FILE__, __LINE__, &f, SHUNT_STEER_BRIDGED);
	station(2, f.data);
	memset(f.data + 6, 0, 6);
	steer_expect(&rig, __FILE__, __LINE__, &f, SHUNT_STEER_BRIDGED);
	memset(f.data + 6, 0xff, 6);
	steer_expect(&rig, __FILE__, __LINE__, &f, SHUNT_STEER_BRIDGED);
	put(rig.skel->maps.shunt_ports, 0, LOOPBACK);
	station(1, f.data + 6);
	steer_expect(&rig, __FILE__, __LINE__, &f, SHUNT_STEER_XDP_BRIDGED);
	rig.half->bridge = BRIDGE; /* another bridge knows neither */
	steer_expect(&rig, __FILE__, __LINE__, &f, SHUNT_STEER_BRIDGED);
	stop();
}

/* --- shares ----------------------------------------------------------------------------------- */

static void flow(struct frame *f, unsigned number)
{
	char src[32], dst[32];

	snprintf(src, sizeof(src), number & 1 ? "2001:db8::%x" : "198.51.100.%u",
		 1 + number / 2 % 200);
	snprintf(dst, sizeof(dst), number & 1 ? "2001:db8:9::%x" : "203.0.113.%u",
		 1 + number / 400);
	(number & 1 ? frame_udp6 : frame_udp4)(f, src, dst);
	station(2, f->data);
	station(1, f->data + 6);
}

static int lane_of_flow(unsigned number)
{
	struct frame f;

	flow(&f, number);
	return (int)shunt_steer_reason_lane((unsigned)steer_rig_run(&rig, f.data, f.len));
}

static void share(unsigned user_below, unsigned xdp_below)
{
	for (int h = 0; h < 2; h++) {
		rig.ctl->half[h].user_below = user_below;
		rig.ctl->half[h].xdp_below = xdp_below;
	}
}

Test(steer_switch, shares_split_by_flows)
{
	enum { FLOWS = 4000 };
	static int lanes[FLOWS];
	unsigned cnt[SHUNT_LANE_CNT] = {0};

	start(SHUNT_STEER_LANE_SHARED);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	share(16384, 49152);
	for (unsigned i = 0; i < FLOWS; i++) {
		lanes[i] = lane_of_flow(i);
		cnt[lanes[i]]++;
	}
	/* five standard deviations */
	cr_expect(cnt[SHUNT_LANE_USER] > 860 && cnt[SHUNT_LANE_USER] < 1140, "%u",
		  cnt[SHUNT_LANE_USER]);
	cr_expect(cnt[SHUNT_LANE_XDP] > 1840 && cnt[SHUNT_LANE_XDP] < 2160, "%u",
		  cnt[SHUNT_LANE_XDP]);
	cr_expect_eq(cnt[SHUNT_LANE_USER] + cnt[SHUNT_LANE_XDP] + cnt[SHUNT_LANE_KERNEL], FLOWS);
	for (unsigned i = 0; i < FLOWS; i += 7)
		cr_expect_eq(lane_of_flow(i), lanes[i], "flow %u changed its lane", i);
	/* More for one takes flows from its neighbour and leaves the others where they are. */
	share(20000, 49152);
	for (unsigned i = 0; i < FLOWS; i += 3)
		cr_expect(lane_of_flow(i) == lanes[i] || lanes[i] == SHUNT_LANE_XDP);
	share(0, 65536);
	for (unsigned i = 0; i < 200; i++)
		cr_expect_eq(lane_of_flow(i), SHUNT_LANE_XDP);
	share(65536, 65536);
	for (unsigned i = 0; i < 200; i++)
		cr_expect_eq(lane_of_flow(i), SHUNT_LANE_USER);
	stop();
}

Test(steer_switch, as_many_runs_are_timed_as_were_asked_for)
{
	const struct shunt_steer_sample *s;
	struct frame f;
	uint64_t cnt = 0, ns = 0;

	start(SHUNT_LANE_XDP);
	shunt_mac_learn(table, key(1), IN);
	shunt_mac_learn(table, key(2), 0);
	flow(&f, 0);
	for (unsigned q = 0; q < SHUNT_STEER_QUEUES_MAX; q++)
		rig.slots[q].sample.due = 4;
	for (unsigned i = 0; i < 10; i++)
		steer_rig_run(&rig, f.data, f.len);
	for (unsigned q = 0; q < SHUNT_STEER_QUEUES_MAX; q++) {
		s = &rig.slots[q].sample;
		cnt += s->cnt[SHUNT_LANE_XDP];
		ns += s->ns[SHUNT_LANE_XDP];
		cr_expect_eq(s->start_ns, 0);
		cr_expect_eq(s->cnt[SHUNT_LANE_USER], 0);
	}
	cr_expect_eq(cnt, 4);
	cr_expect_gt(ns, 0);
	stop();
}
