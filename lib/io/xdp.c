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
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "io/xdp_private.h"
#include "shunt_steer.skel.h"

/* ---- what is on the device ------------------------------------------------------------------ */

static enum xdp_attach_mode libxdp_mode(enum shunt_xdp_mode mode)
{
	return mode == SHUNT_XDP_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

bool shunt_xdp_is_steering(const char *name)
{
	return strncmp(name, SHUNT_STEER_PROG, strlen(SHUNT_STEER_PROG)) == 0;
}

static bool is_sg(const struct xdp_program *prog)
{
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return name && strncmp(name, SHUNT_STEER_PROG_SG, strlen(SHUNT_STEER_PROG_SG)) == 0;
}

static bool is_ours(const struct xdp_program *prog)
{
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return name && shunt_xdp_is_steering(name);
}

/* The steering program of mp, the device's only one or one under a dispatcher. */
static struct xdp_program *multiprog_find(const struct xdp_multiprog *mp)
{
	struct xdp_program *prog = NULL;

	if (xdp_multiprog__is_legacy(mp)) {
		prog = xdp_multiprog__main_prog(mp);
		return is_ours(prog) ? prog : NULL;
	}
	while ((prog = xdp_multiprog__next_prog(prog, mp))) {
		if (is_ours(prog))
			return prog;
	}
	return NULL;
}

/* NULL: nothing is attached. */
static struct xdp_multiprog *multiprog_get(unsigned ifindex)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);

	return libxdp_get_error(mp) ? NULL : mp;
}

static int foreign_error(const char *ifname, const struct xdp_multiprog *mp, struct shunt_err *err)
{
	const struct xdp_program *prog = xdp_multiprog__main_prog(mp);
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return shunt_err_set(err, EBUSY,
			     "%s: XDP program '%s' (id %u) is on the device already; take it off "
			     "with `ip link set dev %s xdp off`, or allow shunt to replace it "
			     "(--replace)",
			     ifname, name ? name : "?", prog ? xdp_program__id(prog) : 0, ifname);
}

static int owner_error(const char *ifname, uint32_t pid, struct shunt_err *err)
{
	return shunt_err_set(err, EBUSY,
			     "%s: process %u runs shunt on the device already; stop it first",
			     ifname, pid);
}

/* A program whose owner lives is in use, not left behind. */
static int owner_check(const char *ifname, const struct xdp_program *prog, struct shunt_err *err)
{
	struct shunt_xdp other;
	uint32_t pid;

	shunt_xdp_maps_init(&other);
	if (shunt_xdp_maps_open(&other, xdp_program__fd(prog), NULL) < 0)
		return 0; /* another version's: nobody we could ask */
	pid = shunt_xdp_owner_alive(other.ctl);
	shunt_xdp_maps_close(&other);
	return pid ? owner_error(ifname, pid, err) : 0;
}

static int stale_detach(struct xdp_multiprog *mp, struct xdp_program *prog, unsigned ifindex)
{
	if (xdp_multiprog__is_legacy(mp))
		return xdp_multiprog__detach(mp);
	return xdp_program__detach(prog, ifindex, xdp_multiprog__attach_mode(mp), 0);
}

int shunt_xdp_clean(const char *ifname, struct shunt_err *err)
{
	unsigned ifindex = if_nametoindex(ifname);
	struct shunt_xdp_log before;
	struct xdp_multiprog *mp;
	struct xdp_program *prog;
	int rc;

	if (!ifindex)
		return shunt_err_set(err, ENODEV, "%s: no such device; see `ip link`", ifname);
	rc = shunt_xdp_err_rights(ifname, err);
	if (rc)
		return rc;
	before = shunt_xdp_log_begin();
	mp = multiprog_get(ifindex);
	prog = mp ? multiprog_find(mp) : NULL;
	rc = prog ? owner_check(ifname, prog, err) : 0;
	if (prog && !rc) {
		rc = stale_detach(mp, prog, ifindex);
		rc = rc ? shunt_err_set(err, -rc,
					"%s: taking the steering program left there off: %s",
					ifname, strerror(-rc))
			: 1;
	}
	xdp_multiprog__close(mp);
	shunt_xdp_log_end(before);
	return rc;
}

/* ---- attach --------------------------------------------------------------------------------- */

/* Makes room on the device. *foreign_fd holds a program that was replaced, so that
 * it can be put back; -1 if none. */
static int device_clear(struct shunt_xdp *x, bool replace, int *foreign_fd,
			enum xdp_attach_mode *foreign_mode, struct shunt_err *err)
{
	struct xdp_multiprog *mp = multiprog_get(x->ifindex);
	struct xdp_program *prog = mp ? multiprog_find(mp) : NULL;
	int rc = 0;

	if (prog) {
		rc = owner_check(x->ifname, prog, err);
		if (!rc && stale_detach(mp, prog, x->ifindex))
			rc = shunt_err_set(err, EBUSY,
					   "%s: the steering program left there does not go; try "
					   "`ip link set dev %s xdp off`",
					   x->ifname, x->ifname);
	} else if (mp && xdp_multiprog__is_legacy(mp)) {
		if (!replace) {
			rc = foreign_error(x->ifname, mp, err);
		} else {
			*foreign_fd = dup(xdp_program__fd(xdp_multiprog__main_prog(mp)));
			*foreign_mode = xdp_multiprog__attach_mode(mp);
			if (xdp_multiprog__detach(mp))
				rc = foreign_error(x->ifname, mp, err);
		}
	}
	xdp_multiprog__close(mp);
	return rc;
}

static void foreign_restore(const struct shunt_xdp *x, int fd, enum xdp_attach_mode mode)
{
	bpf_xdp_attach(x->ifindex, fd,
		       mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE, NULL);
}

/* Of the object's programs, only the one to be used is loaded: older kernels refuse others. */
static void choose(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
}

static void program_drop(struct shunt_xdp *x)
{
	if (x->prog)
		xdp_program__close(x->prog);
	bpf_object__close(x->obj);
	x->prog = NULL;
	x->obj = NULL;
}

static int program_open(struct shunt_xdp *x, bool can_trim, struct shunt_err *err)
{
	static const char *const names[2][2] = {{SHUNT_STEER_PROG_DP, SHUNT_STEER_PROG},
						{SHUNT_STEER_PROG_SGD, SHUNT_STEER_PROG_SG}};
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, 0);
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, open_opts, .object_name = SHUNT_STEER_PROG);
	const void *elf;
	size_t len;
	long rc;

	elf = shunt_steer__elf_bytes(&len);
	x->obj = bpf_object__open_mem(elf, len, &open_opts);
	if (!x->obj)
		return shunt_xdp_err_load(x->ifname, errno, err);
	opts.obj = x->obj;
	opts.prog_name = names[x->is_sg][can_trim];
	choose(x->obj, opts.prog_name);
	x->prog = xdp_program__create(&opts);
	rc = libxdp_get_error(x->prog);
	if (rc) {
		x->prog = NULL;
		return shunt_xdp_err_load(x->ifname, -rc, err);
	}
	/* the section's name says it to libbpf; libxdp asks for its dispatcher's sake */
	if (x->is_sg)
		xdp_program__set_xdp_frags_support(x->prog, true);
	return 0;
}

static int program_attach(struct shunt_xdp *x, bool replace, struct shunt_err *err)
{
	enum xdp_attach_mode foreign_mode = XDP_MODE_UNSPEC;
	int foreign_fd = -1, rc;

	rc = device_clear(x, replace, &foreign_fd, &foreign_mode, err);
	if (rc)
		return rc;
	rc = xdp_program__attach(x->prog, x->ifindex, libxdp_mode(x->requested), 0);
	if (rc) {
		rc = xdp_program__fd(x->prog) < 0 ? shunt_xdp_err_load(x->ifname, -rc, err)
						  : shunt_xdp_err_attach(x, -rc, err);
		if (foreign_fd >= 0)
			foreign_restore(x, foreign_fd, foreign_mode);
	} else {
		x->is_attached = true;
	}
	if (foreign_fd >= 0)
		close(foreign_fd);
	return rc;
}

static int external_find(struct shunt_xdp *x, struct shunt_err *err)
{
	struct xdp_multiprog *mp = multiprog_get(x->ifindex);
	struct xdp_program *prog = mp ? multiprog_find(mp) : NULL;
	uint32_t pid;
	int rc;

	if (!prog) {
		rc = shunt_err_set(err, ENOENT,
				   "%s: no steering program is on the device; attach it with `ip "
				   "link set dev %s xdpdrv obj shunt_steer.bpf.o sec xdp`, or do "
				   "without `external`",
				   x->ifname, x->ifname);
		goto out;
	}
	if (x->is_sg && !is_sg(prog)) {
		rc = shunt_err_set(
			err, ENOENT,
			"%s: the steering program on the device takes packets of one "
			"buffer, and its MTU makes longer ones; attach the other one, sec "
			"xdp.frags, or lower the MTU",
			x->ifname);
		goto out;
	}
	x->prog_id = xdp_program__id(prog);
	rc = shunt_xdp_maps_open(x, xdp_program__fd(prog), err);
	pid = rc ? 0 : shunt_xdp_owner_alive(x->ctl);
	if (pid)
		rc = owner_error(x->ifname, pid, err);
out:
	xdp_multiprog__close(mp);
	return rc;
}

/* The kernel's hash over a program's instructions. */
static bool tag_read(int prog_fd, uint8_t tag[static BPF_TAG_SIZE])
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	memcpy(tag, info.tag, BPF_TAG_SIZE);
	return true;
}

static bool is_same_program(const struct xdp_program *prog)
{
	uint8_t theirs[BPF_TAG_SIZE], ours[BPF_TAG_SIZE];
	struct shunt_steer *skel = shunt_steer__open();
	const char *name = xdp_program__name(prog);
	bool is_same;

	if (skel)
		choose(skel->obj, name);
	is_same = skel && !shunt_steer__load(skel) && tag_read(xdp_program__fd(prog), theirs) &&
		  tag_read(bpf_program__fd(bpf_object__find_program_by_name(skel->obj, name)),
			   ours) &&
		  memcmp(theirs, ours, BPF_TAG_SIZE) == 0;
	shunt_steer__destroy(skel);
	return is_same;
}

static void gates_open(struct shunt_xdp *x)
{
	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++)
		x->slots[i].gate.beat_ns = x->slots[i].gate.shut = 0;
}

/* Takes over the program that an ended daemon left, so that the device is not
 * touched. Returns false where there is none, or another version's, or in the other
 * mode: then it is replaced. */
static bool program_adopt(struct shunt_xdp *x)
{
	struct xdp_multiprog *mp = multiprog_get(x->ifindex);
	struct xdp_program *prog = mp ? multiprog_find(mp) : NULL;

	if (prog && xdp_multiprog__attach_mode(mp) == libxdp_mode(x->requested) &&
	    is_same_program(prog) && !shunt_xdp_maps_open(x, xdp_program__fd(prog), NULL)) {
		if (shunt_xdp_owner_alive(x->ctl)) {
			shunt_xdp_maps_close(x);
		} else {
			x->prog_id = xdp_program__id(prog);
			x->adopted_fd = dup(xdp_program__fd(prog));
			x->is_adopted = true;
			x->has_published = true; /* a frame may still be under way in a half */
			shunt_xdp_owner_clear(x->ctl);
			gates_open(x);
		}
	}
	xdp_multiprog__close(mp);
	return x->is_adopted;
}

static int program_put(struct shunt_xdp *x, const struct shunt_xdp_opts *opts,
		       struct shunt_err *err)
{
	int rc;

	if (x->is_external) {
		rc = external_find(x, err);
		if (!rc)
			gates_open(x);
		return rc;
	}
	if (opts->adopt && program_adopt(x))
		return 0;
	rc = program_open(x, true, err);
	if (rc)
		return rc;
	rc = program_attach(x, opts->replace, err);
	if (rc == -EINVAL && xdp_program__fd(x->prog) < 0) {
		/* not loaded: a dispatcher whose programs must leave lengths alone? */
		program_drop(x);
		rc = program_open(x, false, err);
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
		xdp_program__detach(x->prog, x->ifindex, libxdp_mode(x->requested), 0);
	} else { /* a predecessor's, under the dispatcher */
		shunt_xdp_owner_clear(x->ctl);
		shunt_xdp_clean(x->ifname, NULL);
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
	program_drop(x);
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

void shunt_xdp_persist(struct shunt_xdp *x, bool is_persistent)
{
	x->is_persistent = is_persistent;
}

void shunt_xdp_withdraw(struct shunt_xdp *x)
{
	struct shunt_xdp_log before;

	if (!x)
		return;
	before = shunt_xdp_log_begin();
	x->is_configured = false; /* nothing opens it again */
	__atomic_store_n(&x->ctl->live, SHUNT_STEER_LIVE_OFF, __ATOMIC_RELEASE);
	program_withdraw(x);
	shunt_xdp_log_end(before);
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

/* ---- what is in use ------------------------------------------------------------------------- */

static bool multiprog_has(const struct xdp_multiprog *mp, uint32_t prog_id)
{
	struct xdp_program *prog = multiprog_find(mp);

	return prog && xdp_program__id(prog) == prog_id;
}

/* The program is the device's only one: what anybody may ask. */
static bool info_alone(const struct shunt_xdp *x, struct shunt_xdp_info *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);

	if (bpf_xdp_query((int)x->ifindex, 0, &opts) ||
	    (opts.drv_prog_id != x->prog_id && opts.skb_prog_id != x->prog_id))
		return false;
	*out = (struct shunt_xdp_info){
		.ifindex = x->ifindex,
		.requested = x->requested,
		.in_use = opts.drv_prog_id == x->prog_id ? SHUNT_XDP_NATIVE : SHUNT_XDP_GENERIC,
		.prog_id = x->prog_id,
		.external = x->is_external,
		.multi_buffer = x->is_sg,
		.watched = x->watch,
	};
	return true;
}

int shunt_xdp_info(const struct shunt_xdp *x, struct shunt_xdp_info *out, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	struct xdp_multiprog *mp;
	int rc = 0;

	if (info_alone(x, out))
		return 0;
	before = shunt_xdp_log_begin();
	mp = multiprog_get(x->ifindex);
	if (mp && multiprog_has(mp, x->prog_id))
		*out = (struct shunt_xdp_info){
			.ifindex = x->ifindex,
			.requested = x->requested,
			.in_use = xdp_multiprog__attach_mode(mp) == XDP_MODE_SKB ? SHUNT_XDP_GENERIC
										 : SHUNT_XDP_NATIVE,
			.prog_id = x->prog_id,
			.dispatcher = !xdp_multiprog__is_legacy(mp),
			.external = x->is_external,
			.multi_buffer = x->is_sg,
			.watched = x->watch,
		};
	else
		rc = shunt_err_set(err, ENOENT,
				   "%s: the steering program (id %u) is no longer on the device; "
				   "somebody took it off",
				   x->ifname, x->prog_id);
	xdp_multiprog__close(mp);
	shunt_xdp_log_end(before);
	return rc;
}

const char *shunt_xdp_mode_name(enum shunt_xdp_mode mode)
{
	return mode == SHUNT_XDP_GENERIC ? "generic" : "native";
}
