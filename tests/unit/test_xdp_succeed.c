// SPDX-License-Identifier: BSD-2-Clause
/* How the steering program takes the place of what is on the device. What a stream of frames loses
 * by that is in tests/e2e/test_takeover.py, libxdp's dispatcher in tests/vm/cases/dispatcher. */
#include <errno.h>
#include <net/if.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <linux/if_link.h>

#include "xdp/private.h"
#include "steer/steer.h"
#include "xdp_rig.h"

#define NATIVE_STEERING() xdp_rig_put(SHUNT_STEER_PROG, XDP_FLAGS_DRV_MODE)

static struct shunt_xdp *open_va(void)
{
	const struct shunt_xdp_opts opts = {.ifname = "va"};
	struct shunt_xdp *x = NULL;

	cr_assert_eq(shunt_xdp_open(&x, &opts, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	return x;
}

/* One without any map of ours: nobody could serve it. */
Test(xdp_succeed, another_version_gives_way)
{
	struct shunt_xdp *x;
	uint32_t old;

	xdp_rig_start();
	old = NATIVE_STEERING();
	x = open_va();
	cr_expect_eq(xdp_rig_prog_on("va"), old, "opening touched the device");
	cr_assert_eq(shunt_xdp_attach(x, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	cr_expect_neq(xdp_rig_prog_on("va"), old);
	cr_expect_neq(xdp_rig_prog_on("va"), 0);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
}

/* Neither libxdp nor two steps: in one, which the kernel grants to nobody who names another
 * program than the one that is there. */
Test(xdp_succeed, only_the_one_that_was_looked_at)
{
	struct xdp_multiprog *before;
	struct shunt_xdp_log log;
	struct shunt_xdp *x;
	uint32_t other;

	xdp_rig_start();
	NATIVE_STEERING();
	x = open_va();
	before = shunt_xdp_device_get(x->ifindex);
	cr_assert_eq(bpf_xdp_attach((int)x->ifindex, -1, XDP_FLAGS_DRV_MODE, NULL), 0);
	other = NATIVE_STEERING();
	log = shunt_xdp_log_begin();
	cr_expect_eq(shunt_xdp_succeed(x, before, &xdp_rig_err), -EBUSY);
	shunt_xdp_log_end(log);
	cr_expect_eq(xdp_rig_prog_on("va"), other);
	xdp_multiprog__close(before);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), other, "one that it had not attached went");
}

Test(xdp_succeed, the_other_mode_gives_way)
{
	struct shunt_xdp_info info;
	struct shunt_xdp *x;

	xdp_rig_start();
	xdp_rig_put(SHUNT_STEER_PROG, XDP_FLAGS_SKB_MODE);
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
	cr_expect_eq(info.in_use, SHUNT_XDP_NATIVE);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
}

/* As it was configured before; until it is configured again, or its time is over. */
Test(xdp_succeed, crosses_from_the_first_frame)
{
	const struct shunt_steer_cfg cfg = {
		.mode = SHUNT_STEER_MODE_XCONNECT, .lane = SHUNT_LANE_USER, .len_max = 1518};
	struct shunt_xdp *x;
	struct frame f;

	xdp_rig_start();
	NATIVE_STEERING();
	x = open_va();
	cr_assert_eq(shunt_xdp_set_port(x, 0, if_nametoindex("va")), 0);
	cr_assert_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
	shunt_xdp_cross(x);
	cr_assert_eq(shunt_xdp_attach(x, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	frame_good4(&f);
	xdp_rig_expect(x, &f, SHUNT_STEER_XDP_BRIDGED);
	cr_assert_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_NO_SOCKET);
	shunt_xdp_detach(x);
}

Test(xdp_succeed, unconfigured_everything_is_the_kernels)
{
	struct shunt_xdp *x;
	struct frame f;

	xdp_rig_start();
	NATIVE_STEERING();
	x = open_va();
	shunt_xdp_cross(x);
	cr_assert_eq(shunt_xdp_attach(x, &xdp_rig_err), 0, "%s", xdp_rig_err.msg);
	frame_good4(&f);
	xdp_rig_expect(x, &f, SHUNT_STEER_OFF);
	shunt_xdp_detach(x);
}

/* --- refusals: the old one stays -------------------------------------------------------------- */

Test(xdp_succeed, the_device_is_gone)
{
	struct shunt_xdp *x;

	xdp_rig_start();
	NATIVE_STEERING();
	x = open_va();
	xdp_rig_shell("ip link del va");
	cr_expect_eq(shunt_xdp_attach(x, &xdp_rig_err), -ENODEV);
	cr_expect(strstr(xdp_rig_err.msg, "va"), "%s", xdp_rig_err.msg);
	shunt_xdp_detach(x);
}

Test(xdp_succeed, the_driver_refuses)
{
	struct shunt_xdp *x;
	uint32_t old;

	xdp_rig_start();
	xdp_rig_shell("ip link set va mtu 9000 && ip link set vb mtu 9000");
	xdp_rig_attach_and_die((struct shunt_xdp_opts){.multi_buffer = true});
	old = xdp_rig_prog_on("va");
	x = open_va();
	cr_expect_eq(shunt_xdp_attach(x, &xdp_rig_err), -ERANGE);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), old);
}

/* Before the daemon that runs is asked to hand over, as the device is. */
Test(xdp_succeed, the_kernel_refuses_the_program)
{
	const struct shunt_xdp_opts opts = {.ifname = "va"};
	struct shunt_xdp *x, *unloaded;
	uint32_t old;

	xdp_rig_start();
	unloaded = open_va(); /* nothing is there yet that it is to replace */
	old = NATIVE_STEERING();
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	cr_expect_eq(shunt_xdp_open(&x, &opts, &xdp_rig_err), -EPERM);
	cr_expect_eq(shunt_xdp_attach(unloaded, &xdp_rig_err), -EPERM);
	cr_expect_eq(xdp_rig_prog_on("va"), old);
	shunt_xdp_detach(unloaded);
}

Test(xdp_succeed, a_living_owner_is_left_alone)
{
	struct shunt_xdp *x, *owner;
	uint32_t old;

	xdp_rig_start();
	x = open_va();
	owner = xdp_rig_attach((struct shunt_xdp_opts){0});
	old = xdp_rig_prog_on("va");
	cr_expect_eq(shunt_xdp_attach(x, &xdp_rig_err), -EBUSY);
	cr_expect_eq(xdp_rig_prog_on("va"), old);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), old);
	shunt_xdp_detach(owner);
}
