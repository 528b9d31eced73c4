// SPDX-License-Identifier: BSD-2-Clause
/* Redirects that fail, on real devices in a network namespace of the test's own: frames sent by
 * vb arrive on va, whose program redirects them to vc, whose peer is vd. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>

#include "xdp/fail.h"
#include "tools/shunt_devmap.skel.h"
#include "netns.h"
#include "wait.h"

static struct shunt_err err;

struct rig {
	struct shunt_devmap *skel;
	struct shunt_xdp_fail *fail;
};

enum { VA, VC };

static void shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

static void rig_init(struct rig *rig)
{
	uint32_t ifindexes[2], zero = 0;

	netns_enter();
	shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && "
	      "ip link add va type veth peer name vb && ip link add vc type veth peer name vd && "
	      "ethtool -K vd gro on && "
	      "for dev in va vb vc vd; do ip link set $dev up; done");
	ifindexes[VA] = if_nametoindex("va");
	ifindexes[VC] = if_nametoindex("vc");
	rig->skel = shunt_devmap__open_and_load();
	cr_assert_not_null(rig->skel);
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.shunt_other), &zero,
					 &ifindexes[VC], 0),
		     0);
	cr_assert_eq(bpf_xdp_attach((int)ifindexes[VA],
				    bpf_program__fd(rig->skel->progs.shunt_devmap),
				    XDP_FLAGS_DRV_MODE, NULL),
		     0);
	cr_assert_eq(shunt_xdp_fail_open(&rig->fail, ifindexes, 2, &err), 0, "%s", err.msg);
}

static void rig_fini(struct rig *rig)
{
	shunt_xdp_fail_close(rig->fail);
	shunt_devmap__destroy(rig->skel);
}

static void send_frames(size_t len, unsigned cnt)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex("vb")};
	char frame[1600] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	while (cnt--)
		cr_assert_eq(sendto(fd, frame, len, 0, (struct sockaddr *)&to, sizeof(to)),
			     (ssize_t)len, "%s", strerror(errno));
	close(fd);
}

static uint64_t total(const struct rig *rig)
{
	uint64_t sum = 0;
	unsigned reason;

	for (reason = 0; reason < SHUNT_FAIL_CNT; reason++)
		sum += shunt_xdp_fail_read(rig->fail, VA, reason) +
		       shunt_xdp_fail_read(rig->fail, VC, reason);
	return sum;
}

/* Three frames more, all of them counted at vc for that reason. */
static void expect_failed(const struct rig *rig, size_t len, enum shunt_fail_reason reason)
{
	uint64_t before = shunt_xdp_fail_read(rig->fail, VC, reason), others = total(rig) - before;

	send_frames(len, 3);
	wait_until(shunt_xdp_fail_read(rig->fail, VC, reason) >= before + 3);
	cr_expect_eq(shunt_xdp_fail_read(rig->fail, VC, reason), before + 3, "%s",
		     shunt_xdp_fail_name(reason));
	cr_expect_eq(total(rig) - shunt_xdp_fail_read(rig->fail, VC, reason), others);
}

static uint64_t received(const char *dev)
{
	char path[64];
	unsigned long long n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/rx_packets", dev);
	file = fopen(path, "r");
	cr_assert(file && fscanf(file, "%llu", &n) == 1, "%s", path);
	fclose(file);
	return n;
}

Test(xdp_fail, counted_by_port_and_reason)
{
	struct rig rig;

	rig_init(&rig);
	shell("mount -t sysfs none /sys");
	send_frames(60, 3);
	wait_until(received("vd") >= 3);
	cr_expect_eq(received("vd"), 3);
	cr_expect_eq(total(&rig), 0);

	shell("ethtool -K vd gro off"); /* its NAPI goes with it */
	expect_failed(&rig, 60, SHUNT_FAIL_no_transmit);
	shell("ethtool -K vd gro on");
	shell("ip link set vc mtu 1000");
	expect_failed(&rig, 1200, SHUNT_FAIL_too_big);
	shell("ip link set vc down");
	expect_failed(&rig, 60, SHUNT_FAIL_down);
	rig_fini(&rig);
}

/* Devices of another namespace have the same indices: a listener there hears nothing. */
Test(xdp_fail, other_namespaces_are_not_ours)
{
	struct shunt_xdp_fail *there = NULL;
	uint32_t index;
	struct rig rig;
	int home;

	rig_init(&rig);
	index = if_nametoindex("va");
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(unshare(CLONE_NEWNET), 0);
	cr_assert_eq(shunt_xdp_fail_open(&there, &index, 1, &err), 0, "%s", err.msg);
	cr_assert_eq(setns(home, CLONE_NEWNET), 0);
	shell("ethtool -K vd gro off");
	expect_failed(&rig, 60, SHUNT_FAIL_no_transmit);
	for (unsigned i = 0; i < SHUNT_FAIL_CNT; i++)
		cr_expect_eq(shunt_xdp_fail_read(there, 0, i), 0);
	shunt_xdp_fail_close(there);
	close(home);
	rig_fini(&rig);
}

Test(xdp_fail, refuses_too_many_ports)
{
	const uint32_t ifindexes[SHUNT_FAIL_PORTS_MAX + 1] = {0};
	struct shunt_xdp_fail *fail = NULL;

	cr_expect_eq(shunt_xdp_fail_open(&fail, ifindexes, SHUNT_FAIL_PORTS_MAX + 1, &err), -E2BIG);
	cr_expect_null(fail);
	shunt_xdp_fail_close(NULL);
	cr_expect_str_eq(shunt_xdp_fail_name(SHUNT_FAIL_CNT), "?");
}
