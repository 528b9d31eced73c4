// SPDX-License-Identifier: BSD-2-Clause
#include "port/jumbo.h"

#include <net/ethernet.h>
#include <stdio.h>

#include "device/driver.h"
#include "io/chain.h"
#include "io/queue.h"

/* A generic program gets what the stack has, whatever the driver's own XDP takes. */
static const struct shunt_driver *driver_of(const struct shunt_jumbo *j)
{
	return shunt_driver_of(j->is_generic ? "" : j->driver);
}

static uint32_t overhead_of(const struct shunt_jumbo *j)
{
	return ETHER_HDR_LEN + driver_of(j)->xdp_overhead;
}

uint32_t shunt_jumbo_packet(const struct shunt_jumbo *j)
{
	return j->mtu + overhead_of(j);
}

uint32_t shunt_jumbo_room(const struct shunt_jumbo *j, uint32_t frame_size)
{
	const uint32_t room = frame_size - SHUNT_FRAME_OVERHEAD;

	if (!driver_of(j)->xdp_len_max)
		return room;
	/* with zero-copy its device writes whole KiB */
	return j->is_copied ? SHUNT_MIN(room, driver_of(j)->xdp_len_max) : room & ~1023u;
}

uint32_t shunt_jumbo_frames(const struct shunt_jumbo *j, uint32_t frame_size)
{
	const uint32_t room = shunt_jumbo_room(j, frame_size);

	return (shunt_jumbo_packet(j) + room - 1) / room;
}

/* Frames of one packet that can be had: 1 where there is no more, with the reason. */
static uint32_t frames_max(const struct shunt_jumbo *j, char *why, unsigned len)
{
	uint32_t max;

	if (!shunt_kernel_has(&j->kernel, SHUNT_KERNEL_xsk_sg)) {
		snprintf(why, len, "packets over several frames need %s, and this is %u.%u",
			 shunt_kernel_since(SHUNT_KERNEL_xsk_sg), j->kernel.major, j->kernel.minor);
		return 1;
	}
	if (!j->is_generic && !(j->xdp.features & SHUNT_NETDEV_XDP_rx_sg)) {
		snprintf(why, len, "the driver %s does not receive packets over several frames",
			 j->driver);
		return 1;
	}
	if (j->needs_zerocopy && j->xdp.zc_max_segs < 2) {
		snprintf(why, len,
			 "the driver %s has packets over several frames in copy mode only, and "
			 "zero-copy is required",
			 j->driver);
		return 1;
	}
	max = j->needs_zerocopy ? SHUNT_MIN(j->xdp.zc_max_segs, SHUNT_CHAIN_MAX) : SHUNT_CHAIN_MAX;
	snprintf(why, len, "a packet may take %u frames", max);
	return max;
}

bool shunt_jumbo_works(const struct shunt_jumbo *j, uint32_t frame_size, char *why, unsigned len)
{
	const uint32_t frames = shunt_jumbo_frames(j, frame_size);

	why[0] = 0;
	if (frames == 1 || frames <= frames_max(j, why, len)) {
		why[0] = 0;
		return true;
	}
	return false;
}

void shunt_jumbo_limit(const struct shunt_jumbo *j, uint32_t frame_size, char *text, unsigned len)
{
	char why[160];

	frames_max(j, why, sizeof(why));
	snprintf(text, len, "MTU up to %u: a frame of %u holds %u bytes, and %s",
		 shunt_jumbo_mtu_max(j, frame_size), frame_size, shunt_jumbo_room(j, frame_size),
		 why);
}

uint32_t shunt_jumbo_mtu_max(const struct shunt_jumbo *j, uint32_t frame_size)
{
	char why[160];

	return frames_max(j, why, sizeof(why)) * shunt_jumbo_room(j, frame_size) - overhead_of(j);
}
