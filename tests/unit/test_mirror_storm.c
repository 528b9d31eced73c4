// SPDX-License-Identifier: BSD-2-Clause
/* The mirror under stress: random changes, lost events, bursts, no memory, a wrong table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "effort.h"
#include "mirror/mirror.h"
#include "measure/rng.h"
#include "mirror_rig.h"
#include "wait.h"

#define BASE                                                                           \
	"addr add 10.0.0.1/24 dev va\naddr add 10.0.1.1/24 dev wa\n"                   \
	"addr add 2001:db8::1/64 dev va\naddr add 2001:db8:0:1::1/64 dev wa\n"         \
	"nexthop add id 1 via 10.0.0.2 dev va\nnexthop add id 2 via 10.0.1.2 dev wa\n" \
	"nexthop add id 3 via 2001:db8::2 dev va\n"

/* One of a few prefixes, next hops, metrics: so that they meet. */
static void random_route(uint64_t *rng, FILE *out)
{
	static const char *const verbs[] = {"add", "append", "prepend", "replace", "change", "del"};
	const char *verb = verbs[shunt_rng_below(rng, SHUNT_ARRAY_LEN(verbs))];
	bool is_v6 = shunt_rng_below(rng, 2);
	unsigned prefix = (unsigned)shunt_rng_below(rng, 6), kind, hops, i;

	if (is_v6)
		fprintf(out, "route %s 2001:db8:%x::/48", verb, 10 + prefix);
	else
		fprintf(out, "route %s 10.%u.0.0/%u", verb, 16 + prefix / 2, 15 + prefix % 2);
	kind = (unsigned)shunt_rng_below(rng, 8);
	/* The kernel's dump skips an IPv6 route that stands between the hops of a multipath one
	 * (fib6_dump_node jumps to the last sibling): give those a metric of their own. */
	if (is_v6 && kind < 2)
		fprintf(out, " metric %u", 10 + kind);
	else if (shunt_rng_below(rng, 2))
		fprintf(out, " metric %u", 1 + (unsigned)shunt_rng_below(rng, 3));
	switch (kind) {
	case 0:
		fprintf(out, " nhid %u\n", is_v6 ? 3 : 1 + (unsigned)shunt_rng_below(rng, 2));
		return;
	case 1:
		fprintf(out, " dev %s\n", shunt_rng_below(rng, 2) ? "va" : "wa");
		return;
	case 2:
	case 3:
		hops = 2 + (unsigned)shunt_rng_below(rng, 2);
		break;
	default:
		hops = 1;
	}
	for (i = 0; i < hops; i++)
		fprintf(out, "%s via %s%u", hops > 1 ? " nexthop" : "",
			is_v6 ? (shunt_rng_below(rng, 2) ? "2001:db8::" : "2001:db8:0:1::")
			      : (shunt_rng_below(rng, 2) ? "10.0.0." : "10.0.1."),
			2 + (unsigned)shunt_rng_below(rng, 4));
	fputc('\n', out);
}

static void random_change(uint64_t *rng, FILE *out)
{
	const char *dev = shunt_rng_below(rng, 2) ? "va" : "wa";
	unsigned n = (unsigned)shunt_rng_below(rng, 5);

	switch (shunt_rng_below(rng, 60)) {
	case 0:
		fprintf(out, "link set %s down\n", dev);
		return;
	case 1:
	case 2:
		fprintf(out, "link set %s up\n", dev);
		return;
	case 3:
		fprintf(out, "nexthop del id %u\n", 1 + n % 3);
		return;
	case 4:
		fprintf(out, "nexthop replace id 1 via 10.0.0.%u dev va\n", 2 + n);
		return;
	case 5:
		fprintf(out, "nexthop replace id 2 group 1\n");
		return;
	case 6:
		fprintf(out, "nexthop replace id 3 via 2001:db8::%u dev va\n", 2 + n);
		return;
	case 7:
		fprintf(out, "addr %s 10.0.0.1/24 dev va\n", n < 2 ? "del" : "replace");
		return;
	case 8:
		fprintf(out, "addr %s 2001:db8::1/64 dev va\n", n < 2 ? "del" : "replace");
		return;
	case 9:
		fprintf(out, "neigh %s 10.0.0.%u lladdr 02:00:00:00:00:%02x dev va\n",
			n % 2 ? "replace" : "del", 2 + n, 0x50 + n);
		return;
	case 10:
		fprintf(out,
			"neigh replace 10.0.0.%u lladdr 02:00:00:00:00:%02x dev va nud stale\n",
			2 + n, 0x60 + n);
		return;
	default:
		random_route(rng, out);
	}
}

Test(mirror_storm, random_changes, .timeout = 300)
{
	struct shunt_mirror_stats stats;
	struct shunt_mirror *mirror;
	uint64_t seed, rng;
	unsigned round, i;
	char *lines, what[64];
	size_t size;

	for (seed = 1; seed <= EFFORT(6); seed++) {
		rng = seed;
		rig_start();
		rig_ip(BASE, false);
		mirror = rig_create(NULL);
		for (round = 0; round < 25; round++) {
			FILE *out = open_memstream(&lines, &size);

			for (i = 0; i < 40; i++)
				random_change(&rng, out);
			fclose(out);
			rig_ip(lines, true);
			free(lines);
			snprintf(what, sizeof(what), "seed %lu round %u", seed, round);
			rig_expect_same(mirror, what);
		}
		shunt_mirror_stats(mirror, &stats);
		cr_expect_eq(stats.overruns, 0);
		cr_expect_eq(stats.malformed, 0);
		shunt_mirror_destroy(mirror);
	}
}

/* Events that overrun a socket of the smallest buffer: 100,000 routes come and half of them go
 * again, without the mirror reading. */
static void make_routes(const char *verb, unsigned from, unsigned to)
{
	FILE *ip = popen("ip -batch -", "w");
	unsigned i;

	cr_assert(ip);
	for (i = from; i < to; i++)
		fprintf(ip, "route %s 11.%u.%u.%u/30 via 10.0.0.2\n", verb, i >> 14, i >> 6 & 255,
			i << 2 & 255);
	cr_assert_eq(pclose(ip), 0);
}

static void burst(uint32_t rcvbuf_bytes, bool must_overrun)
{
	struct shunt_mirror_opts opts = {.netns_fd = -1, .rcvbuf_bytes = rcvbuf_bytes};
	struct shunt_mirror_stats stats;
	struct shunt_mirror *mirror;
	const unsigned cnt = EFFORT(50000);

	rig_start();
	rig_ip(BASE, false);
	make_routes("add", 0, cnt);
	mirror = rig_create(&opts);
	shunt_mirror_stats(mirror, &stats);
	cr_expect_geq(stats.routes[SHUNT_MIRROR_IP4], cnt);
	make_routes("add", cnt, 2 * cnt);
	make_routes("del", 0, cnt);
	rig_expect_same(mirror, "after the burst");
	shunt_mirror_stats(mirror, &stats);
	cr_expect_eq(stats.overruns > 0, must_overrun, "%lu overruns", stats.overruns);
	cr_expect_eq(stats.resyncs > 0, must_overrun, "%lu resyncs", stats.resyncs);
	cr_expect_eq(stats.state, SHUNT_MIRROR_following);
	rig_shell("ip route flush via 10.0.0.2");
	rig_expect_same(mirror, "after the flush");
	shunt_mirror_destroy(mirror);
}

Test(mirror_storm, burst_overruns, .timeout = 120)
{
	burst(4096, true);
}

Test(mirror_storm, burst_fits, .timeout = 120)
{
	burst(256u << 20, false);
}

/* Routes taken out of the mirror, or put in, behind its back. */
Test(mirror_storm, audit_repairs, .timeout = 120)
{
	struct shunt_mirror_route_info info = {.len = 16, .dst = {10, 77}};
	struct shunt_mirror_opts opts = {.netns_fd = -1, .audit_s = 1};
	struct shunt_mirror_stats stats;
	struct shunt_mirror *mirror;
	uint8_t dst[16] = {10, 50};
	uint64_t until_ns = 0;

	rig_start();
	rig_ip(BASE "route add 10.50.0.0/16 via 10.0.0.2\n", false);
	mirror = rig_create(&opts);
	shunt_mirror_route_remove(
		shunt_mirror_table(mirror), SHUNT_MIRROR_IP4,
		shunt_mirror_route_first(shunt_mirror_table(mirror), SHUNT_MIRROR_IP4, dst, 16));
	info.path.family = 2;
	info.path.type = 1;
	cr_assert_eq(
		shunt_mirror_route_put(shunt_mirror_table(mirror), &info, SHUNT_MIRROR_HOW_ADD), 1);
	/* By itself, when its time has come. */
	stats.audits = 0;
	while (!stats.audits && wait_a_moment(&until_ns)) {
		cr_expect_leq(shunt_mirror_timeout_ms(mirror), 1000);
		rig_wait(mirror, SHUNT_MIN(20, shunt_mirror_timeout_ms(mirror)));
		rig_service(mirror);
		shunt_mirror_stats(mirror, &stats);
	}
	cr_expect_eq(stats.audits, 1);
	cr_expect_eq(stats.differences, 2, "%lu differences", stats.differences);
	rig_expect_same(mirror, "after the audit");
	shunt_mirror_destroy(mirror);
}

Test(mirror_storm, policy_routing_shows, .timeout = 120)
{
	struct shunt_mirror_stats stats;
	struct shunt_mirror *mirror;

	rig_start();
	rig_ip("rule add from 10.9.0.0/16 table 100\n", false);
	mirror = rig_create(NULL);
	shunt_mirror_stats(mirror, &stats);
	cr_expect_eq(stats.policy_rules, 1);
	rig_shell("ip rule add fwmark 7 table main && ip -6 rule add to 2001:db8::/32 table 7");
	rig_service(mirror);
	shunt_mirror_stats(mirror, &stats);
	cr_expect_eq(stats.policy_rules, 3);
	rig_shell("ip rule del fwmark 7 && ip rule del table 100 && ip -6 rule del table 7");
	rig_service(mirror);
	shunt_mirror_stats(mirror, &stats);
	cr_expect_eq(stats.policy_rules, 0);
	shunt_mirror_destroy(mirror);
}
