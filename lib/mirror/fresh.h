/* SPDX-License-Identifier: BSD-2-Clause */
/* Until when a netlink socket's reader has heard everything. Where the socket is empty, that is
 * now. While a dump is under way it is not empty for seconds: the kernel makes a part of the dump
 * at most each time that the socket is read, and puts it behind the events that came by then. So
 * the reader that gets to part number k has heard all that happened before its k-th read.
 *
 *	shunt_mirror_fresh_begin(&fresh, now_ns);	before a dump is asked for
 *	shunt_mirror_fresh_read(&fresh, now_ns);	after a read that brought something; the
 *							time is that before the read
 *	shunt_mirror_fresh_part(&fresh);		that was a part of the dump
 *	shunt_mirror_fresh_empty(&fresh, now_ns);	after a read that brought nothing
 *	fresh.heard_ns
 *
 * Limits: behind SHUNT_MIRROR_READS_MAX parts that wait, the time stands still until the dump ends
 * or the socket is empty. For mirror.c. Thread: the mirror's. */
#ifndef SHUNT_MIRROR_FRESH_H
#define SHUNT_MIRROR_FRESH_H

#include <stdbool.h>
#include <stdint.h>

#define SHUNT_MIRROR_READS_MAX 1024u

struct shunt_mirror_fresh {
	uint64_t heard_ns; /* CLOCK_MONOTONIC; 0: never */
	/* of the dump under way: times of reads whose part has not come yet */
	uint64_t reads_ns[SHUNT_MIRROR_READS_MAX];
	uint32_t read_cnt, part_cnt;
	bool is_lost; /* there were more */
};

void shunt_mirror_fresh_begin(struct shunt_mirror_fresh *fresh, uint64_t now_ns);
void shunt_mirror_fresh_read(struct shunt_mirror_fresh *fresh, uint64_t now_ns);
void shunt_mirror_fresh_part(struct shunt_mirror_fresh *fresh);
void shunt_mirror_fresh_empty(struct shunt_mirror_fresh *fresh, uint64_t now_ns);

#endif
