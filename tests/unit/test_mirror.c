// SPDX-License-Identifier: BSD-2-Clause
/* The mirror against the kernel: lists of `ip` commands, and what the mirror must hold. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "mirror_rig.h"

#define BASE                                                         \
	"addr add 10.0.0.1/24 dev va\naddr add 10.0.1.1/24 dev wa\n" \
	"addr add 2001:db8::1/64 dev va\naddr add 2001:db8:0:1::1/64 dev wa\n"

/* Each is done on a fresh namespace with BASE: before the mirror is there, and again (on
 * another) while it follows. */
static const struct {
	const char *name, *commands;
} cases[] = {
	{"nothing", ""},
	{"addresses",
	 "addr add 10.5.0.1/16 dev vb\naddr add 10.5.0.2/16 dev vb\naddr add 10.6.0.1 peer 10.6.0.9 "
	 "dev wb\naddr del 10.5.0.1/16 dev vb\naddr add 2001:db8:5::1/48 dev vb\n"},
	{"address with routes from it",
	 "addr add 10.5.0.1/24 dev va\nroute add 10.50.0.0/16 via 10.0.0.2 src 10.5.0.1\n"
	 "route add 10.51.0.0/16 via 10.0.0.2\naddr del 10.5.0.1/24 dev va\n"},
	{"types", "route add blackhole 10.1.0.0/16\nroute add unreachable 10.2.0.0/16\n"
		  "route add prohibit 10.3.0.0/16\nroute add throw 10.4.0.0/16\n"
		  "route add blackhole 2001:db8:a::/48\nroute add unreachable 2001:db8:b::/48\n"
		  "route add prohibit 2001:db8:c::/48\nroute add local 10.9.0.0/24 dev lo\n"},
	{"metrics",
	 "route add 10.1.0.0/16 via 10.0.0.2 metric 20\nroute add 10.1.0.0/16 via 10.0.0.3 metric 10\n"
	 "route add 10.1.0.0/16 via 10.0.0.4 metric 30\nroute del 10.1.0.0/16 metric 10\n"},
	{"append and prepend",
	 "route add 10.1.0.0/16 via 10.0.0.2\nroute append 10.1.0.0/16 via 10.0.0.3\n"
	 "route append 10.1.0.0/16 via 10.0.0.4 proto bird\nroute prepend 10.1.0.0/16 via 10.0.0.5\n"
	 "route del 10.1.0.0/16 via 10.0.0.3\n"},
	{"replace",
	 "route add 10.1.0.0/16 via 10.0.0.2\nroute append 10.1.0.0/16 via 10.0.0.3\n"
	 "route replace 10.1.0.0/16 via 10.0.0.4\nroute replace 10.2.0.0/16 via 10.0.1.4\n"
	 "route change 10.2.0.0/16 via 10.0.1.5\n"},
	{"multipath",
	 "route add 10.1.0.0/16 nexthop via 10.0.0.2 weight 3 nexthop via 10.0.1.2\n"
	 "route replace 10.1.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2 weight 255 nexthop "
	 "via 10.0.1.3\nroute add 10.2.0.0/16 nexthop via 10.0.0.2 nexthop dev wa\n"},
	{"multipath, IPv6",
	 "route add 2001:db8:a::/48 nexthop via 2001:db8::3 nexthop via 2001:db8::2\n"
	 "route append 2001:db8:a::/48 via 2001:db8:0:1::2\n"
	 "route del 2001:db8:a::/48 via 2001:db8::3\n"
	 "route add 2001:db8:b::/48 nexthop via 2001:db8::3 nexthop via 2001:db8::2 weight 7\n"
	 "route replace 2001:db8:b::/48 via 2001:db8::9\n"
	 "route add 2001:db8:c::/48 nexthop via 2001:db8::3 nexthop via 2001:db8::2\n"
	 "route replace 2001:db8:c::/48 nexthop via 2001:db8::4 nexthop via 2001:db8::5\n"
	 "route add 2001:db8:d::/48 nexthop via 2001:db8::3 nexthop via 2001:db8::2\n"
	 "route del 2001:db8:d::/48\n"},
	{"metrics, IPv6", "route add 2001:db8:a::/48 via 2001:db8::3 metric 5\n"
			  "route add 2001:db8:a::/48 via 2001:db8::2 metric 3\n"
			  "route append 2001:db8:a::/48 dev wa metric 3\n"
			  "route del 2001:db8:a::/48 via 2001:db8::2\n"},
	{"via IPv6",
	 "route add 10.1.0.0/16 via inet6 fe80::1 dev va\n"
	 "route add 10.2.0.0/16 nexthop via inet6 fe80::1 dev va nexthop via 10.0.1.2\n"},
	{"onlink and mtu", "route add 10.1.0.0/16 via 192.0.2.1 dev va onlink\n"
			   "route add 10.2.0.0/16 via 10.0.0.2 mtu 1400\n"
			   "route add 10.3.0.0/16 via 10.0.0.2 mtu lock 1300\n"},
	{"tos",
	 "route add 10.1.0.0/16 tos 0x10 via 10.0.0.2\nroute add 10.1.0.0/16 via 10.0.0.3\n"},
	{"next-hop objects",
	 "nexthop add id 1 via 10.0.0.2 dev va\nnexthop add id 2 via 10.0.1.2 dev wa\n"
	 "nexthop add id 10 group 1,3/2\nnexthop add id 20 via 2001:db8::2 dev va\n"
	 "nexthop add id 30 blackhole\nroute add 10.1.0.0/16 nhid 1\nroute add 10.2.0.0/16 nhid 10\n"
	 "route add 10.3.0.0/16 nhid 30\nroute add 2001:db8:a::/48 nhid 20\n"
	 "nexthop replace id 1 via 10.0.0.9 dev va\nnexthop replace id 10 group 1/2,7\n"},
	{"next-hop object deleted",
	 "nexthop add id 1 via 10.0.0.2 dev va\nnexthop add id 2 via 10.0.1.2 dev wa\n"
	 "nexthop add id 10 group 1/2\nnexthop add id 11 group 1\n"
	 "nexthop add id 20 via 2001:db8::2 dev va\nroute add 10.1.0.0/16 nhid 1\n"
	 "route add 10.2.0.0/16 nhid 10\nroute add 10.3.0.0/16 nhid 11\n"
	 "route add 2001:db8:a::/48 nhid 20\nnexthop del id 1\nnexthop del id 20\n"
	 "nexthop add id 1 via 10.0.0.7 dev va\nroute add 10.4.0.0/16 nhid 1\n"},
	{"device down",
	 "route add 10.1.0.0/16 via 10.0.0.2\nnexthop add id 1 via 10.0.0.2 dev va\n"
	 "nexthop add id 2 via 10.0.1.2 dev wa\nnexthop add id 10 group 1/2\n"
	 "route add 10.2.0.0/16 nhid 1\nroute add 10.3.0.0/16 nhid 10\n"
	 "route add 10.4.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2\n"
	 "route add 2001:db8:a::/48 nexthop via 2001:db8::2 nexthop via 2001:db8:0:1::2\n"
	 "link set va down\n"},
	{"device down and up",
	 "route add 10.1.0.0/16 via 10.0.0.2\nlink set va down\nlink set va up\n"
	 "route add 10.2.0.0/16 via 10.0.0.2\n"
	 "route add 10.4.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2\n"
	 "link set wa down\nlink set wa up\n"},
	{"both devices of a multipath route down",
	 "route add 10.4.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2\n"
	 "link set va down\nlink set wa down\n"},
	{"device deleted",
	 "route add 10.1.0.0/16 via 10.0.0.2\nneigh add 10.0.0.2 lladdr 02:00:00:00:00:09 dev va\n"
	 "route add 10.4.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2\n"
	 "route add 2001:db8:a::/48 nexthop via 2001:db8::2 nexthop via 2001:db8:0:1::2\n"
	 "nexthop add id 1 via 10.0.0.2 dev va\nroute add 10.2.0.0/16 nhid 1\nlink del va\n"},
	{"device deleted and made again",
	 "route add 10.1.0.0/16 via 10.0.0.2\nneigh add 10.0.0.2 lladdr 02:00:00:00:00:09 dev va\n"
	 "link del va\n\nlink add va type veth peer name vb\n\nlink set va up\nlink set vb up\n"
	 "addr add 10.0.0.1/24 dev va\nroute add 10.1.0.0/16 via 10.0.0.3\n"},
	{"neighbours",
	 "neigh add 10.0.0.2 lladdr 02:00:00:00:00:09 dev va\n"
	 "neigh add 10.0.0.3 lladdr 02:00:00:00:00:08 dev va nud stale\n"
	 "neigh add 2001:db8::9 lladdr 02:00:00:00:00:07 dev va nud reachable\n"
	 "neigh change 10.0.0.2 lladdr 02:00:00:00:00:0a dev va\n"
	 "neigh add 10.0.1.2 lladdr 02:00:00:00:00:09 dev wa\nneigh del 10.0.1.2 dev wa\n"},
	{"bridge and macvlan",
	 "link add br0 type bridge\nlink set vb master br0\nlink set wb master br0\n"
	 "link set br0 up\naddr add 10.7.0.1/24 dev br0\nlink add mv0 link va type macvlan\n"
	 "link set mv0 up mtu 1400\nlink set vb nomaster\n"},
	{"flush", "route add 10.1.0.0/16 via 10.0.0.2\nroute add 10.2.0.0/16 via 10.0.0.2\n"
		  "route add 2001:db8:a::/48 via 2001:db8::2\nroute flush table main\n"
		  "route flush root 2001:db8::/32 table main\n"},
	{"other tables",
	 "route add 10.1.0.0/16 via 10.0.0.2 table 100\nroute add 10.2.0.0/16 via 10.0.0.2\n"
	 "route flush table 100\nroute add 2001:db8:a::/48 via 2001:db8::2 table 100\n"},
};

/* The mirror comes to a namespace where everything is done already. */
Test(mirror, dumps, .timeout = 120)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		struct shunt_mirror *mirror;

		rig_start();
		rig_ip(BASE, false);
		rig_ip(cases[i].commands, false);
		mirror = rig_create(NULL);
		rig_expect_same(mirror, cases[i].name);
		shunt_mirror_destroy(mirror);
	}
}

/* The mirror sees it done, and an audit finds nothing. */
Test(mirror, follows, .timeout = 120)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		struct shunt_mirror_stats stats;
		struct shunt_mirror *mirror;

		rig_start();
		rig_ip(BASE, false);
		mirror = rig_create(NULL);
		rig_ip(cases[i].commands, false);
		rig_expect_same(mirror, cases[i].name);
		shunt_mirror_audit(mirror);
		rig_service(mirror);
		shunt_mirror_stats(mirror, &stats);
		cr_expect_eq(stats.audits, 1);
		cr_expect_eq(stats.differences, 0, "%s: an audit found %lu differences",
			     cases[i].name, stats.differences);
		cr_expect_eq(stats.check_differences, 0, "%s: a check found %lu differences",
			     cases[i].name, stats.check_differences);
		cr_expect_eq(stats.malformed, 0);
		cr_expect_eq(stats.overruns, 0);
		shunt_mirror_destroy(mirror);
	}
}
