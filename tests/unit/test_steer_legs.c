// SPDX-License-Identifier: BSD-2-Clause
/* Routing in lane xdp over a bridge of the kernel's: packets that leave by a leg of a device leave
 * by that device, and of tagged ones the sender must be known in their VLAN. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "fib/device.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "fib/mac.h"
#include "fib/nexthop.h"
#include "xdp/macs.h"
#include "xdp/private.h"
#include "xdp/tables.h"
#include "steer/steer.h"
#include "steer_rig.h"

#define LOOPBACK 1u
#define IN	 2u /* the port's own number */
#define OUT	 5u
#define NOWHERE	 40u /* a port that nothing can be redirected to */
#define BRIDGE	 3u  /* from 0 */
#define FLAGS	 (SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6)
#define ABOVE	 (FLAGS | SHUNT_TABLES_ABOVE)

static struct steer_rig rig;
static struct shunt_err err;
static struct steer_rig_macs macs;

static uint64_t sender(unsigned vid)
{
	return shunt_mac_key((const uint8_t *)FRAME_PEER_MAC, shunt_mac_group(BRIDGE, vid));
}

static struct shunt_xdp x;
static struct shunt_xdp_tables *tables;
static struct shunt_tables_cfg cfg;
static struct shunt_fib4 *fib4;
static struct shunt_fib6 *fib6;
static struct shunt_nexthops *nexthops;
static struct shunt_devices *devices;
static uint32_t own; /* the device that what comes untagged comes in by */
static int xsk;

static void follow(uint32_t flags)
{
	shunt_xdp_tables_change(tables);
	cfg.flags = flags;
	shunt_xdp_tables_publish(&x, &cfg);
}

static void follow_own(uint32_t flags)
{
	follow(ABOVE | flags | (SHUNT_TABLES_TAGGED + own) << SHUNT_TABLES_OWN_SHIFT);
}

static void set_bases(void)
{
	const void *t4[3], *t6[2];
	unsigned i;

	memset(&cfg, 0, sizeof(cfg));
	shunt_fib4_tables(fib4, t4);
	shunt_fib6_tables(fib6, t6);
	for (i = 0; i < 3; i++)
		cfg.base[SHUNT_TABLE_ROOT4 + i] = shunt_xdp_tables_chunk(tables, t4[i]);
	for (i = 0; i < 2; i++)
		cfg.base[SHUNT_TABLE_ROOT6 + i] = shunt_xdp_tables_chunk(tables, t6[i]);
	cfg.base[SHUNT_TABLE_SLOTS] = shunt_xdp_tables_chunk(tables, nexthops->slots);
	cfg.base[SHUNT_TABLE_ADJS] = shunt_xdp_tables_chunk(tables, nexthops->adjs);
	cfg.base[SHUNT_TABLE_BUCKETS] = shunt_xdp_tables_chunk(tables, nexthops->buckets);
	cfg.base[SHUNT_TABLE_TAGS] = shunt_xdp_tables_chunk(tables, devices->words);
	cfg.base[SHUNT_TABLE_DEVICES] = shunt_xdp_tables_chunk(tables, devices->at);
}

/* Of a bridge's two members only legs say by which one a packet leaves. */
static uint32_t add_base(unsigned vid)
{
	const struct shunt_device device = {.member_cnt = 2,
					    .members = {IN, NOWHERE},
					    .policy = SHUNT_DEVICE_BY_STATION,
					    .flags = FLAGS,
					    .tag_cnt = !!vid,
					    .tags = {{htons(0x8100), htons((uint16_t)vid)}},
					    .priorities = 3,
					    .pcps = {0x5000}}; /* priority 3: PCP 5 */
	const uint32_t number = shunt_devices_add(devices, &device);

	cr_assert(number);
	return number;
}

static uint32_t add_leg(uint32_t base, unsigned port, bool is_bare)
{
	struct shunt_device leg = *shunt_devices_at(devices, base);
	uint32_t number;

	leg.base = (uint16_t)base;
	leg.policy = 0;
	leg.member_cnt = 1;
	memset(leg.members, 0, sizeof(leg.members));
	leg.members[0] = (uint8_t)port;
	if (is_bare)
		leg.tag_cnt = 0;
	number = shunt_devices_add(devices, &leg);
	cr_assert(number);
	return number;
}

/* 100.127.net.0/24 and 2001:db8:net::/48 by a device, or by a port below 64. */
static void add_route(unsigned net, unsigned port, uint32_t device)
{
	struct shunt_adj adj = {.eth = {2, 0, 0, 0, 0, 0x20, 2, 0, 0, 0, 0, 0x21},
				.mtu = 1500,
				.port = (uint16_t)port,
				.above = (uint16_t)device,
				.kind = SHUNT_ADJ_REWRITE};
	const uint8_t addr6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)net};
	uint32_t nh;

	cr_assert_eq(shunt_nexthop_add(nexthops, &adj, &nh, &err), 0);
	cr_assert_eq(shunt_fib4_add(shunt_fib4_space(fib4, 0), htonl(0x647f0000 | net << 8), 24, nh,
				    &err),
		     0);
	cr_assert_eq(shunt_fib6_add(shunt_fib6_space(fib6, 0), addr6, 48, nh, &err), 0);
}

static void start(void)
{
	const struct shunt_arena_source *source;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	rig.half->lane = SHUNT_LANE_XDP;
	rig.half->out_port = rig.half->in_port = IN;
	rig.half->bridge = BRIDGE + 1;
	steer_rig_macs_open(&rig, &macs, IN);
	xsk = socket(AF_XDP, SOCK_RAW, 0);
	cr_assert_geq(xsk, 0);
	steer_rig_slot(rig.skel->maps.shunt_xsks, 0, (unsigned)xsk);
	steer_rig_slot(rig.skel->maps.shunt_ports, OUT, LOOPBACK);
	steer_rig_slot(rig.skel->maps.shunt_ports, IN, LOOPBACK);
	x = (struct shunt_xdp){.tables_fd = bpf_map__fd(rig.skel->maps.shunt_tables),
			       .ctl = rig.ctl,
			       .slots = rig.slots};
	cr_assert_eq(shunt_xdp_tables_create(&tables, &err), 0, "%s", err.msg);
	source = shunt_xdp_tables_source(tables);
	cr_assert_eq(shunt_fib4_create_on(&fib4, source, 0, &err), 0);
	cr_assert_eq(shunt_fib6_create_on(&fib6, source, 0, &err), 0);
	cr_assert_eq(shunt_nexthop_create_on(&nexthops, source, 0, &err), 0);
	cr_assert_eq(shunt_devices_create_on(&devices, source, &err), 0);
	cr_assert_eq(shunt_xdp_tables_join(tables, &x, &err), 0, "%s", err.msg);
	set_bases();
	own = add_base(0);
	shunt_mac_learn(macs.table, sender(0), IN);
}

static void stop(void)
{
	shunt_devices_destroy(devices);
	shunt_nexthop_destroy(nexthops);
	shunt_fib6_destroy(fib6);
	shunt_fib4_destroy(fib4);
	shunt_xdp_tables_destroy(tables);
	close(xsk);
	steer_rig_macs_close(&macs);
	steer_rig_fini(&rig);
}

static void put_tag(struct frame *f, uint16_t tci)
{
	memmove(f->data + 16, f->data + 12, f->len - 12);
	f->data[12] = 0x81;
	f->data[13] = 0;
	f->data[14] = (uint8_t)(tci >> 8);
	f->data[15] = (uint8_t)tci;
	f->len += 4;
}

static void sum(struct frame *f)
{
	const uint16_t *words = (const void *)(f->data + 14);
	uint32_t total = 0;
	uint16_t folded;

	memset(f->data + 24, 0, 2);
	for (unsigned i = 0; i < 10; i++)
		total += words[i];
	total = (total & 0xffff) + (total >> 16);
	folded = (uint16_t) ~(total + (total >> 16));
	memcpy(f->data + 24, &folded, 2);
}

/* From 100.127.from.1 to 100.127.to.9, or the same of IPv6. */
static struct frame packet(unsigned from, unsigned to, bool is_ip6)
{
	struct frame f;

	if (is_ip6) {
		frame_good6(&f);
		memset(f.data + 38, 0, 16);
		memcpy(f.data + 38, "\x20\x01\x0d\xb8", 4);
		f.data[43] = (uint8_t)to;
		f.data[53] = 9;
		return f;
	}
	frame_good4(&f);
	memcpy(f.data + 26, "\x64\x7f\0\1\x64\x7f\0\x09", 8);
	f.data[28] = (uint8_t)from;
	f.data[32] = (uint8_t)to;
	sum(&f);
	return f;
}

static int run(const struct frame *f, struct frame *out)
{
	return steer_rig_send(&rig, f, out);
}

static void expect_run(const struct frame *f, int want, struct frame *out, int line)
{
	const int got = run(f, out);

	cr_expect_eq(got, want, "line %d: %s", line, shunt_steer_reason_name((unsigned)got));
}

#define EXPECT_RUN(f, reason) expect_run(&(f), SHUNT_STEER_##reason, &out, __LINE__)

static void expect_tci(const struct frame *out, int tci, int line)
{
	const int got = out->data[12] == 0x81 ? out->data[14] << 8 | out->data[15] : -1;

	cr_expect_eq(got, tci, "line %d: TCI %#x", line, got);
}

#define BARE	  (-1)
#define LEFT(tci) expect_tci(&out, tci, __LINE__)

Test(steer_legs, a_leg_has_its_port_and_tags)
{
	uint32_t other, vlan;
	struct frame f, out;

	start();
	other = add_base(0);
	vlan = add_base(200);
	add_route(1, SHUNT_TABLES_TAGGED, add_leg(other, OUT, false));
	add_route(2, SHUNT_TABLES_TAGGED, add_leg(other, NOWHERE, false));
	add_route(3, SHUNT_TABLES_TAGGED, add_leg(vlan, OUT, false));
	add_route(4, SHUNT_TABLES_TAGGED, add_leg(vlan, OUT, true));
	follow_own(0);
	for (int twice = 0; twice < 2; twice++) { /* from the tables, then remembered */
		f = packet(9, 1, false);
		EXPECT_RUN(f, XDP_FORWARD4);
		LEFT(BARE);
		cr_expect_eq(out.len, f.len);
		cr_expect_eq(out.data[11], 0x21);
		f = packet(9, 2, false);
		EXPECT_RUN(f, NO_XDP_PORT);
		f = packet(9, 3, false);
		EXPECT_RUN(f, XDP_FORWARD4);
		LEFT(200);
		f = packet(9, 4, false);
		EXPECT_RUN(f, XDP_FORWARD4);
		LEFT(BARE);
	}
	stop();
}

/* Of IPv6 the device says that it came in by, tagged or not. */
Test(steer_legs, priority_of_what_came_untagged)
{
	struct frame f, out;

	start();
	add_route(3, SHUNT_TABLES_TAGGED, add_leg(add_base(200), OUT, false));
	follow_own(0);
	f = packet(9, 3, true);
	EXPECT_RUN(f, XDP_FORWARD6);
	LEFT(200 | 5 << 13);
	f = packet(9, 3, false);
	EXPECT_RUN(f, XDP_FORWARD4);
	LEFT(200);
	follow(ABOVE | IN << SHUNT_TABLES_OWN_SHIFT); /* by no device */
	f = packet(9, 3, true);
	EXPECT_RUN(f, XDP_FORWARD6);
	LEFT(200);
	stop();
}

/* Back by the device that it came in by: the kernel may redirect, whatever the port. */
Test(steer_legs, back_by_any_leg)
{
	struct frame f, out;

	start();
	add_route(1, SHUNT_TABLES_TAGGED, add_leg(own, OUT, false));
	add_route(2, SHUNT_TABLES_TAGGED, add_leg(own, IN, false));
	add_route(3, SHUNT_TABLES_TAGGED, add_leg(add_base(0), IN, false));
	follow_own(0);
	for (int is_ip6 = 0; is_ip6 < 2; is_ip6++) {
		f = packet(9, 1, is_ip6);
		EXPECT_RUN(f, SAME_PORT);
		f = packet(9, 2, is_ip6);
		EXPECT_RUN(f, SAME_PORT);
	}
	f = packet(9, 3, false);
	EXPECT_RUN(f, XDP_FORWARD4);
	stop();
}

Test(steer_legs, way_back_by_any_leg)
{
	struct frame f, out;
	uint32_t other;

	start();
	other = add_base(0);
	add_route(1, SHUNT_TABLES_TAGGED, add_leg(own, OUT, false));
	add_route(2, SHUNT_TABLES_TAGGED, add_leg(own, IN, false));
	add_route(3, SHUNT_TABLES_TAGGED, add_leg(other, IN, false));
	add_route(4, IN, 0);
	add_route(5, OUT, 0);
	follow_own(SHUNT_TABLES_RPF4);
	f = packet(1, 5, false);
	EXPECT_RUN(f, XDP_FORWARD4);
	f = packet(2, 5, false);
	EXPECT_RUN(f, XDP_FORWARD4);
	f = packet(3, 5, false);
	EXPECT_RUN(f, OTHER_SOURCE);
	f = packet(4, 5, false);
	EXPECT_RUN(f, OTHER_SOURCE);
	stop();
}

/* A tag names the VLAN, in a bridge that keeps them apart; else it is one bridge to all. */
Test(steer_legs, stations_of_tagged_frames)
{
	struct frame f, out;
	uint32_t vlan;

	start();
	vlan = add_base(100);
	add_route(5, OUT, 0);
	add_route(6, SHUNT_TABLES_TAGGED, add_leg(vlan, OUT, false));
	follow_own(0);
	f = packet(9, 5, false);
	put_tag(&f, 100 | 3 << 13);
	EXPECT_RUN(f, XDP_FORWARD4);
	LEFT(BARE);
	cfg.vlan = SHUNT_TABLES_VLANS | 1;
	follow_own(0);
	EXPECT_RUN(f, STATION);
	shunt_mac_learn(macs.table, sender(1), IN);
	EXPECT_RUN(f, STATION);
	shunt_mac_learn(macs.table, sender(100), OUT);
	EXPECT_RUN(f, STATION);
	shunt_mac_learn(macs.table, sender(100), IN);
	EXPECT_RUN(f, XDP_FORWARD4);
	shunt_mac_del(macs.table, sender(1));
	EXPECT_RUN(f, XDP_FORWARD4);
	f = packet(9, 6, false); /* back by the VLAN device */
	put_tag(&f, 100);
	EXPECT_RUN(f, SAME_PORT);
	f = packet(9, 5, false);
	put_tag(&f, 101); /* no device's */
	shunt_mac_learn(macs.table, sender(101), IN);
	EXPECT_RUN(f, VLAN);
	stop();
}
