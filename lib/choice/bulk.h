/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP in bulk on a veth, as a value. There the sender leaves the cutting into segments to a device
 * (TSO), if no XDP program keeps it from that. The kernel then forwards 64 KiB at a time, and no
 * program that sees each segment comes near that. So lane auto leaves such a port to the kernel and
 * takes its program off (lane/program.h). Both come back when packets no longer come so.
 *
 * It is seen from outside. With the program, it is seen by segments with a checksum that was left
 * to a device; without it, by packets longer than the MTU allows. */
#ifndef SHUNT_CHOICE_BULK_H
#define SHUNT_CHOICE_BULK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts since a port was opened; they only rise. With the program, those of the steering
 * program; without it, those of the device. */
struct shunt_lane_bulk_counts {
	uint64_t packets;
	uint64_t segments; /* with the program: those with a checksum left to a device */
	uint64_t bytes;	   /* without it: of all packets, Ethernet header included */
};

struct shunt_lane_bulk { /* all zeros: none was seen */
	bool is_seen;
	bool is_right;	    /* packets longer than the MTU came then */
	bool has_before;    /* the counts below are of the latest second */
	unsigned agree_cnt; /* seconds in a row that speak for the other */
	uint32_t hold_s;    /* after it ended, how long it is not believed again; */
	uint64_t hold_ns;   /* until then */
	struct shunt_lane_bulk_counts latest;
};

/* shunt_lane_bulk_tick closes a second, at now_ns of CLOCK_MONOTONIC. now: the counts that fit
 * is_seen (the device's where it is, the program's else); mtu: the device's, in bytes.
 * Thread: any. */
void shunt_lane_bulk_tick(struct shunt_lane_bulk *bulk, const struct shunt_lane_bulk_counts *now,
			  uint32_t mtu, uint64_t now_ns);

#endif
