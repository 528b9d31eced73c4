// SPDX-License-Identifier: BSD-2-Clause
/* How many frames a packet takes, by driver and kernel. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/bytes.h"
#include "port/jumbo.h"

#define SG SHUNT_NETDEV_XDP_rx_sg

Test(jumbo, by_driver_and_kernel)
{
	static const struct {
		struct shunt_jumbo j;
		uint32_t frame_size, frames, mtu_max;
		bool works;
		const char *why;
	} cases[] = {
		{{"e", "veth", 1500, .kernel = {6, 18}}, 2048, 1, 1746, true, ""},
		{{"e", "veth", 1746, .kernel = {6, 18}}, 2048, 1, 1746, true, ""},
		{{"e", "veth", 3794, .kernel = {6, 1}}, 4096, 1, 3794, true, ""},
		{{"e", "veth", 3795, .kernel = {6, 1}}, 4096, 2, 3794, false, "need Linux 6.6"},
		{{"e", "veth", 9000, .xdp.features = SG, .kernel = {6, 6}},
		 4096,
		 3,
		 64722,
		 true,
		 ""},
		{{"e", "veth", 9000, .xdp.features = SG, .kernel = {7, 0}},
		 2048,
		 6,
		 29906,
		 true,
		 ""},
		{{"e", "veth", 65000, .xdp.features = SG, .kernel = {7, 0}},
		 4096,
		 18,
		 64722,
		 false,
		 "17 frames"},
		{{"e", "ice", 9000, .kernel = {6, 18}},
		 4096,
		 3,
		 3794,
		 false,
		 "driver ice does not"},
		{{"e", "ice", 9000, .is_generic = true, .kernel = {6, 18}},
		 4096,
		 3,
		 64722,
		 true,
		 ""},
		{{"e", "ice", 9000, .needs_zerocopy = true,
		  .xdp = {.features = SG, .zc_max_segs = 5}, .kernel = {6, 18}},
		 4096,
		 3,
		 19026,
		 true,
		 ""},
		{{"e", "virtio_net", 9000, .needs_zerocopy = true,
		  .xdp = {.features = SG, .zc_max_segs = 1}, .kernel = {7, 2}},
		 4096,
		 3,
		 3794,
		 false,
		 "zero-copy is required"},
		{{"e", "igb", 1500, .kernel = {7, 2}}, 2048, 2, 998, false, "driver igb does not"},
		{{"e", "igb", 3046, .kernel = {7, 2}}, 4096, 1, 3046, true, ""},
		{{"e", "igb", 3047, .kernel = {7, 2}}, 4096, 2, 3046, false, "driver igb does not"},
		{{"e", "igb", 1500, .is_copied = true, .kernel = {7, 2}}, 2048, 1, 1734, true, ""},
	};
	char why[160];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		const struct shunt_jumbo *j = &cases[i].j;

		cr_expect_eq(shunt_jumbo_frames(j, cases[i].frame_size), cases[i].frames,
			     "case %u: %u frames", i, shunt_jumbo_frames(j, cases[i].frame_size));
		cr_expect_eq(shunt_jumbo_mtu_max(j, cases[i].frame_size), cases[i].mtu_max,
			     "case %u: MTU %u", i, shunt_jumbo_mtu_max(j, cases[i].frame_size));
		cr_expect_eq(shunt_jumbo_works(j, cases[i].frame_size, why, sizeof(why)),
			     cases[i].works, "case %u", i);
		cr_expect(strstr(why, cases[i].why) && !*why == !*cases[i].why, "case %u: %s", i,
			  why);
		/* what is said to fit does */
		struct shunt_jumbo lower = *j;
		lower.mtu = cases[i].mtu_max;
		cr_expect(shunt_jumbo_works(&lower, cases[i].frame_size, why, sizeof(why)),
			  "case %u: %s", i, why);
	}
}
