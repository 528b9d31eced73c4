// SPDX-License-Identifier: BSD-2-Clause
/* The mirror and its FIB. Must hold: stores count what they have, a path has as many references as
 * routes, no rule is counted that is not there, no change of the FIB fails, a FIB that followed
 * every message is the one that a load makes, and nothing stays when the mirror goes. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "fuzz.h"
#include "mirror/fib.h"
#include "mirror/mirror.h"
#include "mirror/take.h"
#include "netlink.h"

#define SWEEP	       16 /* objects a step */
#define FLUSH	       16 /* changes */
#define CHECK_STAGE    10 /* of mirror/dump.c: the first of a check */
#define MESSAGES_FLUSH 4  /* the FIB follows after so many */

static struct shunt_mirror_table table;
static struct shunt_mirror_dump dump;
static struct shunt_mirror_fib fib;
static struct shunt_mirror_taker taker = {.table = &table, .dump = &dump};
static struct shunt_mirror_opts opts; /* the FIB's tables */
static bool is_check;
static uint32_t check_ifindex;
static unsigned message_cnt;

static int port_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex - FIRST_PORT < PORT_CNT ? (int)(ifindex - FIRST_PORT) : -1;
}

static void flush(void)
{
	int ret;

	do {
		ret = shunt_mirror_fib_flush(&fib, FLUSH);
		FUZZ_MUST(ret >= 0, "the FIB cannot follow: %s", strerror(-ret));
	} while (ret || shunt_mirror_fib_has_work(&fib));
}

static void begin_dump(void)
{
	dump.run = is_check ? SHUNT_MIRROR_RUN_CHECK : SHUNT_MIRROR_RUN_FULL;
	dump.stage = is_check ? CHECK_STAGE : 0;
	dump.ifindex = check_ifindex;
}

void netlink_mirror_start(unsigned bits, uint32_t ifindex)
{
	struct shunt_err err = {""};

	if (!opts.fib4)
		FUZZ_MUST(!shunt_fib4_create(&opts.fib4, 0, &err) &&
				  !shunt_fib6_create(&opts.fib6, 0, &err) &&
				  !shunt_nexthop_create(&opts.nexthops, 0, &err) &&
				  !shunt_devices_create_on(&opts.devices, NULL, &err),
			  "%s", err.msg);
	opts.port_of = opts.base_of = port_of;
	shunt_mirror_table_init(&table, 0);
	memset(&dump, 0, sizeof(dump));
	FUZZ_MUST(!shunt_mirror_fib_init(&fib, &table, &opts, &err), "%s", err.msg);
	is_check = bits & CHECK;
	check_ifindex = ifindex;
	message_cnt = 0;
	begin_dump();
	shunt_mirror_table_mark(&table);
	if (bits & FIB_FIRST)
		shunt_mirror_fib_load(&fib);
	flush();
}

/* --- messages --------------------------------------------------------------------------------- */

/* Sweeps, and goes on to the next dump, which nobody is asked for. */
static void end_dump(const struct nlmsghdr *nlh)
{
	struct shunt_mirror_dump_result result;

	shunt_mirror_dump_end(&dump, shunt_mirror_dump_error(nlh));
	while (dump.is_sweeping)
		shunt_mirror_dump_step(&dump, &table, NULL, 0, SWEEP, &result);
	if (dump.run == SHUNT_MIRROR_RUN_NONE)
		begin_dump();
	dump.is_interrupted = false;
	shunt_mirror_table_mark(&table);
}

void netlink_mirror_take(const struct nlmsghdr *nlh)
{
	const bool is_dump = nlh->nlmsg_flags & NLM_F_MULTI;
	int ret;

	dump.is_interrupted |= is_dump && nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
		end_dump(nlh);
	} else {
		ret = shunt_mirror_take(&taker, nlh, is_dump);
		FUZZ_MUST(ret == 0 || ret == 1 || ret == -EBADMSG, "a message of type %u: %s",
			  nlh->nlmsg_type, strerror(-ret));
	}
	if (++message_cnt % MESSAGES_FLUSH)
		return;
	shunt_mirror_table_settle(&table);
	flush();
}

/* --- what must hold --------------------------------------------------------------------------- */

static void check_store(const struct shunt_mirror_store *store, const char *name)
{
	uint32_t idx = 0, cnt = 0;

	while ((idx = shunt_mirror_store_next(store, idx)))
		cnt++;
	FUZZ_MUST(cnt == store->cnt, "%s: %u, %u counted", name, cnt, store->cnt);
}

static uint32_t routes_of(uint32_t path)
{
	uint32_t idx, cnt = 0;
	enum shunt_mirror_ip ip;

	for (ip = 0; ip < SHUNT_MIRROR_IP_CNT; ip++)
		for (idx = 0; (idx = shunt_mirror_store_next(&table.routes[ip], idx));)
			cnt += shunt_mirror_route_at(&table, ip, idx)->path == path;
	return cnt;
}

static void check_paths(void)
{
	const struct shunt_mirror_path *path;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table.paths, idx))) {
		path = shunt_mirror_path_at(&table, idx);
		FUZZ_MUST(path->refs == routes_of(idx), "path %u: %u references, %u routes", idx,
			  path->refs, routes_of(idx));
		FUZZ_MUST(!path->is_doomed, "path %u is doomed", idx);
	}
}

/* Each route is in its prefix's chain, once, and the chain in its order. */
static void check_routes(enum shunt_mirror_ip ip)
{
	const struct shunt_mirror_route *route;
	uint32_t idx = 0, first, cnt = 0;

	while ((idx = shunt_mirror_store_next(&table.routes[ip], idx))) {
		route = shunt_mirror_route_at(&table, ip, idx);
		first = shunt_mirror_route_first(&table, ip, route->dst, route->len);
		FUZZ_MUST(first, "a route that is not found");
		FUZZ_MUST((first == idx) == !!(route->live & SHUNT_MIRROR_ROUTE_FIRST),
			  "route %u: %u is the first", idx, first);
		if (first != idx)
			continue;
		for (; first; first = shunt_mirror_route_at(&table, ip, first)->next)
			FUZZ_MUST(++cnt <= table.routes[ip].cnt, "a chain in a circle");
	}
	FUZZ_MUST(cnt == table.routes[ip].cnt, "%u routes in chains of %u", cnt,
		  table.routes[ip].cnt);
}

static void check_table(void)
{
	check_store(&table.links, "links");
	check_store(&table.addrs, "addresses");
	check_store(&table.neighs, "neighbours");
	check_store(&table.nexthops, "next hops");
	check_store(&table.rules, "rules");
	check_store(&table.paths, "paths");
	check_routes(SHUNT_MIRROR_IP4);
	check_routes(SHUNT_MIRROR_IP6);
	check_paths();
	FUZZ_MUST(table.policy_cnt <= table.rules.cnt &&
			  table.prefix_cnt[0] + table.prefix_cnt[1] <= table.rules.cnt &&
			  table.default_cnt[0] + table.default_cnt[1] <= table.rules.cnt,
		  "more rules are counted than there are");
}

/* --- the FIB as a number, whatever order and indexes it has --------------------------------------
 */

static uint64_t mix(const void *bytes, size_t len, uint64_t seed)
{
	return (uint64_t)shunt_mirror_hash(bytes, len, seed) << 32 |
	       shunt_mirror_hash(bytes, len, ~seed);
}

static uint64_t number_of(uint32_t nh)
{
	static struct shunt_nexthop_member members[SHUNT_NEXTHOP_MEMBER_MAX];
	const unsigned cnt =
		shunt_nexthop_group_get(opts.nexthops, nh, members, SHUNT_NEXTHOP_MEMBER_MAX);
	uint64_t sum = 0;
	unsigned i;

	if (!cnt)
		return mix(shunt_nexthop_adj(opts.nexthops, nh, 0), sizeof(struct shunt_adj), 1);
	for (i = 0; i < cnt; i++)
		sum += mix(shunt_nexthop_adj(opts.nexthops, members[i].nh, 0),
			   sizeof(struct shunt_adj), members[i].weight);
	return sum;
}

static int add4(void *sum, uint32_t addr_be, unsigned len, uint32_t nh)
{
	*(uint64_t *)sum += mix(&addr_be, sizeof(addr_be), number_of(nh) + len);
	return 0;
}

static int add6(void *sum, const uint8_t addr[16], unsigned len, uint32_t nh)
{
	*(uint64_t *)sum += mix(addr, 16, number_of(nh) + len);
	return 0;
}

static uint64_t fib_number(void)
{
	uint64_t sum = 0;

	shunt_fib4_walk(opts.fib4, add4, &sum);
	shunt_fib6_walk(opts.fib6, add6, &sum);
	return sum;
}

/* What followed message by message is what is made of the table at once. */
static void check_fib(void)
{
	const bool was_on = fib.is_on;
	const uint64_t followed = fib_number();
	const uint32_t cnt4 = shunt_fib4_route_cnt(opts.fib4),
		       cnt6 = shunt_fib6_route_cnt(opts.fib6);

	if (was_on)
		shunt_mirror_fib_withdraw(&fib);
	FUZZ_MUST(!shunt_fib4_route_cnt(opts.fib4) && !shunt_fib6_route_cnt(opts.fib6),
		  "%u and %u routes stay", shunt_fib4_route_cnt(opts.fib4),
		  shunt_fib6_route_cnt(opts.fib6));
	shunt_mirror_fib_load(&fib);
	flush();
	FUZZ_MUST(!was_on || followed == fib_number(),
		  "the FIB followed to %u and %u routes, the load makes %u and %u or others", cnt4,
		  cnt6, shunt_fib4_route_cnt(opts.fib4), shunt_fib6_route_cnt(opts.fib6));
}

void netlink_mirror_finish(void)
{
	shunt_mirror_table_settle(&table);
	flush();
	check_table();
	check_fib();
	shunt_mirror_fib_fini(&fib);
	shunt_mirror_table_fini(&table);
	FUZZ_MUST(!opts.devices->runs.live_cnt, "%u devices above ports stay",
		  opts.devices->runs.live_cnt);
	FUZZ_MUST(!shunt_fib4_route_cnt(opts.fib4) && !shunt_fib6_route_cnt(opts.fib6) &&
			  !opts.nexthops->cnt,
		  "%u and %u routes and %u next hops stay", shunt_fib4_route_cnt(opts.fib4),
		  shunt_fib6_route_cnt(opts.fib6), opts.nexthops->cnt);
}
