// SPDX-License-Identifier: BSD-2-Clause
/* IPv6 lookup: destination to adjacency, a whole batch at a time. */
#include "fib/flow.h"
#include "graph/ip.h"

static inline unsigned look_up(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			       uint16_t *next, const bool is_counted)
{
	uint32_t nh[SHUNT_BATCH_MAX];
	uint8_t dst[SHUNT_BATCH_MAX][16];
	unsigned i;

	dst[0][0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		memcpy(dst[i], shunt_ip_header(node, &pkts[i]) + 24, sizeof(dst[i]));
	shunt_ip6_find(node, pkts, (const uint8_t(*)[16])dst, nh, cnt);
	return shunt_ip_choose(node, pkts, cnt, next, nh, shunt_flow6_hash, is_counted);
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
	return shunt_ip_init(node, params, "ip6_rewrite", err);
}

const struct shunt_node_type shunt_node_ip6_lookup = {
	.name = "ip6_lookup",
	.help = "IPv6: longest prefix match, and the flow's path where a route has several",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
