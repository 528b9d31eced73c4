// SPDX-License-Identifier: BSD-2-Clause
/* The lanes xdp and kernel of the steering program, frame by frame: every outcome, and bytes
 * that change only where the frame leaves. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "steer_words.h"

#define LOOPBACK 1u /* an ifindex that is always there */
#define OUT	 5u /* slot of the other port */

static struct steer_rig rig;
static int xsk = -1;

static void set_port(unsigned slot, unsigned ifindex)
{
	cr_assert_eq(
		bpf_map_update_elem(bpf_map__fd(rig.skel->maps.shunt_ports), &slot, &ifindex, 0),
		0);
}

/* A queue that is served, lane xdp, and a port in slot OUT. */
static void start(enum shunt_steer_mode mode)
{
	unsigned queue = 0;

	steer_rig_start(&rig, mode);
	xsk = socket(AF_XDP, SOCK_RAW, 0);
	cr_assert_geq(xsk, 0);
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig.skel->maps.shunt_xsks), &queue, &xsk, 0),
		     0);
	set_port(OUT, LOOPBACK);
	for (int h = 0; h < 2; h++) {
		rig.ctl->half[h].lane = SHUNT_LANE_XDP;
		rig.ctl->half[h].out_port = OUT;
	}
}

static void stop(void)
{
	close(xsk);
	steer_rig_fini(&rig);
}

Test(steer_lane, xconnect_crosses_inside_the_kernel)
{
	struct shunt_steer_counters *c;
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	c = &rig.slots[0].counters;
	frame_good4(&f);
	expect(&f, OWN_MAC);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	expect(&f, XDP_BRIDGED);
	cr_expect_eq(rig.verdict, XDP_REDIRECT);
	cr_expect_eq(c->bytes[SHUNT_LANE_XDP], f.len);
	cr_expect_eq(c->bytes[SHUNT_LANE_USER], 0);
	frame_arp(&f, "\xff\xff\xff\xff\xff\xff", "192.0.2.1");
	expect(&f, ARP);
	stop();
}

Test(steer_lane, empty_slot_is_the_kernels)
{
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	rig.half->out_port = OUT + 1;
	expect(&f, NO_XDP_PORT);
	cr_expect_eq(rig.verdict, XDP_PASS);
	rig.half->out_port = SHUNT_STEER_PORTS_MAX; /* none at all */
	expect(&f, NO_XDP_PORT);
	rig.half->out_port = 0xffffffff;
	expect(&f, NO_XDP_PORT);
	rig.half->out_port = OUT;
	expect(&f, XDP_BRIDGED);
	stop();
}

/* The same frame by the long way and by the short one. */
static void expect_both(const struct frame *f, int line, int want)
{
	uint64_t word = shunt_steer_quick_of(rig.half, 0);

	cr_assert(word);
	for (unsigned is_quick = 0; is_quick < 2; is_quick++) {
		rig.ctl->quick = is_quick ? word : 0;
		steer_expect(&rig, __FILE__, line, f, want);
	}
}

#define expect_both(f, reason) expect_both(f, __LINE__, SHUNT_STEER_##reason)

Test(steer_lane, short_way_ends_where_the_long_one_does)
{
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	expect_both(&f, OWN_MAC);
	for (unsigned i = 0; i < 48; i++) { /* an address that differs from the port's in one bit */
		memcpy(f.data, FRAME_OWN_MAC, 6);
		f.data[i / 8] ^= (uint8_t)(1 << i % 8);
		expect_both(&f, XDP_BRIDGED);
	}
	memcpy(f.data, "\x01\x80\xc2\0\0\x0e", 6);
	expect_both(&f, LINK_LOCAL_CONTROL);
	frame_arp(&f, "\xff\xff\xff\xff\xff\xff", "192.0.2.1");
	expect_both(&f, ARP);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	f.len = 14;
	expect_both(&f, XDP_BRIDGED);
	rig.half->out_port = OUT + 1;
	expect_both(&f, NO_XDP_PORT);
	rig.half->out_port = OUT;
	rig.slots[0].sample.due = 1;
	expect_both(&f, XDP_BRIDGED);
	cr_expect_eq(rig.slots[0].sample.cnt[SHUNT_LANE_XDP], 1);
	close(xsk);
	expect_both(&f, BRIDGED);
	cr_expect_eq(rig.verdict, XDP_PASS);
	stop();
}

/* By the long way and by the short one; nothing of the frame is asked. */
static void expect_unseen(const struct frame *f, int line, int want)
{
	for (unsigned is_quick = 0; is_quick < 2; is_quick++) {
		rig.ctl->quick = is_quick ? shunt_steer_quick_of(rig.half, 0) : 0;
		cr_assert(!is_quick || rig.ctl->quick);
		steer_expect(&rig, __FILE__, line, f, want);
	}
}

#define expect_unseen(f, reason) expect_unseen(f, __LINE__, SHUNT_STEER_##reason)

Test(steer_lane, transparent_crosses_whatever_it_is)
{
	struct shunt_steer_counters *c;
	struct frame f;

	start(SHUNT_STEER_MODE_TRANSPARENT);
	c = &rig.slots[0].counters;
	frame_good4(&f);
	expect_unseen(&f, XDP_BRIDGED); /* to the port's own address */
	cr_expect_eq(c->bytes[SHUNT_LANE_XDP], 2 * f.len);
	memcpy(f.data, "\x01\x80\xc2\0\0\x0e", 6);
	expect_unseen(&f, XDP_BRIDGED);
	frame_arp(&f, "\xff\xff\xff\xff\xff\xff", "192.0.2.1");
	expect_unseen(&f, XDP_BRIDGED);
	f.len = 14;
	expect_unseen(&f, XDP_BRIDGED);
	rig.half->out_port = OUT + 1;
	expect_unseen(&f, NO_XDP_PORT);
	cr_expect_eq(rig.verdict, XDP_PASS);
	rig.half->out_port = OUT;
	rig.slots[0].sample.due = 2;
	expect_unseen(&f, XDP_BRIDGED);
	cr_expect_eq(rig.slots[0].sample.cnt[SHUNT_LANE_XDP], 2);
	close(xsk); /* the daemon is gone */
	expect_unseen(&f, BRIDGED);
	cr_expect_eq(rig.verdict, XDP_PASS);
	stop();
}

Test(steer_lane, transparent_to_the_worker)
{
	struct frame f;

	start(SHUNT_STEER_MODE_TRANSPARENT);
	rig.half->lane = SHUNT_LANE_USER;
	frame_good4(&f);
	for (unsigned is_quick = 0; is_quick < 2; is_quick++) {
		rig.ctl->quick = is_quick ? shunt_steer_quick_of(rig.half, 0) : 0;
		cr_assert(!is_quick || rig.ctl->quick);
		expect(&f, BRIDGED);
		cr_expect_eq(rig.verdict, XDP_REDIRECT);
		rig.slots[0].gate.is_hung = 1;
		expect(&f, HUNG);
		rig.slots[0].gate.is_hung = 0;
	}
	stop();
}

/* The kernel takes a dead daemon's sockets out of the map. */
Test(steer_lane, ends_with_the_socket)
{
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	expect(&f, XDP_BRIDGED);
	close(xsk);
	expect(&f, BRIDGED); /* what it was meant for; the rig has seen no_socket */
	cr_expect_eq(rig.verdict, XDP_PASS);
	cr_expect_eq(rig.slots[0].counters.unserved[SHUNT_STEER_BRIDGED], 1);
	stop();
}

/* Between two daemons: no socket, in whatever lane the frames were, until its time is over. */
Test(steer_lane, handed_over_crosses_go_on)
{
	struct frame f, arp;

	start(SHUNT_STEER_MODE_XCONNECT);
	close(xsk);
	rig.ctl->live = SHUNT_STEER_LIVE_HANDOVER(rig.half - rig.ctl->half);
	rig.ctl->handover_until_ns = UINT64_MAX;
	frame_good4(&f);
	expect(&f, OWN_MAC);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	frame_arp(&arp, "\xff\xff\xff\xff\xff\xff", "192.0.2.1");
	for (uint32_t lane = 0; lane < SHUNT_LANE_CNT; lane++) {
		rig.half->lane = lane;
		if (lane == SHUNT_LANE_KERNEL) {
			expect(&f, CLOSED);
			continue;
		}
		expect(&f, XDP_BRIDGED);
		cr_expect_eq(rig.verdict, XDP_REDIRECT);
		expect(&arp, ARP);
	}
	rig.half->out_port = OUT + 1;
	expect(&f, NO_XDP_PORT);
	cr_expect_eq(rig.verdict, XDP_PASS);
	rig.half->out_port = OUT;
	rig.half->mode = SHUNT_STEER_MODE_TRANSPARENT;
	expect(&arp, XDP_BRIDGED);
	rig.half->bridge = 1; /* its table is kept by nobody */
	expect(&f, CLOSED);
	rig.half->bridge = 0;
	expect(&f, XDP_BRIDGED);
	rig.ctl->handover_until_ns = 1;
	expect(&f, CLOSED);
	cr_expect_eq(rig.verdict, XDP_PASS);
	steer_rig_fini(&rig);
}

/* A wire whose worker hangs, or is gone, and that is to go on; another's frames wait, or are the
 * kernel's. */
Test(steer_lane, a_wire_goes_on_without_a_worker)
{
	static const uint32_t lanes[] = {SHUNT_LANE_USER, SHUNT_LANE_XDP};
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	for (unsigned i = 0; i < 2; i++) {
		rig.half->lane = lanes[i];
		rig.slots[0].gate.is_hung = 1;
		rig.ctl->crosses = 1;
		expect(&f, XDP_BRIDGED);
		rig.slots[0].gate.is_dry = 1;
		expect(&f, XDP_BRIDGED);
		rig.slots[0].gate.shut = 0;
	}
	close(xsk);
	for (unsigned i = 0; i < 2; i++) {
		rig.half->lane = lanes[i];
		rig.ctl->crosses = 1;
		expect(&f, XDP_BRIDGED);
		cr_expect_eq(rig.verdict, XDP_REDIRECT);
		rig.ctl->crosses = 0;
		expect(&f, BRIDGED); /* what it was meant for; the rig has seen no_socket */
		cr_expect_eq(rig.verdict, XDP_PASS);
	}
	rig.ctl->crosses = 1;
	memcpy(f.data, FRAME_OWN_MAC, 6);
	expect(&f, OWN_MAC);
	steer_rig_fini(&rig);
}

/* A bridge of shunt's alone that rules judge: nobody follows them. Without a daemon it goes on. */
Test(steer_lane, a_wire_whose_rules_are_not_followed)
{
	static const uint32_t lanes[] = {SHUNT_LANE_USER, SHUNT_LANE_XDP};
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	rig.slots[0].gate.is_stale = 1;
	for (unsigned i = 0; i < 4; i++) {
		rig.half->lane = lanes[i & 1];
		rig.ctl->crosses = i >> 1;
		expect(&f, STALE);
	}
	close(xsk);
	for (unsigned i = 0; i < 2; i++) {
		rig.half->lane = lanes[i];
		expect(&f, XDP_BRIDGED);
	}
	steer_rig_fini(&rig);
}

/* What is routed the kernel routes as well, by tables that somebody keeps. */
Test(steer_lane, handed_over_routes_are_the_kernels)
{
	struct frame f;

	start(SHUNT_STEER_MODE_LAYER3);
	rig.ctl->live = SHUNT_STEER_LIVE_HANDOVER(rig.half - rig.ctl->half);
	rig.ctl->handover_until_ns = UINT64_MAX;
	frame_good4(&f);
	expect(&f, CLOSED);
	stop();
}

/* A worker that hangs or has no frames does not stop a lane that does not need it. */
Test(steer_lane, workers_gate_does_not_count)
{
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	rig.slots[0].gate.is_hung = rig.slots[0].gate.is_dry = 1;
	expect(&f, XDP_BRIDGED);
	rig.half->lane = SHUNT_LANE_USER;
	expect(&f, HUNG);
	stop();
}

/* What the rules matched of these frames, by destination port: one frame to each of 1 to 7. */
static void expect_counts(const unsigned *want, unsigned cnt, size_t len)
{
	static struct shunt_count got[SHUNT_STEER_RULE_COUNTS];

	steer_rig_count(&rig, got);
	for (unsigned i = 0; i < SHUNT_STEER_RULE_COUNTS; i++) {
		const unsigned packets = i < cnt ? want[i] : 0;

		cr_expect_eq(got[i].packets, packets, "counter %u: %llu packets, not %u", i,
			     got[i].packets, packets);
		cr_expect_eq(got[i].bytes, packets * len, "counter %u: %llu bytes", i,
			     got[i].bytes);
	}
}

static void run_ports(unsigned cnt, size_t *len)
{
	struct frame f;

	for (unsigned port = 1; port <= cnt; port++) {
		frame_good4(&f);
		f.data[36] = 0;
		f.data[37] = (uint8_t)port;
		steer_rig_run(&rig, f.data, f.len);
		*len = f.len;
	}
}

Test(steer_lane, rules_are_counted_where_asked_for)
{
	static const char *const rules[] = {
		"proto udp dport 1 lane kernel", "proto udp dport 2 lane drop",
		"proto udp dport 3 lane user",	 "proto udp dport 4 lane xdp",
		"proto udp dport 5-6 lane auto",
	};
	size_t len = 0;

	start(SHUNT_STEER_MODE_LAYER3);
	steer_rig_rules(&rig, rules, SHUNT_ARRAY_LEN(rules), NULL);
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(rules); i++)
		rig.half->rules[i].count = i + 1;
	run_ports(7, &len);
	expect_counts((unsigned[]){0}, 1, len);
	rig.half->rule_cnt |= SHUNT_STEER_RULES_COUNTED;
	run_ports(7, &len);
	expect_counts((unsigned[]){0, 1, 1, 1, 1, 2}, 6, len);
	rig.half->rules[0].count =
		SHUNT_STEER_RULE_COUNTS + 7; /* never written by us; still bounded */
	run_ports(1, &len);
	expect_counts((unsigned[]){0, 1, 1, 1, 1, 2, 0, 1}, 8, len);
	stop();
}

/* A frame that crosses without a worker meets its rules twice. */
Test(steer_lane, rules_are_counted_once)
{
	static const char *const rules[] = {"proto udp dport 3 lane user"};
	size_t len = 0;

	start(SHUNT_STEER_MODE_XCONNECT);
	steer_rig_rules(&rig, rules, 1, NULL);
	rig.half->rule_cnt |= SHUNT_STEER_RULES_COUNTED;
	rig.ctl->crosses = 1;
	rig.slots[0].gate.is_hung = 1;
	run_ports(3, &len);
	cr_expect_eq(rig.verdict, XDP_REDIRECT);
	expect_counts((unsigned[]){1}, 1, len);
	rig.ctl->live = SHUNT_STEER_LIVE_HANDOVER(rig.half - rig.ctl->half);
	rig.ctl->handover_until_ns = ~0ULL;
	run_ports(3, &len);
	cr_expect_eq(rig.verdict, XDP_REDIRECT);
	expect_counts((unsigned[]){2}, 1, len);
	stop();
}

/* Nothing is looked at, unless rules ask. */
Test(steer_lane, kernel_takes_everything)
{
	struct frame f;

	start(SHUNT_STEER_MODE_LAYER3);
	for (int h = 0; h < 2; h++)
		rig.ctl->half[h].lane = SHUNT_LANE_KERNEL;
	frame_good4(&f);
	expect(&f, LANE_KERNEL);
	frame_good6(&f);
	expect(&f, LANE_KERNEL);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	expect(&f, LANE_KERNEL);
	rig.half->rule_cnt = 1;
	rig.half->rules[0] = (struct shunt_steer_rule){.value.is_ip = 1,
						       .mask.is_ip = 1,
						       .sport_max = 65535,
						       .dport_max = 65535,
						       .lane = SHUNT_LANE_DROP};
	expect(&f, RULE_DROP);
	rig.half->rules[0].lane = SHUNT_STEER_RULE_AUTO;
	expect(&f, OTHER_MAC);
	rig.half->rule_cnt = 0;
	steer_rig_mode(&rig, SHUNT_STEER_MODE_XCONNECT);
	expect(&f, LANE_KERNEL);
	stop();
}

Test(steer_lane, rules_choose_among_lanes)
{
	static const char *const rules[] = {
		"proto udp dport 1 lane kernel", "proto udp dport 2 lane drop",
		"proto udp dport 3 lane user",	 "proto udp dport 4 lane xdp",
		"proto udp dport 5 lane auto",	 "proto udp lane drop",
	};
	static const int want[][2] = {
		/* lane xdp, lane user */
		{SHUNT_STEER_RULE_KERNEL, SHUNT_STEER_RULE_KERNEL},
		{SHUNT_STEER_RULE_DROP, SHUNT_STEER_RULE_DROP},
		{SHUNT_STEER_RULE_USER, SHUNT_STEER_RULE_USER},
		{SHUNT_STEER_XDP_RULE, SHUNT_STEER_XDP_RULE},
		{SHUNT_STEER_XDP_BRIDGED, SHUNT_STEER_BRIDGED},
		{SHUNT_STEER_RULE_DROP, SHUNT_STEER_RULE_DROP},
	};
	struct frame f;

	start(SHUNT_STEER_MODE_XCONNECT);
	steer_rig_rules(&rig, rules, SHUNT_ARRAY_LEN(rules), NULL);
	frame_udp4(&f, "198.51.100.1", "198.51.100.2");
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	for (unsigned lane = 0; lane < 2; lane++) {
		rig.half->lane = lane ? SHUNT_LANE_USER : SHUNT_LANE_XDP;
		for (unsigned i = 0; i < SHUNT_ARRAY_LEN(want); i++) {
			f.data[36] = 0;
			f.data[37] = (uint8_t)(i + 1);
			steer_expect(&rig, __FILE__, (int)(100 * lane + i), &f, want[i][lane]);
		}
	}
	stop();
}
