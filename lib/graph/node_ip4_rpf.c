// SPDX-License-Identifier: BSD-2-Clause
/* Reverse path filter (RFC 3704): on ports with rp_filter, a packet goes on if the route back
 * to its source leaves by the port it came in on. Every other case (no route, several paths,
 * another port in loose mode) is punted, and the kernel decides (fib_validate_source).
 *
 * Without rp_filter the kernel looks sources up only where routes of type local were added by hand
 * (fib_has_custom_local_routes): then packets whose source is routed to this host are punted.
 */
#include "graph/ip.h"
#include "shunt_tables.h"

static inline bool is_plain(const struct shunt_adj *adj, uint32_t own, uint8_t check)
{
	if (check == SHUNT_SOURCE_NOT_LOCAL)
		return adj->kind != SHUNT_ADJ_LOCAL;
	return adj->kind == SHUNT_ADJ_REWRITE && shunt_adj_exit(adj) == own;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *state = node->priv;
	const struct shunt_port_live *live = &state->tables.live[pkts[0].port];
	const uint8_t check = __atomic_load_n(&live->rpf4, __ATOMIC_RELAXED);
	const uint32_t own = __atomic_load_n(&live->own, __ATOMIC_RELAXED);
	uint32_t src_be[SHUNT_BATCH_MAX], nh[SHUNT_BATCH_MAX];
	unsigned i, bad = 0;

	src_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		src_be[i] = shunt_ip_load32(shunt_ip_header(node, &pkts[i]) + 12);
	shunt_ip4_find(node, pkts, src_be, nh, cnt);
	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj = shunt_nexthop_adj(state->tables.nexthops, nh[i], 0);

		next[i] = state->on;
		if (unlikely(!is_plain(adj, own, check))) {
			next[i] = shunt_ip_punt(state, &pkts[i], SHUNT_PUNT_rp_filter);
			bad = 1;
		}
	}
	return likely(!bad) ? state->on : SHUNT_NEXT_EACH;
}

/* By devices above a port: each has its own way of looking. */
static uint8_t check_of(const struct shunt_ip *state, const struct shunt_tag *tag)
{
	const struct shunt_device *device = shunt_devices_at(state->tables.devices, tag->device);
	const uint32_t flags = __atomic_load_n(&device->flags, __ATOMIC_RELAXED);

	return flags & SHUNT_TABLES_RPF4       ? SHUNT_SOURCE_RPF
	       : flags & SHUNT_TABLES_NO_LOCAL ? SHUNT_SOURCE_NOT_LOCAL
					       : SHUNT_SOURCE_ANY;
}

static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	const struct shunt_ip *state = node->priv;
	uint32_t src_be[SHUNT_BATCH_MAX], nh[SHUNT_BATCH_MAX];
	uint8_t checks[SHUNT_BATCH_MAX], check = 0, any = 0;
	uint32_t device = 0; /* that check is of; 0 is none's number */
	unsigned i, bad = 0;

	for (i = 0; i < cnt; i++) {
		const struct shunt_tag *tag = shunt_tag_of(shunt_pkt_data(&pkts[i], node->mem));

		if (tag->device != device) {
			device = tag->device;
			check = check_of(state, tag);
		}
		checks[i] = check;
		any |= check;
	}
	if (!any)
		return state->on;
	src_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		src_be[i] =
			shunt_ip_load32(shunt_pkt_data(&pkts[i], node->mem) + SHUNT_ETH_LEN + 12);
	shunt_ip4_find(node, pkts, src_be, nh, cnt);
	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj = shunt_nexthop_adj(state->tables.nexthops, nh[i], 0);
		const uint8_t *frame = shunt_pkt_data(&pkts[i], node->mem);
		const uint32_t own = SHUNT_ADJ_TAGGED + shunt_tag_of(frame)->device;

		next[i] = state->on;
		if (unlikely(checks[i] && !is_plain(adj, own, checks[i]))) {
			next[i] = shunt_ip_punt(state, &pkts[i], SHUNT_PUNT_rp_filter);
			bad = 1;
		}
	}
	return likely(!bad) ? state->on : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	if (((const struct shunt_ip_params *)params)->is_above)
		node->fn = run_above;
	return shunt_ip_init(node, params, "ip4_lookup", err);
}

const struct shunt_node_type shunt_node_ip4_rpf = {
	.name = "ip4_rpf",
	.help = "IPv4: sources must be reached by the port they came in on (rp_filter)",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
