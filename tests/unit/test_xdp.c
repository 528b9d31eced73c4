// SPDX-License-Identifier: BSD-2-Clause
/* The steering program on real devices, in a network namespace of the test's own:
 * attach, configure while frames arrive, detach, and every refusal. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>

#include "io/xdp.h"
#include "steer/rule.h"
#include "steer/steer.h"
#include "steer_frame.h"

static struct shunt_err err;

static void shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

/* The namespace ends with the test's process. */
static void lab_start(void)
{
	if (unshare(CLONE_NEWNET) || unshare(CLONE_NEWNS))
		cr_skip_test("no network namespace can be made here: %s", strerror(errno));
	shell("ip link add va address 02:00:00:00:00:01 numrxqueues 2 numtxqueues 2 type veth "
	      "peer name vb address 02:00:00:00:00:02 numrxqueues 2 numtxqueues 2 && "
	      "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ip link set va up && "
	      "ip link set vb up");
}

static struct shunt_xdp *attach(struct shunt_xdp_opts opts)
{
	struct shunt_xdp *x = NULL;

	opts.ifname = opts.ifname ?: "va";
	cr_assert_eq(shunt_xdp_attach(&x, &opts, &err), 0, "%s", err.msg);
	return x;
}

static int attach_fails(struct shunt_xdp_opts opts)
{
	struct shunt_xdp *x = (void *)1;
	int rc;

	opts.ifname = opts.ifname ?: "va";
	rc = shunt_xdp_attach(&x, &opts, &err);
	cr_assert_lt(rc, 0, "attached");
	cr_assert_null(x);
	return rc;
}

static uint32_t prog_on(const char *ifname)
{
	uint32_t id = 0;

	bpf_xdp_query_id(if_nametoindex(ifname), 0, &id);
	return id;
}

/* A program of somebody else, of two instructions. */
static uint32_t foreign_put(unsigned flags)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "somebody", "GPL", insns, 2, NULL);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bpf_xdp_attach(if_nametoindex("va"), fd, flags, NULL), 0);
	close(fd);
	return prog_on("va");
}

/* Sends a frame out of vb, which arrives on va. */
static void send_frame(const struct frame *f)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex("vb")};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	cr_assert_eq(sendto(fd, f->data, f->len, 0, (struct sockaddr *)&to, sizeof(to)),
		     (ssize_t)f->len);
	close(fd);
}

static struct shunt_steer_counters counters(const struct shunt_xdp *x)
{
	struct shunt_steer_counters sum = {0}, c;

	for (unsigned i = 0; i < 2; i++) {
		shunt_xdp_read_counters(x, i, &c);
		shunt_steer_counters_add(&sum, &c);
	}
	return sum;
}

/* Sends f once and waits until it is counted under a reason: a NAPI takes its time. */
static void expect_frame(struct shunt_xdp *x, const struct frame *f, int reason)
{
	struct shunt_steer_counters before = counters(x), now;

	send_frame(f);
	for (int i = 0; i < 2000; i++) {
		now = counters(x);
		if (now.packets[reason] > before.packets[reason])
			return;
		usleep(1000);
	}
	cr_assert_fail("not counted as %s within 2 s", shunt_steer_reason_name(reason));
}

Test(xdp, attach_configure_detach)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct shunt_steer_rule compiled;
	struct shunt_rule rule;
	struct in6_addr ip6;
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	uint32_t ip4_be = inet_addr("203.0.113.9");
	struct frame f;

	lab_start();
	x = attach((struct shunt_xdp_opts){0});
	cr_expect_eq(shunt_xdp_info(x, &info, &err), 0);
	cr_expect_eq(info.in_use, SHUNT_XDP_NATIVE);
	frame_good4(&f);
	expect_frame(x, &f, SHUNT_STEER_OFF);
	shunt_xdp_set_open(x, true);
	expect_frame(x, &f, SHUNT_STEER_OFF);
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &err), 0);
	expect_frame(x, &f, SHUNT_STEER_NO_SOCKET);
	cr_expect_eq(shunt_xdp_set_locals(x, &ip4_be, 1, NULL, 0, &err), 0);
	expect_frame(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	shunt_rule_parse("proto udp lane drop", &rule, NULL);
	shunt_rule_compile(&rule, &compiled);
	cr_expect_eq(shunt_xdp_set_rules(x, &compiled, 1, &err), 0);
	expect_frame(x, &f, SHUNT_STEER_RULE_DROP);
	shunt_xdp_set_open(x, false);
	expect_frame(x, &f, SHUNT_STEER_CLOSED);
	cr_expect_eq(shunt_xdp_set_rules(x, NULL, 0, &err), 0);
	expect_frame(x, &f, SHUNT_STEER_CLOSED); /* rules do not open it */
	shunt_xdp_set_open(x, true);
	expect_frame(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	inet_pton(AF_INET6, "2001:db8:2::9", &ip6);
	cr_expect_eq(shunt_xdp_set_locals(x, NULL, 0, &ip6, 1, &err), 0);
	expect_frame(x, &f, SHUNT_STEER_NO_SOCKET);
	frame_good6(&f);
	expect_frame(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	shunt_xdp_detach(x);
	cr_expect_eq(prog_on("va"), 0);
	shunt_xdp_detach(NULL);
}

Test(xdp, generic_mode_where_asked_for)
{
	struct shunt_xdp_info info;
	struct shunt_xdp *x;

	lab_start();
	x = attach((struct shunt_xdp_opts){.requested = SHUNT_XDP_GENERIC});
	cr_expect_eq(shunt_xdp_info(x, &info, &err), 0);
	cr_expect_eq(info.in_use, SHUNT_XDP_GENERIC);
	cr_expect_eq(info.requested, SHUNT_XDP_GENERIC);
	shunt_xdp_detach(x);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){.ifname = "lo"}), -EOPNOTSUPP);
	cr_expect(strstr(err.msg, "--driver-mode generic"), "%s", err.msg);
	cr_expect_eq(prog_on("lo"), 0);
}

Test(xdp, refuses_limits)
{
	struct shunt_steer_cfg cfg = {.mode = 99};
	struct shunt_steer_rule *rules = calloc(SHUNT_STEER_RULES_MAX + 1, sizeof(*rules));
	struct shunt_xdp *x;

	lab_start();
	x = attach((struct shunt_xdp_opts){0});
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &err), -EINVAL);
	cr_expect_eq(shunt_xdp_set_rules(x, rules, SHUNT_STEER_RULES_MAX + 1, &err), -E2BIG);
	rules[3].lane = SHUNT_STEER_RULE_AUTO + 1;
	cr_expect_eq(shunt_xdp_set_rules(x, rules, 4, &err), -EINVAL);
	cr_expect(strstr(err.msg, "rule 4"), "%s", err.msg);
	cr_expect_eq(shunt_xdp_set_locals(x, NULL, SHUNT_STEER_LOCALS_MAX + 1, NULL, 0, &err),
		     -E2BIG);
	shunt_xdp_detach(x);
	free(rules);
}

Test(xdp, no_such_device)
{
	lab_start();
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){.ifname = "nix"}), -ENODEV);
	cr_expect_eq(shunt_xdp_clean(0, &err), -ENODEV);
}

Test(xdp, another_program_stays)
{
	uint32_t id;

	lab_start();
	id = foreign_put(XDP_FLAGS_DRV_MODE);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){0}), -EBUSY);
	cr_expect(strstr(err.msg, "'somebody'") && strstr(err.msg, "--replace"), "%s", err.msg);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &err), 0);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){.external = true}), -ENOENT);
	cr_expect_eq(prog_on("va"), id);
}

Test(xdp, another_program_is_replaced_when_told_to)
{
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	uint32_t id;

	lab_start();
	id = foreign_put(XDP_FLAGS_SKB_MODE);
	x = attach((struct shunt_xdp_opts){.replace = true});
	cr_expect_neq(prog_on("va"), id);
	/* Somebody takes it off and puts his own: detach leaves that alone. */
	cr_assert_eq(bpf_xdp_attach(if_nametoindex("va"), -1, XDP_FLAGS_DRV_MODE, NULL), 0);
	cr_expect_eq(shunt_xdp_info(x, &info, &err), -ENOENT);
	id = foreign_put(XDP_FLAGS_DRV_MODE);
	shunt_xdp_detach(x);
	cr_expect_eq(prog_on("va"), id);
}

Test(xdp, refusal_by_mtu_quotes_the_driver_and_restores)
{
	uint32_t id;

	lab_start();
	shell("ip link set va mtu 9000 && ip link set vb mtu 9000");
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){0}), -ERANGE);
	cr_expect(strstr(err.msg, "\"veth: Peer MTU is too large"), "%s", err.msg);
	cr_expect(strstr(err.msg, "lower it"), "%s", err.msg);
	cr_expect_eq(prog_on("va"), 0);
	id = foreign_put(XDP_FLAGS_SKB_MODE);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){.replace = true}), -ERANGE);
	cr_expect_eq(prog_on("va"), id);
}

Test(xdp, missing_right_is_named)
{
	lab_start();
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){0}), -EPERM);
	cr_expect(strstr(err.msg, "CAP_NET_ADMIN and CAP_SYS_ADMIN"), "%s", err.msg);
}

/* A child attaches and ends without a word, as a killed daemon does. */
static void attach_and_die(void)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_XCONNECT};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct shunt_xdp_opts opts = {.ifname = "va"};
		struct shunt_xdp *x;

		_exit(shunt_xdp_attach(&x, &opts, NULL) || shunt_xdp_set_config(x, &cfg, NULL));
	}
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
}

Test(xdp, leftover_of_a_killed_daemon_is_cleaned)
{
	struct shunt_xdp *x;
	uint32_t id;

	lab_start();
	attach_and_die();
	cr_expect_neq(prog_on("va"), 0);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &err), 1, "%s", err.msg);
	cr_expect_eq(prog_on("va"), 0);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &err), 0);
	attach_and_die();
	id = prog_on("va");
	x = attach((struct shunt_xdp_opts){0});
	cr_expect_neq(prog_on("va"), id);
	shunt_xdp_detach(x);
}

Test(xdp, device_in_use_by_a_living_owner_is_refused)
{
	struct shunt_xdp *x;
	uint32_t id;

	lab_start();
	x = attach((struct shunt_xdp_opts){0});
	id = prog_on("va");
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){0}), -EBUSY);
	cr_expect(strstr(err.msg, "runs shunt on the device already"), "%s", err.msg);
	cr_expect_eq(attach_fails((struct shunt_xdp_opts){.external = true}), -EBUSY);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &err), -EBUSY);
	cr_expect_eq(prog_on("va"), id);
	shunt_xdp_detach(x);
}

Test(xdp, external_program_serves_and_stays)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	struct frame f;
	uint32_t id;

	lab_start();
	attach_and_die(); /* by hand or left behind: the kernel sees no difference */
	id = prog_on("va");
	for (int round = 0; round < 2; round++) {
		x = attach((struct shunt_xdp_opts){.external = true});
		frame_good4(&f);
		cr_expect_eq(shunt_xdp_set_config(x, &cfg, &err), 0);
		expect_frame(x, &f, SHUNT_STEER_NO_SOCKET);
		cr_expect_eq(shunt_xdp_info(x, &info, &err), 0);
		/* Under a dispatcher the device's program is that. */
		cr_expect(info.external && (info.prog_id == id || info.dispatcher));
		shunt_xdp_detach(x);
		cr_expect_eq(prog_on("va"), id);
	}
}

/* Runs what is on the device on a frame from one of its queues. */
static void run_on_queue(unsigned queue, unsigned ifindex, uint32_t prog_id)
{
	struct xdp_md md = {.ingress_ifindex = ifindex, .rx_queue_index = queue};
	int fd = bpf_prog_get_fd_by_id(prog_id);
	struct frame f;

	frame_good4(&f);
	md.data_end = f.len;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.data, .data_size_in = f.len,
		    .ctx_in = &md, .ctx_size_in = sizeof(md), .repeat = 1);
	cr_assert_eq(bpf_prog_test_run_opts(fd, &opts), 0, "queue %u: %s", queue, strerror(errno));
	close(fd);
}

Test(xdp, counts_by_queue_and_late_queues_in_the_last_slot)
{
	struct shunt_steer_counters c;
	struct shunt_xdp *x;
	unsigned ifindex;

	lab_start();
	shell("ip link add vm numrxqueues 70 numtxqueues 70 type veth peer name vn numrxqueues 70 "
	      "numtxqueues 70 && ip link set vm up && ip link set vn up");
	ifindex = if_nametoindex("vm");
	x = attach((struct shunt_xdp_opts){.ifname = "vm"});
	run_on_queue(5, ifindex, prog_on("vm"));
	run_on_queue(62, ifindex, prog_on("vm"));
	run_on_queue(63, ifindex, prog_on("vm"));
	run_on_queue(69, ifindex, prog_on("vm"));
	shunt_xdp_read_counters(x, 5, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 1);
	shunt_xdp_read_counters(x, 62, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 1);
	shunt_xdp_read_counters(x, 63, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 2);
	cr_expect_eq(c.bytes[SHUNT_LANE_KERNEL], 120);
	shunt_xdp_read_counters(x, 1000, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 2);
	shunt_xdp_read_counters(x, 4, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 0);
	shunt_xdp_detach(x);
}
