// SPDX-License-Identifier: BSD-2-Clause
/* The steering program on single frames: every lane and reason, headers at their
 * limits, frames cut off everywhere. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "steer/steer.h"
#include "steer_naive.h"
#include "steer_words.h"

static struct steer_rig rig;

/* ---- the configuration word ----------------------------------------------------------------- */

Test(steer_prog, all_zero_configuration_passes_everything)
{
	struct frame f;

	steer_rig_init(&rig);
	frame_good4(&f);
	expect(&f, OFF);
	frame_eth(&f, BCAST, PEER, 0x0806);
	expect(&f, OFF);
	steer_rig_fini(&rig);
}

Test(steer_prog, live_word_chooses_half_and_closes)
{
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	frame_good4(&f);
	expect(&f, FORWARD4);
	rig.ctl->half[1].mode = SHUNT_STEER_MODE_XCONNECT;
	rig.ctl->live = SHUNT_STEER_LIVE_HALF(1);
	expect(&f, BRIDGED); /* its half has no MAC address */
	rig.ctl->live = SHUNT_STEER_LIVE_CLOSED;
	expect(&f, CLOSED);
	rig.ctl->live = 0xffffffff;
	expect(&f, CLOSED);
	rig.ctl->live = SHUNT_STEER_LIVE_HALF(0);
	rig.half->mode = SHUNT_STEER_MODE_OFF;
	expect(&f, OFF);
	rig.half->mode = 77;
	expect(&f, OFF);
	steer_rig_fini(&rig);
}

/* ---- cross-connect -------------------------------------------------------------------------- */

Test(steer_prog, xconnect_crosses_all_but_ours)
{
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	frame_good4(&f);
	expect(&f, OWN_MAC);
	memcpy(f.data, THIRD, 6);
	expect(&f, BRIDGED);
	f.data[14] = 0x99; /* no header is read */
	expect(&f, BRIDGED);
	memcpy(f.data, BCAST, 6);
	expect(&f, BRIDGED);
	frame_eth(&f, "\x01\x80\xc2\0\0\x02", PEER, 0x8809);
	expect(&f, LINK_LOCAL_CONTROL);
	frame_eth(&f, "\x01\x80\xc2\0\0\x10", PEER, 0x8809);
	expect(&f, BRIDGED);
	frame_udp4(&f, "198.51.100.1", "192.0.2.1"); /* our address, their MAC: theirs */
	memcpy(f.data, THIRD, 6);
	expect(&f, BRIDGED);
	steer_rig_fini(&rig);
}

Test(steer_prog, xconnect_arp_and_nd_for_this_host_only)
{
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	frame_arp(&f, BCAST, "192.0.2.1");
	expect(&f, ARP);
	f.len = 41;
	expect(&f, BRIDGED);
	frame_arp(&f, BCAST, "192.0.2.2");
	expect(&f, BRIDGED);
	frame_arp(&f, THIRD, "192.0.2.1");
	expect(&f, BRIDGED);
	frame_arp(&f, OWN, "192.0.2.1");
	expect(&f, OWN_MAC);
	frame_solicit(&f, "\x33\x33\xff\0\0\x01", "2001:db8::1");
	expect(&f, ND);
	f.data[54] = 136; /* an advertisement */
	expect(&f, BRIDGED);
	frame_solicit(&f, "\x33\x33\xff\0\0\x01", "fe80::1");
	expect(&f, ND);
	f.len--;
	expect(&f, BRIDGED);
	frame_solicit(&f, "\x33\x33\xff\0\0\x01", "2001:db8::2");
	expect(&f, BRIDGED);
	frame_solicit(&f, "\x33\x33\xff\0\0\x01", "2001:db8::1");
	f.data[20] = 17;
	expect(&f, BRIDGED);
	steer_rig_fini(&rig);
}

Test(steer_prog, xconnect_tagged_frames_cross)
{
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	for (int outer = 0; outer < 2; outer++) {
		frame_eth(&f, BCAST, PEER, outer ? 0x88a8 : 0x8100);
		frame_put16(&f, 5);
		frame_put16(&f, 0x0806);
		frame_put(&f, "\0\x01\x08\0\x06\x04\0\x01", 8);
		frame_put(&f,
			  PEER "\xc6\x33\x64\x01"
			       "\0\0\0\0\0\0"
			       "\xc0\0\x02\x01",
			  20);
		expect(&f, BRIDGED);
		memcpy(f.data, OWN, 6);
		expect(&f, OWN_MAC);
	}
	steer_rig_fini(&rig);
}

/* ---- bridge --------------------------------------------------------------------------------- */

/* The kernel gives what is tagged to the port's VLAN devices, before its bridge sees it. */
Test(steer_prog, bridge_of_a_port_with_vlan_devices)
{
	static const uint16_t types[] = {0x8100, 0x88a8};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_BRIDGE);
	for (int i = 0; i < 2; i++) {
		frame_eth(&f, THIRD, PEER, types[i]);
		frame_put16(&f, 10);
		frame_put16(&f, 0x0800);
		steer_rig_mode(&rig, SHUNT_STEER_MODE_BRIDGE);
		expect(&f, BRIDGED);
		steer_rig_mode(&rig, SHUNT_STEER_MODE_BRIDGE_UNTAGGED);
		expect(&f, VLAN);
	}
	frame_good4(&f);
	expect(&f, OWN_MAC);
	memcpy(f.data, THIRD, 6);
	expect(&f, BRIDGED);
	memcpy(f.data, BCAST, 6);
	expect(&f, MULTICAST);
	steer_rig_fini(&rig);
}

/* ---- cut off everywhere, beside the oracle -------------------------------------------------- */

static void cut_everywhere(const struct frame *whole, const struct naive_world *world)
{
	for (size_t len = 14; len <= whole->len; len++) {
		struct frame f = *whole;

		f.len = len;
		expect_at(len, &f, naive_steer(world, f.data, f.len));
	}
}

Test(steer_prog, truncated_at_every_length)
{
	struct naive_world world = {.local4 = steer_local4,
				    .local4_cnt = STEER_LOCAL4_CNT,
				    .local6 = steer_local6,
				    .local6_cnt = STEER_LOCAL6_CNT};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (int mode = SHUNT_STEER_MODE_XCONNECT; mode <= SHUNT_STEER_MODE_LAYER3; mode++) {
		steer_rig_mode(&rig, mode);
		world.mode = mode;
		frame_good4(&f);
		cut_everywhere(&f, &world);
		frame_good6(&f);
		cut_everywhere(&f, &world);
		frame_arp(&f, BCAST, "192.0.2.1");
		cut_everywhere(&f, &world);
		frame_solicit(&f, "\x33\x33\xff\0\0\x01", "2001:db8::1");
		cut_everywhere(&f, &world);
	}
	frame_good4(&f);
	f.len = 33;
	expect(&f, TRUNCATED);
	frame_good6(&f);
	f.len = 53;
	expect(&f, TRUNCATED);
	steer_rig_fini(&rig);
}

/* ---- a socket in the map -------------------------------------------------------------------- */

Test(steer_prog, redirects_where_a_socket_is)
{
	struct frame f;
	uint32_t queue = 0, fd = socket(AF_XDP, SOCK_RAW, 0);
	struct shunt_steer_counters *c;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	cr_assert_geq((int)fd, 0);
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig.skel->maps.shunt_xsks), &queue, &fd, 0),
		     0);
	c = &rig.slots[0].counters;
	frame_good4(&f);
	expect(&f, FORWARD4);
	cr_expect_eq(rig.verdict, XDP_REDIRECT);
	cr_expect_eq(c->packets[SHUNT_STEER_FORWARD4], 1);
	cr_expect_eq(c->bytes[SHUNT_LANE_USER], 60);
	cr_expect_eq(c->packets[SHUNT_STEER_NO_SOCKET], 0);
	f.data[22] = 1;
	expect(&f, TTL);
	cr_expect_eq(rig.verdict, XDP_PASS);
	f.data[22] = 64;
	rig.slots[0].gate.is_dry = 1;
	expect(&f, DRY);
	cr_expect_eq(rig.verdict, XDP_PASS);
	rig.slots[0].gate.is_hung = 1;
	expect(&f, HUNG);
	cr_expect_eq(rig.verdict, XDP_PASS);
	rig.slots[0].gate.shut = 0;
	close(fd); /* the kernel takes it out of the map */
	f.data[22] = 64;
	expect(&f, FORWARD4);
	cr_expect_eq(rig.verdict, XDP_PASS);
	cr_expect_eq(c->packets[SHUNT_STEER_NO_SOCKET], 1);
	cr_expect_eq(c->unserved[SHUNT_STEER_FORWARD4], 1);
	steer_rig_fini(&rig);
}

/* The program for packets of several buffers, on one of len bytes: the kernel's test run puts
 * what a page does not hold into fragments. Returns the reason counted. */
static int run_sg(uint8_t *data, uint32_t len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = len, .repeat = 1);
	const struct shunt_steer_counters *counters = &rig.slots[0].counters;
	int reason, counted = -1;

	memset(rig.slots, 0, sizeof(rig.slots[0]));
	cr_assert_eq(bpf_prog_test_run_opts(bpf_program__fd(rig.skel->progs.shunt_steer_sg), &opts),
		     0, "test run of %u bytes: %s", len, strerror(errno));
	for (reason = 0; reason < SHUNT_STEER_REASON_CNT; reason++)
		if (counters->packets[reason])
			counted = reason;
	cr_assert_eq(counters->bytes[SHUNT_LANE_KERNEL], len);
	if (counted == SHUNT_STEER_NO_SOCKET && counters->unserved[SHUNT_STEER_FORWARD4])
		return SHUNT_STEER_FORWARD4;
	return counted;
}

/* Lengths are those of the whole packet, wherever its first buffer ends. */
Test(steer_prog, packets_of_several_buffers)
{
	static uint8_t data[12000] = {0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 9, 0x08, 0, 0x45};
	const uint8_t ip[20] = {0x45, 0, 0,  0, 0, 0, 0x40, 0, 64, 17,
				0,    0, 10, 0, 1, 2, 10,   0, 2,  2};
	uint16_t tot_len_be = htons(9000);

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	rig.half->len_max = 9018;
	memcpy(data, FRAME_OWN_MAC, 6);
	memcpy(data + 14, ip, sizeof(ip));
	memcpy(data + 16, &tot_len_be, sizeof(tot_len_be));
	cr_expect_eq(run_sg(data, 9014), SHUNT_STEER_FORWARD4);
	cr_expect_eq(run_sg(data, 9018), SHUNT_STEER_FORWARD4, "padding, or a trailer");
	cr_expect_eq(run_sg(data, 9013), SHUNT_STEER_BAD_HEADER, "a byte is missing");
	cr_expect_eq(run_sg(data, 9019), SHUNT_STEER_TOO_LONG);
	cr_expect_eq(run_sg(data, 12000), SHUNT_STEER_TOO_LONG);
	steer_rig_fini(&rig);
}
