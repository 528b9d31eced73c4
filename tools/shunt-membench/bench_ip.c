// SPDX-License-Identifier: BSD-2-Clause
/* The router without kernel I/O: frames copied in from memory, 64 bytes, destinations random
 * over the table; every check made; transmit swallows. The graph is that of `shuntd route`. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-qsbr.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "graph/nodes.h"
#include "traffic/bgp.h"
#include "measure/rng.h"
#include "rig.h"

/* Destinations, one frame of the set each, read in order. The larger set is 16 MiB: reading it
 * costs some cycles and takes the table its place in the cache. */
#define DESTS_MANY  (1u << 18)
#define DESTS	    (1u << 16)
#define MIX_ROUTES4 100000
#define MIX_ROUTES6 20000
#define STATIONS    20000
#define NH_CNT	    64u

static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

struct rig {
	struct shunt_ip_params ip;
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_local4 *local4;
	struct shunt_mac_table *macs; /* mix only, as are the next three */
	struct shunt_learn *learn;
	struct shunt_bridge_masks masks;
	struct shunt_bridge_params bridge;
	uint32_t nhs[NH_CNT + 1]; /* by the generator's number, from 1 */
	struct bench_set set;
};

/* --- frames ----------------------------------------------------------------------------------- */

static uint16_t checksum(const uint8_t *p, unsigned len)
{
	uint32_t sum = 0;

	for (; len; len -= 2, p += 2)
		sum += (uint32_t)(p[0] << 8 | p[1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t) ~((sum & 0xffff) + (sum >> 16)));
}

static void write_ip4(uint8_t *frame, uint32_t dst_be)
{
	struct iphdr *ip = (void *)(frame + 14);

	memcpy(frame, macs, sizeof(macs));
	frame[12] = 0x08;
	*ip = (struct iphdr){.version = 4,
			     .ihl = 5,
			     .tot_len = htons(BENCH_FRAME_LEN - 14),
			     .ttl = 64,
			     .protocol = IPPROTO_UDP,
			     .saddr = htonl(0xc6120001),
			     .daddr = dst_be};
	ip->check = checksum(frame + 14, sizeof(*ip));
}

static void write_ip6(uint8_t *frame, const uint8_t *dst)
{
	struct ip6_hdr *ip = (void *)(frame + 14);

	memcpy(frame, macs, sizeof(macs));
	frame[12] = 0x86;
	frame[13] = 0xdd;
	ip->ip6_flow = htonl(6u << 28);
	ip->ip6_plen = htons(BENCH_FRAME_LEN - 54);
	ip->ip6_nxt = IPPROTO_UDP;
	ip->ip6_hlim = 64;
	ip->ip6_src.s6_addr[0] = 0x20;
	memcpy(&ip->ip6_dst, dst, 16);
}

/* --- tables ----------------------------------------------------------------------------------- */

static int fill_ip4(struct rig *rig, uint32_t cnt, uint64_t seed, struct shunt_err *err)
{
	struct shunt_bgp4 *routes = calloc(cnt, sizeof(*routes));
	uint32_t *dests = calloc(rig->set.cnt, sizeof(*dests)), i;
	int ret = routes && dests ? shunt_bgp4_generate(routes, cnt, NH_CNT, seed) : -ENOMEM;

	for (i = 0; i < cnt && !ret; i++)
		ret = shunt_fib4_add(rig->fib4, htonl(routes[i].addr), routes[i].len,
				     rig->nhs[routes[i].nh], err);
	if (!ret)
		shunt_bgp4_dests(routes, cnt, dests, rig->set.cnt, seed);
	for (i = 0; i < rig->set.cnt && !ret; i++)
		write_ip4(bench_set_at(&rig->set, i), dests[i]);
	free(dests);
	free(routes);
	return ret;
}

static int add_ip6(struct rig *rig, const struct shunt_bgp6 *route, struct shunt_err *err)
{
	uint8_t addr[16];
	unsigned i;

	for (i = 0; i < 8; i++) {
		addr[i] = (uint8_t)(route->hi >> (56 - 8 * i));
		addr[8 + i] = (uint8_t)(route->lo >> (56 - 8 * i));
	}
	return shunt_fib6_add(rig->fib6, addr, route->len, rig->nhs[route->nh], err);
}

static int fill_ip6(struct rig *rig, uint32_t cnt, uint64_t seed, struct shunt_err *err)
{
	struct shunt_bgp6 *routes = calloc(cnt, sizeof(*routes));
	uint8_t(*dests)[16] = calloc(rig->set.cnt, sizeof(*dests));
	int ret = routes && dests ? shunt_bgp6_generate(routes, cnt, NH_CNT, seed) : -ENOMEM;
	uint32_t i;

	for (i = 0; i < cnt && !ret; i++)
		ret = add_ip6(rig, &routes[i], err);
	if (!ret)
		shunt_bgp6_dests(routes, cnt, dests, rig->set.cnt, seed);
	for (i = 0; i < rig->set.cnt && !ret; i++)
		write_ip6(bench_set_at(&rig->set, i), dests[i]);
	free(dests);
	free(routes);
	return ret;
}

static int add_nexthops(struct rig *rig, struct shunt_err *err)
{
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE, .port = BENCH_OUT, .mtu = 1500};
	unsigned i;
	int ret = 0;

	memcpy(adj.eth, macs, sizeof(macs));
	for (i = 1; i <= NH_CNT && !ret; i++) {
		adj.eth[5] = (uint8_t)i;
		ret = shunt_nexthop_add(rig->nexthops, &adj, &rig->nhs[i], err);
	}
	return ret;
}

static int rig_init(struct rig *rig, bool ip6, uint32_t routes, uint32_t dests, uint64_t seed,
		    struct shunt_err *err)
{
	const uint32_t own_be = htonl(0xc0000201);
	int ret;

	memset(rig, 0, sizeof(*rig));
	ret = shunt_fib4_create(&rig->fib4, 0, err);
	if (!ret)
		ret = shunt_fib6_create(&rig->fib6, 0, err);
	if (!ret)
		ret = shunt_nexthop_create(&rig->nexthops, 0, err);
	if (!ret)
		ret = add_nexthops(rig, err);
	rig->local4 = shunt_local4_create(&own_be, 1);
	if (!ret)
		ret = bench_set_alloc(&rig->set, dests);
	if (!ret)
		ret = (ip6 ? fill_ip6 : fill_ip4)(rig, routes, seed, err);
	rig->ip = (struct shunt_ip_params){.fib4 = rig->fib4,
					   .fib6 = rig->fib6,
					   .nexthops = rig->nexthops,
					   .local4 = &rig->local4};
	return ret;
}

static void rig_fini(struct rig *rig)
{
	shunt_fib4_destroy(rig->fib4);
	shunt_fib6_destroy(rig->fib6);
	shunt_nexthop_destroy(rig->nexthops);
	free(rig->local4);
	bench_set_fini(&rig->set);
}

/* --- graph ------------------------------------------------------------------------------------ */

static int add_nodes(struct shunt_worker *worker, const void *arg, struct shunt_err *err)
{
	const struct rig *rig = arg;
	static const struct shunt_punt_params punt;
	static const struct shunt_port_live live[BENCH_IN + 1] = {
		[BENCH_IN] = {.ip4 = 1, .ip6 = 1}};
	static uint64_t own_macs[BENCH_IN + 1];
	static struct shunt_eth_params eth = {.macs = own_macs, .live = live};
	const struct {
		const struct shunt_node_type *type;
		const void *params;
	} nodes[] = {
		{&shunt_node_eth_input, &eth},	     {&shunt_node_ip4_input, &rig->ip},
		{&shunt_node_ip6_input, &rig->ip},   {&shunt_node_ip4_rpf, &rig->ip},
		{&shunt_node_ip4_lookup, &rig->ip},  {&shunt_node_ip6_lookup, &rig->ip},
		{&shunt_node_ip4_rewrite, &rig->ip}, {&shunt_node_ip6_rewrite, &rig->ip},
		{&shunt_node_bridge, &rig->bridge},  {&shunt_node_punt, &punt},
	};
	unsigned i;
	int ret = 0;

	memcpy(&own_macs[BENCH_IN], macs, 6);
	eth.bridges[BENCH_IN] = rig->macs;
	for (i = 0; i < SHUNT_ARRAY_LEN(nodes) && ret >= 0; i++)
		if (rig->macs || nodes[i].type != &shunt_node_bridge)
			ret = shunt_graph_add(&worker->graph, nodes[i].type, NULL, nodes[i].params,
					      err);
	return SHUNT_MIN(ret, 0);
}

static const unsigned batches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

static int measure(struct bench *bench, const struct rig *rig, const char *name, json_t *params,
		   unsigned batch)
{
	double runs[BENCH_RUN_CNT];
	int ret = bench_rig_run(bench, &rig->set, batch, add_nodes, rig, runs);

	json_object_set_new(params, "batch", json_integer(batch));
	json_object_set_new(params, "size", json_integer(BENCH_FRAME_LEN));
	json_object_set_new(params, "dests", json_integer(rig->set.cnt));
	if (ret)
		json_decref(params);
	else
		bench_add(bench, name, params, "cycles/packet", runs, BENCH_RUN_CNT);
	return ret;
}

static int measure_table(struct bench *bench, bool ip6, uint32_t routes, uint32_t dests)
{
	struct shunt_err err = {"not enough memory"};
	struct rig rig;
	unsigned i;
	int ret = rig_init(&rig, ip6, routes, dests, bench->seed, &err);

	if (ret)
		fprintf(stderr, "shunt-membench: ip: %s\n", err.msg);
	for (i = 0; i < SHUNT_ARRAY_LEN(batches) && !ret; i++)
		ret = measure(bench, &rig, ip6 ? "mem.ip6" : "mem.ip4",
			      json_pack("{s:i}", "routes", (int)routes), batches[i]);
	rig_fini(&rig);
	return ret;
}

/* --- mix -------------------------------------------------------------------------------------- */

/* Stations with even numbers are on IN, the others on OUT. */
static void write_station(uint8_t *at, uint32_t station)
{
	const uint8_t mac[6] = {
		2, 0x16, 0, (uint8_t)(station >> 16), (uint8_t)(station >> 8), (uint8_t)station};

	memcpy(at, mac, sizeof(mac));
}

static int add_stations(struct rig *rig, uint64_t seed, struct shunt_err *err)
{
	uint8_t mac[6];
	uint32_t i;
	int ret;

	rig->learn = aligned_alloc(SHUNT_CACHELINE, sizeof(*rig->learn));
	if (!rig->learn)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	ret = shunt_learn_init(rig->learn, err);
	if (!ret)
		ret = shunt_mac_create(&rig->macs, SHUNT_MAC_MAX_DEFAULT, seed, err);
	for (i = 0; i < STATIONS && !ret; i++) {
		write_station(mac, i);
		if (shunt_mac_learn(rig->macs, shunt_mac_key(mac, 0),
				    i & 1 ? BENCH_OUT : BENCH_IN) != SHUNT_MAC_NEW)
			ret = shunt_err_set(err, ENOSPC, "station %u finds no room", i);
	}
	rig->masks = (struct shunt_bridge_masks){3, 3, 3, 0};
	rig->bridge = (struct shunt_bridge_params){
		.macs = rig->macs, .masks = &rig->masks, .learn = rig->learn, .members = {3}};
	return ret;
}

/* A third of the frames each: IPv4 and IPv6 to the router, the rest from station to station. */
static int rig_init_mix(struct rig *rig, uint64_t seed, struct shunt_err *err)
{
	uint64_t rng = seed;
	uint32_t i;
	int ret = rig_init(rig, false, MIX_ROUTES4, DESTS, seed, err);
	struct bench_set set = rig->set;

	if (ret)
		return ret;
	memset(&rig->set, 0, sizeof(rig->set));
	ret = bench_set_alloc(&rig->set, DESTS);
	if (!ret)
		ret = fill_ip6(rig, MIX_ROUTES6, seed, err);
	for (i = 0; i < DESTS && !ret; i++) {
		uint8_t *frame = bench_set_at(&rig->set, i);

		if (i % 3 == 0)
			memcpy(frame, bench_set_at(&set, i), BENCH_FRAME_LEN);
		if (i % 3 != 2)
			continue;
		write_station(frame, 2 * (uint32_t)shunt_rng_below(&rng, STATIONS / 2) + 1);
		write_station(frame + 6, 2 * (uint32_t)shunt_rng_below(&rng, STATIONS / 2));
	}
	bench_set_fini(&set);
	return ret ? ret : add_stations(rig, seed, err);
}

static int measure_mix(struct bench *bench)
{
	struct shunt_err err = {"not enough memory"};
	struct rig rig;
	unsigned i;
	int ret;

	memset(&rig, 0, sizeof(rig));
	ret = rig_init_mix(&rig, bench->seed, &err);
	if (ret)
		fprintf(stderr, "shunt-membench: mix: %s\n", err.msg);
	for (i = 0; i < SHUNT_ARRAY_LEN(batches) && !ret; i++)
		ret = measure(bench, &rig, "mem.mix",
			      json_pack("{s:i, s:i, s:i}", "routes4", MIX_ROUTES4, "routes6",
					MIX_ROUTES6, "macs", STATIONS),
			      batches[i]);
	shunt_mac_destroy(rig.macs);
	if (rig.learn)
		shunt_learn_fini(rig.learn);
	free(rig.learn);
	rig_fini(&rig);
	return ret;
}

int bench_ip(struct bench *bench)
{
	static const uint32_t ip4[] = {1, 1000, 1000000}, ip6[] = {1, 1000, 200000};
	unsigned i;
	int ret = 0;

	urcu_qsbr_register_thread();
	for (i = 0; i < SHUNT_ARRAY_LEN(ip4) && !ret; i++)
		ret = measure_table(bench, false, ip4[i], DESTS);
	for (i = 0; i < SHUNT_ARRAY_LEN(ip6) && !ret; i++)
		ret = measure_table(bench, true, ip6[i], DESTS);
	if (!ret)
		ret = measure_table(bench, false, 1000000, DESTS_MANY);
	if (!ret)
		ret = measure_mix(bench);
	urcu_qsbr_unregister_thread();
	return ret;
}
