/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP in bulk on a veth, whose sender leaves the cutting into segments to a device (TSO), as it
 * does where no XDP program keeps it from that: the kernel forwards 64 KiB at a time then, which no
 * program that sees each segment comes near. Lane auto leaves such a port to the kernel, its
 * program goes meanwhile (suspend.h), and comes back when packets no longer come so.
 *
 * Seen from outside: with the program, by segments whose checksum was left to a device; without it,
 * by packets longer than the MTU allows. */
#ifndef SHUNT_LANE_BULK_H
#define SHUNT_LANE_BULK_H

#include <stdbool.h>
#include <stdint.h>

struct shunt_engine;

struct shunt_bulk { /* all zeros: none was seen */
	bool is_seen;
	bool is_right;	    /* packets longer than the MTU came then */
	bool has_before;    /* the counts below are of the latest second */
	unsigned agree_cnt; /* seconds in a row that speak for the other */
	uint32_t hold_s;    /* after it ended, how long it is not believed again; */
	uint64_t hold_ns;   /* until then, of shunt_clock_ns */
	uint64_t segment_cnt;
	uint64_t packet_cnt, byte_cnt;
};

/* shunt_bulk_tick closes a second of every port. Thread: control, every second, before lanes are
 * chosen. Cost: no syscall; a netlink exchange for a port whose bulk was seen. */
void shunt_bulk_tick(struct shunt_engine *engine);

#endif
