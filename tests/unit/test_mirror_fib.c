// SPDX-License-Identifier: BSD-2-Clause
/* From the kernel's tables to what a worker finds: lists of `ip` commands, and the adjacency
 * that an address leads to. Devices va and wa are ports 0 and 1. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "mirror/mirror.h"
#include "mirror/space.h"
#include "measure/rng.h"
#include "mirror_rig.h"

struct forwarder {
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_counts *counts;
	struct shunt_mirror *mirror;
};

static struct shunt_err err;

static int port_of(void *ctx, uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	(void)ctx;
	if (!if_indextoname(ifindex, name))
		return -1;
	return !strcmp(name, "va") ? 0 : !strcmp(name, "wa") ? 1 : -1;
}

static void forwarder_open(struct forwarder *fw, struct shunt_mirror_opts opts)
{
	cr_assert_eq(shunt_fib4_create(&fw->fib4, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_fib6_create(&fw->fib6, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_nexthop_create(&fw->nexthops, 0, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_counts_create_on(&fw->counts, 2, NULL, &err), 0, "%s", err.msg);
	opts.netns_fd = -1;
	opts.counts = fw->counts;
	opts.fib4 = fw->fib4;
	opts.fib6 = fw->fib6;
	opts.nexthops = fw->nexthops;
	opts.port_of = port_of;
	cr_assert_eq(shunt_mirror_create(&fw->mirror, &opts, &err), 0, "%s", err.msg);
	rig_service(fw->mirror);
}

/* Nothing may be left: every route and every next hop is returned. */
static void forwarder_close(struct forwarder *fw)
{
	shunt_mirror_destroy(fw->mirror);
	cr_expect_eq(shunt_fib4_route_cnt(fw->fib4), 0);
	cr_expect_eq(shunt_fib6_route_cnt(fw->fib6), 0);
	cr_expect_eq(fw->nexthops->cnt, 0, "%u next hops left", fw->nexthops->cnt);
	shunt_fib4_destroy(fw->fib4);
	shunt_fib6_destroy(fw->fib6);
	shunt_nexthop_destroy(fw->nexthops);
	shunt_counts_destroy(fw->counts);
}

#define UNKNOWN UINT32_MAX

/* "va 10.0.0.1": by the routes of what comes in by va, UNKNOWN where only the kernel knows which
 * these are. */
static uint32_t lookup(struct forwarder *fw, const char *addr)
{
	const struct shunt_mirror_table *table = shunt_mirror_table(fw->mirror);
	const bool is_ip6 = strchr(addr, ':');
	const char *to = strchr(addr, ' ');
	char device[IF_NAMESIZE] = "";
	uint8_t dst[16];
	uint32_t dst_be;
	int space = 0;

	if (to) {
		memcpy(device, addr, (size_t)(to - addr));
		space = shunt_mirror_space_of_device(
			table, is_ip6 ? SHUNT_MIRROR_IP6 : SHUNT_MIRROR_IP4,
			shunt_mirror_link_get(table, if_nametoindex(device)));
	}
	if (space < 0)
		return UNKNOWN;
	addr = to ? to + 1 : addr;
	cr_assert_eq(inet_pton(is_ip6 ? AF_INET6 : AF_INET, addr, dst), 1, "%s", addr);
	memcpy(&dst_be, dst, sizeof(dst_be));
	return is_ip6 ? shunt_fib6_lookup(shunt_fib6_space(fw->fib6, (unsigned)space), dst)
		      : shunt_fib4_lookup(shunt_fib4_space(fw->fib4, (unsigned)space), dst_be);
}

static void adj_text(const struct shunt_adj *adj, char *buf, size_t size)
{
	if (adj->kind == SHUNT_ADJ_REWRITE)
		snprintf(buf, size, "port%u %02x type%02x%02x mtu%u", adj->port, adj->eth[5],
			 adj->eth[12], adj->eth[13], adj->mtu);
	else
		snprintf(buf, size, "%s", shunt_adj_kind_name(adj->kind));
}

static void nh_text(struct forwarder *fw, uint32_t nh, char *buf, size_t size)
{
	struct shunt_nexthop_member members[8];
	unsigned cnt = 0, i;
	size_t len = 0;

	if (nh == UNKNOWN) {
		snprintf(buf, size, "unknown");
		return;
	}
	cnt = shunt_nexthop_group_get(fw->nexthops, shunt_nexthop_target(fw->nexthops, nh), members,
				      8);
	if (!cnt)
		adj_text(shunt_nexthop_adj(fw->nexthops, nh, 0), buf, size);
	for (i = 0; i < cnt; i++) {
		len += (size_t)snprintf(buf + len, size - len, "%s%u*", i ? " + " : "",
					members[i].weight);
		adj_text(shunt_nexthop_adj(fw->nexthops, members[i].nh, 0), buf + len, size - len);
		len = strlen(buf);
	}
}

#define BASE                                                                                      \
	"addr add 10.0.0.1/24 dev va\naddr add 10.0.1.1/24 dev wa\naddr add 10.0.9.1/24 dev vb\n" \
	"addr add 2001:db8::1/64 dev va\naddr add 2001:db8:0:1::1/64 dev wa\n"                    \
	"neigh add 10.0.0.2 lladdr 02:00:00:00:00:a2 dev va\n"                                    \
	"neigh add 10.0.0.3 lladdr 02:00:00:00:00:a3 dev va\n"                                    \
	"neigh add 10.0.1.2 lladdr 02:00:00:00:00:b2 dev wa\n"                                    \
	"neigh add 10.0.9.2 lladdr 02:00:00:00:00:92 dev vb\n"                                    \
	"neigh add fe80::a lladdr 02:00:00:00:00:aa dev va\n"                                     \
	"neigh add 2001:db8::2 lladdr 02:00:00:00:00:62 dev va\n"                                 \
	"neigh add 2001:db8:0:1::2 lladdr 02:00:00:00:00:72 dev wa\n"

#define RULE77 "rule add iif va table 77\n"

static const struct {
	const char *commands, *addr, *expected;
} cases[] = {
	{"", "10.9.9.9", "noroute"},
	{"", "10.0.0.1", "local"},
	{"", "10.0.0.255", "local"},
	{"", "127.0.0.5", "local"},
	{"", "2001:db8::1", "local"},
	{"", "ff02::1", "local"},
	{"", "10.0.0.2", "port0 a2 type0800 mtu1500"},
	{"", "10.0.0.77", "glean"},
	{"", "2001:db8::2", "port0 62 type86dd mtu1500"},
	{"", "2001:db8::77", "glean"},
	{"", "10.0.9.2", "punt"},
	{"neigh del 10.0.0.2 dev va\n", "10.0.0.2", "glean"},
	{"neigh add 10.0.0.9 lladdr 02:00:00:00:00:a9 dev va nud stale\n", "10.0.0.9",
	 "port0 a9 type0800 mtu1500"},
	{"neigh add 10.0.0.9 dev va nud failed\n", "10.0.0.9", "glean"},
	{"neigh change 10.0.0.2 lladdr 02:00:00:00:00:ee dev va\nroute add 10.1.0.0/16 via 10.0.0.2\n",
	 "10.1.0.1", "port0 ee type0800 mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2\nneigh del 10.0.0.2 dev va\n", "10.1.0.1", "glean"},
	{"route add 10.1.0.0/16 via 10.0.9.2\n", "10.1.0.1", "punt"},
	{"route add default via 10.0.1.2\n", "8.8.8.8", "port1 b2 type0800 mtu1500"},
	{"route add default via 10.0.1.2\nroute add 8.0.0.0/8 via 10.0.0.2\n", "8.8.8.8",
	 "port0 a2 type0800 mtu1500"},
	{"route add default via 10.0.1.2\nroute add 8.0.0.0/8 via 10.0.0.2\nroute del 8.0.0.0/8\n",
	 "8.8.8.8", "port1 b2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2 metric 9\nroute add 10.1.0.0/16 via 10.0.1.2 metric 5\n",
	 "10.1.0.1", "port1 b2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2 metric 9\nroute add 10.1.0.0/16 via 10.0.1.2 metric 5\n"
	 "route del 10.1.0.0/16 metric 5\n",
	 "10.1.0.1", "port0 a2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2 metric 9\nroute add 10.1.0.0/16 via 10.0.1.2 metric 5\n"
	 "link set wa down\n",
	 "10.1.0.1", "port0 a2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2\nroute append 10.1.0.0/16 via 10.0.1.2\n", "10.1.0.1",
	 "port0 a2 type0800 mtu1500"},
	{"route add blackhole 10.1.0.0/16\n", "10.1.0.1", "blackhole"},
	{"route add unreachable 10.1.0.0/16\n", "10.1.0.1", "unreachable"},
	{"route add prohibit 10.1.0.0/16\n", "10.1.0.1", "prohibit"},
	{"route add throw 10.1.0.0/16\n", "10.1.0.1", "punt"},
	{"route add unreachable 2001:db8:a::/48\n", "2001:db8:a::1", "unreachable"},
	{"route add 10.1.0.0/16 via inet6 fe80::a dev va\n", "10.1.0.1",
	 "port0 aa type0800 mtu1500"},
	{"route add 2001:db8:a::/48 via fe80::a dev va\n", "2001:db8:a::1",
	 "port0 aa type86dd mtu1500"},
	{"route add 10.1.0.0/16 via 10.0.0.2 mtu 1300\n", "10.1.0.1", "port0 a2 type0800 mtu1300"},
	{"link set va mtu 1400\n", "10.0.0.2", "port0 a2 type0800 mtu1400"},
	{"route add 10.1.0.0/16 nexthop via 10.0.0.2 weight 3 nexthop via 10.0.1.2\n", "10.1.0.1",
	 "3*port0 a2 type0800 mtu1500 + 1*port1 b2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 nexthop via 10.0.0.2 weight 3 nexthop via 10.0.1.2\n"
	 "link set va down\n",
	 "10.1.0.1", "1*port1 b2 type0800 mtu1500"},
	{"route add 10.1.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.9.2\n", "10.1.0.1",
	 "1*port0 a2 type0800 mtu1500 + 1*punt"},
	{"route add 2001:db8:a::/48 nexthop via 2001:db8::2 nexthop via 2001:db8:0:1::2\n",
	 "2001:db8:a::1", "1*port0 62 type86dd mtu1500 + 1*port1 72 type86dd mtu1500"},
	{"route add 2001:db8:a::/48 nexthop via 2001:db8::2 nexthop via 2001:db8:0:1::2\n"
	 "route del 2001:db8:a::/48 via 2001:db8::2\n",
	 "2001:db8:a::1", "port1 72 type86dd mtu1500"},
	{"nexthop add id 1 via 10.0.0.2 dev va\nroute add 10.1.0.0/16 nhid 1\n", "10.1.0.1",
	 "port0 a2 type0800 mtu1500"},
	{"nexthop add id 1 via 10.0.0.2 dev va\nroute add 10.1.0.0/16 nhid 1\n"
	 "nexthop replace id 1 via 10.0.1.2 dev wa\n",
	 "10.1.0.1", "port1 b2 type0800 mtu1500"},
	{"nexthop add id 1 via 10.0.0.2 dev va\nroute add 10.1.0.0/16 nhid 1\nnexthop del id 1\n",
	 "10.1.0.1", "noroute"},
	{"nexthop add id 1 via 10.0.0.2 dev va\nnexthop add id 2 via 10.0.1.2 dev wa\n"
	 "nexthop add id 10 group 1,5/2\nroute add 10.1.0.0/16 nhid 10\n",
	 "10.1.0.1", "5*port0 a2 type0800 mtu1500 + 1*port1 b2 type0800 mtu1500"},
	{"nexthop add id 1 via 10.0.0.2 dev va\nnexthop add id 2 via 10.0.1.2 dev wa\n"
	 "nexthop add id 10 group 1/2\nroute add 10.1.0.0/16 nhid 10\nnexthop del id 1\n",
	 "10.1.0.1", "1*port1 b2 type0800 mtu1500"},
	{"nexthop add id 1 blackhole\nroute add 10.1.0.0/16 nhid 1\n", "10.1.0.1", "blackhole"},
	{"route add 10.1.0.0/16 tos 0x10 via 10.0.0.2\nroute add 10.1.0.0/16 via 10.0.1.2\n",
	 "10.1.0.1", "punt"},
	/* Neighbours under a longer prefix, and one that goes again. */
	{"route add 10.0.0.0/28 via 10.0.1.2\n", "10.0.0.2", "port1 b2 type0800 mtu1500"},
	{"route add 10.0.0.0/28 via 10.0.1.2\nroute del 10.0.0.0/28\n", "10.0.0.2",
	 "port0 a2 type0800 mtu1500"},
	{"route add 10.0.0.2 via 10.0.1.2\n", "10.0.0.2", "port1 b2 type0800 mtu1500"},
	{"route add 10.0.0.2 via 10.0.1.2\nroute del 10.0.0.2\n", "10.0.0.2",
	 "port0 a2 type0800 mtu1500"},
	{"route add 192.0.2.1 dev va\nneigh add 192.0.2.1 lladdr 02:00:00:00:00:c1 dev va\n",
	 "192.0.2.1", "port0 c1 type0800 mtu1500"},
	{"addr del 10.0.0.1/24 dev va\n", "10.0.0.2", "noroute"},
	{"link set va down\n", "10.0.0.2", "noroute"},
	{"link set va down\nlink set va up\nneigh add 10.0.0.2 lladdr 02:00:00:00:00:a2 dev va\n",
	 "10.0.0.2", "port0 a2 type0800 mtu1500"},
	{"link del va\n\nlink add va type veth peer name vb\n\naddr add 10.0.0.1/24 dev va\n"
	 "link set va up\nlink set vb up\nneigh add 10.0.0.2 lladdr 02:00:00:00:00:d2 dev va\n",
	 "10.0.0.2", "port0 d2 type0800 mtu1500"},
	/* rules that lead what comes in by va to another table */
	{"", "va 10.0.1.2", "port1 b2 type0800 mtu1500"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\n", "va 10.9.0.1",
	 "port1 b2 type0800 mtu1500"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\n", "wa 10.9.0.1", "noroute"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\n", "10.9.0.1", "noroute"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\n", "va 10.0.1.2", "noroute"},
	{RULE77 "route add 10.0.1.0/24 dev wa table 77\n", "va 10.0.1.2",
	 "port1 b2 type0800 mtu1500"},
	{RULE77 "route add 10.0.0.0/8 via 10.0.1.2 table 77\n", "va 10.0.0.1", "local"},
	{RULE77 "route add 10.0.0.0/8 via 10.0.1.2 table 77\naddr del 10.0.0.1/24 dev va\n",
	 "va 10.0.0.1", "port1 b2 type0800 mtu1500"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nroute add 10.9.0.0/16 via 10.0.0.2\n",
	 "va 10.9.0.1", "port1 b2 type0800 mtu1500"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nroute add 10.9.0.0/16 via 10.0.0.2\n",
	 "wa 10.9.0.1", "port0 a2 type0800 mtu1500"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nroute del 10.9.0.0/16 table 77\n",
	 "va 10.9.0.1", "noroute"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nlink set wa down\n", "va 10.9.0.1",
	 "noroute"},
	{RULE77 "route add local 10.9.0.0/16 dev lo\nroute add 10.9.1.0/24 via 10.0.1.2 table 77\n",
	 "va 10.9.1.1", "local"},
	{RULE77 "route add 10.9.1.0/24 via 10.0.1.2 table 77\nroute add local 10.9.0.0/16 dev lo\n",
	 "va 10.9.1.1", "local"},
	{RULE77 "route add 10.9.1.0/24 via 10.0.1.2 table 77\nroute add local 10.9.0.0/16 dev lo\n"
		"route del local 10.9.0.0/16 dev lo\n",
	 "va 10.9.1.1", "port1 b2 type0800 mtu1500"},
	{RULE77 "route add local 10.9.0.0/16 dev lo\nroute add 10.9.1.0/24 dev wa table 77\n"
		"neigh add 10.9.1.1 lladdr 02:00:00:00:00:b9 dev wa\n",
	 "va 10.9.1.1", "local"},
	{RULE77 "route add local 10.9.0.0/16 dev lo table 77\n", "va 10.9.1.1", "local"},
	{RULE77 "route add unreachable default table 77\n", "va 10.9.0.1", "unreachable"},
	{RULE77 "route add throw 10.9.0.0/16 table 77\n", "va 10.9.0.1", "punt"},
	{RULE77 "route add default via 10.0.1.2 table 77\nrule del table 77\n", "va 10.9.0.1",
	 "noroute"},
	{"route add default via 10.0.1.2 table 77\n" RULE77, "va 10.9.0.1",
	 "port1 b2 type0800 mtu1500"},
	/* what rules for a prefix can match is the kernel's */
	{"rule add from 10.0.0.0/16 table 77\n", "va 10.0.1.2", "local"},
	{"rule add from 10.0.0.0/16 table 77\n", "va 10.0.0.3", "local"},
	{"rule add from 10.9.0.0/16 table 77\n", "va 10.0.1.2", "port1 b2 type0800 mtu1500"},
	{"rule add from 10.9.0.0/16 table 77\n", "va 10.9.0.1", "local"},
	{"rule add to 10.0.1.0/25 table 77\n", "va 10.0.1.2", "local"},
	{"rule add to 10.0.1.0/25 table 77\n", "va 10.0.1.200", "glean"},
	{"rule add to 10.0.1.0/25 table 77\nrule del table 77\n", "va 10.0.1.2",
	 "port1 b2 type0800 mtu1500"},
	{"rule add to 10.0.1.0/25 table 77\nrule add to 10.0.1.0/25 table 78\nrule del table 77\n",
	 "va 10.0.1.2", "local"},
	{"rule add from 10.9.0.0/16 to 10.8.0.0/16 table 77\nroute add 10.9.0.0/16 via 10.0.1.2\n",
	 "va 10.9.0.1", "port1 b2 type0800 mtu1500"},
	{"rule add from 10.9.0.0/16 to 10.8.0.0/16 table 77\nroute add 10.8.0.0/24 via 10.0.1.2\n",
	 "va 10.8.0.1", "local"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nrule add to 10.9.1.0/24 prohibit\n",
	 "va 10.9.1.1", "local"},
	{RULE77 "route add 10.9.0.0/16 via 10.0.1.2 table 77\nrule add to 10.9.1.0/24 prohibit\n",
	 "va 10.9.2.1", "port1 b2 type0800 mtu1500"},
	{"rule add not from 10.9.0.0/16 table 77\n", "va 10.0.1.2", "unknown"},
	{"rule add from 10.9.0.0/16 tos 0x10 table 77\n", "va 10.0.1.2",
	 "port1 b2 type0800 mtu1500"},
	{"rule add tos 0x10 table 77\n", "va 10.0.1.2", "unknown"},
	/* no packet has a mark but of who judges it */
	{"rule add fwmark 7 table 77\n", "va 10.0.1.2", "port1 b2 type0800 mtu1500"},
	{"rule add fwmark 0/0xff table 77\n", "va 10.0.1.2", "unknown"},
	{"rule add fwmark 0x10/0x0f table 77\n", "va 10.0.1.2", "unknown"},
	{"rule add not iif wa table 77\n", "va 10.9.0.1", "unknown"},
	{"rule add iif va prohibit\n", "va 10.9.0.1", "unknown"},
	{"rule add iif va prohibit\n", "wa 10.9.0.1", "noroute"},
	{"rule add oif va table 77\nrule add iif lo table 78\n", "va 10.9.0.1", "noroute"},
	{"rule add iif va table main suppress_prefixlength 0\n", "va 10.9.0.1", "unknown"},
	{"rule add pref 100 iif va table 77\nrule add pref 100 tos 0x10 table 78\n", "va 10.9.0.1",
	 "unknown"},
	{"rule add pref 100 iif va table 77\nrule add pref 101 tos 0x10 table 78\n", "va 10.9.0.1",
	 "noroute"},
	{"rule add pref 99 iif va table main\nrule add pref 100 iif va table 77\n", "va 10.0.1.2",
	 "port1 b2 type0800 mtu1500"},
	{"rule add from 10.9.3.4/16 table 77\n", "va 10.9.7.1", "local"},
	{"rule del pref 32766\n", "va 10.0.1.2", "unknown"},
	{"rule del pref 0\n", "va 10.0.1.2", "unknown"},
	{"rule add pref 10 goto 32766\n", "va 10.0.1.2", "unknown"},
	{"rule add pref 10 table local\nrule del pref 0\n", "va 10.0.1.2",
	 "port1 b2 type0800 mtu1500"},
	{"rule add pref 40000 table local\nrule del pref 0\n", "va 10.0.1.2", "unknown"},
	{"rule add pref 40000 table local\nrule del pref 0\nrule add pref 100 iif va table 77\n"
	 "route add default via 10.0.1.2 table 77\n",
	 "va 10.0.0.1", "local"},
};

/* Waits for the carrier of a device set up again. */
static void expect(struct forwarder *fw, const char *commands, const char *addr,
		   const char *expected)
{
	char text[512] = "";
	int i;

	for (i = 0; i < 100; i++) {
		rig_service(fw->mirror);
		nh_text(fw, lookup(fw, addr), text, sizeof(text));
		if (!strcmp(text, expected))
			return;
		rig_wait(fw->mirror, 20);
	}
	cr_expect_fail("after\n%s%s leads to [%s], expected [%s]", commands, addr, text, expected);
}

static void run_cases(bool is_live)
{
	struct forwarder fw;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		rig_start();
		rig_ip(BASE, false);
		if (is_live)
			forwarder_open(&fw, (struct shunt_mirror_opts){0});
		rig_ip(cases[i].commands, false);
		if (!is_live)
			forwarder_open(&fw, (struct shunt_mirror_opts){0});
		expect(&fw, cases[i].commands, cases[i].addr, cases[i].expected);
		forwarder_close(&fw);
	}
}

Test(mirror_fib, loads, .timeout = 120)
{
	run_cases(false);
}

Test(mirror_fib, follows, .timeout = 120)
{
	run_cases(true);
}

/* Each family has rules of its own. */
Test(mirror_fib, rules_of_ipv6, .timeout = 120)
{
	struct forwarder fw;

	rig_start();
	rig_ip(BASE "route add 2001:db8:9::/48 via 2001:db8:0:1::2 table 77\n", false);
	forwarder_open(&fw, (struct shunt_mirror_opts){0});
	expect(&fw, "", "va 2001:db8:9::1", "noroute");
	rig_shell("ip -6 rule add iif va table 77");
	expect(&fw, "", "va 2001:db8:9::1", "port1 72 type86dd mtu1500");
	expect(&fw, "", "va 2001:db8:0:1::2", "noroute");
	expect(&fw, "", "va 2001:db8::1", "local");
	expect(&fw, "", "wa 2001:db8:0:1::2", "port1 72 type86dd mtu1500");
	expect(&fw, "", "va 10.0.1.2", "port1 b2 type0800 mtu1500");
	rig_shell("ip -6 rule add to 2001:db8:0:1::/64 prohibit");
	expect(&fw, "", "wa 2001:db8:0:1::2", "local");
	expect(&fw, "", "wa 2001:db8::2", "port0 62 type86dd mtu1500");
	rig_shell("ip -6 rule add from 2001:db8:7::/48 prohibit");
	expect(&fw, "", "wa 2001:db8::2", "unknown");
	forwarder_close(&fw);
}

/* What a worker counts for an address. */
static uint32_t number_of(struct forwarder *fw, const char *addr)
{
	return shunt_nexthop_adj(fw->nexthops, lookup(fw, addr), 0)->number;
}

static bool count_of(struct forwarder *fw, const char *device, int family, const char *addr,
		     struct shunt_count *out)
{
	struct shunt_mirror_neigh_info info = {.ifindex = if_nametoindex(device),
					       .family = (uint8_t)family};

	inet_pton(family, addr, info.addr);
	return shunt_mirror_neigh_count(fw->mirror, &info, out);
}

/* One number for all that leads to a neighbour, as long as anything does; then a new one from 0. */
Test(mirror_fib, neighbours_are_counted, .timeout = 120)
{
	struct shunt_count_line *line;
	struct shunt_count count;
	struct forwarder fw;
	uint32_t number;

	rig_start();
	rig_ip(BASE "route add 10.1.0.0/16 via 10.0.0.2\n"
		    "route add 10.2.0.0/16 via 10.0.0.2 mtu 1300\n"
		    "route add 10.3.0.0/16 via 10.0.1.2\n"
		    "neigh add fe80::99 lladdr 02:00:00:00:00:a9 dev va\n"
		    "route add 10.4.0.0/16 via inet6 fe80::99 dev va\n"
		    "route add 2001:db8:4::/48 via fe80::99 dev va\n",
	       false);
	forwarder_open(&fw, (struct shunt_mirror_opts){0});
	expect(&fw, "", "10.4.0.1", "port0 a9 type0800 mtu1500");
	number = number_of(&fw, "10.0.0.2");
	cr_assert(number);
	cr_expect_eq(number_of(&fw, "10.1.0.1"), number);
	cr_expect_eq(number_of(&fw, "10.2.0.1"), number);
	cr_expect(number_of(&fw, "10.3.0.1") && number_of(&fw, "10.3.0.1") != number);
	cr_expect(number_of(&fw, "10.4.0.1"));
	cr_expect_eq(number_of(&fw, "10.4.0.1"), number_of(&fw, "2001:db8:4::1"));
	line = shunt_counts_line(fw.counts->lines, 2, number, 1);
	line->count = (struct shunt_count){7, 700};
	cr_assert(count_of(&fw, "va", AF_INET, "10.0.0.2", &count));
	cr_expect(count.packets == 7 && count.bytes == 700);
	cr_assert(count_of(&fw, "wa", AF_INET, "10.0.1.2", &count));
	cr_expect_eq(count.packets, 0);
	cr_expect_not(count_of(&fw, "wa", AF_INET, "10.0.1.9", &count));
	rig_ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:b7 dev va\nroute del 10.1.0.0/16\n"
	       "route del 10.2.0.0/16\n",
	       false);
	expect(&fw, "", "10.0.0.2", "port0 b7 type0800 mtu1500");
	cr_expect_eq(number_of(&fw, "10.0.0.2"), number);
	cr_assert(count_of(&fw, "va", AF_INET, "10.0.0.2", &count));
	cr_expect_eq(count.packets, 7);
	rig_ip("neigh del 10.0.0.2 dev va\n", false);
	expect(&fw, "", "10.0.0.2", "glean");
	cr_expect_not(count_of(&fw, "va", AF_INET, "10.0.0.2", &count));
	rig_ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:a2 dev va\n", false);
	expect(&fw, "", "10.0.0.2", "port0 a2 type0800 mtu1500");
	cr_assert(count_of(&fw, "va", AF_INET, "10.0.0.2", &count));
	cr_expect_eq(count.packets, 0);
	forwarder_close(&fw);
}

static uint64_t routed_by(struct forwarder *fw, const char *addr)
{
	struct shunt_count count;

	shunt_counts_sum(fw->counts, lookup(fw, addr), &count);
	return count.packets;
}

static void count_route(struct forwarder *fw, const char *addr, uint64_t packets)
{
	shunt_counts_line(fw->counts->lines, 2, lookup(fw, addr), 1)->count.packets += packets;
}

/* Each route by a number of its own, whatever it leads to, as long as there is a route. */
Test(mirror_fib, routes_are_counted, .timeout = 120)
{
	struct forwarder fw;
	uint32_t number;

	rig_start();
	rig_ip(BASE
	       "route add 10.1.0.0/16 via 10.0.0.2\n"
	       "route add 10.2.0.0/16 via 10.0.0.2\n"
	       "route add 10.3.0.0/16 nexthop via 10.0.0.2 dev va nexthop via 10.0.1.2 dev wa\n"
	       "route add 2001:db8:4::/48 via 2001:db8::2\n",
	       false);
	forwarder_open(&fw, (struct shunt_mirror_opts){0});
	expect(&fw, "", "10.1.0.1", "port0 a2 type0800 mtu1500");
	count_route(&fw, "10.1.0.1", 3);
	count_route(&fw, "10.2.0.1", 5);
	count_route(&fw, "10.3.0.1", 7);
	count_route(&fw, "2001:db8:4::1", 9);
	count_route(&fw, "10.0.0.2", 11);
	cr_expect_eq(routed_by(&fw, "10.1.0.9"), 3);
	cr_expect_eq(routed_by(&fw, "10.2.0.9"), 5);
	cr_expect_eq(routed_by(&fw, "10.3.0.9"), 7);
	cr_expect_eq(routed_by(&fw, "2001:db8:4::9"), 9);
	cr_expect_eq(routed_by(&fw, "10.0.0.2"), 11);
	number = lookup(&fw, "10.1.0.1");
	rig_ip("route replace 10.1.0.0/16 via 10.0.1.2\n", false);
	expect(&fw, "", "10.1.0.1", "port1 b2 type0800 mtu1500");
	cr_expect_eq(lookup(&fw, "10.1.0.1"), number);
	cr_expect_eq(routed_by(&fw, "10.1.0.1"), 3);
	rig_ip("route replace 10.1.0.0/16 nexthop via 10.0.0.2 dev va "
	       "nexthop via 10.0.1.2 dev wa\n",
	       false);
	expect(&fw, "", "10.1.0.1", "1*port0 a2 type0800 mtu1500 + 1*port1 b2 type0800 mtu1500");
	cr_expect_eq(routed_by(&fw, "10.1.0.1"), 3);
	rig_ip("route del 10.1.0.0/16\n", false);
	expect(&fw, "", "10.1.0.1", "noroute");
	rig_ip("route add 10.1.0.0/16 via 10.0.0.2\n", false);
	expect(&fw, "", "10.1.0.1", "port0 a2 type0800 mtu1500");
	cr_expect_eq(routed_by(&fw, "10.1.0.1"), 0);
	forwarder_close(&fw);
}

/* With room for fewer routes than there are, a part must not forward: nothing is in the FIB. */
Test(mirror_fib, no_room_punts_all, .timeout = 120)
{
	struct forwarder fw;
	struct shunt_mirror_stats stats;
	unsigned i;

	rig_start();
	rig_ip(BASE "route add 10.1.0.0/16 via 10.0.0.2\nroute add 10.1.7.0/24 via 10.0.1.2\n",
	       false);
	forwarder_open(&fw, (struct shunt_mirror_opts){.routes_max = 20});
	expect(&fw, "", "10.1.0.1", "port0 a2 type0800 mtu1500");
	for (i = 0; i < 20; i++) {
		char line[64];

		snprintf(line, sizeof(line), "route add 10.99.%u.0/24 via 10.0.0.2\n", i);
		rig_ip(line, false);
	}
	expect(&fw, "too many routes\n", "10.1.0.1", "noroute");
	expect(&fw, "too many routes\n", "10.0.0.2", "noroute");
	shunt_mirror_stats(fw.mirror, &stats);
	cr_expect_eq(stats.state, SHUNT_MIRROR_incomplete);
	cr_expect_gt(stats.out_of_memory, 0);
	cr_expect_eq(shunt_fib4_route_cnt(fw.fib4), 0);
	/* A complete dump that fits ends it. */
	for (i = 0; i < 20; i++) {
		char line[64];

		snprintf(line, sizeof(line), "route del 10.99.%u.0/24\n", i);
		rig_ip(line, false);
	}
	shunt_mirror_audit(fw.mirror);
	expect(&fw, "room again\n", "10.1.7.1", "port1 b2 type0800 mtu1500");
	expect(&fw, "room again\n", "10.0.0.2", "port0 a2 type0800 mtu1500");
	forwarder_close(&fw);
}
