// SPDX-License-Identifier: BSD-2-Clause
#include "ip_rig.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_FRAMES 512u

const uint8_t ip_rig_mac[6] = {2, 0, 0, 0, 0, 1};

#define ETH(last)                                        \
	{                                                \
		2, 0, 0, 0, 0xaa, last, 2, 0, 0, 0, 0, 2 \
	}

const struct shunt_adj ip_rig_adjs[IP_RIG_NET_CNT] = {
	[IP_RIG_FAR] = {.eth = ETH(1), .mtu = 1500, .port = 1, .kind = SHUNT_ADJ_REWRITE},
	[IP_RIG_NEAR] = {.eth = ETH(2), .mtu = 1500, .port = 1, .kind = SHUNT_ADJ_REWRITE},
	[IP_RIG_GLEAN] = {.kind = SHUNT_ADJ_GLEAN},
	[IP_RIG_LOCAL] = {.kind = SHUNT_ADJ_LOCAL},
	[IP_RIG_PUNT] = {.kind = SHUNT_ADJ_PUNT},
	[IP_RIG_BLACKHOLE] = {.kind = SHUNT_ADJ_BLACKHOLE},
	[IP_RIG_UNREACHABLE] = {.kind = SHUNT_ADJ_UNREACHABLE},
	[IP_RIG_PROHIBIT] = {.kind = SHUNT_ADJ_PROHIBIT},
	[IP_RIG_BACK] = {.eth = ETH(3), .mtu = 1500, .port = 0, .kind = SHUNT_ADJ_REWRITE},
	[IP_RIG_NARROW] = {.eth = ETH(4), .mtu = 100, .port = 1, .kind = SHUNT_ADJ_REWRITE},
};

struct sink {
	struct shunt_queue queue;
	struct ip_outcome *out; /* where the next one goes */
	unsigned *out_cnt;
};

struct ip_rig {
	struct shunt_pool pool;
	struct shunt_graph graph;
	struct sink sinks[2];
	struct shunt_queue *queues[2];
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_devices *devices;
	struct shunt_counts *counts;
	struct shunt_local4 *local4;
	struct shunt_port_live live[2];
	unsigned restored; /* packets */
	uint64_t macs[2];
	struct ip_outcome outcome;
};

static unsigned sink_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct sink *sink = shunt_container_of(queue, struct sink, queue);
	unsigned i;

	for (i = 0; i < cnt; i++) {
		struct ip_outcome *out = &sink->out[(*sink->out_cnt)++];

		out->fate = IP_SENT;
		out->port = queue->port;
		out->len = pkts[i].len;
		cr_assert_leq(out->len, IP_RIG_FRAME_MAX);
		memcpy(out->bytes, queue->pool->mem + pkts[i].addr, out->len);
	}
	shunt_pool_free_pkts(queue->pool, pkts, cnt);
	return cnt;
}

static const struct shunt_queue_ops sink_ops = {.kind = "sink", .tx = sink_tx};

/* --- tables ----------------------------------------------------------------------------------- */

#define MUST(call) cr_assert_eq(call, 0, "%s", err.msg)

static void add_nets(struct ip_rig *rig, unsigned space, unsigned net, uint32_t nh)
{
	uint8_t addr6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)net};
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_err err;

	MUST(shunt_fib4_open_space(rig->fib4, space, &err));
	MUST(shunt_fib6_open_space(rig->fib6, space, &err));
	fib4 = shunt_fib4_space(rig->fib4, space);
	fib6 = shunt_fib6_space(rig->fib6, space);
	MUST(shunt_fib4_add(fib4, htonl(0x0a000000 + (net << 16)), 16, nh, &err));
	MUST(shunt_fib6_add(fib6, addr6, 48, nh, &err));
	if (net != IP_RIG_FAR)
		return;
	MUST(shunt_fib4_add(fib4, htonl(0x0a000000), 8, nh, &err));
	MUST(shunt_fib4_add(fib4, htonl(0xf0000000), 4, nh, &err));
	MUST(shunt_fib6_add(fib6, addr6, 32, nh, &err));
}

static void fill_tables(struct ip_rig *rig)
{
	struct shunt_nexthop_member members[2] = {{.weight = 1}, {.weight = 1}};
	const uint32_t own_be = htonl(IP_RIG_OWN);
	struct shunt_err err;
	uint32_t nh;
	unsigned net;

	MUST(shunt_fib4_create(&rig->fib4, 0, &err));
	MUST(shunt_fib6_create(&rig->fib6, 0, &err));
	MUST(shunt_nexthop_create(&rig->nexthops, 0, &err));
	MUST(shunt_devices_create_on(&rig->devices, NULL, &err));
	for (net = 0; net < IP_RIG_GROUP; net++) {
		struct shunt_adj adj = ip_rig_adjs[net];

		if (rig->counts) {
			adj.number = net + 1;
			cr_assert(shunt_counts_begin(rig->counts, adj.number));
		}
		MUST(shunt_nexthop_add(rig->nexthops, &adj, &nh, &err));
		if (net <= IP_RIG_NEAR)
			members[net].nh = nh;
		add_nets(rig, 0, net, nh);
	}
	MUST(shunt_nexthop_group_add(rig->nexthops, members, 2, &nh, &err));
	add_nets(rig, 0, IP_RIG_GROUP, nh);
	rig->local4 = shunt_local4_create(&own_be, 1);
	cr_assert(rig->local4);
}

/* --- graph ------------------------------------------------------------------------------------ */

static int restore(void *arg, uint8_t *frame, uint32_t len)
{
	struct ip_rig *rig = arg;

	(void)frame;
	(void)len;
	rig->restored++;
	return 0;
}

static void add_ip_nodes(struct ip_rig *rig, const struct shunt_ip_params *ip)
{
	static const struct shunt_node_type *const types[] = {
		&shunt_node_ip4_input,	 &shunt_node_ip6_input,	 &shunt_node_ip4_rpf,
		&shunt_node_ip4_lookup,	 &shunt_node_ip6_lookup, &shunt_node_ip4_rewrite,
		&shunt_node_ip6_rewrite, &shunt_node_tag_output};
	struct shunt_err err;
	char name[24];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(types); i++) {
		snprintf(name, sizeof(name), "%s%s", types[i]->name,
			 ip->is_above ? SHUNT_NODE_ABOVE : "");
		cr_assert_gt(shunt_graph_add(&rig->graph, types[i], name, ip, &err), 0);
	}
}

static void build(struct ip_rig *rig, uint32_t min_len)
{
	static const char *const names[] = {"in", "out"};
	static const uint32_t max_lens[] = {1514, 1514};
	const struct shunt_ip_params ip = {.fib4 = rig->fib4,
					   .fib6 = rig->fib6,
					   .nexthops = rig->nexthops,
					   .devices = rig->devices,
					   .local4 = &rig->local4,
					   .live = rig->live,
					   .counts = rig->counts,
					   .writer = 1,
					   .min_len = min_len};
	struct shunt_ip_params ip_above = ip;
	const struct shunt_punt_params punt = {
		.ifindex = {1, 2}, .live = rig->live, .restore = restore, .restore_arg = rig};
	struct shunt_punt_params punt_above = punt;
	struct shunt_eth_params eth = {.macs = rig->macs, .live = rig->live};
	const struct shunt_graph_devices devices = {
		.above = rig->devices,
		.live = rig->live,
		.ifindex = {IP_RIG_IFINDEX, IP_RIG_IFINDEX + 1}};
	struct shunt_err err;
	unsigned i;

	memcpy(&rig->macs[0], ip_rig_mac, 6);
	for (i = 0; i < 2; i++)
		rig->live[i] = (struct shunt_port_live){.ip4 = 1, .ip6 = 1, .own = (uint16_t)i};
	shunt_graph_init(&rig->graph, &rig->pool, rig->queues, 2);
	shunt_graph_set_devices(&rig->graph, &devices);
	cr_assert_eq(shunt_graph_add(&rig->graph, &shunt_node_eth_input, NULL, &eth, &err), 0);
	cr_assert_gt(shunt_graph_add(&rig->graph, &shunt_node_tag_input, NULL, &ip, &err), 0);
	ip_above.is_above = punt_above.is_above = true;
	add_ip_nodes(rig, &ip);
	add_ip_nodes(rig, &ip_above);
	cr_assert_gt(shunt_graph_add(&rig->graph, &shunt_node_punt, NULL, &punt, &err), 0);
	cr_assert_gt(shunt_graph_add(&rig->graph, &shunt_node_punt, "punt" SHUNT_NODE_ABOVE,
				     &punt_above, &err),
		     0);
	MUST(shunt_graph_seal(&rig->graph, names, max_lens, &err));
}

static struct ip_rig *create(uint32_t min_len, bool is_counted)
{
	struct ip_rig *rig = aligned_alloc(64, (sizeof(*rig) + 63) & ~63UL);
	struct shunt_err err;
	unsigned i;

	cr_assert(rig);
	memset(rig, 0, sizeof(*rig));
	MUST(shunt_pool_init(&rig->pool, POOL_FRAMES, 2048, &err));
	for (i = 0; i < 2; i++) {
		rig->sinks[i].queue.ops = &sink_ops;
		rig->sinks[i].queue.pool = &rig->pool;
		rig->sinks[i].queue.port = (uint16_t)i;
		rig->queues[i] = &rig->sinks[i].queue;
	}
	if (is_counted)
		MUST(shunt_counts_create_on(&rig->counts, 3, NULL, &err));
	fill_tables(rig);
	build(rig, min_len);
	return rig;
}

struct ip_rig *ip_rig_create(uint32_t min_len)
{
	return create(min_len, false);
}

struct ip_rig *ip_rig_create_counted(void)
{
	return create(0, true);
}

void ip_rig_count(struct ip_rig *rig, enum ip_rig_net net, struct shunt_count *out)
{
	shunt_counts_sum(rig->counts, net + 1, out);
}

void ip_rig_destroy(struct ip_rig *rig)
{
	shunt_graph_fini(&rig->graph);
	shunt_fib4_destroy(rig->fib4);
	shunt_fib6_destroy(rig->fib6);
	shunt_nexthop_destroy(rig->nexthops);
	shunt_devices_destroy(rig->devices);
	shunt_counts_destroy(rig->counts);
	free(rig->local4);
	shunt_pool_fini(&rig->pool);
	free(rig);
}

uint32_t ip_rig_add_device(struct ip_rig *rig, const struct shunt_device *device)
{
	const uint32_t number = shunt_devices_add(rig->devices, device);

	cr_assert(number);
	return number;
}

void ip_rig_set_flags(struct ip_rig *rig, uint32_t device, uint32_t flags)
{
	shunt_devices_set_flags(rig->devices, device, flags);
}

void ip_rig_add_route_in(struct ip_rig *rig, unsigned space, unsigned net,
			 const struct shunt_adj *adj)
{
	struct shunt_err err;
	uint32_t nh;

	MUST(shunt_nexthop_add(rig->nexthops, adj, &nh, &err));
	add_nets(rig, space, net, nh);
}

void ip_rig_add_route(struct ip_rig *rig, unsigned net, const struct shunt_adj *adj)
{
	ip_rig_add_route_in(rig, 0, net, adj);
}

unsigned ip_rig_restored(const struct ip_rig *rig)
{
	return rig->restored;
}

uint64_t ip_rig_lost(const struct ip_rig *rig, struct shunt_loss loss)
{
	unsigned i;

	for (i = 0; i < SHUNT_LOSS_LINES; i++)
		if (rig->graph.losses.lines[i].key == shunt_loss_key(&loss))
			return rig->graph.losses.lines[i].count;
	return 0;
}

struct shunt_port_live *ip_rig_live(struct ip_rig *rig)
{
	return &rig->live[0];
}

/* --- runs ------------------------------------------------------------------------------------- */

unsigned ip_rig_batch(struct ip_rig *rig, uint8_t (*frames)[IP_RIG_FRAME_MAX], const uint32_t *lens,
		      unsigned cnt, struct ip_outcome *out)
{
	struct shunt_pkt pkts[SHUNT_BATCH_MAX];
	uint64_t addr = 0;
	unsigned i, sent = 0;

	for (i = 0; i < 2; i++) {
		rig->sinks[i].out = out;
		rig->sinks[i].out_cnt = &sent;
	}
	for (i = 0; i < cnt; i++) {
		cr_assert_eq(shunt_pool_alloc(&rig->pool, &addr, 1), 1);
		pkts[i] = (struct shunt_pkt){.addr = addr + 256, .len = lens[i], .reason = 0xff};
		/* what lies behind a frame is another's old bytes, never zeros */
		memset(rig->pool.mem + addr, 0xa5, 2048);
		memcpy(rig->pool.mem + pkts[i].addr, frames[i], lens[i]);
	}
	shunt_graph_run(&rig->graph, 0, pkts, cnt);
	cr_assert_eq(rig->pool.free_cnt, POOL_FRAMES, "%u of %u frames came back",
		     rig->pool.free_cnt, POOL_FRAMES);
	return sent;
}

/* Without a queue the punt node counts every packet as refused by the kernel. */
static void find_reason(const struct shunt_graph *graph, struct ip_outcome *out)
{
	unsigned i;

	for (i = 0; i < SHUNT_PUNT_CNT; i++) {
		if (!graph->punts_failed[i])
			continue;
		out->fate = IP_PUNTED;
		out->reason = i;
		return;
	}
	for (i = 0; i < SHUNT_DROP_CNT; i++) {
		if (!graph->drops[i])
			continue;
		out->fate = IP_DROPPED;
		out->reason = i;
		return;
	}
	cr_assert_fail("the packet is gone without a reason");
}

const struct ip_outcome *ip_rig_run(struct ip_rig *rig, const uint8_t *frame, uint32_t len)
{
	static uint8_t copy[1][IP_RIG_FRAME_MAX];

	memset(rig->graph.drops, 0, sizeof(rig->graph.drops));
	memset(rig->graph.punts_failed, 0, sizeof(rig->graph.punts_failed));
	memcpy(copy[0], frame, len);
	memset(&rig->outcome, 0, sizeof(rig->outcome));
	if (!ip_rig_batch(rig, copy, &len, 1, &rig->outcome))
		find_reason(&rig->graph, &rig->outcome);
	return &rig->outcome;
}
