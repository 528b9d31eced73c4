/* SPDX-License-Identifier: BSD-2-Clause */
/* How many frames a port's longest packet takes, and whether it may take several. It is judged by
 * what the device, the driver and the kernel say; nothing is asked here.
 *
 *     struct shunt_jumbo j = {.ifname = "eth1", .driver = "igb", .mtu = 9000, .kernel = {6, 18}};
 *     if (shunt_jumbo_frames(&j, 4096) > 1 && !shunt_jumbo_works(&j, 4096, why, sizeof(why)))
 *             ... why, and shunt_jumbo_mtu_max(&j, 4096) is what fits
 */
#ifndef SHUNT_PORT_JUMBO_H
#define SHUNT_PORT_JUMBO_H

#include <stdbool.h>
#include <stdint.h>

#include "device/kernel.h"
#include "device/netdev_xdp.h"

struct shunt_jumbo {
	const char *ifname, *driver;
	uint32_t mtu;
	bool is_generic;     /* the XDP program is to run in the stack */
	bool is_copied;	     /* copy mode was asked for */
	bool needs_zerocopy; /* nothing but zero-copy will do */
	struct shunt_netdev_xdp xdp;
	struct shunt_kernel kernel;
};

/* shunt_jumbo_packet returns the port's longest packet in bytes, as its driver counts. Thread:
 * any. */
uint32_t shunt_jumbo_packet(const struct shunt_jumbo *jumbo);

/* shunt_jumbo_room returns the longest packet, in bytes without FCS, that one frame of frame_size
 * bytes holds. shunt_jumbo_frames returns how many the port's longest packet takes. Thread: any. */
uint32_t shunt_jumbo_room(const struct shunt_jumbo *jumbo, uint32_t frame_size);
uint32_t shunt_jumbo_frames(const struct shunt_jumbo *jumbo, uint32_t frame_size);

/* shunt_jumbo_works says whether the port's longest packet can be forwarded in frames of that size.
 * Returns true, or false with the reason in why, a clause without a full stop. Thread: any. */
bool shunt_jumbo_works(const struct shunt_jumbo *jumbo, uint32_t frame_size, char *why,
		       unsigned len);

/* shunt_jumbo_limit writes one clause to text: the largest MTU that works, and why no larger
 * one does. Thread: any. */
void shunt_jumbo_limit(const struct shunt_jumbo *jumbo, uint32_t frame_size, char *text,
		       unsigned len);

/* shunt_jumbo_mtu_max returns the largest MTU that does work. Thread: any. */
uint32_t shunt_jumbo_mtu_max(const struct shunt_jumbo *jumbo, uint32_t frame_size);

#endif
