// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 lookup: destination to adjacency, a whole batch at a time so that the cache misses of
 * its packets overlap. The flow hash is computed for groups only. */
#include "fib/flow.h"
#include "graph/ip.h"

static inline unsigned look_up(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			       uint16_t *next, const bool is_counted)
{
	uint32_t dst_be[SHUNT_BATCH_MAX], nh[SHUNT_BATCH_MAX];
	unsigned i;

	dst_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		dst_be[i] = pkts[i].dst_be;
	shunt_ip4_find(node, pkts, dst_be, nh, cnt);
	return shunt_ip_choose(node, pkts, cnt, next, nh, shunt_flow4_hash, is_counted);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return look_up(node, pkts, cnt, next, false);
}

static unsigned run_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			    uint16_t *next)
{
	return look_up(node, pkts, cnt, next, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	if (((const struct shunt_ip_params *)params)->counts)
		node->fn = run_counted;
	return shunt_ip_init(node, params, "ip4_rewrite", err);
}

const struct shunt_node_type shunt_node_ip4_lookup = {
	.name = "ip4_lookup",
	.help = "IPv4: longest prefix match, and the flow's path where a route has several",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
