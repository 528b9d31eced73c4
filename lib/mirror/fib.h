/* SPDX-License-Identifier: BSD-2-Clause */
/* From the mirrored objects to the forwarding table. The table says what changed (its watch);
 * here it is gathered and put into the FIB by shunt_mirror_fib_flush.
 *
 * Of the routes to a prefix, the first usable one counts. Prefixes that a FIB cannot express punt:
 *  - those with a route for one TOS or one source;
 *  - IPv6 prefixes with several routes of equal metric that are not one multipath route.
 * A neighbour is put in as a host route if the longest prefix that covers it is on its link, and it
 * has no route of its own.
 *
 * Where routes are counted, each has an alias of its next hop (fib/nexthop.h).
 *
 * Limit: IPv6 looks through table local first, whatever the prefix lengths; here the longest
 * prefix of both counts. They differ only below a hand-made local route to a whole prefix.
 *
 * All of it: thread control.
 */
#ifndef SHUNT_MIRROR_FIB_H
#define SHUNT_MIRROR_FIB_H

#include "mirror/above.h"
#include "mirror/route.h"
#include "mirror/target.h"
#include "fib/fib4.h"
#include "fib/fib6.h"

struct shunt_mirror_prefix {
	uint8_t dst[16];
	uint8_t len;
	uint8_t rib;
};

/* A neighbour that is in the FIB. */
struct shunt_mirror_host {
	struct shunt_mirror_obj obj;
	uint32_t adj;
	uint8_t rib;
	uint8_t pad[3];
	uint8_t addr[16];
};

struct shunt_mirror_fib {
	struct shunt_mirror_table *table;
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_mirror_targets targets;
	struct shunt_mirror_aboves aboves;
	struct shunt_mirror_store hosts;
	/* prefixes to bring up to date */
	struct shunt_mirror_prefix *dirty;
	uint32_t dirty_cnt, dirty_max, dirty_pos;
	bool are_paths_stale; /* a device or next-hop object changed */
	bool are_hosts_stale; /* a prefix around neighbours changed */
	/* Where neighbours are: a bit for each /16, and for the hash of each /48. */
	uint64_t near[SHUNT_MIRROR_IP_CNT][1024];
	/* the load: routes, longest prefix first */
	uint32_t *order;
	uint32_t order_cnt, order_pos;
	unsigned order_rib;
	uint32_t policy_changes; /* of the table, when last looked at */
	bool is_on;		 /* changes go to the FIB */
	bool is_loading;
	bool is_failed;	  /* out of memory since the last load */
	uint64_t updates; /* of the FIB's routes */
};

struct shunt_mirror_opts;

/* shunt_mirror_fib_init ties the table to the FIB of opts (mirror/mirror.h); it sets the table's
 * watch. Until shunt_mirror_fib_load nothing is put in. Returns 0 or -ENOMEM with *err filled. */
int shunt_mirror_fib_init(struct shunt_mirror_fib *fib, struct shunt_mirror_table *table,
			  const struct shunt_mirror_opts *opts, struct shunt_err *err);

/* shunt_mirror_fib_fini takes every route out of the FIB again and lets go of its next hops. */
void shunt_mirror_fib_fini(struct shunt_mirror_fib *fib);

/* shunt_mirror_fib_load begins to put everything in, the longest prefixes first, so that at no
 * time a lookup finds a shorter prefix than it should. The table must not change until
 * shunt_mirror_fib_flush has returned 0. */
void shunt_mirror_fib_load(struct shunt_mirror_fib *fib);

/* shunt_mirror_fib_flush puts up to budget changes in. Returns 1 when there are more, 0 when the
 * FIB is up to date, -ENOMEM when memory ran out: then everything has been taken out. */
int shunt_mirror_fib_flush(struct shunt_mirror_fib *fib, uint32_t budget);

/* shunt_mirror_fib_withdraw takes every route out, the shortest first, until the next load:
 * when the mirror itself is not complete. */
void shunt_mirror_fib_withdraw(struct shunt_mirror_fib *fib);

/* shunt_mirror_fib_put makes want the next hop of the route to a prefix; 0: there is to be none.
 * shunt_mirror_fib_add does so where the FIB has none yet. shunt_mirror_fib_drop takes the route
 * out, if the FIB has it. Each returns 0 or -ENOMEM. */
int shunt_mirror_fib_put(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			 unsigned len, uint32_t want);
int shunt_mirror_fib_add(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			 unsigned len, uint32_t want);
int shunt_mirror_fib_drop(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			  unsigned len);

/* shunt_mirror_fib_open_spaces makes room for the routes of tables that are wanted since the last
 * call (mirror/space.h). Returns a bit for each: they are to be dumped. shunt_mirror_fib_end_spaces
 * says of spaces whose routes are all known that the FIB has them, where it has all that is known.
 */
uint32_t shunt_mirror_fib_open_spaces(struct shunt_mirror_fib *fib);
void shunt_mirror_fib_end_spaces(struct shunt_mirror_fib *fib);

static inline bool shunt_mirror_fib_has_work(const struct shunt_mirror_fib *fib)
{
	return fib->is_loading ||
	       (fib->is_on && (fib->dirty_cnt || fib->are_paths_stale || fib->are_hosts_stale ||
			       fib->policy_changes != fib->table->policy_changes));
}

#endif
