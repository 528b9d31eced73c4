/* SPDX-License-Identifier: BSD-2-Clause */
/* What a worker tells the follower (engine/follower.h): this station was heard on that port. A ring
 * with one writer and one reader, for each worker. The follower learns, and not the worker, because
 *  - a table with one writer needs no lock;
 *  - the kernel's bridge must be told as well;
 *  - stations that move, or are invented by an attacker, must not slow the data path down: a
 *    bounded number is told in a millisecond, the rest is counted and heard again later.
 *
 *	shunt_learn_init(&learn, &err);
 *	shunt_learn_put(&learn, key, port, now_ns);         worker
 *	shunt_learn_kick(&learn);                           worker, once a batch
 *	poll learn.fd; while (shunt_learn_take(&learn, &told)) ...     follower
 */
#ifndef SHUNT_GRAPH_LEARN_H
#define SHUNT_GRAPH_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define SHUNT_LEARN_LEN	   4096u
#define SHUNT_LEARN_RECENT 1024u

/* Stations told in a millisecond: 100,000 new ones are known after 0.4 s. More: an attacker could
 * keep the follower busy. */
#define SHUNT_LEARN_PER_MS 256u

/* Counters of a worker's bridging: one writer, the worker. name, help */
#define SHUNT_LEARN_COUNTERS(X)                                                  \
	X(told, "stations told to the follower, new or moved")                   \
	X(limited, "not told: more new or moved stations than the limit allows") \
	X(lost, "not told: the follower did not keep up")                        \
	X(floods, "frames flooded: to a group, or to a station not known")       \
	X(unknown, "of these, to a station not known")                           \
	X(copies, "frames made for flooding, beside the one that came in")       \
	X(copies_missing, "copies not made, for want of free frames: ports left out")

struct shunt_learn_stats {
#define X(name, help) uint64_t name;
	SHUNT_LEARN_COUNTERS(X)
#undef X
};

struct shunt_told {
	uint64_t key; /* of fib/mac.h */
	uint32_t port;
};

struct shunt_learn_recent {
	uint64_t key;
	uint64_t at_ns;
	uint32_t port;
};

struct shunt_learn {
	/* the worker's */
	uint32_t head SHUNT_CACHE_ALIGNED;
	uint32_t budget;
	uint64_t budget_ns; /* when it was full */
	struct shunt_learn_stats stats;
	struct shunt_learn_recent recent[SHUNT_LEARN_RECENT]; /* told in this millisecond */
	struct shunt_told ring[SHUNT_LEARN_LEN];
	/* the follower's */
	uint32_t tail SHUNT_CACHE_ALIGNED;
	bool awake; /* no need to kick: it will look again */
	int fd;	    /* eventfd */
};

/* shunt_learn_init makes an empty ring with its eventfd. Returns 0 or -errno with err set.
 * shunt_learn_fini: legal after a failed init. Thread: control. */
int shunt_learn_init(struct shunt_learn *learn, struct shunt_err *err);
void shunt_learn_fini(struct shunt_learn *learn);

/* shunt_learn_put tells of a station, unless that was done in this millisecond of now_ns.
 * Thread: owner worker. Cost: packet. */
void shunt_learn_put(struct shunt_learn *learn, uint64_t key, unsigned port, uint64_t now_ns);

/* shunt_learn_kick wakes the follower if it sleeps. Thread: owner worker. Cost: a syscall
 * at most for each time that it goes to sleep. */
void shunt_learn_kick(struct shunt_learn *learn);

/* shunt_learn_take takes the oldest message. Returns false when there is none: then the next
 * put kicks. shunt_learn_hush clears the eventfd, before taking. Thread: the follower. */
bool shunt_learn_take(struct shunt_learn *learn, struct shunt_told *told);
void shunt_learn_hush(struct shunt_learn *learn);

#endif
