/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's share of a queue: what the steering program gave to the kernel of all that
 * arrived there. Some of it is always the kernel's (ARP, its own traffic); a queue of which
 * most goes there is served in vain, or not at all. */
#ifndef SHUNT_NOTICE_SHARE_H
#define SHUNT_NOTICE_SHARE_H

#include "engine/engine.h"

struct shunt_share {
	uint64_t forwarded, kernel; /* frames since the program was attached */
	int reason;		    /* why most of the kernel's are its own; -1 without any */
	bool is_large;		    /* at least half, of enough to tell, and nobody chose it so */
};

/* shunt_share_read reads a queue's counters. Thread: control. Cost: a few cache lines. */
void shunt_share_read(const struct shunt_port *port, unsigned queue, struct shunt_share *out);

/* shunt_share_queues returns how many queues of a port are counted apart: served or not.
 * Thread: any. */
unsigned shunt_share_queues(const struct shunt_port *port);

/* shunt_share_sentence says why a large share is as it is, and what helps. Thread: any. */
void shunt_share_sentence(const struct shunt_port *port, unsigned queue,
			  const struct shunt_share *share, struct shunt_err *out);

/* shunt_share_warn writes up to max sentences about queues whose share has become large, each
 * once while the engine lives. Returns how many. Thread: control. */
unsigned shunt_share_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
