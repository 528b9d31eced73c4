// SPDX-License-Identifier: BSD-2-Clause
/* How a steering program takes the place of what is on the device. A steering program that a daemon
 * of any version left, or hands over, is replaced without a gap if both run in the same mode.
 * Another's program is replaced where that is allowed. */
#include <errno.h>
#include <linux/if_link.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

static int foreign_error(const char *ifname, const struct xdp_multiprog *mp, struct shunt_err *err)
{
	const struct xdp_program *prog = xdp_multiprog__main_prog(mp);
	const char *name = prog ? xdp_program__name(prog) : NULL;
	const bool is_generic = xdp_multiprog__attach_mode(mp) == XDP_MODE_SKB;

	return shunt_err_set(err, EBUSY,
			     "%s: XDP program '%s' (id %u) is on the device already; take it off "
			     "with `ip link set dev %s %s off`, or allow shunt to replace it "
			     "(--replace)",
			     ifname, name ? name : "?", prog ? xdp_program__id(prog) : 0, ifname,
			     is_generic ? "xdpgeneric" : "xdp");
}

static bool is_other_mode(const struct shunt_xdp *x, const struct xdp_multiprog *mp)
{
	return xdp_multiprog__attach_mode(mp) != shunt_xdp_device_mode(x->requested);
}

/* A device has one dispatcher, which runs in one mode. */
static int mode_error(const struct shunt_xdp *x, struct shunt_err *err)
{
	const bool is_native = x->requested == SHUNT_XDP_NATIVE;
	const char *has = is_native ? "generic" : "native";

	return shunt_err_set(err, EBUSY,
			     "%s: libxdp's dispatcher runs other programs there in %s mode, and "
			     "%s was asked for; load them with `xdp-loader load -m %s`, or choose "
			     "--driver-mode %s",
			     x->ifname, has, shunt_xdp_mode_name(x->requested),
			     is_native ? "native" : "skb", has);
}

int shunt_xdp_before_check(const struct shunt_xdp *x, const struct xdp_multiprog *before,
			   struct shunt_err *err)
{
	struct xdp_program *prog = NULL;
	int rc = 0;

	if (xdp_multiprog__is_legacy(before)) {
		prog = xdp_multiprog__main_prog(before);
		if (shunt_xdp_device_is_ours(prog))
			return shunt_xdp_owner_check(x->ifname, prog, err);
		return x->can_replace ? 0 : foreign_error(x->ifname, before, err);
	}
	if (is_other_mode(x, before) && shunt_xdp_device_is_shared(before))
		return mode_error(x, err);
	while ((prog = xdp_multiprog__next_prog(prog, before)) && !rc)
		if (shunt_xdp_device_is_ours(prog))
			rc = shunt_xdp_owner_check(x->ifname, prog, err);
	return rc;
}

int shunt_xdp_attach_alone(struct shunt_xdp *x, int old_fd, struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = old_fd < 0 ? 0 : old_fd);
	uint32_t flags =
		x->requested == SHUNT_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	int rc;

	if (old_fd < 0)
		flags |= XDP_FLAGS_UPDATE_IF_NOEXIST;
	rc = bpf_xdp_attach((int)x->ifindex, x->prog_fd, flags, &opts);
	return rc ? shunt_xdp_err_attach(x, -rc, err) : 0;
}

/* libxdp also loads the program: for the dispatcher that it makes, or alone where it can make
 * none. */
static int open_and_attach(struct shunt_xdp *x, bool can_trim, bool *is_loaded,
			   struct shunt_err *err)
{
	int rc;

	shunt_xdp_program_drop(x);
	*is_loaded = true;
	rc = shunt_xdp_program_open(x, can_trim, err);
	if (rc)
		return rc;
	rc = xdp_program__attach(x->prog, (int)x->ifindex, shunt_xdp_device_mode(x->requested), 0);
	x->prog_fd = xdp_program__fd(x->prog);
	*is_loaded = x->prog_fd >= 0;
	if (!rc)
		return 0;
	return *is_loaded ? shunt_xdp_err_attach(x, -rc, err)
			  : shunt_xdp_err_load(x->ifname, -rc, err);
}

static int load_and_attach_alone(struct shunt_xdp *x, struct shunt_err *err)
{
	int rc;

	shunt_xdp_program_drop(x);
	rc = shunt_xdp_program_load(x, err);
	return rc ? rc : shunt_xdp_attach_alone(x, -1, err);
}

/* is_first: there is no dispatcher yet. */
static int attach(struct shunt_xdp *x, bool is_first, struct shunt_err *err)
{
	bool is_loaded;
	int rc = open_and_attach(x, true, &is_loaded, err);

	if (rc != -EINVAL || is_loaded)
		return rc;
	/* A dispatcher may want programs that do not change lengths. */
	return is_first && x->changes_lengths ? load_and_attach_alone(x, err)
					      : open_and_attach(x, false, &is_loaded, err);
}

/* To a device that has none. */
static int begin(struct shunt_xdp *x, struct shunt_err *err)
{
	/* of a dispatcher that somebody took off libxdp keeps the pins */
	libxdp_clean_references((int)x->ifindex);
	return shunt_xdp_program_bind(x) ? shunt_xdp_attach_alone(x, -1, err)
					 : attach(x, true, err);
}

/* The one program must go first: it is another's, or runs in the other mode. */
static int displace(struct shunt_xdp *x, struct xdp_multiprog *before, struct shunt_err *err)
{
	enum shunt_xdp_mode mode;
	int fd = shunt_xdp_device_take(before, &mode), rc;

	rc = xdp_multiprog__detach(before);
	rc = rc ? shunt_xdp_err_attach(x, EBUSY, err) : begin(x, err);
	if (rc && fd >= 0)
		shunt_xdp_put(x->ifindex, fd, mode);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int replace(struct shunt_xdp *x, const struct xdp_multiprog *before, struct shunt_err *err)
{
	int rc = shunt_xdp_program_load(x, err);

	if (!rc)
		rc = shunt_xdp_attach_alone(x, xdp_program__fd(xdp_multiprog__main_prog(before)),
					    err);
	/* A daemon that died in a capture has left a tapped program in the place of a dispatcher,
	 * which libxdp keeps pinned, though it runs no more. */
	if (!rc)
		libxdp_clean_references((int)x->ifindex);
	return rc;
}

/* Beside the others. A steering program that was there goes afterwards: under a dispatcher the two
 * would run one after the other. */
static int join(struct shunt_xdp *x, struct xdp_multiprog *before, struct shunt_err *err)
{
	struct xdp_program *prog = NULL;
	int rc = attach(x, false, err);

	if (rc)
		return rc;
	while (!rc && (prog = xdp_multiprog__next_prog(prog, before)))
		if (shunt_xdp_device_is_ours(prog) &&
		    shunt_xdp_device_detach(before, prog, x->ifindex))
			rc = shunt_err_set(err, EBUSY,
					   "%s: cannot take the old steering program (id %u) off; "
					   "try `xdp-loader unload %s --id %u`",
					   x->ifname, xdp_program__id(prog), x->ifname,
					   xdp_program__id(prog));
	if (rc)
		xdp_program__detach(x->prog, (int)x->ifindex, shunt_xdp_device_mode(x->requested),
				    0);
	return rc;
}

/* A dispatcher runs in one mode. */
static int leave_dispatcher(struct shunt_xdp *x, struct xdp_multiprog *before,
			    struct shunt_err *err)
{
	int rc = xdp_multiprog__detach(before);

	return rc ? shunt_xdp_err_attach(x, -rc, err) : begin(x, err);
}

int shunt_xdp_succeed(struct shunt_xdp *x, struct xdp_multiprog *before, struct shunt_err *err)
{
	if (!before)
		return begin(x, err);
	if (!xdp_multiprog__is_legacy(before))
		return is_other_mode(x, before) ? leave_dispatcher(x, before, err)
						: join(x, before, err);
	if (shunt_xdp_device_is_ours(xdp_multiprog__main_prog(before)) && !is_other_mode(x, before))
		return replace(x, before, err);
	return displace(x, before, err);
}
