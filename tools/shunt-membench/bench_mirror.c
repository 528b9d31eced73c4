// SPDX-License-Identifier: BSD-2-Clause
/* How long from the kernel's tables to forwarding by them: a namespace of our own with a
 * synthetic BGP table, the netlink mirror with a FIB behind it. Only root can make one. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "mirror/mirror.h"
#include "traffic/bgp.h"

#define NH_CNT	    64
#define SERVICE_MSG 4096

struct lab {
	struct bench *bench;
	uint32_t route_cnt;
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_mirror *mirror;
};

static int port_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex > 1 ? 0 : -1;
}

static int fill_kernel(const struct lab *lab)
{
	struct shunt_bgp4 *routes = calloc(lab->route_cnt, sizeof(*routes));
	FILE *ip = popen("ip -force -batch -", "w");
	char addr[INET_ADDRSTRLEN];
	uint32_t i, addr_be;

	if (!ip || !routes || shunt_bgp4_generate(routes, lab->route_cnt, NH_CNT, lab->bench->seed))
		return -ENOMEM;
	fputs("link add bv0 type veth peer name bv1\nlink set bv0 up\nlink set bv1 up\n"
	      "addr add 198.18.0.1/16 dev bv0\n",
	      ip);
	for (i = 0; i < NH_CNT; i++)
		fprintf(ip, "neigh add 198.18.1.%u lladdr 02:00:00:00:00:%02x dev bv0\n", i, i);
	for (i = 0; i < lab->route_cnt; i++) {
		addr_be = htonl(routes[i].addr);
		fprintf(ip, "route replace %s/%u via 198.18.1.%u\n",
			inet_ntop(AF_INET, &addr_be, addr, sizeof(addr)), routes[i].len,
			routes[i].nh - 1);
	}
	free(routes);
	return pclose(ip) ? -EIO : 0;
}

static int follow(struct lab *lab, struct shunt_mirror_stats *stats, struct shunt_err *err)
{
	int ret = 0;

	do {
		ret = shunt_mirror_service(lab->mirror, SERVICE_MSG, err);
		shunt_mirror_stats(lab->mirror, stats);
	} while (ret > 0 || (!ret && stats->state != SHUNT_MIRROR_following));
	return ret;
}

static void lab_fini(struct lab *lab)
{
	shunt_mirror_destroy(lab->mirror);
	shunt_fib4_destroy(lab->fib4);
	shunt_fib6_destroy(lab->fib6);
	shunt_nexthop_destroy(lab->nexthops);
	lab->mirror = NULL;
	lab->fib4 = NULL;
	lab->fib6 = NULL;
	lab->nexthops = NULL;
}

static int load_once(struct lab *lab, struct shunt_mirror_stats *stats, struct shunt_err *err)
{
	struct shunt_mirror_opts opts = {.netns_fd = -1, .port_of = port_of};
	int ret = shunt_fib4_create(&lab->fib4, 0, err);

	if (!ret)
		ret = shunt_fib6_create(&lab->fib6, 0, err);
	if (!ret)
		ret = shunt_nexthop_create(&lab->nexthops, 0, err);
	opts.fib4 = lab->fib4;
	opts.fib6 = lab->fib6;
	opts.nexthops = lab->nexthops;
	if (!ret)
		ret = shunt_mirror_create(&lab->mirror, &opts, err);
	if (!ret)
		ret = follow(lab, stats, err);
	return ret;
}

/* CPU time, the kernel's part of the dump included: on a busy machine the better figure. */
static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int measure(struct lab *lab, struct shunt_err *err)
{
	struct shunt_mirror_stats stats;
	double runs[BENCH_RUN_CNT], cpu[BENCH_RUN_CNT], bytes;
	unsigned r;
	int ret;

	for (r = 0; r < BENCH_RUN_CNT; r++) {
		cpu[r] = -cpu_s();
		ret = load_once(lab, &stats, err);
		if (ret)
			return ret;
		cpu[r] += cpu_s();
		runs[r] = (double)stats.load_ns / 1e9;
		bytes = (double)stats.bytes / stats.routes[SHUNT_MIRROR_IP4];
		lab_fini(lab);
	}
	bench_add(lab->bench, "mirror.load", json_pack("{s:i}", "routes", (int)lab->route_cnt), "s",
		  runs, BENCH_RUN_CNT);
	bench_add(lab->bench, "mirror.load_cpu", json_pack("{s:i}", "routes", (int)lab->route_cnt),
		  "s", cpu, BENCH_RUN_CNT);
	bench_add(lab->bench, "mirror.bytes_per_route",
		  json_pack("{s:i}", "routes", (int)lab->route_cnt), "bytes/route", &bytes, 1);
	return 0;
}

int bench_mirror(struct bench *bench)
{
	struct lab lab = {.bench = bench, .route_cnt = bench->quick ? 10000 : 1000000};
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), ret;
	struct shunt_err err = {0};

	if (home < 0 || unshare(CLONE_NEWNET)) {
		fprintf(stderr, "shunt-membench: mirror: no network namespace can be made: %s\n",
			strerror(errno));
		close(home);
		return -EPERM;
	}
	ret = fill_kernel(&lab);
	if (ret)
		shunt_err_set(&err, -ret, "mirror: cannot fill the kernel's table with `ip`");
	else
		ret = measure(&lab, &err);
	if (ret)
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	lab_fini(&lab);
	if (setns(home, CLONE_NEWNET))
		ret = -errno;
	close(home);
	return ret;
}
