// SPDX-License-Identifier: BSD-2-Clause
#include "io/xdp.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "io/xdp_private.h"

static int program_attach(struct shunt_xdp *x, bool replace, struct shunt_err *err)
{
	enum shunt_xdp_mode foreign_mode = SHUNT_XDP_NATIVE;
	int foreign_fd = -1, rc;

	rc = shunt_xdp_device_clear(x, replace, &foreign_fd, &foreign_mode, err);
	if (rc)
		return rc;
	rc = xdp_program__attach(x->prog, x->ifindex, shunt_xdp_device_mode(x->requested), 0);
	if (rc) {
		rc = xdp_program__fd(x->prog) < 0 ? shunt_xdp_err_load(x->ifname, -rc, err)
						  : shunt_xdp_err_attach(x, -rc, err);
		if (foreign_fd >= 0)
			shunt_xdp_put(x->ifindex, foreign_fd, foreign_mode);
	} else {
		x->is_attached = true;
	}
	if (foreign_fd >= 0)
		close(foreign_fd);
	return rc;
}

static int program_put(struct shunt_xdp *x, const struct shunt_xdp_opts *opts,
		       struct shunt_err *err)
{
	int rc;

	if (x->is_external)
		return shunt_xdp_program_find(x, err);
	if (opts->adopt && shunt_xdp_program_adopt(x, opts->metadata))
		return 0;
	if (opts->metadata && shunt_xdp_meta_put(x, opts->replace)) {
		x->prog_id = shunt_xdp_program_id(x->adopted_fd);
		return 0;
	}
	rc = shunt_xdp_program_open(x, true, err);
	if (rc)
		return rc;
	rc = program_attach(x, opts->replace, err);
	if (rc == -EINVAL && xdp_program__fd(x->prog) < 0) {
		/* not loaded: a dispatcher whose programs must leave lengths alone? */
		shunt_xdp_program_drop(x);
		rc = shunt_xdp_program_open(x, false, err);
		if (!rc)
			rc = program_attach(x, opts->replace, err);
	}
	if (rc)
		return rc;
	x->prog_id = xdp_program__id(x->prog);
	return shunt_xdp_maps_open(x, xdp_program__fd(x->prog), err);
}

/* Alone on the device it goes with CAP_NET_ADMIN; libxdp, which looks programs up by
 * number, needs CAP_SYS_ADMIN too. Another's in its place is refused by both. */
static void program_detach(struct shunt_xdp *x, int prog_fd)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = prog_fd);
	uint32_t flags =
		x->requested == SHUNT_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

	if (!bpf_xdp_detach((int)x->ifindex, flags, &opts))
		return;
	if (x->prog) {
		xdp_program__detach(x->prog, x->ifindex, shunt_xdp_device_mode(x->requested), 0);
	} else { /* a predecessor's, under the dispatcher */
		shunt_xdp_owner_clear(x->ctl);
		shunt_xdp_clean(x->ifindex, NULL);
	}
}

static void program_withdraw(struct shunt_xdp *x)
{
	if (!x->is_persistent && x->is_attached)
		program_detach(x, xdp_program__fd(x->prog));
	if (!x->is_persistent && x->is_adopted)
		program_detach(x, x->adopted_fd);
	if (x->is_adopted)
		close(x->adopted_fd);
	x->is_attached = x->is_adopted = false;
}

static void program_close(struct shunt_xdp *x)
{
	program_withdraw(x);
	shunt_xdp_watch_stop(x);
	shunt_xdp_program_drop(x);
	shunt_xdp_maps_close(x);
	free(x);
}

int shunt_xdp_attach(struct shunt_xdp **out, const struct shunt_xdp_opts *opts,
		     struct shunt_err *err)
{
	struct shunt_xdp_log before;
	struct shunt_xdp *x;
	int rc;

	*out = NULL;
	rc = shunt_xdp_err_rights(opts->ifname, err);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	if (!x)
		return shunt_err_set(err, ENOMEM, "%s: out of memory", opts->ifname);
	shunt_xdp_maps_init(x);
	x->requested = opts->requested;
	x->is_external = opts->external;
	x->is_sg = opts->multi_buffer;
	x->is_persistent = opts->persist;
	snprintf(x->ifname, sizeof(x->ifname), "%s", opts->ifname);
	x->ifindex = if_nametoindex(opts->ifname);
	before = shunt_xdp_log_begin();
	rc = x->ifindex ? program_put(x, opts, err)
			: shunt_err_set(err, ENODEV, "%s: no such device; see `ip link`",
					opts->ifname);
	if (rc) {
		program_close(x);
	} else {
		shunt_xdp_owner_set(x->ctl);
		shunt_xdp_watch_start(x);
		*out = x;
	}
	shunt_xdp_log_end(before);
	return rc;
}

void shunt_xdp_hand_over(struct shunt_xdp *x)
{
	x->is_persistent = x->is_handed_over = true;
}

void shunt_xdp_withdraw(struct shunt_xdp *x)
{
	struct shunt_xdp_log before;

	if (!x)
		return;
	before = shunt_xdp_log_begin();
	if (x->is_handed_over && x->is_configured && x->is_open) {
		x->ctl->handover_until_ns = shunt_clock_ns() + SHUNT_STEER_HANDOVER_NS;
		shunt_xdp_live_set(x->ctl, SHUNT_STEER_LIVE_HANDOVER(x->half), 0);
	} else {
		shunt_xdp_live_set(x->ctl, SHUNT_STEER_LIVE_OFF, 0);
	}
	x->is_configured = false; /* nothing opens it again */
	program_withdraw(x);
	shunt_xdp_log_end(before);
}

void shunt_xdp_disown(struct shunt_xdp *x)
{
	shunt_xdp_owner_clear(x->ctl);
}

void shunt_xdp_detach(struct shunt_xdp *x)
{
	struct shunt_xdp_log before;

	if (!x)
		return;
	before = shunt_xdp_log_begin();
	shunt_xdp_owner_clear(x->ctl);
	program_close(x);
	shunt_xdp_log_end(before);
}

const char *shunt_xdp_mode_name(enum shunt_xdp_mode mode)
{
	return mode == SHUNT_XDP_GENERIC ? "generic" : "native";
}
