// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "io/xdp_private.h"
#include "shunt_steer.skel.h"

/* Of the object's programs, only the one to be used is loaded: older kernels refuse others. */
static void choose(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
}

void shunt_xdp_program_drop(struct shunt_xdp *x)
{
	if (x->prog)
		xdp_program__close(x->prog);
	bpf_object__close(x->obj);
	x->prog = NULL;
	x->obj = NULL;
}

int shunt_xdp_program_open(struct shunt_xdp *x, bool can_trim, struct shunt_err *err)
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

static bool is_sg(const struct xdp_program *prog)
{
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return name && strncmp(name, SHUNT_STEER_PROG_SG, strlen(SHUNT_STEER_PROG_SG)) == 0;
}

/* A program that was there before: nobody is hung, and a frame may still be under way in a half, or,
 * where somebody handed over, be steered by it until the other one is published. */
static void inherit(struct shunt_xdp *x)
{
	x->has_published = true;
	if (x->ctl->live >= SHUNT_STEER_LIVE_HANDOVER(0))
		x->half = x->ctl->live - SHUNT_STEER_LIVE_HANDOVER(0);
	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++)
		x->slots[i].gate.beat_ns = x->slots[i].gate.shut = 0;
}

int shunt_xdp_program_find(struct shunt_xdp *x, struct shunt_err *err)
{
	struct xdp_multiprog *mp = shunt_xdp_device_get(x->ifindex);
	struct xdp_program *prog = mp ? shunt_xdp_device_program(mp) : NULL;
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
	if (pid == (uint32_t)getpid())
		rc = shunt_err_set(
			err, EBUSY,
			"%s: the steering program on the device serves another port "
			"already, and each needs one of its own; load it once more, "
			"`bpftool prog load shunt_steer.bpf.o /sys/fs/bpf/steer-%s`, and "
			"attach that one",
			x->ifname, x->ifname);
	else if (pid)
		rc = shunt_xdp_device_owned(x->ifname, pid, err);
	if (!rc)
		inherit(x);
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

bool shunt_xdp_program_is_same(int a_fd, int b_fd)
{
	uint8_t a[BPF_TAG_SIZE], b[BPF_TAG_SIZE];

	return tag_read(a_fd, a) && tag_read(b_fd, b) && memcmp(a, b, BPF_TAG_SIZE) == 0;
}

uint32_t shunt_xdp_program_id(int prog_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
}

static bool is_same_program(const struct shunt_xdp *x, const struct xdp_program *prog)
{
	struct shunt_steer *skel;
	const char *name = xdp_program__name(prog);
	bool is_same;

	if (shunt_xdp_meta_is_its(name))
		return shunt_xdp_meta_is_same(x->ifindex, name, xdp_program__fd(prog));
	skel = shunt_steer__open();
	if (skel)
		choose(skel->obj, name);
	is_same = skel && !shunt_steer__load(skel) &&
		  shunt_xdp_program_is_same(
			  xdp_program__fd(prog),
			  bpf_program__fd(bpf_object__find_program_by_name(skel->obj, name)));
	shunt_steer__destroy(skel);
	return is_same;
}

bool shunt_xdp_program_adopt(struct shunt_xdp *x, bool metadata)
{
	struct xdp_multiprog *mp = shunt_xdp_device_get(x->ifindex);
	struct xdp_program *prog = mp ? shunt_xdp_device_program(mp) : NULL;

	if (prog && xdp_multiprog__attach_mode(mp) == shunt_xdp_device_mode(x->requested) &&
	    shunt_xdp_meta_is_its(xdp_program__name(prog)) == metadata &&
	    is_same_program(x, prog) && !shunt_xdp_maps_open(x, xdp_program__fd(prog), NULL)) {
		if (shunt_xdp_owner_alive(x->ctl)) {
			shunt_xdp_maps_close(x);
		} else {
			x->prog_id = xdp_program__id(prog);
			x->adopted_fd = dup(xdp_program__fd(prog));
			x->is_adopted = true;
			x->has_meta = metadata;
			shunt_xdp_owner_clear(x->ctl);
			inherit(x);
		}
	}
	xdp_multiprog__close(mp);
	return x->is_adopted;
}
