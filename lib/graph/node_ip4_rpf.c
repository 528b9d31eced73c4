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

/* In the place of a next hop: only the kernel knows the way back. */
#define UNKNOWN UINT32_MAX

static inline bool is_plain(const struct shunt_ip *state, uint32_t nh, uint32_t own, uint8_t check)
{
	const struct shunt_adj *adj;

	if (nh == UNKNOWN)
		return false;
	adj = shunt_nexthop_adj(state->tables.nexthops, nh, 0);
	if (check == SHUNT_SOURCE_NOT_LOCAL)
		return adj->kind != SHUNT_ADJ_LOCAL;
	return adj->kind == SHUNT_ADJ_REWRITE &&
	       shunt_devices_exit(state->tables.devices, adj) == own;
}

/* By the routes that packets go by which come in by what this one leaves by. */
static uint32_t find_far(const struct shunt_ip *state, uint32_t out_nh, uint32_t src_be)
{
	const struct shunt_nexthops *const nexthops = state->tables.nexthops;
	const struct shunt_adj *adj = shunt_nexthop_adj(nexthops, out_nh, 0);

	if (shunt_nexthop_slot(nexthops, out_nh) & SHUNT_NEXTHOP_GROUP ||
	    adj->space == SHUNT_ADJ_NO_SPACE)
		return UNKNOWN;
	return shunt_fib4_lookup(shunt_fib4_space(state->tables.fib4, adj->space), src_be);
}

/* nh[i]: the next hop on the way back to packet i's source. far: of which it is looked up so, where
 * that is not so of none or all. */
static void find_back(const struct shunt_node *node, const struct shunt_pkt *pkts, uint32_t *nh,
		      unsigned cnt, const bool *far, bool any_far, bool all_far)
{
	uint32_t addr_be[SHUNT_BATCH_MAX], out_nh[SHUNT_BATCH_MAX];
	unsigned i;

	addr_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; any_far && i < cnt; i++)
		addr_be[i] = shunt_ip_load32(shunt_ip_header(node, &pkts[i]) + 16);
	if (any_far)
		shunt_ip4_find(node, pkts, addr_be, out_nh, cnt);
	for (i = 0; i < cnt; i++)
		addr_be[i] = shunt_ip_load32(shunt_ip_header(node, &pkts[i]) + 12);
	if (!all_far)
		shunt_ip4_find(node, pkts, addr_be, nh, cnt);
	for (i = 0; any_far && i < cnt; i++)
		if (all_far || far[i])
			nh[i] = find_far(node->priv, out_nh[i], addr_be[i]);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *state = node->priv;
	const struct shunt_port_live *live = &state->tables.live[pkts[0].port];
	const uint8_t check = __atomic_load_n(&live->rpf4, __ATOMIC_RELAXED);
	const bool is_far = __atomic_load_n(&live->is_far4, __ATOMIC_RELAXED);
	const uint32_t own = __atomic_load_n(&live->own, __ATOMIC_RELAXED);
	uint32_t nh[SHUNT_BATCH_MAX];
	unsigned i, bad = 0;

	find_back(node, pkts, nh, cnt, NULL, is_far, is_far);
	for (i = 0; i < cnt; i++) {
		next[i] = state->on;
		if (unlikely(!is_plain(state, nh[i], own, check))) {
			next[i] = shunt_ip_punt(state, &pkts[i], SHUNT_PUNT_rp_filter);
			bad = 1;
		}
	}
	return likely(!bad) ? state->on : SHUNT_NEXT_EACH;
}

static uint8_t check_of(uint32_t flags)
{
	return flags & SHUNT_TABLES_RPF4       ? SHUNT_SOURCE_RPF
	       : flags & SHUNT_TABLES_NO_LOCAL ? SHUNT_SOURCE_NOT_LOCAL
					       : SHUNT_SOURCE_ANY;
}

/* By devices above a port: each has its own way of looking. */
static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	const struct shunt_ip *state = node->priv;
	uint32_t nh[SHUNT_BATCH_MAX], flags = 0, any = 0;
	uint8_t checks[SHUNT_BATCH_MAX];
	uint32_t device = 0; /* that flags are of; 0 is none's number */
	bool far[SHUNT_BATCH_MAX];
	unsigned i, bad = 0;

	for (i = 0; i < cnt; i++) {
		const struct shunt_tag *tag = shunt_tag_of(shunt_pkt_data(&pkts[i], node->mem));

		if (tag->device != device) {
			device = tag->device;
			flags = __atomic_load_n(
				&shunt_devices_at(state->tables.devices, device)->flags,
				__ATOMIC_RELAXED);
			any |= flags;
		}
		checks[i] = check_of(flags);
		far[i] = flags & SHUNT_TABLES_FAR;
	}
	if (!check_of(any))
		return state->on;
	find_back(node, pkts, nh, cnt, far, any & SHUNT_TABLES_FAR, false);
	for (i = 0; i < cnt; i++) {
		const uint8_t *frame = shunt_pkt_data(&pkts[i], node->mem);
		const uint32_t own = SHUNT_ADJ_TAGGED + shunt_tag_of(frame)->device;

		next[i] = state->on;
		if (unlikely(checks[i] && !is_plain(state, nh[i], own, checks[i]))) {
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
