// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

enum xdp_attach_mode shunt_xdp_device_mode(enum shunt_xdp_mode mode)
{
	return mode == SHUNT_XDP_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

bool shunt_xdp_is_steering(const char *name)
{
	return strncmp(name, SHUNT_STEER_PROG, strlen(SHUNT_STEER_PROG)) == 0;
}

bool shunt_xdp_device_is_ours(const struct xdp_program *prog)
{
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return name && shunt_xdp_is_steering(name);
}

struct xdp_program *shunt_xdp_device_program(const struct xdp_multiprog *mp)
{
	struct xdp_program *prog = NULL;

	if (xdp_multiprog__is_legacy(mp)) {
		prog = xdp_multiprog__main_prog(mp);
		return shunt_xdp_device_is_ours(prog) ? prog : NULL;
	}
	while ((prog = xdp_multiprog__next_prog(prog, mp))) {
		if (shunt_xdp_device_is_ours(prog))
			return prog;
	}
	return NULL;
}

bool shunt_xdp_device_is_shared(const struct xdp_multiprog *mp)
{
	struct xdp_program *prog = NULL;

	if (xdp_multiprog__is_legacy(mp))
		return false;
	while ((prog = xdp_multiprog__next_prog(prog, mp)))
		if (!shunt_xdp_device_is_ours(prog))
			return true;
	return false;
}

struct xdp_multiprog *shunt_xdp_device_get(unsigned ifindex)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);

	return libxdp_get_error(mp) ? NULL : mp;
}

int shunt_xdp_device_detach(struct xdp_multiprog *mp, struct xdp_program *prog, unsigned ifindex)
{
	if (xdp_multiprog__is_legacy(mp))
		return xdp_multiprog__detach(mp);
	return xdp_program__detach(prog, ifindex, xdp_multiprog__attach_mode(mp), 0);
}

int shunt_xdp_clean(unsigned ifindex, struct shunt_err *err)
{
	char ifname[IF_NAMESIZE];
	struct shunt_xdp_log before;
	struct xdp_multiprog *mp;
	struct xdp_program *prog;
	int rc;

	if (!if_indextoname(ifindex, ifname))
		return shunt_err_set(err, ENODEV, "no device has index %u; see `ip link`", ifindex);
	rc = shunt_xdp_err_rights(ifname, err);
	if (rc)
		return rc;
	before = shunt_xdp_log_begin();
	mp = shunt_xdp_device_get(ifindex);
	prog = mp ? shunt_xdp_device_program(mp) : NULL;
	rc = prog ? shunt_xdp_owner_check(ifname, prog, err) : 0;
	if (prog && !rc) {
		rc = shunt_xdp_device_detach(mp, prog, ifindex);
		rc = rc ? shunt_err_set(err, -rc,
					"%s: cannot take the old steering program off: %s", ifname,
					strerror(-rc))
			: 1;
	}
	xdp_multiprog__close(mp);
	shunt_xdp_log_end(before);
	return rc;
}

int shunt_xdp_device_take(const struct xdp_multiprog *mp, enum shunt_xdp_mode *mode)
{
	*mode = xdp_multiprog__attach_mode(mp) == XDP_MODE_SKB ? SHUNT_XDP_GENERIC
							       : SHUNT_XDP_NATIVE;
	return fcntl(xdp_program__fd(xdp_multiprog__main_prog(mp)), F_DUPFD_CLOEXEC, 3);
}

enum shunt_xdp_holder shunt_xdp_holder(unsigned ifindex, int *fd, enum shunt_xdp_mode *mode)
{
	enum shunt_xdp_holder holder = SHUNT_XDP_HOLDER_NOBODY;
	struct shunt_xdp_log before = shunt_xdp_log_begin();
	struct xdp_multiprog *mp = shunt_xdp_device_get(ifindex);

	*fd = -1;
	if (mp && shunt_xdp_device_program(mp)) {
		holder = SHUNT_XDP_HOLDER_SHUNT;
	} else if (mp && xdp_multiprog__is_legacy(mp)) {
		holder = SHUNT_XDP_HOLDER_OTHER;
		*fd = shunt_xdp_device_take(mp, mode);
	}
	xdp_multiprog__close(mp);
	shunt_xdp_log_end(before);
	return holder;
}

int shunt_xdp_is_on(unsigned ifindex)
{
	struct shunt_xdp_log before = shunt_xdp_log_begin();
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex((int)ifindex);
	int rc = (int)libxdp_get_error(mp);

	if (rc == -ENOENT) /* no program at all */
		rc = 0;
	else if (!rc) {
		rc = shunt_xdp_device_program(mp) != NULL;
		xdp_multiprog__close(mp);
	}
	shunt_xdp_log_end(before);
	return rc;
}

int shunt_xdp_put(unsigned ifindex, int prog_fd, enum shunt_xdp_mode mode)
{
	const uint32_t in = mode == SHUNT_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	struct shunt_xdp_log before = shunt_xdp_log_begin();
	int rc = bpf_xdp_attach((int)ifindex, prog_fd, in | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);

	shunt_xdp_log_end(before);
	return rc;
}

static bool multiprog_has(const struct xdp_multiprog *mp, uint32_t prog_id)
{
	struct xdp_program *prog = NULL;

	while ((prog = xdp_multiprog__next_prog(prog, mp)))
		if (xdp_program__id(prog) == prog_id)
			return true;
	return false;
}

/* A program that runs under dispatchers has no dispatcher in its way. Any other program is in the
 * way, and so is one that nobody here has the right to look at. */
static bool is_in_the_way(struct shunt_xdp *x, uint32_t id)
{
	bool is_dispatcher;
	int fd;

	x->is_blocked = id != 0;
	if (!id || !x->is_under)
		return x->is_blocked;
	if (x->delegate) {
		shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_LOOK, NULL);
		return x->is_blocked;
	}
	fd = bpf_prog_get_fd_by_id(id);
	is_dispatcher = fd >= 0 && shunt_xdp_is_dispatcher(fd);
	if (fd >= 0)
		close(fd);
	x->is_blocked = !is_dispatcher;
	return x->is_blocked;
}

/* What x itself knows. The caller adds what the kernel says. */
static struct shunt_xdp_info info_of(const struct shunt_xdp *x)
{
	return (struct shunt_xdp_info){
		.ifindex = x->ifindex,
		.requested = x->requested,
		.prog_id = x->prog_id,
		.external = x->is_external,
		.multi_buffer = x->is_sg,
		.reads_tags = x->is_bound,
		.watched = x->watch,
	};
}

/* Whether the program is under libxdp's dispatcher of this id. A dispatcher never changes, so it is
 * looked at once. */
static bool is_under(struct shunt_xdp *x, uint32_t id)
{
	struct shunt_xdp_log before;
	struct xdp_multiprog *mp;

	if (x->looked_id == id)
		return x->is_under;
	if (x->delegate) {
		shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_LOOK, NULL);
		return x->is_under;
	}
	before = shunt_xdp_log_begin();
	mp = shunt_xdp_device_get(x->ifindex);
	x->looked_id = mp ? id : 0;
	x->is_under = mp && multiprog_has(mp, x->prog_id);
	xdp_multiprog__close(mp);
	shunt_xdp_fds_sweep(&before.fds, x);
	shunt_xdp_log_end(before);
	return x->is_under;
}

int shunt_xdp_info(struct shunt_xdp *x, struct shunt_xdp_info *out, struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	uint32_t id;
	int rc = bpf_xdp_query((int)x->ifindex, 0, &opts);

	*out = info_of(x);
	if_indextoname(x->ifindex, x->ifname); /* it may have been renamed */
	if (rc)
		return shunt_err_set(err, -rc, "%s: cannot ask which XDP program it has: %s",
				     x->ifname, strerror(-rc));
	id = opts.drv_prog_id ? opts.drv_prog_id : opts.skb_prog_id;
	out->suspended = x->is_suspended;
	if (x->is_suspended) {
		out->in_use = x->requested;
		out->dispatcher = x->is_under;
		out->blocked = is_in_the_way(x, id);
		return 0;
	}
	out->in_use = opts.drv_prog_id ? SHUNT_XDP_NATIVE : SHUNT_XDP_GENERIC;
	out->dispatcher = id != x->prog_id;
	if (id && (!out->dispatcher || is_under(x, id)))
		return 0;
	return shunt_err_set(err, ENOENT,
			     "%s: the steering program (id %u) is no longer on the device; "
			     "somebody took it off",
			     x->ifname, x->prog_id);
}
