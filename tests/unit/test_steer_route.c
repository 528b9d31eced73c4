// SPDX-License-Identifier: BSD-2-Clause
/* Routing in lane xdp, frame by frame: the program reads tables that lib/fib built. Every outcome,
 * the bytes that leave, and answers beside those of the worker's own lookups. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "fib/count.h"
#include "fib/device.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "fib/flow.h"
#include "fib/nexthop.h"
#include "xdp/private.h"
#include "xdp/tables.h"
#include "measure/rng.h"
#include "steer/steer.h"
#include "shunt_bond.h"
#include "steer_rig.h"

#define LOOPBACK 1u
#define OWN	 0u /* the port that frames come in on */
#define OUT	 5u
#define OUT_TWO	 6u
#define FLAGS	 (SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6)

static struct steer_rig rig;
static struct shunt_xdp x; /* what the tables know of the program */
static struct shunt_xdp_tables *tables;
static struct shunt_tables_cfg cfg;
static struct shunt_fib4 *fib4;
static struct shunt_fib6 *fib6;
static struct shunt_nexthops *nexthops;
static struct shunt_devices *devices;
static uint32_t way_out, way_two, way_back, way_gone, way_local, group;
static int xsk;

static uint32_t add_way(unsigned port, unsigned kind)
{
	struct shunt_adj adj = {.mtu = 1500, .port = (uint16_t)port, .kind = (uint8_t)kind};
	struct shunt_err err;
	uint32_t nh;

	memcpy(adj.eth, "\x02\0\0\0\0\x10\x02\0\0\0\0", 11);
	adj.eth[11] = (uint8_t)port;
	cr_assert_eq(shunt_nexthop_add(nexthops, &adj, &nh, &err), 0, "%s", err.msg);
	return nh;
}

/* What the program remembers stays. */
static void set_flags(uint32_t flags)
{
	cfg.flags = flags;
	shunt_xdp_tables_publish(&x, &cfg);
}

static void follow(uint32_t flags)
{
	shunt_xdp_tables_change(tables);
	set_flags(flags);
}

static void set_device_flags(uint32_t number, uint32_t flags)
{
	shunt_devices_set_flags(devices, number, flags);
	shunt_xdp_tables_change(tables);
}

static void set_bases(void)
{
	const void *t4[3], *t6[2];

	shunt_fib4_tables(fib4, t4);
	shunt_fib6_tables(fib6, t6);
	for (unsigned i = 0; i < 3; i++)
		cfg.base[SHUNT_TABLE_ROOT4 + i] = shunt_xdp_tables_chunk(tables, t4[i]);
	for (unsigned i = 0; i < 2; i++)
		cfg.base[SHUNT_TABLE_ROOT6 + i] = shunt_xdp_tables_chunk(tables, t6[i]);
	cfg.base[SHUNT_TABLE_SLOTS] = shunt_xdp_tables_chunk(tables, nexthops->slots);
	cfg.base[SHUNT_TABLE_ADJS] = shunt_xdp_tables_chunk(tables, nexthops->adjs);
	cfg.base[SHUNT_TABLE_BUCKETS] = shunt_xdp_tables_chunk(tables, nexthops->buckets);
	cfg.base[SHUNT_TABLE_TAGS] = shunt_xdp_tables_chunk(tables, devices->words);
	cfg.base[SHUNT_TABLE_DEVICES] = shunt_xdp_tables_chunk(tables, devices->at);
	cfg.flow_seed = 0x1234567890abcdefULL;
}

static void add4_in(unsigned space, const char *text, unsigned len, uint32_t nh)
{
	struct shunt_err err;

	cr_assert_eq(shunt_fib4_open_space(fib4, space, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_fib4_add(shunt_fib4_space(fib4, space), inet_addr(text), len, nh, &err),
		     0, "%s", err.msg);
}

static void add4(const char *text, unsigned len, uint32_t nh)
{
	add4_in(0, text, len, nh);
}

static void add6_in(unsigned space, const char *text, unsigned len, uint32_t nh)
{
	struct shunt_err err;
	uint8_t addr[16];

	inet_pton(AF_INET6, text, addr);
	cr_assert_eq(shunt_fib6_open_space(fib6, space, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_fib6_add(shunt_fib6_space(fib6, space), addr, len, nh, &err), 0, "%s",
		     err.msg);
}

static void add6(const char *text, unsigned len, uint32_t nh)
{
	add6_in(0, text, len, nh);
}

static void add_routes(void)
{
	struct shunt_nexthop_member members[2];
	struct shunt_err err;

	way_out = add_way(OUT, SHUNT_ADJ_REWRITE);
	way_two = add_way(OUT_TWO, SHUNT_ADJ_REWRITE);
	way_back = add_way(OWN, SHUNT_ADJ_REWRITE);
	way_gone = add_way(OUT, SHUNT_ADJ_BLACKHOLE);
	way_local = add_way(OUT, SHUNT_ADJ_LOCAL);
	members[0] = (struct shunt_nexthop_member){way_out, 1};
	members[1] = (struct shunt_nexthop_member){way_two, 3};
	cr_assert_eq(shunt_nexthop_group_add(nexthops, members, 2, &group, &err), 0);
	add4("198.51.100.0", 24, way_out);
	add4("198.51.100.128", 25, way_two);
	add4("198.51.100.200", 32, way_gone);
	add4("203.0.113.0", 24, way_back);
	add4("100.64.0.0", 10, group);
	add6("2001:db8:1::", 48, way_out);
	add6("2001:db8:1:2::", 64, way_two);
	add6("2001:db8:1:2::3", 128, way_gone);
	add6("2001:db8:2::", 48, group);
}

static void set_slot(struct bpf_map *map, unsigned slot, unsigned value)
{
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(map), &slot, &value, 0), 0);
}

static void start(void)
{
	const struct shunt_arena_source *source;
	struct shunt_err err;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	rig.half->lane = SHUNT_LANE_XDP;
	rig.half->out_port = OWN;
	xsk = socket(AF_XDP, SOCK_RAW, 0);
	cr_assert_geq(xsk, 0);
	set_slot(rig.skel->maps.shunt_xsks, 0, (unsigned)xsk);
	set_slot(rig.skel->maps.shunt_ports, OUT, LOOPBACK);
	set_slot(rig.skel->maps.shunt_ports, OUT_TWO, LOOPBACK);
	x = (struct shunt_xdp){.tables_fd = bpf_map__fd(rig.skel->maps.shunt_tables),
			       .ctl = rig.ctl,
			       .slots = rig.slots};
	cr_assert_eq(shunt_xdp_tables_create(&tables, &err), 0, "%s", err.msg);
	source = shunt_xdp_tables_source(tables);
	cr_assert_eq(shunt_fib4_create_on(&fib4, source, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_fib6_create_on(&fib6, source, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_nexthop_create_on(&nexthops, source, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_devices_create_on(&devices, source, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_tables_join(tables, &x, &err), 0, "%s", err.msg);
	set_bases();
	add_routes();
	follow(FLAGS);
}

static void stop(void)
{
	shunt_devices_destroy(devices);
	shunt_nexthop_destroy(nexthops);
	shunt_fib6_destroy(fib6);
	shunt_fib4_destroy(fib4);
	shunt_xdp_tables_destroy(tables);
	close(xsk);
	steer_rig_fini(&rig);
}

static int run(const struct frame *f, struct frame *out)
{
	return steer_rig_send(&rig, f, out);
}

static void set_dst4(struct frame *f, uint32_t dst_be)
{
	const uint16_t *words = (const void *)(f->data + 14);
	uint32_t sum = 0;
	uint16_t folded;

	memcpy(f->data + 30, &dst_be, 4);
	memset(f->data + 24, 0, 2);
	for (unsigned i = 0; i < 10; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	folded = (uint16_t)~sum;
	memcpy(f->data + 24, &folded, 2);
}

static void good4(struct frame *f, const char *dst)
{
	frame_good4(f);
	set_dst4(f, inet_addr(dst));
}

static void good4_from(struct frame *f, const char *src, const char *dst)
{
	const uint32_t src_be = inet_addr(src);

	frame_good4(f);
	memcpy(f->data + 26, &src_be, 4);
	set_dst4(f, inet_addr(dst));
}

static void good6(struct frame *f, const char *dst)
{
	frame_good6(f);
	inet_pton(AF_INET6, dst, f->data + 38);
}

#define expect_left(f, reason)                                                                     \
	do {                                                                                       \
		int got = run(f, &out);                                                            \
		cr_expect_eq(got, SHUNT_STEER_##reason, "line %d: %s", __LINE__,                   \
			     shunt_steer_reason_name((unsigned)got));                              \
		cr_expect_eq(rig.verdict, shunt_steer_reason_lane((unsigned)got) == SHUNT_LANE_XDP \
						  ? XDP_REDIRECT                                   \
						  : XDP_PASS);                                     \
		if (shunt_steer_reason_lane((unsigned)got) != SHUNT_LANE_XDP)                      \
			cr_expect(out.len == (f)->len && !memcmp(out.data, (f)->data, out.len),    \
				  "line %d: bytes changed", __LINE__);                             \
	} while (0)

/* What a program remembers that was attached by hand is of no generation of the next daemon's. */
Test(steer_route, generations_go_on_with_the_next_daemon)
{
	struct shunt_xdp_tables *next;
	struct shunt_err err;
	uint32_t before;

	start();
	before = x.ctl->tables.generation;
	cr_assert_gt(before, 0);
	cr_assert_eq(shunt_xdp_tables_create(&next, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_tables_join(next, &x, &err), 0, "%s", err.msg);
	shunt_xdp_tables_change(next);
	cr_expect_eq(x.ctl->tables.generation, before + 1);
	shunt_xdp_tables_destroy(next);
	stop();
}

Test(steer_route, rewrites_ipv4)
{
	struct frame f, out, want;

	start();
	for (int twice = 0; twice < 2; twice++) { /* from the tables, then remembered */
		good4(&f, "198.51.100.7");
		want = f;
		memcpy(want.data, "\x02\0\0\0\0\x10\x02\0\0\0\0\x05", 12);
		want.data[22]--;
		set_dst4(&want, inet_addr("198.51.100.7"));
		expect_left(&f, XDP_FORWARD4);
		cr_expect(out.len == f.len && !memcmp(out.data, want.data, f.len), "run %d", twice);
	}
	good4(&f, "198.51.100.129"); /* behind a tail of the table */
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT_TWO);
	stop();
}

/* packets: of run, which sends each by both ways. */
#define WAYS 2

static void expect_count(const struct shunt_counts *counts, uint32_t number, unsigned packets,
			 size_t len)
{
	struct shunt_count got;

	packets *= WAYS;
	shunt_counts_sum(counts, number, &got);
	cr_expect_eq(got.packets, packets, "number %u: %llu packets", number, got.packets);
	cr_expect_eq(got.bytes, packets * len);
}

static void set_way(uint32_t nh, struct shunt_adj adj)
{
	adj.mtu = 1500;
	adj.kind = SHUNT_ADJ_REWRITE;
	adj.eth[11] = (uint8_t)adj.port;
	cr_assert_eq(shunt_nexthop_set(nexthops, nh, &adj, NULL), 0);
}

Test(steer_route, neighbours_are_counted_where_asked_for)
{
	struct shunt_counts *counts;
	struct shunt_count one, two;
	struct frame f, out;

	start();
	cr_assert_eq(shunt_counts_create_on(&counts, shunt_xdp_tables_cpu_cnt(),
					    shunt_xdp_tables_source(tables), NULL),
		     0);
	cr_assert(shunt_counts_begin(counts, 70000) && shunt_counts_begin(counts, 2));
	cfg.base[SHUNT_TABLE_COUNTS] = shunt_xdp_tables_chunk(tables, counts->lines);
	cfg.writer_cnt = counts->writer_cnt;
	follow(FLAGS);
	good4(&f, "198.51.100.7");
	for (int i = 0; i < 3; i++)
		expect_left(&f, XDP_FORWARD4);
	expect_count(counts, 2, 0, f.len);
	set_way(way_out, (struct shunt_adj){.port = OUT, .number = 2});
	set_way(way_two, (struct shunt_adj){.port = OUT_TWO, .number = 70000});
	follow(FLAGS);
	for (int i = 0; i < 3; i++)
		expect_left(&f, XDP_FORWARD4);
	expect_count(counts, 2, 3, f.len);
	good4(&f, "198.51.100.129");
	expect_left(&f, XDP_FORWARD4);
	expect_count(counts, 70000, 1, f.len);
	good4(&f, "203.0.113.9"); /* the port it came by */
	expect_left(&f, SAME_PORT);
	expect_count(counts, 2, 3, f.len);
	good6(&f, "2001:db8:1:3::9");
	shunt_counts_begin(counts, 2);
	expect_left(&f, XDP_FORWARD6);
	expect_count(counts, 2, 1, f.len);
	shunt_counts_begin(counts, 2);
	shunt_counts_begin(counts, 70000);
	for (uint32_t i = 0; i < 1000; i++) { /* a group: by the member */
		good4(&f, "100.64.0.0");
		set_dst4(&f, htonl(0x64400000 + i * 77));
		expect_left(&f, XDP_FORWARD4);
		shunt_counts_sum(counts, out.data[11] == OUT ? 2 : 70000, &one);
		shunt_counts_sum(counts, out.data[11] == OUT ? 70000 : 2, &two);
		cr_assert(one.packets && one.packets + two.packets == WAYS * (i + 1));
	}
	cr_expect(one.packets > 100 && two.packets > 100);
	shunt_counts_destroy(counts);
	stop();
}

/* By an alias of its next hop, a group or not; sources are checked behind one, too. */
Test(steer_route, routes_are_counted_where_asked_for)
{
	struct shunt_counts *counts;
	struct frame f, out;
	uint32_t one, flows;

	start();
	cr_assert_eq(shunt_counts_create_on(&counts, shunt_xdp_tables_cpu_cnt(),
					    shunt_xdp_tables_source(tables), NULL),
		     0);
	cr_assert_eq(shunt_nexthop_alias_add(nexthops, way_out, &one, NULL), 0);
	cr_assert_eq(shunt_nexthop_alias_add(nexthops, group, &flows, NULL), 0);
	cr_assert(shunt_counts_begin(counts, one) && shunt_counts_begin(counts, flows));
	cfg.base[SHUNT_TABLE_COUNTS] = shunt_xdp_tables_chunk(tables, counts->lines);
	cfg.writer_cnt = counts->writer_cnt;
	add4("198.51.100.0", 24, one);
	add4("100.64.0.0", 10, flows);
	add6("2001:db8:1::", 48, one);
	follow(FLAGS);
	good4(&f, "198.51.100.7");
	for (int i = 0; i < 3; i++)
		expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT);
	expect_count(counts, one, 3, f.len);
	good4(&f, "100.64.1.2");
	for (int i = 0; i < 2; i++)
		expect_left(&f, XDP_FORWARD4);
	expect_count(counts, flows, 2, f.len);
	good4(&f, "198.51.100.129"); /* a route that is not counted */
	expect_left(&f, XDP_FORWARD4);
	good6(&f, "2001:db8:1:3::9");
	shunt_counts_begin(counts, one);
	expect_left(&f, XDP_FORWARD6);
	expect_count(counts, one, 1, f.len);
	shunt_counts_destroy(counts);
	stop();
}

Test(steer_route, checksum_carries)
{
	struct frame f, out, want;

	start();
	for (unsigned id = 0; id < 0x10000; id += 251) {
		good4(&f, "198.51.100.7");
		f.data[18] = (uint8_t)(id >> 8);
		f.data[19] = (uint8_t)id;
		set_dst4(&f, inet_addr("198.51.100.7"));
		want = f;
		want.data[22]--;
		set_dst4(&want, inet_addr("198.51.100.7"));
		expect_left(&f, XDP_FORWARD4);
		cr_assert(!memcmp(out.data + 14, want.data + 14, 20), "id %u", id);
	}
	stop();
}

Test(steer_route, rewrites_ipv6)
{
	struct frame f, out;

	start();
	for (int twice = 0; twice < 2; twice++) {
		good6(&f, "2001:db8:1:2::9");
		expect_left(&f, XDP_FORWARD6);
		cr_expect_eq(out.data[11], OUT_TWO);
		cr_expect_eq(out.data[21], f.data[21] - 1);
		inet_pton(AF_INET6, "2001:db8:1:3::9", f.data + 38);
		expect_left(&f, XDP_FORWARD6);
		cr_expect_eq(out.data[11], OUT);
	}
	stop();
}

Test(steer_route, cuts_what_follows_the_packet)
{
	struct frame f, out;

	start();
	good4(&f, "198.51.100.7");
	f.data[17] = 30;
	set_dst4(&f, inet_addr("198.51.100.7"));
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.len, 44);
	stop();
}

Test(steer_route, kernel_gets_what_it_cannot_finish)
{
	struct frame f, out;

	start();
	good4(&f, "198.51.100.7");
	f.data[24] ^= 1;
	expect_left(&f, BAD_CHECKSUM);
	good4(&f, "192.0.2.77");
	expect_left(&f, NO_WAY);
	good4(&f, "198.51.100.200");
	expect_left(&f, NO_WAY);
	good4(&f, "203.0.113.9");
	expect_left(&f, SAME_PORT);
	good4(&f, "198.51.100.7");
	memcpy(f.data + 26, steer_local4[0], 4);
	set_dst4(&f, inet_addr("198.51.100.7"));
	expect_left(&f, OWN_SOURCE);
	good6(&f, "2001:db8:1:2::3");
	expect_left(&f, NO_WAY);
	inet_pton(AF_INET6, "2001:db8:9::3", f.data + 38);
	expect_left(&f, NO_WAY);
	good4(&f, "198.51.100.7");
	follow(SHUNT_TABLES_IP6);
	expect_left(&f, NOT_ROUTER);
	good6(&f, "2001:db8:1::3");
	follow(SHUNT_TABLES_IP4);
	expect_left(&f, NOT_ROUTER);
	follow(FLAGS);
	rig.slots[0].gate.is_stale = 1;
	expect_left(&f, STALE);
	rig.slots[0].gate.is_stale = 0;
	expect_left(&f, XDP_FORWARD6);
	cr_assert_eq(bpf_map_delete_elem(bpf_map__fd(rig.skel->maps.shunt_ports), &(unsigned){OUT}),
		     0);
	expect_left(&f, NO_XDP_PORT);
	stop();
}

Test(steer_route, mtu)
{
	struct shunt_adj adj = {.port = OUT, .kind = SHUNT_ADJ_REWRITE, .mtu = 46};
	struct frame f, out;
	struct shunt_err err;

	start();
	good4(&f, "198.51.100.7"); /* 46 bytes */
	cr_assert_eq(shunt_nexthop_set(nexthops, way_out, &adj, &err), 0);
	follow(FLAGS);
	expect_left(&f, XDP_FORWARD4);
	adj.mtu = 45;
	cr_assert_eq(shunt_nexthop_set(nexthops, way_out, &adj, &err), 0);
	follow(FLAGS);
	expect_left(&f, TOO_BIG);
	stop();
}

Test(steer_route, sources)
{
	struct frame f, out;

	start();
	follow(FLAGS | SHUNT_TABLES_RPF4);
	good4_from(&f, "203.0.113.5", "198.51.100.7"); /* the way back is this port */
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "198.51.100.9", "198.51.100.7"); /* and is OUT */
	expect_left(&f, OTHER_SOURCE);
	follow(FLAGS | SHUNT_TABLES_NO_LOCAL);
	expect_left(&f, XDP_FORWARD4);
	add4("198.51.100.9", 32, way_local);
	follow(FLAGS | SHUNT_TABLES_NO_LOCAL);
	expect_left(&f, OTHER_SOURCE);
	stop();
}

/* A change is seen by the next frame, remembered or not. */
Test(steer_route, follows_changes)
{
	struct shunt_err err;
	struct frame f, out;

	start();
	good4(&f, "198.51.100.7");
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT);
	add4("198.51.100.7", 32, way_two);
	follow(FLAGS);
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT_TWO);
	cr_assert_eq(shunt_fib4_del(fib4, inet_addr("198.51.100.7"), 32, &err), 0);
	cr_assert_eq(shunt_fib4_del(fib4, inet_addr("198.51.100.0"), 24, &err), 0);
	follow(FLAGS);
	expect_left(&f, NO_WAY);
	stop();
}

/* An index that is handed out again before the tables are told of: a packet must not leave by what
 * it was. */
Test(steer_route, a_next_hop_is_forgotten_before_its_index_is_anothers)
{
	const struct shunt_arena_source *source;
	struct shunt_adj adj = {.mtu = 1500, .port = OUT_TWO, .kind = SHUNT_ADJ_REWRITE};
	struct shunt_err err;
	struct frame f, out;

	start();
	adj.eth[11] = OUT_TWO;
	good4(&f, "198.51.100.7");
	expect_left(&f, XDP_FORWARD4);
	cr_assert_eq(shunt_nexthop_set(nexthops, way_out, &adj, &err), 0, "%s", err.msg);
	good4(&f, "198.51.100.8");
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT, "the remembered one");
	source = shunt_xdp_tables_source(tables);
	source->grace(source->ctx);
	expect_left(&f, XDP_FORWARD4);
	cr_expect_eq(out.data[11], OUT_TWO, "the new one");
	stop();
}

/* Flows take the path that the worker gives them. */
Test(steer_route, spreads_as_the_worker_does)
{
	unsigned taken[2] = {0};
	struct frame f, out;

	start();
	for (unsigned i = 0; i < 400; i++) {
		const struct shunt_adj *adj;
		uint32_t hash, dst_be;

		frame_udp4(&f, "198.51.100.1", "100.64.1.2");
		f.data[34] = (uint8_t)i;
		f.data[37] = (uint8_t)(i >> 8);
		f.data[33] = (uint8_t)(i * 7);
		if (i % 5 == 0)
			f.data[20] |= 0x20; /* a fragment: no ports */
		memcpy(&dst_be, f.data + 30, sizeof(dst_be));
		set_dst4(&f, dst_be);
		hash = shunt_flow4_hash(f.data + 14, (uint32_t)f.len - 14, cfg.flow_seed);
		adj = shunt_nexthop_adj(nexthops, group, hash);
		expect_left(&f, XDP_FORWARD4);
		cr_assert_eq(out.data[11], adj->port, "flow %u", i);
		taken[adj->port == OUT_TWO]++;
	}
	cr_expect(taken[0] > 50 && taken[1] > 200, "%u and %u", taken[0], taken[1]);
	for (unsigned i = 0; i < 200; i++) {
		good6(&f, "2001:db8:2::9");
		f.data[37] = (uint8_t)i;
		expect_left(&f, XDP_FORWARD6);
		cr_assert_eq(out.data[11],
			     shunt_nexthop_adj(nexthops, group,
					       shunt_flow6_hash(f.data + 14, (uint32_t)f.len - 14,
								cfg.flow_seed))
				     ->port);
	}
	stop();
}

/* Thousands of random routes, and their addresses by program and worker. */
Test(steer_route, agrees_with_the_workers_lookup, .timeout = 120)
{
	uint64_t rng = 6;
	struct shunt_err err;
	struct frame f, out;

	start();
	for (unsigned i = 0; i < 20000; i++) {
		unsigned len = 12 + (unsigned)(shunt_rng_next(&rng) % 21);
		uint32_t addr = 0x0b000000 | (uint32_t)(shunt_rng_next(&rng) & 0x00ffffff);

		addr &= ~0u << (32 - len);
		cr_assert_eq(
			shunt_fib4_add(fib4, htonl(addr), len, i & 1 ? way_out : way_two, &err), 0);
	}
	follow(FLAGS);
	for (unsigned i = 0; i < 4000; i++) {
		uint32_t dst_be = htonl(0x0b000000 | (uint32_t)(shunt_rng_next(&rng) & 0xffffff));
		uint32_t nh = shunt_fib4_lookup(fib4, dst_be);
		int reason;

		frame_good4(&f);
		set_dst4(&f, dst_be);
		reason = run(&f, &out);
		cr_assert_eq(reason, nh ? SHUNT_STEER_XDP_FORWARD4 : SHUNT_STEER_NO_WAY);
		cr_assert(!nh || out.data[11] == (nh == way_out ? OUT : OUT_TWO));
	}
	stop();
}

/* --- tagged ----------------------------------------------------------------------------------- */

#define ABOVE (FLAGS | SHUNT_TABLES_ABOVE)

static uint32_t add_device(unsigned port, unsigned outer, unsigned inner, uint32_t flags)
{
	const struct shunt_device device = {
		.member_cnt = 1,
		.members = {(uint8_t)port},
		.flags = flags,
		.tag_cnt = inner ? 2 : 1,
		.tags = {{htons(inner ? 0x88a8 : 0x8100), htons((uint16_t)outer)},
			 {htons(0x8100), htons((uint16_t)inner)}},
		.priorities = 0x03000000,	/* PCP 6: priority 3 */
		.pcps = {0x1005000, 0x2000000}, /* priority 3: PCP 5; 6: 1, and of the second 2 */
	};
	const uint32_t number = shunt_devices_add(devices, &device);

	cr_assert(number);
	return number;
}

static uint32_t add_tagged_way(uint32_t number)
{
	struct shunt_adj adj = {.eth = {2, 0, 0, 0, 0, 0x20, 2, 0, 0, 0, 0, 0x21},
				.mtu = 1500,
				.port = SHUNT_ADJ_TAGGED,
				.above = (uint16_t)number,
				.kind = SHUNT_ADJ_REWRITE};
	uint32_t nh;

	cr_assert_eq(shunt_nexthop_add(nexthops, &adj, &nh, NULL), 0);
	return nh;
}

/* tags: types and TCIs in turn, 0 ends them. */
static void put_tags(struct frame *f, const uint16_t *tags)
{
	size_t len = 0;

	while (tags[len])
		len++;
	memmove(f->data + 12 + 2 * len, f->data + 12, f->len - 12);
	for (size_t i = 0; i < len; i++) {
		f->data[12 + 2 * i] = (uint8_t)(tags[i] >> 8);
		f->data[13 + 2 * i] = (uint8_t)tags[i];
	}
	f->len += 2 * len;
}

static uint32_t in_device;

static void start_tagged(void)
{
	start();
	set_slot(rig.skel->maps.shunt_ports, OWN, LOOPBACK);
	in_device = add_device(OWN, 100, 0, FLAGS);
	add4("100.127.1.0", 24, add_tagged_way(add_device(OUT, 200, 0, FLAGS)));
	add4("100.127.2.0", 24, add_tagged_way(add_device(OUT_TWO, 300, 301, FLAGS)));
	add4("100.127.3.0", 24, add_tagged_way(in_device));
	add6("2001:db8:71::", 48, add_tagged_way(3));
	add6("2001:db8:72::", 48, add_tagged_way(2));
	follow(ABOVE);
}

#define NONE		  ((const uint16_t[]){0})
#define VLAN(tci)	  ((const uint16_t[]){0x8100, tci, 0})
#define VLANS(outer, tci) ((const uint16_t[]){0x88a8, outer, 0x8100, tci, 0})

static void goes(const char *dst, uint8_t tos, const uint16_t *tags, const uint16_t *tags_out,
		 unsigned port, int line)
{
	const bool is_ip6 = strchr(dst, ':');
	struct frame f, out, want;

	if (is_ip6) {
		good6(&f, dst);
	} else {
		good4(&f, dst);
		f.data[15] = tos;
		set_dst4(&f, inet_addr(dst));
	}
	want = f;
	if (is_ip6) {
		want.data[21]--;
	} else {
		want.data[22]--;
		set_dst4(&want, inet_addr(dst));
	}
	put_tags(&f, tags);
	put_tags(&want, tags_out);
	cr_expect_eq(run(&f, &out), is_ip6 ? SHUNT_STEER_XDP_FORWARD6 : SHUNT_STEER_XDP_FORWARD4,
		     "line %d", line);
	cr_expect_eq(rig.verdict, XDP_REDIRECT, "line %d", line);
	cr_expect(out.len == want.len && !memcmp(out.data + 12, want.data + 12, want.len - 12),
		  "line %d", line);
	cr_expect_eq(out.data[11], port, "line %d: by %u", line, out.data[11]);
}

#define GOES(dst, tos, tags, tags_out, port) goes(dst, tos, tags, tags_out, port, __LINE__)

Test(steer_route, tagged_in_and_out)
{
	start_tagged();
	for (int twice = 0; twice < 2; twice++) {
		GOES("198.51.100.7", 0, VLAN(100), NONE, OUT);
		GOES("198.51.100.7", 0, VLAN(100 | 7 << 13), NONE, OUT);
		GOES("100.127.1.7", 0, NONE, VLAN(200), 0x21);
		GOES("100.127.1.7", 0x10, NONE, VLAN(200 | 1 << 13), 0x21);
		GOES("100.127.1.7", 0, VLAN(100), VLAN(200), 0x21);
		GOES("100.127.2.7", 0x10, VLAN(100), VLANS(300 | 1 << 13, 301 | 2 << 13), 0x21);
		GOES("100.127.2.7", 0, NONE, VLANS(300, 301), 0x21);
		GOES("100.127.3.7", 0, NONE, VLAN(100), 0x21);
		GOES("203.0.113.7", 0, VLAN(100), NONE, OWN);
		GOES("2001:db8:72::9", 0, VLAN(100 | 6 << 13), VLAN(200 | 5 << 13), 0x21);
		GOES("2001:db8:71::9", 0, VLAN(100), VLANS(300, 301), 0x21);
		GOES("2001:db8:1::9", 0, VLAN(100), NONE, OUT);
	}
	stop();
}

Test(steer_route, tagged_that_is_the_kernels)
{
	struct frame f, out;
	unsigned i;
	const uint16_t *const others[] = {VLAN(101),
					  VLAN(0),
					  VLANS(100, 101),
					  VLANS(300, 301),
					  ((const uint16_t[]){0x8100, 100, 0x8100, 0xfff, 0}),
					  ((const uint16_t[]){0x88a8, 100, 0}),
					  VLAN(200)};

	start_tagged();
	for (i = 0; i < SHUNT_ARRAY_LEN(others); i++) {
		good4(&f, "198.51.100.7");
		put_tags(&f, others[i]);
		expect_left(&f, VLAN);
	}
	good4(&f, "100.127.3.7");
	put_tags(&f, VLAN(100));
	expect_left(&f, SAME_PORT);
	good4(&f, "198.51.100.7");
	f.data[24] ^= 1;
	put_tags(&f, VLAN(100));
	expect_left(&f, BAD_CHECKSUM);
	good4(&f, "192.0.2.77");
	put_tags(&f, VLAN(100));
	expect_left(&f, NO_WAY);
	good6(&f, "2001:db8:1::3");
	put_tags(&f, VLAN(100));
	set_device_flags(in_device, SHUNT_TABLES_IP4);
	expect_left(&f, NOT_ROUTER);
	set_device_flags(in_device, 0);
	expect_left(&f, VLAN);
	set_device_flags(in_device, FLAGS);
	follow(FLAGS); /* no device above this port */
	expect_left(&f, VLAN);
	stop();
}

/* Mode mix routes what is sent to a VLAN device, and gives it what asks for it. Else it crosses. */
Test(steer_route, mix_with_vlan_devices)
{
	const char *const all = "\xff\xff\xff\xff\xff\xff";
	const struct {
		bool is_solicit;
		const char *target;
		uint16_t tci;
		int reason;
	} asked[] = {
		{false, "192.0.2.1", 100, SHUNT_STEER_ARP},
		{false, "192.0.2.2", 100, SHUNT_STEER_XDP_BRIDGED},
		{false, "192.0.2.1", 101, SHUNT_STEER_XDP_BRIDGED},
		{true, "2001:db8::1", 100, SHUNT_STEER_ND},
		{true, "2001:db8::2", 100, SHUNT_STEER_XDP_BRIDGED},
	};
	struct frame f, out;

	start_tagged();
	rig.half->mode = SHUNT_STEER_MODE_MIX;
	GOES("198.51.100.7", 0, VLAN(100), NONE, OUT);
	GOES("100.127.1.7", 0, VLAN(100), VLAN(200), 0x21);
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(asked); i++) {
		if (asked[i].is_solicit)
			frame_solicit(&f, all, asked[i].target);
		else
			frame_arp(&f, all, asked[i].target);
		put_tags(&f, VLAN(asked[i].tci));
		cr_expect_eq(run(&f, &out), asked[i].reason, "%u", i);
	}
	good4(&f, "198.51.100.7");
	put_tags(&f, VLAN(101));
	expect_left(&f, VLAN);
	rig.half->lane = SHUNT_LANE_USER;
	good4(&f, "198.51.100.7");
	put_tags(&f, VLAN(100));
	cr_expect_eq(run(&f, &out), SHUNT_STEER_FORWARD4);
	follow(FLAGS); /* no device above this port */
	expect_left(&f, VLAN);
	stop();
}

#define NOWHERE 40u /* a port that nothing can be redirected to */

static uint32_t add_bond(unsigned first, unsigned second, enum shunt_bond_policy policy,
			 unsigned tag_cnt)
{
	const struct shunt_device device = {
		.member_cnt = 2,
		.members = {(uint8_t)first, (uint8_t)second},
		.policy = (uint8_t)policy,
		.flags = FLAGS,
		.tag_cnt = (uint8_t)tag_cnt,
		.tags = {{htons(0x88a8), htons(500)}, {htons(0x8100), htons(501)}},
	};
	const uint32_t number = shunt_devices_add(devices, &device);

	cr_assert(number);
	return number;
}

/* Of two members one can be redirected to: by that it is seen who was chosen. The addresses give
 * 0x20 ^ 0x21, which with both types is odd in IPv4 and even in IPv6. */
Test(steer_route, bonds)
{
	struct frame f, out;
	unsigned i, cnt[2] = {0};

	start_tagged();
	add4("100.127.4.0", 24, add_tagged_way(add_bond(NOWHERE, OUT, SHUNT_BOND_LAYER2, 0)));
	add6("2001:db8:74::", 48, add_tagged_way(add_bond(OUT, NOWHERE, SHUNT_BOND_LAYER2, 0)));
	add4("100.127.5.0", 24, add_tagged_way(add_bond(NOWHERE, OUT, SHUNT_BOND_LAYER34, 2)));
	add4("100.127.6.0", 24, add_tagged_way(add_bond(NOWHERE, OUT, SHUNT_BOND_LAYER34, 0)));
	add4("100.127.7.0", 24, add_tagged_way(add_bond(OUT, NOWHERE, SHUNT_BOND_LAYER2, 0)));
	follow(ABOVE);
	for (i = 0; i < 2; i++) {
		GOES("100.127.4.7", 0, NONE, NONE, 0x21);
		GOES("100.127.4.7", 0, VLAN(100), NONE, 0x21);
		GOES("2001:db8:74::9", 0, NONE, NONE, 0x21);
		/* a second tag hides the packet: 0x20 ^ 0x21 ^ 0x8100 */
		GOES("100.127.5.7", 0, NONE, VLANS(500, 501), 0x21);
	}
	good4(&f, "100.127.7.7");
	expect_left(&f, NO_XDP_PORT);
	/* by addresses and ports */
	for (i = 0; i < 64; i++) {
		good4(&f, "100.127.6.7");
		f.data[35] = (uint8_t)(i * 2);
		cnt[run(&f, &out) == SHUNT_STEER_XDP_FORWARD4]++;
	}
	cr_expect(cnt[0] > 16 && cnt[1] > 16, "%u and %u", cnt[0], cnt[1]);
	/* in by the bond it would leave by: the kernel may redirect */
	i = add_bond(NOWHERE, OUT, SHUNT_BOND_LAYER2, 0);
	add4("100.127.8.0", 24, add_tagged_way(i));
	follow(ABOVE | (SHUNT_TABLES_TAGGED + i) << SHUNT_TABLES_OWN_SHIFT);
	good4(&f, "100.127.8.7");
	expect_left(&f, SAME_PORT);
	stop();
}

/* rp_filter of the device: the way back is by it, and not by the port beneath. */
Test(steer_route, tagged_sources)
{
	struct frame f, out;

	start_tagged();
	add4("100.127.9.0", 24, add_tagged_way(in_device));
	set_device_flags(in_device, FLAGS | SHUNT_TABLES_RPF4);
	follow(ABOVE);
	good4_from(&f, "100.127.9.5", "198.51.100.7");
	put_tags(&f, VLAN(100));
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "203.0.113.5", "198.51.100.7");
	put_tags(&f, VLAN(100));
	expect_left(&f, OTHER_SOURCE);
	stop();
}

/* --- spaces ----------------------------------------------------------------------------------- */

#define SPACE4(n) ((n) << SHUNT_TABLES_SPACE4_SHIFT)
#define SPACE6(n) ((n) << SHUNT_TABLES_SPACE6_SHIFT)

static void start_spaces(void)
{
	start_tagged();
	add4_in(3, "198.51.100.0", 24, way_two);
	add4_in(3, "100.64.0.0", 10, group);
	add6_in(31, "2001:db8:1::", 48, way_two);
	add6_in(31, "2001:db8:2::", 48, group);
}

/* What is remembered of one space is not another's, though nothing has changed. */
Test(steer_route, spaces_of_a_port)
{
	struct frame f, out;

	start_spaces();
	follow(FLAGS);
	for (int i = 0; i < 8; i++) {
		const bool is_other4 = i & 2, is_other6 = i & 4;

		set_flags(FLAGS | (is_other4 ? SPACE4(3) : 0) | (is_other6 ? SPACE6(31) : 0));
		GOES("198.51.100.7", 0, NONE, NONE, is_other4 ? OUT_TWO : OUT);
		GOES("2001:db8:1:3::9", 0, NONE, NONE, is_other6 ? OUT_TWO : OUT);
	}
	good4(&f, "203.0.113.9"); /* main has ways to these */
	expect_left(&f, NO_WAY);
	good6(&f, "2001:db8:71::9");
	expect_left(&f, NO_WAY);
	set_flags(FLAGS | SPACE4(4) | SPACE6(30)); /* not opened */
	good4(&f, "198.51.100.7");
	expect_left(&f, NO_WAY);
	good6(&f, "2001:db8:1:3::9");
	expect_left(&f, NO_WAY);
	stop();
}

/* A flow has its path, in whatever space. */
Test(steer_route, spreads_in_a_space_as_in_main)
{
	struct frame f4, f6, out;
	uint8_t ports[2];
	unsigned taken[2] = {0};

	start_spaces();
	follow(FLAGS);
	for (unsigned i = 0; i < 64; i++) {
		good4(&f4, "100.64.1.2");
		set_dst4(&f4, htonl(0x64400000 + i * 77));
		good6(&f6, "2001:db8:2::9");
		f6.data[37] = (uint8_t)i;
		set_flags(FLAGS);
		expect_left(&f4, XDP_FORWARD4);
		ports[0] = out.data[11];
		expect_left(&f6, XDP_FORWARD6);
		ports[1] = out.data[11];
		set_flags(FLAGS | SPACE4(3) | SPACE6(31));
		expect_left(&f4, XDP_FORWARD4);
		cr_expect_eq(out.data[11], ports[0], "flow %u", i);
		expect_left(&f6, XDP_FORWARD6);
		cr_expect_eq(out.data[11], ports[1], "flow %u of IPv6", i);
		taken[ports[0] == OUT_TWO]++;
	}
	cr_expect(taken[0] && taken[1]);
	stop();
}

Test(steer_route, spaces_of_devices)
{
	struct frame f, out;
	uint32_t other;

	start_spaces();
	other = add_device(OWN, 101, 0, FLAGS | SPACE4(3) | SPACE6(31));
	follow(ABOVE);
	for (int twice = 0; twice < 2; twice++) {
		GOES("198.51.100.7", 0, VLAN(100), NONE, OUT);
		GOES("198.51.100.7", 0, VLAN(101), NONE, OUT_TWO);
		GOES("198.51.100.7", 0, NONE, NONE, OUT);
		GOES("2001:db8:1:3::9", 0, VLAN(101), NONE, OUT_TWO);
		GOES("2001:db8:1:3::9", 0, VLAN(100), NONE, OUT);
	}
	good4(&f, "203.0.113.9");
	put_tags(&f, VLAN(101));
	expect_left(&f, NO_WAY);
	set_device_flags(other, FLAGS);
	set_device_flags(in_device, FLAGS | SPACE4(3));
	GOES("198.51.100.7", 0, VLAN(101), NONE, OUT);
	GOES("198.51.100.7", 0, VLAN(100), NONE, OUT_TWO);
	GOES("2001:db8:1:3::9", 0, VLAN(100), NONE, OUT);
	stop();
}

#define RPF_FAR (SHUNT_TABLES_RPF4 | SHUNT_TABLES_FAR)

/* By the routes of what the packet leaves by, which is in space 7; its own space is 3 where that is
 * said. */
Test(steer_route, far_sources)
{
	struct frame f, out;
	uint32_t alias;

	start_spaces();
	set_way(way_two, (struct shunt_adj){.port = OUT_TWO, .space = 7});
	add4_in(7, "192.0.2.0", 24, way_back);
	add4_in(7, "192.0.2.128", 25, way_out);
	add4_in(7, "192.0.2.200", 32, way_local);
	follow(FLAGS | RPF_FAR | SPACE4(3));
	good4_from(&f, "192.0.2.7", "198.51.100.7");
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "192.0.2.129", "198.51.100.7");
	expect_left(&f, OTHER_SOURCE);
	good4_from(&f, "203.0.113.5", "198.51.100.7"); /* which main alone knows */
	expect_left(&f, OTHER_SOURCE);
	set_flags(FLAGS | RPF_FAR); /* out by OUT, which is in space 0 */
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "192.0.2.7", "198.51.100.7");
	expect_left(&f, OTHER_SOURCE);
	good4_from(&f, "192.0.2.7", "198.51.100.129"); /* from main into space 7 */
	expect_left(&f, XDP_FORWARD4);
	set_flags(FLAGS | SHUNT_TABLES_RPF4 | SPACE4(3));
	good4_from(&f, "192.0.2.7", "198.51.100.7");
	expect_left(&f, OTHER_SOURCE);
	set_flags(FLAGS | SHUNT_TABLES_NO_LOCAL | SHUNT_TABLES_FAR | SPACE4(3));
	good4_from(&f, "192.0.2.129", "198.51.100.7");
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "192.0.2.200", "198.51.100.7");
	expect_left(&f, OTHER_SOURCE);
	set_flags(FLAGS | SHUNT_TABLES_NO_LOCAL | SPACE4(3));
	expect_left(&f, XDP_FORWARD4);

	cr_assert_eq(shunt_nexthop_alias_add(nexthops, way_two, &alias, NULL), 0);
	add4_in(3, "198.51.100.0", 24, alias);
	follow(FLAGS | RPF_FAR | SPACE4(3));
	good4_from(&f, "192.0.2.7", "198.51.100.7");
	expect_left(&f, XDP_FORWARD4);
	stop();
}

Test(steer_route, far_sources_that_are_the_kernels)
{
	static const uint32_t checks[] = {RPF_FAR, SHUNT_TABLES_NO_LOCAL | SHUNT_TABLES_FAR};
	struct frame several, unknown, out;

	start_spaces();
	good4_from(&several, "203.0.113.5", "100.64.1.2");
	good4_from(&unknown, "203.0.113.5", "198.51.100.7");
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(checks); i++) {
		set_way(way_out, (struct shunt_adj){.port = OUT});
		follow(FLAGS | checks[i]);
		expect_left(&unknown, XDP_FORWARD4);
		expect_left(&several, OTHER_SOURCE);
		set_way(way_out, (struct shunt_adj){.port = OUT, .space = SHUNT_ADJ_NO_SPACE});
		follow(FLAGS | checks[i]);
		expect_left(&unknown, OTHER_SOURCE);
		follow(FLAGS | (checks[i] & ~SHUNT_TABLES_FAR));
		expect_left(&unknown, XDP_FORWARD4);
		expect_left(&several, XDP_FORWARD4);
	}
	stop();
}

Test(steer_route, far_sources_of_devices)
{
	struct frame f, out;
	uint32_t back;

	start_spaces();
	back = add_tagged_way(in_device);
	set_way(way_two, (struct shunt_adj){.port = OUT_TWO, .space = 7});
	add4_in(7, "192.0.2.0", 24, back);
	add4("203.0.113.0", 24, back);
	set_device_flags(in_device, FLAGS | RPF_FAR | SPACE4(3));
	follow(ABOVE);
	good4_from(&f, "192.0.2.7", "198.51.100.7");
	put_tags(&f, VLAN(100));
	expect_left(&f, XDP_FORWARD4);
	good4_from(&f, "203.0.113.5", "198.51.100.7");
	put_tags(&f, VLAN(100));
	expect_left(&f, OTHER_SOURCE);
	set_device_flags(in_device, FLAGS | RPF_FAR); /* out by OUT */
	expect_left(&f, XDP_FORWARD4);
	stop();
}
