// SPDX-License-Identifier: BSD-2-Clause
/* Frames through the whole graph of a router, a mix and a bridge. The first two bytes of an input
 * are settings (enums), then each frame has its length in two bytes before it. Must hold: every
 * frame leaves by a port, goes to the kernel or has a reason, every buffer comes back, nothing
 * behind a frame is read (with the address sanitizer), and what is routed fits and has a right
 * checksum. */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <sched.h>
#include <sanitizer/asan_interface.h>
#include <string.h>

#include "fuzz.h"
#include "graph/nodes.h"
#include "io/chain.h"
#include "io/mem.h"
#include "shunt_steer_mac.h"
#include "veth/puntdev_private.h"

#define FRAMES	 256u
#define BATCH	 32u
#define LEN_MAX	 1700u /* over what a port sends, under what a buffer holds */
#define LONG_MAX 4200u /* of packets in several buffers */
#define PADDED	 60u
#define OWN	 0xc0000201u
#define MAX_LEN	 1514u
#define SEED	 0x66757a7aULL

/* Bits of the first byte: the lowest two are the port. */
enum { RPF = 4, NO_IP4 = 8, NO_IP6 = 16, BLOCKED = 32, FOREIGN = 64, TX_FULL = 128 };

/* Bits of the second: the bridge's frames are the kernel's, what is punted is limited, the port's
 * queue takes what is over the limit, there is a way to the kernel, packets take several buffers,
 * of the bridge's frames only those with a VLAN tag are the kernel's, it keeps VLANs apart. */
enum { KERNELS = 1, LIMITED = 2, LEAVES = 4, PUNT = 8, LONG = 16, UNTAGGED = 32, FILTERS = 64 };

/* More than a bucket holds (graph/node_punt.c) is little; a packet a second. */
#define PUNT_RATE 1u

/* Port 0 routes, 1 routes and bridges, 2 and 3 bridge. */
enum { ROUTE_PORT, MIX_PORT, PORTS = 4 };

struct sink {
	struct shunt_queue queue;
	unsigned room;
	bool takes; /* what the worker leaves to the kernel */
};

static struct shunt_pool pool;
/* Without and with a limit of what is punted, each without and with a way to the kernel. */
static struct shunt_graph graphs[4], *graph;
static struct sink sinks[PORTS];
static struct shunt_queue *queues[PORTS];
static struct shunt_fib4 *fib4;
static struct shunt_fib6 *fib6;
static struct shunt_nexthops *nexthops;
static struct shunt_local4 *local4;
static struct shunt_port_live live[PORTS];
static uint64_t own_macs[PORTS];
static struct shunt_mac_table *macs;
static struct shunt_learn learn;
static struct shunt_bridge_masks masks;
static struct shunt_steer_vlans vlans;
static int eth_node, bridge_node;
static struct shunt_puntdev_queue *punt_queue; /* NULL: without rights */
static const unsigned queue_cnt = PORTS;
static unsigned in_port, sent_cnt;
static bool are_long;

/* --- what leaves ------------------------------------------------------------------------------ */

static bool is_checksum_right(const uint8_t *ip)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = 0; i < (ip[0] & 15) * 4u; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static void check_sent(const struct shunt_pkt *pkt)
{
	const uint8_t *data = pool.mem + pkt->addr;

	FUZZ_MUST(pkt->len <= MAX_LEN, "%u bytes leave", pkt->len);
	if (in_port != ROUTE_PORT)
		return;
	FUZZ_MUST(pkt->len >= PADDED, "%u bytes leave", pkt->len);
	if (data[12] == 0x08)
		FUZZ_MUST(is_checksum_right(data + 14) && data[22], "a bad IPv4 header leaves");
	else
		FUZZ_MUST(data[12] == 0x86 && data[21], "neither IPv4 nor IPv6 leaves");
}

static unsigned sink_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct sink *sink = shunt_container_of(queue, struct sink, queue);
	unsigned i;

	cnt = SHUNT_MIN(cnt, sink->room);
	sink->room -= cnt;
	for (i = 0; i < cnt; i++)
		check_sent(&pkts[i]);
	sent_cnt += cnt;
	shunt_pool_free_pkts(&pool, pkts, cnt);
	return cnt;
}

static bool sink_leave(struct shunt_queue *queue, const uint8_t *data, uint32_t len,
		       uint64_t now_ns)
{
	uint8_t headers[64];

	(void)now_ns;
	memcpy(headers, data, len); /* as far as they are said to be */
	return shunt_container_of(queue, struct sink, queue)->takes;
}

static const struct shunt_queue_ops sink_ops = {.kind = "sink", .tx = sink_tx, .leave = sink_leave};

/* --- tables ----------------------------------------------------------------------------------- */

#define ETH(last)                                        \
	{                                                \
		2, 0, 0, 0, 0xaa, last, 2, 0, 0, 0, 0, 2 \
	}

static const struct shunt_adj adjs[] = {
	{.eth = ETH(1), .mtu = 1500, .port = 1, .kind = SHUNT_ADJ_REWRITE},
	{.eth = ETH(2), .mtu = 1500, .port = 2, .kind = SHUNT_ADJ_REWRITE},
	{.eth = ETH(3), .mtu = 1500, .port = 0, .kind = SHUNT_ADJ_REWRITE},
	{.eth = ETH(4), .mtu = 100, .port = 1, .kind = SHUNT_ADJ_REWRITE},
	{.kind = SHUNT_ADJ_GLEAN},
	{.kind = SHUNT_ADJ_LOCAL},
	{.kind = SHUNT_ADJ_PUNT},
	{.kind = SHUNT_ADJ_BLACKHOLE},
	{.kind = SHUNT_ADJ_UNREACHABLE},
	{.kind = SHUNT_ADJ_PROHIBIT},
};

/* 10.N.0.0/16 and 2001:db8:N::/48 lead to next hop N; the rest of 10.0.0.0/8, 240.0.0.0/4 and
 * 2001:db8::/32 to that of N = 0. */
static void add_net(unsigned net, uint32_t nh)
{
	uint8_t addr6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)net};
	struct shunt_err err;
	int ret = shunt_fib4_add(fib4, htonl(0x0a000000 + (net << 16)), 16, nh, &err);

	ret = ret ? ret : shunt_fib6_add(fib6, addr6, 48, nh, &err);
	if (!net) {
		ret = ret ? ret : shunt_fib4_add(fib4, htonl(0x0a000000), 8, nh, &err);
		ret = ret ? ret : shunt_fib4_add(fib4, htonl(0xf0000000), 4, nh, &err);
		ret = ret ? ret : shunt_fib6_add(fib6, addr6, 32, nh, &err);
	}
	FUZZ_MUST(!ret, "%s", err.msg);
}

static void fill_tables(void)
{
	struct shunt_nexthop_member members[2] = {{.weight = 1}, {.weight = 1}};
	const uint32_t own_be = htonl(OWN);
	struct shunt_err err;
	uint32_t nh;
	unsigned net;

	FUZZ_MUST(!shunt_fib4_create(&fib4, 0, &err) && !shunt_fib6_create(&fib6, 0, &err) &&
			  !shunt_nexthop_create(&nexthops, 0, &err) &&
			  !shunt_mac_create(&macs, 64, SEED, &err) &&
			  !shunt_learn_init(&learn, &err),
		  "%s", err.msg);
	for (net = 0; net < SHUNT_ARRAY_LEN(adjs); net++) {
		FUZZ_MUST(!shunt_nexthop_add(nexthops, &adjs[net], &nh, &err), "%s", err.msg);
		if (net < 2)
			members[net].nh = nh;
		add_net(net, nh);
	}
	FUZZ_MUST(!shunt_nexthop_group_add(nexthops, members, 2, &nh, &err), "%s", err.msg);
	add_net(net, nh);
	local4 = shunt_local4_create(&own_be, 1);
	/* untagged frames are of VLAN 1, which leaves bare by ports 2 and 3; and one by one of them
	 */
	for (net = 1; net < PORTS; net++)
		vlans.pvids[net] = 1;
	vlans.at[1] = (struct shunt_steer_vlan){.members = 0xe, .bare = 0xc};
	vlans.at[2] = (struct shunt_steer_vlan){.members = 0xe, .bare = 0x4};
}

/* --- graph ------------------------------------------------------------------------------------ */

static void add_ip_nodes(const struct shunt_ip_params *ip)
{
	static const struct shunt_node_type *const types[] = {
		&shunt_node_ip4_input,	&shunt_node_ip6_input,	&shunt_node_ip4_rpf,
		&shunt_node_ip4_lookup, &shunt_node_ip6_lookup, &shunt_node_ip4_rewrite,
		&shunt_node_ip6_rewrite};
	struct shunt_err err;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(types); i++)
		FUZZ_MUST(shunt_graph_add(graph, types[i], NULL, ip, &err) > 0, "%s", err.msg);
}

static void build_graph(bool is_limited, bool can_punt)
{
	static const char *const names[PORTS] = {"a", "b", "c", "d"};
	/* one that takes more, since the others check only then */
	static const uint32_t max_lens[PORTS] = {LEN_MAX, MAX_LEN, MAX_LEN, MAX_LEN};
	const struct shunt_ip_params ip = {.fib4 = fib4,
					   .fib6 = fib6,
					   .nexthops = nexthops,
					   .local4 = &local4,
					   .live = live,
					   .min_len = PADDED};
	const struct shunt_punt_params punt = {.ifindex = {1, 2, 3, 4},
					       .rate = is_limited ? PUNT_RATE : 0,
					       .queue = can_punt ? punt_queue : NULL,
					       .queues = queues,
					       .queue_cnt = &queue_cnt};
	const struct shunt_bridge_params bridge = {.macs = macs,
						   .masks = &masks,
						   .vlans = &vlans,
						   .learn = &learn,
						   .members = {0xe},
						   .min_len = PADDED};
	struct shunt_eth_params eth = {
		.macs = own_macs, .live = live, .bridges = {[MIX_PORT] = true}};
	struct shunt_err err;
	unsigned i;

	for (i = 0; i < PORTS; i++)
		memcpy(&own_macs[i], (uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
	graph = &graphs[is_limited + 2 * can_punt];
	shunt_graph_init(graph, &pool, queues, PORTS);
	eth_node = shunt_graph_add(graph, &shunt_node_eth_input, NULL, &eth, &err);
	add_ip_nodes(&ip);
	bridge_node = shunt_graph_add(graph, &shunt_node_bridge, NULL, &bridge, &err);
	FUZZ_MUST(shunt_graph_add(graph, &shunt_node_punt, NULL, &punt, &err) > 0 &&
			  !shunt_graph_seal(graph, names, max_lens, &err),
		  "%s", err.msg);
}

/* In a network namespace of its own, whose loopback device is down: what is punted ends there. */
static void start(void)
{
	const struct shunt_puntdev lo = {.name = "lo", .ifindex = 1};
	struct shunt_err err;
	unsigned i;

	FUZZ_MUST(!shunt_pool_init(&pool, FRAMES, 2048, &err) && !shunt_pool_link(&pool, &err),
		  "%s", err.msg);
	if (unshare(CLONE_NEWNET))
		fprintf(stderr, "no network namespace: nothing is punted: %m\n");
	for (i = 0; i < PORTS; i++) {
		sinks[i].queue = (struct shunt_queue){
			.ops = &sink_ops, .pool = &pool, .port = (uint16_t)i, .fd = -1};
		queues[i] = &sinks[i].queue;
	}
	fill_tables();
	if (shunt_puntdev_queue_create(&punt_queue, &lo, LONG_MAX, &err))
		punt_queue = NULL;
	for (i = 0; i < SHUNT_ARRAY_LEN(graphs); i++)
		build_graph(i & 1, i >> 1);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void apply_settings(uint8_t bits, uint8_t more)
{
	unsigned i;

	graph = &graphs[(more & LIMITED ? 1 : 0) + (more & PUNT ? 2 : 0)];
	are_long = more & LONG;
	in_port = bits & 3;
	for (i = 0; i < PORTS; i++)
		live[i] = (struct shunt_port_live){.ip4 = !(bits & NO_IP4),
						   .ip6 = !(bits & NO_IP6),
						   .rpf4 = !!(bits & RPF),
						   .own = (uint16_t)i};
	masks.forwarding = bits & BLOCKED ? 0x5 : 0xf;
	masks.learning = masks.flooding = 0xf;
	masks.foreign = !!(bits & FOREIGN);
	masks.kernels = more & KERNELS ? 1u << in_port : 0;
	masks.untagged = more & UNTAGGED ? 1u << in_port : 0;
	masks.filters = more & FILTERS ? 0xe : 0;
	for (i = 0; i < PORTS; i++) {
		sinks[i].room = bits & TX_FULL ? 1 : UINT32_MAX;
		sinks[i].takes = more & LEAVES;
		shunt_mac_flush(macs, 0, i);
	}
	memset(graph->drops, 0, sizeof(graph->drops));
	memset(graph->punts, 0, sizeof(graph->punts));
	memset(&learn.stats, 0, sizeof(learn.stats));
	graph->now_ns += 1000000; /* what was told is no longer recent */
	sent_cnt = 0;
}

/* Into as many buffers as it takes. What the input lacks is zeros. */
static struct shunt_pkt put_long(const uint8_t *data, size_t size, size_t len)
{
	static uint8_t bytes[LONG_MAX];
	struct shunt_pkt pkt = {.port = (uint16_t)in_port, .reason = 0xff};

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data, SHUNT_MIN(size, len));
	FUZZ_MUST(shunt_chain_put(&pool, &pkt, SHUNT_FRAME_HEADROOM, bytes, (uint32_t)len),
		  "no free buffers");
	return pkt;
}

/* Cuts a frame off the input into a buffer; the rest of that is out of bounds. */
static struct shunt_pkt take_frame(const uint8_t **data, size_t *size)
{
	const unsigned len_max = are_long ? LONG_MAX : LEN_MAX;
	struct shunt_pkt pkt = {.port = (uint16_t)in_port, .reason = 0xff};
	size_t len = 14 + ((*data)[0] | (*data)[1] << 8) % (len_max - 14);
	uint64_t addr = 0;
	uint8_t *frame;

	*data += 2;
	*size -= 2;
	if (len > LEN_MAX) {
		pkt = put_long(*data, *size, len);
		*data += SHUNT_MIN(len, *size);
		*size -= SHUNT_MIN(len, *size);
		return pkt;
	}
	len = SHUNT_MIN(len, *size);
	FUZZ_MUST(shunt_pool_alloc(&pool, &addr, 1) == 1, "no free buffer");
	frame = pool.mem + addr;
	memset(frame, 0xa5, 2048);
	pkt.addr = addr + SHUNT_FRAME_HEADROOM;
	pkt.len = (uint32_t)len;
	memcpy(pool.mem + pkt.addr, *data, len);
	*data += len;
	*size -= len;
	len = SHUNT_MAX(len, PADDED) + SHUNT_FRAME_HEADROOM;
	ASAN_POISON_MEMORY_REGION(frame + len, 2048 - len);
	return pkt;
}

static void learn_what_was_told(void)
{
	struct shunt_told told;

	shunt_learn_hush(&learn);
	while (shunt_learn_take(&learn, &told))
		shunt_mac_learn(macs, told.key, told.port);
}

static void run_batch(struct shunt_pkt *pkts, unsigned cnt)
{
	shunt_graph_run(graph, (unsigned)(in_port > MIX_PORT ? bridge_node : eth_node), pkts, cnt);
	if (graph->flush_due)
		shunt_graph_flush(graph);
	ASAN_UNPOISON_MEMORY_REGION(pool.mem, FRAMES * 2048);
	learn_what_was_told();
	FUZZ_MUST(pool.free_cnt == FRAMES, "%u buffers of %u are free", pool.free_cnt, FRAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shunt_pkt pkts[BATCH];
	uint64_t in = 0, dropped = 0, punted = 0;
	unsigned cnt, i;

	if (size < 2)
		return 0;
	if (!pool.mem)
		start();
	apply_settings(data[0], data[1]);
	data += 2;
	for (size -= 2; size >= 16; in += cnt) {
		for (cnt = 0; cnt < BATCH && size >= 16; cnt++)
			pkts[cnt] = take_frame(&data, &size);
		run_batch(pkts, cnt);
	}
	for (i = 0; i < SHUNT_DROP_CNT; i++)
		dropped += graph->drops[i];
	for (i = 0; i < SHUNT_PUNT_CNT; i++)
		punted += graph->punts[i];
	FUZZ_MUST(in + learn.stats.copies == sent_cnt + punted + dropped,
		  "%ju came in, %ju copies, %u left, %ju punted, %ju dropped", (uintmax_t)in,
		  (uintmax_t)learn.stats.copies, sent_cnt, (uintmax_t)punted, (uintmax_t)dropped);
	return 0;
}
