/* SPDX-License-Identifier: BSD-2-Clause */
/* What shunt knows of drivers, since no kernel tells it: one row a driver (driver.c), with the
 * source of each fact and the kernel that it was read in. A new NIC is a row. No other file of lib/
 * compares a driver's name. */
#ifndef SHUNT_DEVICE_DRIVER_H
#define SHUNT_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct shunt_driver {
	const char *name; /* as ethtool -i; NULL for one that has no row */
	/* Takes frames that XDP redirects while it has a program of its own. Asked of the kernel
	 * since Linux 6.3; before that this counts. */
	bool takes_redirected;
	/* What is redirected to it leaves without a program of its own. */
	bool sends_bare;
	/* Takes no frame that is redirected from a zero-copy ring: the page that the kernel copies
	 * such a frame into has no room before it. */
	bool lacks_headroom;
	/* What is sent into the device comes out of another: no wire, no zero-copy, no parsing of
	 * tags; the sender may leave checksums, tags and the cutting into segments to a device. */
	bool is_pair;
	/* Its buffers have the room that a generic program wants: no copy is made for it. */
	bool has_generic_room;
	/* Wants as many free queues as are in use before it takes a program. */
	bool wants_half_free;
	/* Its parent has a file of virtio feature bits in sysfs. */
	bool is_virtio;
	/* Linux major.minor since which it has AF_XDP zero-copy, receive and transmit; 0.0: that of
	 * its first version with XDP, or never. */
	unsigned zerocopy_since[2];
	/* Longest frame that its XDP takes, bytes; and with zero-copy its device writes whole KiB;
	 * 0: no limit of its own. */
	uint32_t xdp_len_max;
	/* Bytes that it counts to a packet beside the MTU and the Ethernet header. */
	uint32_t xdp_overhead;
};

/* shunt_driver_of returns the row of the driver of that name; for one without a row all of the
 * facts are false and 0. Never NULL. Thread: any. */
const struct shunt_driver *shunt_driver_of(const char *name);

#endif
