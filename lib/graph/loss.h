/* SPDX-License-Identifier: BSD-2-Clause */
/* What a worker drops or gives to the kernel, by reason, port and device: the VLAN device, bond or
 * bridge above the port that an operator has configured, or the port itself. It is counted where a
 * packet ends, and costs nothing on the way of packets that leave.
 *
 * One thread, the worker, writes a line; others read it at any time. A line is never taken back.
 *
 * Limits: SHUNT_LOSS_LINES lines a worker. What has none is counted by reason alone. */
#ifndef SHUNT_GRAPH_LOSS_H
#define SHUNT_GRAPH_LOSS_H

#include <stdint.h>

#include "base/bytes.h"
#include "graph/drop.h"
#include "graph/punt.h"

/* Enough for a thousand devices with four reasons each; 64 KiB. */
#define SHUNT_LOSS_LINES   4096u
#define SHUNT_LOSS_REASONS 32u

enum shunt_loss_kind {
	SHUNT_LOSS_DROP,	 /* enum shunt_drop; the others: enum shunt_punt */
	SHUNT_LOSS_PUNT,	 /* handed to the kernel */
	SHUNT_LOSS_PUNT_LIMITED, /* over the rate, with nobody to pass it: dropped */
	SHUNT_LOSS_PUNT_FAILED,	 /* dropped, refused by the kernel */
	SHUNT_LOSS_KIND_CNT
};

_Static_assert(SHUNT_DROP_CNT <= SHUNT_LOSS_REASONS && SHUNT_PUNT_CNT <= SHUNT_LOSS_REASONS,
	       "a reason has five bits");

/* What is counted on one line. */
struct shunt_loss {
	uint32_t ifindex; /* of the device; 0: it has none, as a port in memory */
	uint8_t port;	  /* index */
	uint8_t kind;	  /* enum shunt_loss_kind */
	uint8_t reason;
};

struct shunt_loss_line {
	uint64_t key; /* 0: it is free */
	uint64_t count;
};

struct shunt_losses {
	struct shunt_loss_line lines[SHUNT_LOSS_LINES];
	uint64_t rest[SHUNT_LOSS_KIND_CNT][SHUNT_LOSS_REASONS]; /* of what has no line */
};

/* shunt_loss_key returns a loss as a number, which is never 0; shunt_loss_of is the inverse.
 * Thread: any. */
static inline uint64_t shunt_loss_key(const struct shunt_loss *loss)
{
	return (uint64_t)loss->ifindex << 32 | 1u << 24 | (uint32_t)loss->port << 16 |
	       (uint32_t)loss->kind << 8 | loss->reason;
}

static inline struct shunt_loss shunt_loss_of(uint64_t key)
{
	return (struct shunt_loss){.ifindex = (uint32_t)(key >> 32),
				   .port = (uint8_t)(key >> 16),
				   .kind = (uint8_t)(key >> 8),
				   .reason = (uint8_t)key};
}

/* shunt_losses_add counts cnt packets of a key. Thread: owner worker. Cost: packet. */
void shunt_losses_add(struct shunt_losses *losses, uint64_t key, uint64_t cnt);

#endif
