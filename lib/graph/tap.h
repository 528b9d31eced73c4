/* SPDX-License-Identifier: BSD-2-Clause */
/* What a worker shows to taps: packets that it sends, drops or hands back to the kernel. Each tap
 * has a ring for each worker, and a filter, which is asked once a packet. Without a
 * tap that costs a load a batch.
 *
 *	tap = shunt_tap_create(filter, cnt);		control; then ring, ports, snap_len
 *	shunt_tap_add(&graph->taps, tap);
 *	if (unlikely(graph->taps))			the worker
 *		shunt_tap_show(&graph->taps, pool, &batch, pkts, cnt);
 *	shunt_tap_retire(&graph->taps, tap);		control: it is freed when the worker
 *							does not see it any more
 */
#ifndef SHUNT_GRAPH_TAP_H
#define SHUNT_GRAPH_TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu-qsbr.h>

#include "io/pkt.h"
#include "io/pool.h"
#include "tap/ring.h"
#include "tap/sieve.h"

struct shunt_tap {
	struct shunt_tap *next;
	struct shunt_tap_ring ring;
	uint64_t ports;		   /* bits 1 << index of those that are shown */
	uint32_t snap_len;	   /* bytes of a packet */
	struct shunt_sieve *sieve; /* NULL: every packet */
	struct rcu_head rcu;	   /* shunt_tap_retire's */
};

/* What a batch has in common. */
struct shunt_tap_batch {
	enum shunt_tap_place place;
	uint8_t port; /* SENT: that it leaves by. Else each packet's own */
	uint16_t queue;
};

/* shunt_tap_create makes a tap without a ring, with a copy of a valid filter (NULL: every packet).
 * Returns NULL without memory. shunt_tap_destroy frees one that is in no list, and its ring.
 * Thread: control. */
struct shunt_tap *shunt_tap_create(const struct sock_filter *filter, unsigned cnt);
void shunt_tap_destroy(struct shunt_tap *tap);

/* shunt_tap_add puts a tap into a worker's list. shunt_tap_retire takes it out, and destroys it
 * when the worker does not see it any more; it waits for nothing. Thread: control. */
void shunt_tap_add(struct shunt_tap **list, struct shunt_tap *tap);
void shunt_tap_retire(struct shunt_tap **list, struct shunt_tap *tap);

/* shunt_tap_show puts those of the packets into the list's rings that they want. Of packets that
 * are dropped or handed back, reason says why. Thread: owner worker. Cost: packet. */
void shunt_tap_show(struct shunt_tap *const *list, const struct shunt_pool *pool,
		    const struct shunt_tap_batch *batch, const struct shunt_pkt *pkts,
		    unsigned cnt);

#endif
