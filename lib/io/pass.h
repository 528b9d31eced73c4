/* SPDX-License-Identifier: BSD-2-Clause */
/* Destinations that a worker leaves to the kernel: it would only hand their frames back. The worker
 * enters them in its queue's slot, and the steering program passes them. bpf/shunt_steer_queue.h
 * has the layout and the rules. Thread: owner worker. */
#ifndef SHUNT_IO_PASS_H
#define SHUNT_IO_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "shunt_steer.h"

/* All zeros: nothing was left yet. */
struct shunt_pass {
	uint64_t until_ns;     /* CLOCK_MONOTONIC: no entry holds any more; 0: there is none */
	uint64_t all_until_ns; /* so long everything is the kernel's; 0: it is not */
	uint64_t since_ns;     /* evictions are counted from then on */
	unsigned evicted_cnt;
};

/* shunt_pass_leave enters the destination of a frame, whose first len bytes are at data, or renews
 * its entry. Where destinations drive each other out, as in a scan, it leaves everything to the
 * kernel for a tenth of a second. Returns false for a frame without addresses. Cost: some loads. */
bool shunt_pass_leave(struct shunt_pass *pass, struct shunt_steer_slot *slot, const uint8_t *data,
		      uint32_t len, uint64_t now_ns);

/* shunt_pass_tick ends what is over; to be called every millisecond or so while anything is left.
 * Cost: a load. */
void shunt_pass_tick(struct shunt_pass *pass, struct shunt_steer_slot *slot, uint64_t now_ns);

#endif
