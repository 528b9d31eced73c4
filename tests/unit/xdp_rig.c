// SPDX-License-Identifier: BSD-2-Clause
#include "xdp_rig.h"
#include "netns.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <linux/if_packet.h>

#include "steer/steer.h"
#include "wait.h"

struct shunt_err xdp_rig_err;

void xdp_rig_shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

void xdp_rig_start(void)
{
	netns_enter();
	xdp_rig_shell(
		"ip link add va address 02:00:00:00:00:01 numrxqueues 2 numtxqueues 2 type veth "
		"peer name vb address 02:00:00:00:00:02 numrxqueues 2 numtxqueues 2 && "
		"sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ip link set va up && "
		"ip link set vb up");
}

struct shunt_xdp *xdp_rig_attach(struct shunt_xdp_opts opts)
{
	struct shunt_xdp *x = NULL;

	opts.ifname = opts.ifname ?: "va";
	cr_assert_eq(shunt_xdp_open(&x, &opts, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	cr_assert_eq(shunt_xdp_attach(x, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	return x;
}

int xdp_rig_attach_fails(struct shunt_xdp_opts opts)
{
	struct shunt_xdp *x = (void *)1;
	int rc;

	opts.ifname = opts.ifname ?: "va";
	rc = shunt_xdp_open(&x, &opts, &xdp_rig_err);
	if (rc)
		cr_assert_null(x);
	else
		rc = shunt_xdp_attach(x, &xdp_rig_err);
	cr_assert_lt(rc, 0, "attached");
	shunt_xdp_detach(x);
	return rc;
}

uint32_t xdp_rig_prog_on(const char *ifname)
{
	uint32_t id = 0;

	bpf_xdp_query_id(if_nametoindex(ifname), 0, &id);
	return id;
}

uint32_t xdp_rig_put(const char *name, unsigned flags)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, name, "GPL", insns, 2, NULL);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bpf_xdp_attach(if_nametoindex("va"), fd, flags, NULL), 0);
	close(fd);
	return xdp_rig_prog_on("va");
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

void xdp_rig_expect(struct shunt_xdp *x, const struct frame *f, int reason)
{
	const uint64_t before = counters(x).packets[reason];
	uint64_t until_ns = 0;

	send_frame(f);
	while (counters(x).packets[reason] == before)
		cr_assert(wait_a_moment(&until_ns), "not counted as %s",
			  shunt_steer_reason_name(reason));
}

void xdp_rig_attach_and_die(struct shunt_xdp_opts opts)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_XCONNECT};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		_exit(shunt_xdp_set_config(xdp_rig_attach(opts), &cfg, NULL));
	}
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
}
