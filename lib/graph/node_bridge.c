// SPDX-License-Identifier: BSD-2-Clause
/* Learning bridge (IEEE 802.1Q, 8.6 to 8.8, as Linux does it): the source is learned, the
 * destination looked up; what is not known and what goes to a group is flooded, by copies, to the
 * bridge's other ports. In a bridge that keeps VLANs apart only what goes to a known station is
 * done here, all else is the kernel's.
 *
 * Three passes over the batch: the frames' first lines are fetched, then both addresses are hashed
 * and their lines of the table fetched, then each frame's output is decided. With 100,000 stations
 * the table fills an L2 cache, and misses there are most of the cost: the passes let them overlap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/nodes.h"
#include "graph/retag.h"
#include "io/chain.h"
#include "shunt_steer_mac.h"

/* Frames ahead whose header line is fetched while addresses are hashed. */
#define PREFETCH_AHEAD	8u

/* Of the pool's frames, flooding leaves so many to receive and unicast: one in 16. */
#define RESERVE_DIVISOR 16u

struct addresses {
	uint64_t dst, src; /* hashes */
	uint64_t src_key;
	bool is_group;
	bool is_bad;  /* the source is no station's */
	uint16_t vid; /* of a bridge that keeps VLANs apart; 0: only the kernel knows */
};

struct bridge {
	struct shunt_bridge_params params;
	uint16_t tx[SHUNT_PORT_MAX];
	uint16_t punt; /* the drop node where there is none */
	uint32_t reserve;
	struct addresses addresses[SHUNT_BATCH_MAX];
};

/* One turn's view of a batch: all its packets came in on one port. */
struct batch {
	struct shunt_node *node;
	struct bridge *br;
	uint64_t outputs; /* ports that a frame can leave by */
	uint64_t unknown; /* of these, where unknown stations are looked for */
	uint64_t now_ns;
	unsigned port;
	bool learns, told;
	bool is_foreign; /* the kernel's bridge has ports of its own: it floods */
	bool is_over;	 /* it can flood what the worker has no frames for */
};

/* --- addresses -------------------------------------------------------------------------------- */

/* group: as shunt_mac_group has it. */
static inline void read_addresses(const struct bridge *br, const uint8_t *data, unsigned group,
				  struct addresses *a)
{
	const struct shunt_mac_table *macs = br->params.macs;
	uint64_t src = shunt_mac_key(data + 6, 0);

	a->is_group = data[0] & 1;
	a->is_bad = (data[6] & 1) | !src;
	a->src_key = src | (uint64_t)group << 48;
	a->src = shunt_mac_hash(macs, a->src_key);
	a->dst = shunt_mac_hash(macs, shunt_mac_key(data, group));
	shunt_mac_prefetch(macs, a->src);
	shunt_mac_prefetch(macs, a->dst);
}

/* The VLAN that a frame is of, and allowed in (br_allowed_ingress); 0: none, or only the kernel
 * knows. To a bridge of 802.1Q tags another kind of tag is part of what an untagged frame carries.
 */
static inline uint16_t read_vid(const struct batch *b, const struct shunt_pkt *pkt)
{
	const struct shunt_steer_vlans *vlans = b->br->params.vlans;
	const uint8_t *frame = shunt_pkt_data(pkt, b->node->mem);
	const unsigned tag = shunt_retag_vid(frame);
	const unsigned vid = tag ? tag : __atomic_load_n(&vlans->pvids[b->port], __ATOMIC_RELAXED);
	const uint64_t members = __atomic_load_n(&vlans->at[vid].members, __ATOMIC_RELAXED);

	return likely(members >> b->port & 1 && pkt->len >= SHUNT_ETH_LEN + SHUNT_TAG_LEN)
		       ? (uint16_t)vid
		       : 0;
}

/* Both halves of a batch's way are called from two places. The compiler would leave them apart,
 * with the batch in memory. */
#define STRAIGHT static inline __attribute__((always_inline))

STRAIGHT void read_batch(const struct batch *b, const struct shunt_pkt *pkts, unsigned cnt,
			 const bool filters)
{
	struct bridge *br = b->br;
	unsigned bridge = br->params.bridge[b->port], group = bridge, i;
	uint8_t *mem = b->node->mem;

	for (i = 0; i < SHUNT_MIN(cnt, PREFETCH_AHEAD); i++)
		__builtin_prefetch(shunt_pkt_data(&pkts[i], mem));
	for (i = 0; i < cnt; i++) {
		if (i + PREFETCH_AHEAD < cnt)
			__builtin_prefetch(shunt_pkt_data(&pkts[i + PREFETCH_AHEAD], mem));
		if (filters) {
			br->addresses[i].vid = read_vid(b, &pkts[i]);
			group = shunt_mac_group(bridge, br->addresses[i].vid);
		}
		read_addresses(br, shunt_pkt_data(&pkts[i], mem), group, &br->addresses[i]);
	}
}

/* 01:80:c2:00:00:00 to 0f (8.6.3): never leaves the link. */
static bool is_reserved(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {0x01, 0x80, 0xc2, 0, 0};

	return !memcmp(mac, prefix, sizeof(prefix)) && (mac[5] & 0xf0) == 0;
}

/* --- flooding --------------------------------------------------------------------------------- */

static uint16_t to_host(const struct batch *b, struct shunt_pkt *pkt)
{
	bool can_punt = b->br->punt != b->node->graph->drop_node;

	pkt->reason = can_punt ? (uint8_t)SHUNT_PUNT_bridge : (uint8_t)SHUNT_DROP_to_host;
	return b->br->punt;
}

/* A copy for a port, unless frames are short: then the port is left out, and that is counted. */
static void flood_copy(struct batch *b, const struct shunt_pkt *pkt, unsigned port)
{
	struct shunt_learn_stats *stats = &b->br->params.learn->stats;
	struct shunt_pool *pool = b->node->graph->pool;
	struct shunt_pkt copy;

	if (pool->free_cnt <= b->br->reserve || !shunt_chain_clone(pool, pkt, &copy)) {
		shunt_counter_add(&stats->copies_missing, 1);
		return;
	}
	shunt_counter_add(&stats->copies, 1);
	shunt_graph_inject(b->node->graph, b->br->tx[port], &copy, 1);
}

/* Whether there are frames for all copies, before the first is made. */
static bool has_copies(const struct batch *b, const struct shunt_pkt *pkt, uint64_t outputs)
{
	const struct shunt_pool *pool = b->node->graph->pool;
	const unsigned cnt = (unsigned)__builtin_popcountll(outputs);
	const uint32_t each =
		shunt_chain_is(pool, pkt) ? shunt_chain_link(pool, pkt->addr)->cnt : 1;

	return cnt < 2 || pool->free_cnt > b->br->reserve + (cnt - 1) * each;
}

/* Copies for all outputs but the last, which gets the frame itself. Returns its node. Where the
 * kernel's bridge can flood, it does when frames are short: to all ports, and not to some. */
static uint16_t flood(struct batch *b, struct shunt_pkt *pkt, bool is_group)
{
	struct shunt_learn_stats *stats = &b->br->params.learn->stats;
	uint64_t left = is_group ? b->outputs : b->unknown;

	if (b->is_over && unlikely(!has_copies(b, pkt, left)))
		return to_host(b, pkt);
	shunt_counter_add(&stats->floods, 1);
	shunt_counter_add(&stats->unknown, !is_group);
	if (!left) {
		pkt->reason = SHUNT_DROP_no_output;
		return b->node->graph->drop_node;
	}
	while (left & (left - 1)) {
		flood_copy(b, pkt, (unsigned)__builtin_ctzll(left));
		left &= left - 1;
	}
	return b->br->tx[__builtin_ctzll(left)];
}

/* --- decisions -------------------------------------------------------------------------------- */

static uint16_t drop(const struct batch *b, struct shunt_pkt *pkt, enum shunt_drop reason)
{
	pkt->reason = (uint8_t)reason;
	return b->node->graph->drop_node;
}

/* Destinations other than a known station behind a port that forwards. */
static uint16_t go_unusual(struct batch *b, struct shunt_pkt *pkt, const struct addresses *a,
			   unsigned port)
{
	if (a->is_group && is_reserved(shunt_pkt_data(pkt, b->node->mem)))
		return drop(b, pkt, SHUNT_DROP_reserved_group);
	if (a->is_group)
		return flood(b, pkt, true);
	if (port == SHUNT_MAC_HOST || (port == SHUNT_MAC_NONE && b->is_foreign))
		return to_host(b, pkt);
	if (port == SHUNT_MAC_NONE)
		return flood(b, pkt, false);
	return drop(b, pkt, port == b->port ? SHUNT_DROP_same_port : SHUNT_DROP_port_blocked);
}

static inline uint16_t decide(struct batch *b, struct shunt_pkt *pkt, const struct addresses *a)
{
	const struct shunt_bridge_params *p = &b->br->params;
	unsigned port;

	if (unlikely(a->is_bad))
		return drop(b, pkt, SHUNT_DROP_bad_source);
	if (unlikely(!shunt_mac_heard(p->macs, a->src, b->port)) && b->learns) {
		shunt_learn_put(p->learn, a->src_key, b->port, b->now_ns);
		b->told = true;
	}
	port = shunt_mac_lookup(p->macs, a->dst);
	/* SHUNT_MAC_HOST and _NONE are above SHUNT_PORT_MAX. */
	if (likely(!a->is_group && port < SHUNT_PORT_MAX && b->outputs >> port & 1))
		return b->br->tx[port];
	return go_unusual(b, pkt, a, port);
}

static unsigned run_blocked(struct batch *b, struct shunt_pkt *pkts, unsigned cnt)
{
	const struct shunt_bridge_params *p = &b->br->params;
	unsigned i;

	for (i = 0; b->learns && i < cnt; i++) {
		const struct addresses *a = &b->br->addresses[i];

		if (a->is_bad || shunt_mac_heard(p->macs, a->src, b->port))
			continue;
		shunt_learn_put(p->learn, a->src_key, b->port, b->now_ns);
		b->told = true;
	}
	shunt_graph_set_reason(pkts, cnt, SHUNT_DROP_port_blocked);
	return b->node->graph->drop_node;
}

static unsigned run_kernels(const struct batch *b, struct shunt_pkt *pkts, unsigned cnt)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		to_host(b, &pkts[i]);
	return b->br->punt;
}

/* --- VLANs ------------------------------------------------------------------------------------ */

/* The same as decide, in a bridge that keeps VLANs apart. */
static inline uint16_t decide_in_vlan(struct batch *b, struct shunt_pkt *pkt,
				      const struct addresses *a)
{
	const struct shunt_bridge_params *p = &b->br->params;
	const struct shunt_steer_vlan *vlan = &p->vlans->at[a->vid];
	uint64_t outputs, bare;
	unsigned port;

	if (unlikely(!a->vid || a->is_group || a->is_bad))
		return to_host(b, pkt);
	outputs = b->outputs & __atomic_load_n(&vlan->members, __ATOMIC_RELAXED);
	bare = __atomic_load_n(&vlan->bare, __ATOMIC_RELAXED);
	if (unlikely(!shunt_mac_heard(p->macs, a->src, b->port)) && b->learns) {
		shunt_learn_put(p->learn, a->src_key, b->port, b->now_ns);
		b->told = true;
	}
	port = shunt_mac_lookup(p->macs, a->dst);
	if (unlikely(port == b->port))
		return drop(b, pkt, SHUNT_DROP_same_port);
	if (unlikely(port >= SHUNT_PORT_MAX || !(outputs >> port & 1) ||
		     !shunt_retag(pkt, shunt_pkt_data(pkt, b->node->mem), a->vid, bare >> port & 1,
				  shunt_chain_is(b->node->graph->pool, pkt), p->min_len)))
		return to_host(b, pkt);
	return b->br->tx[port];
}

STRAIGHT unsigned run_batch(struct batch *b, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next,
			    const bool leaves_tags, const bool filters)
{
	unsigned i, diff = 0;

	for (i = 0; i < cnt; i++) {
		if (leaves_tags && shunt_ip_is_tagged(shunt_pkt_data(&pkts[i], b->node->mem)))
			next[i] = to_host(b, &pkts[i]);
		else if (filters)
			next[i] = decide_in_vlan(b, &pkts[i], &b->br->addresses[i]);
		else
			next[i] = decide(b, &pkts[i], &b->br->addresses[i]);
		diff |= next[i] ^ next[0];
	}
	return diff ? SHUNT_NEXT_EACH : next[0];
}

/* Of a port of a bridge that keeps VLANs apart. */
static __attribute__((noinline)) unsigned run_filtering(struct batch *b, struct shunt_pkt *pkts,
							unsigned cnt, uint16_t *next,
							bool leaves_tags)
{
	read_batch(b, pkts, cnt, true);
	return run_batch(b, pkts, cnt, next, leaves_tags, true);
}

/* All that comes in on the port is the kernel's, or what carries a VLAN tag, and then all while the
 * port may not forward; or its bridge keeps VLANs apart. Apart, so that the usual way keeps its
 * registers. */
static __attribute__((noinline)) unsigned run_left(struct batch *b, struct shunt_pkt *pkts,
						   unsigned cnt, uint16_t *next, bool forwards)
{
	const struct shunt_bridge_masks *masks = b->br->params.masks;
	const bool is_left = __atomic_load_n(&masks->kernels, __ATOMIC_RELAXED) >> b->port & 1;
	const bool leaves_tags = __atomic_load_n(&masks->untagged, __ATOMIC_RELAXED) >> b->port & 1;

	if (!forwards || (is_left && !leaves_tags))
		return run_kernels(b, pkts, cnt);
	if (__atomic_load_n(&masks->filters, __ATOMIC_RELAXED) >> b->port & 1)
		return run_filtering(b, pkts, cnt, next, leaves_tags);
	read_batch(b, pkts, cnt, false);
	return run_batch(b, pkts, cnt, next, true, false);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	struct bridge *br = node->priv;
	const struct shunt_bridge_masks *masks = br->params.masks;
	uint64_t forwarding = __atomic_load_n(&masks->forwarding, __ATOMIC_RELAXED);
	const unsigned port = pkts[0].port;
	struct batch b = {
		.node = node,
		.br = br,
		.outputs =
			br->params.members[br->params.bridge[port]] & forwarding & ~(1ULL << port),
		.now_ns = node->graph->now_ns,
		.port = port,
		.learns = __atomic_load_n(&masks->learning, __ATOMIC_RELAXED) >> port & 1,
		.is_foreign = __atomic_load_n(&masks->foreign, __ATOMIC_RELAXED) >>
				      br->params.bridge[port] &
			      1,
		.is_over = br->params.over >> br->params.bridge[port] & 1,
	};
	unsigned to;

	b.unknown = b.outputs & __atomic_load_n(&masks->flooding, __ATOMIC_RELAXED);
	if (unlikely((__atomic_load_n(&masks->kernels, __ATOMIC_RELAXED) |
		      __atomic_load_n(&masks->untagged, __ATOMIC_RELAXED) |
		      __atomic_load_n(&masks->filters, __ATOMIC_RELAXED)) >>
			     port &
		     1)) {
		to = run_left(&b, pkts, cnt, next, forwarding >> port & 1);
	} else {
		read_batch(&b, pkts, cnt, false);
		to = likely(forwarding >> port & 1) ? run_batch(&b, pkts, cnt, next, false, false)
						    : run_blocked(&b, pkts, cnt);
	}
	if (unlikely(b.told))
		shunt_learn_kick(br->params.learn);
	return to;
}

/* --- made and unmade -------------------------------------------------------------------------- */

/* A port that the worker has no queue of. */
static void leave_out(struct bridge *br, unsigned port)
{
	unsigned i;

	for (i = 0; i < SHUNT_BRIDGE_MAX; i++)
		br->params.members[i] &= ~(1ULL << port);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	const struct shunt_graph *graph = node->graph;
	const int punt = shunt_graph_find(graph, "punt");
	struct bridge *br = malloc(sizeof(*br));
	unsigned port;

	if (!br)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	br->params = *(const struct shunt_bridge_params *)params;
	br->punt = punt < 0 ? graph->drop_node : (uint16_t)punt;
	if (punt < 0)
		br->params.over = 0;
	br->reserve = graph->pool->total / RESERVE_DIVISOR;
	for (port = 0; port < SHUNT_PORT_MAX; port++) {
		br->tx[port] = shunt_graph_tx_or_drop(graph, (uint16_t)port);
		if (br->tx[port] == graph->drop_node)
			leave_out(br, port);
	}
	node->priv = br;
	return 0;
}

static void fini(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_bridge = {
	.name = "bridge",
	.help = "learns where stations are, forwards to them, floods what is unknown or a group's",
	.fn = run,
	.init = init,
	.fini = fini,
};
