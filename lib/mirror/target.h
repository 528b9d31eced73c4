/* SPDX-License-Identifier: BSD-2-Clause */
/* From a path to a next hop of the FIB: an adjacency, a weighted group of them, or one of the
 * fixed ones (local, blackhole, ...). A multipath path keeps its group as devices come and go,
 * so its routes need not be touched.
 *
 * All of it: thread control.
 */
#ifndef SHUNT_MIRROR_TARGET_H
#define SHUNT_MIRROR_TARGET_H

#include "mirror/adj.h"
#include "mirror/path.h"

struct shunt_mirror_targets {
	struct shunt_mirror_adjs adjs;
	uint32_t fixed[SHUNT_ADJ_KIND_CNT]; /* next hop of each kind that needs no more; 0: none */
	uint32_t *retired; /* groups that no path has, put when no route leads there any more */
	unsigned retired_cnt, retired_max;
	/* scratch: of the path being worked out */
	uint32_t adj[SHUNT_MIRROR_HOPS_MAX];
	struct shunt_nexthop_member members[SHUNT_MIRROR_HOPS_MAX];
	unsigned cnt;
};

/* shunt_mirror_target_init makes the fixed next hops; targets->adjs has its table, nexthops,
 * port_of and ctx set. Returns 0 or -ENOMEM with *err filled. shunt_mirror_target_fini returns what
 * is left; every path must have been freed (shunt_mirror_target_free). */
int shunt_mirror_target_init(struct shunt_mirror_targets *targets, struct shunt_err *err);
void shunt_mirror_target_fini(struct shunt_mirror_targets *targets);

/* shunt_mirror_target_update works out path->nh and path->is_usable. Returns 1 when either changed
 * (its routes must be looked at), 0 when not, -ENOMEM. What the path had before stays valid
 * until shunt_mirror_target_reap. */
int shunt_mirror_target_update(struct shunt_mirror_targets *targets,
			       struct shunt_mirror_path *path);

/* shunt_mirror_target_free lets go of what the path has. */
void shunt_mirror_target_free(struct shunt_mirror_targets *targets, struct shunt_mirror_path *path);

/* shunt_mirror_target_reap returns next hops that nothing leads to any more; no route of the FIB
 * may point to what a path had before. */
void shunt_mirror_target_reap(struct shunt_mirror_targets *targets);

#endif
