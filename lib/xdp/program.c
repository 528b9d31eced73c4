// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "xdp/private.h"
#include "xdp/bound.h"
#include "xdp/flow_count.h"
#include "xdp/tap_opts.h"
#include "shunt_steer.skel.h"
#include "shunt_steer_flow.skel.h"
#include "shunt_steer_flow_tapped.skel.h"
#include "shunt_steer_tag.skel.h"
#include "shunt_steer_tag_tapped.skel.h"
#include "shunt_steer_tapped.skel.h"

/* Only the program to be used is loaded: older kernels refuse others of the object. */
static void choose(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, name && !strcmp(bpf_program__name(prog), name));
}

static bool is_bound(const char *name)
{
	return !strcmp(name, SHUNT_STEER_PROG_TAG) || !strcmp(name, SHUNT_STEER_PROG_SGT);
}

/* Bits of so many places that all connections of both directions have room, where the kernel's
 * function says where they lie: 16 MiB a port for 262144 connections. */
static uint32_t place_bits(const struct shunt_xdp *x)
{
	unsigned cnt = x->asks_flows == SHUNT_FLOW_ASKS_FLOWTABLE
			       ? shunt_xdp_flow_limit(SHUNT_FLOW_PLACES_MAX)
			       : 1;

	return 32u - (uint32_t)__builtin_clz(cnt) - 1;
}

/* The constant of objects that ask for approved connections. */
static int set_flow_opts(const struct shunt_xdp *x, struct bpf_object *obj)
{
	const struct shunt_flow_opts opts = {
		.asks = x->asks_flows, .counts = !!x->flow_counts, .place_bits = place_bits(x)};
	struct bpf_map *constants = bpf_object__find_map_by_name(obj, ".rodata.shunt_flow");
	struct bpf_map *places = bpf_object__find_map_by_name(obj, "shunt_flow_place");

	if (!constants)
		return 0;
	bpf_map__set_max_entries(places, 1u << opts.place_bits);
	return bpf_map__set_initial_value(constants, &opts, sizeof(opts));
}

/* The object with that program alone (NULL: none), and the maps of ports that it uses. */
static struct bpf_object *open_elf(const struct shunt_xdp *x, const void *elf, size_t len,
				   const char *name)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = SHUNT_STEER_PROG);
	struct bpf_object *obj = bpf_object__open_mem(elf, len, &opts);

	if (!obj)
		return NULL;
	choose(obj, name);
	bpf_map__set_autocreate(
		bpf_object__find_map_by_name(obj, x->is_sg ? "shunt_ports" : "shunt_ports_sg"),
		false);
	bpf_map__set_autocreate(
		bpf_object__find_map_by_name(obj, x->is_sg ? "shunt_flood" : "shunt_flood_sg"),
		false);
	if (!x->is_counted)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "shunt_rule_cnt"), 1);
	if (set_flow_opts(x, obj)) {
		bpf_object__close(obj);
		return NULL;
	}
	return obj;
}

static struct bpf_object *open_object(const struct shunt_xdp *x, const char *name)
{
	size_t len;
	const void *elf = name && is_bound(name) ? shunt_steer_tag__elf_bytes(&len)
			  : x->asks_flows	 ? shunt_steer_flow__elf_bytes(&len)
						 : shunt_steer__elf_bytes(&len);

	return open_elf(x, elf, len, name);
}

int shunt_xdp_program_try_flows(struct shunt_xdp *x, enum shunt_flow_asks asks,
				struct shunt_err *err)
{
	struct bpf_object *obj;
	int rc;

	x->asks_flows = asks;
	obj = open_object(x, x->is_sg ? SHUNT_STEER_PROG_SG : SHUNT_STEER_PROG);
	rc = obj ? bpf_object__load(obj) : -errno;
	bpf_object__close(obj);
	x->asks_flows = SHUNT_FLOW_ASKS_NOTHING;
	return rc ? shunt_xdp_err_load(x->ifname, -rc, err) : 0;
}

/* Whether programs write it. */
static bool is_written(const struct bpf_map *map)
{
	static const char *const names[] = {"shunt_rule_cnt",  "shunt_number",	 "shunt_csum_chunk",
					    "shunt_flow_cnt",  "shunt_flow_now", "shunt_flow_memo",
					    "shunt_flow_place"};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(names); i++)
		if (!strcmp(bpf_map__name(map), names[i]))
			return true;
	return bpf_map__is_internal(map);
}

int shunt_xdp_share_maps(const struct bpf_object *from, struct bpf_object *to, bool with_written)
{
	struct bpf_map *map, *own;
	int rc = 0;

	bpf_object__for_each_map (map, from) {
		own = bpf_object__find_map_by_name(to, bpf_map__name(map));
		if (!rc && bpf_map__fd(map) >= 0 && (with_written || !is_written(map)))
			rc = bpf_map__reuse_fd(own, bpf_map__fd(map));
	}
	return rc;
}

/* Those of x, and what is counted of connections, which only programs have that ask for these. */
static int share_all(const struct shunt_xdp *x, struct bpf_object *obj)
{
	const int rc = shunt_xdp_share_maps(x->maps, obj, true);

	return rc ? rc : shunt_xdp_flow_counts_share(x->flow_counts, obj);
}

int shunt_xdp_program_prepare(struct shunt_xdp *x, struct shunt_err *err)
{
	int rc;

	x->maps = open_object(x, NULL);
	rc = x->maps ? bpf_object__load(x->maps) : -errno;
	return rc ? shunt_xdp_err_load(x->ifname, -rc, err) : shunt_xdp_maps_take(x, x->maps, err);
}

static const char *name_of(const struct shunt_xdp *x, bool can_trim)
{
	static const char *const names[2][2] = {{SHUNT_STEER_PROG_DP, SHUNT_STEER_PROG},
						{SHUNT_STEER_PROG_SGD, SHUNT_STEER_PROG_SG}};

	return names[x->is_sg][can_trim];
}

static int open_with_maps(struct shunt_xdp *x, const char *name, struct shunt_err *err)
{
	int rc;

	x->obj = open_object(x, name);
	rc = x->obj ? share_all(x, x->obj) : -errno;
	return rc ? shunt_xdp_err_load(x->ifname, -rc, err) : 0;
}

static void take_program(struct shunt_xdp *x, const char *name)
{
	x->prog_fd = bpf_program__fd(bpf_object__find_program_by_name(x->obj, name));
	x->is_bound = is_bound(name);
}

bool shunt_xdp_program_bind(struct shunt_xdp *x)
{
	const char *name = x->is_sg ? SHUNT_STEER_PROG_SGT : SHUNT_STEER_PROG_TAG;

	if (!x->asks_tags || x->is_bound)
		return x->is_bound;
	shunt_xdp_program_drop(x);
	if (open_with_maps(x, name, NULL) || shunt_xdp_bound_load(x->obj, name, x->ifindex))
		shunt_xdp_program_drop(x);
	else
		take_program(x, name);
	return x->is_bound;
}

int shunt_xdp_program_load(struct shunt_xdp *x, struct shunt_err *err)
{
	const char *name = name_of(x, true);
	int rc;

	if (x->prog_fd >= 0 || shunt_xdp_program_bind(x))
		return 0;
	rc = open_with_maps(x, name, err);
	if (rc)
		return rc;
	rc = bpf_object__load(x->obj);
	if (rc)
		return shunt_xdp_err_load(x->ifname, -rc, err);
	take_program(x, name);
	return 0;
}

int shunt_xdp_program_open(struct shunt_xdp *x, bool can_trim, struct shunt_err *err)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, 0);
	long rc = open_with_maps(x, name_of(x, can_trim), err);

	if (rc)
		return (int)rc;
	opts.obj = x->obj;
	opts.prog_name = name_of(x, can_trim);
	x->prog = xdp_program__create(&opts);
	rc = libxdp_get_error(x->prog);
	if (rc) {
		x->prog = NULL;
		return shunt_xdp_err_load(x->ifname, (int)-rc, err);
	}
	/* libbpf sees it by the section's name; libxdp asks for its dispatcher */
	if (x->is_sg)
		xdp_program__set_xdp_frags_support(x->prog, true);
	return 0;
}

const void *shunt_xdp_program_tapped_elf(const struct shunt_xdp *x, bool bound, size_t *len)
{
	if (x->asks_flows)
		return shunt_steer_flow_tapped__elf_bytes(len);
	return bound ? shunt_steer_tag_tapped__elf_bytes(len) : shunt_steer_tapped__elf_bytes(len);
}

static const char *tapped_name(const struct shunt_xdp *x, bool bound)
{
	if (!bound)
		return name_of(x, true);
	return x->is_sg ? SHUNT_STEER_PROG_SGT : SHUNT_STEER_PROG_TAG;
}

static int set_tap(struct bpf_object *obj, const struct shunt_xdp_tap_opts *opts)
{
	struct bpf_map *constants = bpf_object__find_map_by_name(obj, ".rodata.shunt_tap");
	struct bpf_map *ring = bpf_object__find_map_by_name(obj, "shunt_tap_ring");
	int rc = constants && ring ? bpf_map__set_max_entries(ring, opts->ring_bytes) : -ENOENT;

	return rc ? rc : bpf_map__set_initial_value(constants, &opts->opts, sizeof(opts->opts));
}

struct bpf_object *shunt_xdp_program_open_tapped(const struct shunt_xdp *x, const void *elf,
						 size_t len, bool bound,
						 const struct shunt_xdp_tap_opts *opts)
{
	struct bpf_object *obj = open_elf(x, elf, len, tapped_name(x, bound));

	if (obj && set_tap(obj, opts)) {
		bpf_object__close(obj);
		obj = NULL;
	}
	return obj;
}

int shunt_xdp_program_load_tapped(struct shunt_xdp *x, struct bpf_object *obj, bool bound,
				  struct shunt_err *err)
{
	const char *name = tapped_name(x, bound);
	int rc = obj ? share_all(x, obj) : -ENOMEM;

	x->obj = obj;
	if (!rc)
		rc = bound ? shunt_xdp_bound_load(obj, name, x->ifindex) : bpf_object__load(obj);
	if (rc)
		return shunt_xdp_err_load(x->ifname, -rc, err);
	take_program(x, name);
	return 0;
}

void shunt_xdp_program_drop(struct shunt_xdp *x)
{
	if (x->prog)
		xdp_program__close(x->prog);
	bpf_object__close(x->obj);
	x->prog = NULL;
	x->obj = NULL;
	x->prog_fd = -1;
	x->is_bound = false;
}

static bool is_sg(const struct xdp_program *prog)
{
	const char *name = prog ? xdp_program__name(prog) : NULL;

	return name && strncmp(name, SHUNT_STEER_PROG_SG, strlen(SHUNT_STEER_PROG_SG)) == 0;
}

/* Goes on with a program that was there before. No worker hangs. A frame may still be under way in
 * a half. After a handover the live half steers until the other one is published. */
static void inherit(struct shunt_xdp *x)
{
	x->has_published = true;
	if (x->ctl->live >= SHUNT_STEER_LIVE_HANDOVER0)
		x->half = SHUNT_STEER_LIVE_HALF_OF(x->ctl->live);
	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++)
		x->slots[i].gate.beat_ns = x->slots[i].gate.shut = 0;
	shunt_xdp_rules_inherit(x);
}

/* Programs of the same source mean the same by the same maps. */
static int check_version(const struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_steer *skel = shunt_steer__open();
	bool is_same = skel && skel->data_shunt_cfg->shunt_ctl.version == x->ctl->version;

	shunt_steer__destroy(skel);
	return is_same ? 0
		       : shunt_err_set(err, EPROTO,
				       "%s: the steering program on the device is of another "
				       "version than this shuntd; attach this version's "
				       "shunt_steer.bpf.o",
				       x->ifname);
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
		rc = shunt_err_set(err, ENOENT,
				   "%s: the steering program on the device takes packets of one "
				   "buffer, and the MTU allows longer ones; attach the one of sec "
				   "xdp.frags, or lower the MTU",
				   x->ifname);
		goto out;
	}
	x->prog_id = xdp_program__id(prog);
	x->is_bound = is_bound(xdp_program__name(prog));
	rc = shunt_xdp_maps_open(x, xdp_program__fd(prog), err);
	if (!rc)
		rc = check_version(x, err);
	pid = rc ? 0 : shunt_xdp_owner_alive(x->ctl);
	if (pid == (uint32_t)getpid())
		rc = shunt_err_set(
			err, EBUSY,
			"%s: the steering program on the device serves another port "
			"already, and each port needs its own; load it once more with "
			"`bpftool prog load shunt_steer.bpf.o /sys/fs/bpf/steer-%s`, and "
			"attach that one",
			x->ifname, x->ifname);
	else if (pid)
		rc = shunt_xdp_owner_error(x->ifname, pid, err);
	if (!rc)
		inherit(x);
	else
		shunt_xdp_maps_close(x); /* the other owner's */
out:
	xdp_multiprog__close(mp);
	return rc;
}

uint32_t shunt_xdp_program_id(int prog_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
}
