/* SPDX-License-Identifier: BSD-2-Clause */
/* How many connections there may be; and what approved ones carry, counted by the steering programs
 * of all ports together, by direction (bpf/steer/flow_count.bpf.h). Where a kernel lacks per-CPU
 * LRU maps, or memory, there is none.
 *
 * Source: Documentation/bpf/map_hash.rst, BPF_MAP_TYPE_LRU_PERCPU_HASH. */
#ifndef SHUNT_XDP_FLOW_COUNT_H
#define SHUNT_XDP_FLOW_COUNT_H

#include <stdbool.h>

#include "base/err.h"
#include "shunt_count.h"
#include "shunt_flow.h"

struct shunt_xdp_flow_counts;

/* shunt_xdp_flow_limit returns how many connections the kernel tracks at once (nf_conntrack_max;
 * unknown: 262144, a large host's), max where that is more. Thread: any. */
unsigned shunt_xdp_flow_limit(unsigned max);

/* shunt_xdp_flow_counts_create makes room for so many directions. The kernel takes 112 bytes
 * and 16 a CPU for each. Returns 0, or -errno with err set and *out NULL. Its destroy takes NULL,
 * after the programs that count. Thread: init, control. */
int shunt_xdp_flow_counts_create(struct shunt_xdp_flow_counts **out, unsigned cnt,
				 struct shunt_err *err);
void shunt_xdp_flow_counts_destroy(struct shunt_xdp_flow_counts *counts);

/* shunt_xdp_flow_counts_read says what a direction has carried; zeros where nothing was counted.
 * Thread: control. Cost: a syscall. */
struct shunt_count shunt_xdp_flow_counts_read(const struct shunt_xdp_flow_counts *counts,
					      const struct shunt_flow_key *key);

#endif
