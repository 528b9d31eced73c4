// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/xdp.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

static int open_program(struct shunt_xdp *x, struct shunt_err *err)
{
	struct xdp_multiprog *before;
	int rc = shunt_xdp_program_prepare(x, err);

	if (rc)
		return rc;
	/* libxdp itself loads what it attaches, for its dispatcher. */
	before = shunt_xdp_device_get(x->ifindex);
	if (before && xdp_multiprog__is_legacy(before) && shunt_xdp_device_program(before))
		rc = shunt_xdp_program_load(x, err);
	xdp_multiprog__close(before);
	return rc;
}

static int put(struct shunt_xdp *x, struct shunt_err *err)
{
	struct xdp_multiprog *before = shunt_xdp_device_get(x->ifindex);
	int rc = before ? shunt_xdp_before_check(x, before, err) : 0;

	if (!rc)
		rc = shunt_xdp_succeed(x, before, err);
	xdp_multiprog__close(before);
	if (rc)
		return rc;
	x->is_attached = true;
	x->prog_id = shunt_xdp_program_id(x->prog_fd);
	return 0;
}

/* A program that is alone goes with CAP_NET_ADMIN. libxdp looks programs up by id: it needs
 * CAP_SYS_ADMIN, too. Neither takes off another's program in its place. */
static int program_detach(struct shunt_xdp *x)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = x->prog_fd);
	uint32_t flags =
		x->requested == SHUNT_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	int rc;

	/* What libxdp pinned for its dispatcher goes with the plain program. */
	if (x->is_tapped && x->plain.dispatcher_id && !shunt_xdp_untap(x, NULL))
		opts.old_prog_fd = x->prog_fd;
	rc = bpf_xdp_detach((int)x->ifindex, flags, &opts);
	if (rc && x->prog)
		rc = xdp_program__detach(x->prog, (int)x->ifindex,
					 shunt_xdp_device_mode(x->requested), 0);
	/* somebody took it off, and left what libxdp had pinned */
	if (rc && x->prog)
		libxdp_clean_references((int)x->ifindex);
	return rc;
}

int shunt_xdp_take_off(struct shunt_xdp *x, struct shunt_err *err)
{
	int rc;

	if (!x->is_attached || x->is_persistent)
		return 0;
	if (x->delegate)
		return shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_WITHDRAW, err);
	rc = program_detach(x);
	x->is_attached = rc != 0;
	return rc ? shunt_err_set(err, -rc, "%s: cannot take the steering program off: %s",
				  x->ifname, strerror(-rc))
		  : 0;
}

static void program_withdraw(struct shunt_xdp *x)
{
	shunt_xdp_take_off(x, NULL);
	x->is_attached = false;
}

static void program_close(struct shunt_xdp *x)
{
	program_withdraw(x);
	shunt_xdp_watch_stop(x);
	shunt_xdp_program_drop(x);
	if (x->is_tapped) {
		const struct shunt_xdp_plain plain = x->plain;

		x->obj = plain.obj;
		x->prog = plain.prog;
		shunt_xdp_program_drop(x);
	}
	shunt_xdp_explainer_close(x);
	bpf_object__close(x->maps);
	shunt_xdp_maps_close(x);
	free(x);
}

static struct shunt_xdp *make(const struct shunt_xdp_opts *opts)
{
	struct shunt_xdp *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	shunt_xdp_maps_init(x);
	x->prog_fd = -1;
	x->requested = opts->requested;
	x->is_external = opts->external;
	x->is_sg = opts->multi_buffer;
	x->asks_tags = opts->asks_tags && opts->requested == SHUNT_XDP_NATIVE;
	x->changes_lengths = opts->changes_lengths;
	x->is_persistent = opts->persist;
	x->patience = opts->patience ?: 1;
	x->can_replace = opts->replace;
	x->is_counted = opts->counts;
	x->flow_counts = opts->flow_counts;
	snprintf(x->ifname, sizeof(x->ifname), "%s", opts->ifname);
	x->ifindex = if_nametoindex(opts->ifname);
	if (opts->asks_flows && !opts->external)
		x->asks_flows = shunt_xdp_flow_find(x, NULL);
	x->asks_tags &= !x->asks_flows;
	return x;
}

int shunt_xdp_open(struct shunt_xdp **out, const struct shunt_xdp_opts *opts, struct shunt_err *err)
{
	int rc = shunt_xdp_err_rights(opts->ifname, err);
	struct shunt_xdp_log before;
	struct shunt_xdp *x;

	*out = NULL;
	if (rc)
		return rc;
	x = make(opts);
	if (!x)
		return shunt_err_set(err, ENOMEM, "%s: out of memory", opts->ifname);
	before = shunt_xdp_log_begin();
	if (!x->ifindex)
		rc = shunt_err_set(err, ENODEV, "%s: no such device; see `ip link`", opts->ifname);
	else if (!x->is_external)
		rc = open_program(x, err);
	if (rc)
		program_close(x);
	else
		*out = x;
	shunt_xdp_log_end(before);
	return rc;
}

enum shunt_flow_asks shunt_xdp_asks_flows(const struct shunt_xdp *x)
{
	return __atomic_load_n(&x->asks_flows, __ATOMIC_RELAXED);
}

int shunt_xdp_attach(struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_xdp_log before = shunt_xdp_log_begin();
	int rc = shunt_xdp_owner_look(x->ifname, x->ifindex, err);

	if (!rc)
		rc = x->is_external ? shunt_xdp_program_find(x, err) : put(x, err);
	if (!rc) {
		shunt_xdp_owner_set(x->ctl, x->ifindex);
		shunt_xdp_watch_start(x);
	}
	shunt_xdp_log_end(before);
	return rc;
}

int shunt_xdp_suspend(struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	const bool stands_in = x->is_tapped && x->plain.dispatcher_id;
	struct shunt_xdp_info info;
	int rc;

	if (x->is_external || !x->is_attached)
		return 0;
	if (x->delegate)
		return shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_SUSPEND, err);
	rc = shunt_xdp_info(x, &info, err);
	if (rc)
		return rc;
	before = shunt_xdp_log_begin();
	rc = program_detach(x);
	if (rc) {
		shunt_err_set(err, -rc, "%s: cannot take the steering program off for a while: %s",
			      x->ifname, strerror(-rc));
	} else {
		x->is_attached = false;
		x->is_suspended = true;
		x->is_under = info.dispatcher || stands_in;
	}
	shunt_xdp_fds_sweep(&before.fds, x);
	shunt_xdp_log_end(before);
	return rc;
}

/* A program under libxdp's dispatcher is loaded anew, for the next dispatcher; and one that is to
 * be another. */
int shunt_xdp_resume(struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	int rc;

	if (!x->is_suspended)
		return 0;
	if (x->delegate)
		return shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_RESUME, err);
	before = shunt_xdp_log_begin();
	rc = x->is_under || x->prog_fd < 0 ? put(x, err) : shunt_xdp_attach_alone(x, -1, err);
	shunt_xdp_fds_sweep(&before.fds, x);
	shunt_xdp_log_end(before);
	x->looked_id = 0;
	x->is_suspended = rc != 0;
	x->is_attached = !rc;
	if (!rc)
		x->prog_id = shunt_xdp_program_id(x->prog_fd);
	return rc;
}

void shunt_xdp_hand_over(struct shunt_xdp *x, bool crosses)
{
	x->is_persistent = true;
	x->crosses_on = crosses;
}

void shunt_xdp_withdraw(struct shunt_xdp *x)
{
	struct shunt_xdp_log before;

	if (!x || !x->ctl)
		return;
	before = shunt_xdp_log_begin();
	if (x->crosses_on)
		shunt_xdp_cross(x);
	else
		shunt_xdp_live_set(x->ctl, SHUNT_STEER_LIVE_OFF, 0);
	x->is_configured = false; /* nothing opens it again */
	program_withdraw(x);
	shunt_xdp_log_end(before);
}

void shunt_xdp_disown(struct shunt_xdp *x)
{
	if (x->ctl)
		shunt_xdp_owner_clear(x->ctl);
}

void shunt_xdp_detach(struct shunt_xdp *x)
{
	struct shunt_xdp_log before;

	if (!x)
		return;
	before = shunt_xdp_log_begin();
	if (x->ctl)
		shunt_xdp_owner_clear(x->ctl);
	program_close(x);
	shunt_xdp_log_end(before);
}

const char *shunt_xdp_mode_name(enum shunt_xdp_mode mode)
{
	return mode == SHUNT_XDP_GENERIC ? "generic" : "native";
}
