// SPDX-License-Identifier: BSD-2-Clause
/* The steering program that writes the packet's metadata (bpf/shunt_steer_meta.bpf.c). It is put on
 * the device by itself, not under libxdp's dispatcher: a dispatcher is bound to no device, and
 * since Linux 6.14 lets no program change what lies before a frame. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "device/netdev_xdp.h"
#include "xdp/private.h"
#include "shunt_steer_clock.skel.h"
#include "shunt_steer_meta.h"
#include "shunt_steer_meta.skel.h"

/* Linux 6.3. */
#ifndef BPF_F_XDP_DEV_BOUND_ONLY
#define BPF_F_XDP_DEV_BOUND_ONLY (1U << 6)
#endif

static const char *name_of(bool is_sg)
{
	return is_sg ? SHUNT_STEER_PROG_MDSG : SHUNT_STEER_PROG_MD;
}

static void set_want(struct bpf_object *obj, const struct shunt_steer_want *want)
{
	struct bpf_map *map;
	size_t len;

	bpf_object__for_each_map (map, obj) {
		void *value = strcmp(bpf_map__name(map), ".rodata.shunt_want")
				      ? NULL
				      : (void *)bpf_map__initial_value(map, &len);

		if (value && len == sizeof(*want))
			memcpy(value, want, sizeof(*want));
	}
}

/* The object with one program loaded, bound to the device where the driver is asked. */
static struct bpf_object *load(unsigned ifindex, bool is_sg, const struct shunt_steer_want *want)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = SHUNT_STEER_PROG);
	struct bpf_program *prog;
	struct bpf_object *obj;
	const void *elf;
	size_t len;

	elf = want->hash || want->time ? shunt_steer_meta__elf_bytes(&len)
				       : shunt_steer_clock__elf_bytes(&len);
	obj = bpf_object__open_mem(elf, len, &opts);
	if (!obj)
		return NULL;
	bpf_object__for_each_program(prog, obj)
	{
		const bool is_it = !strcmp(bpf_program__name(prog), name_of(is_sg));

		bpf_program__set_autoload(prog, is_it);
		if (!is_it || (!want->hash && !want->time))
			continue;
		bpf_program__set_ifindex(prog, ifindex);
		bpf_program__set_flags(prog, bpf_program__flags(prog) | BPF_F_XDP_DEV_BOUND_ONLY);
	}
	set_want(obj, want);
	if (!bpf_object__load(obj))
		return obj;
	bpf_object__close(obj);
	return NULL;
}

static int fd_of(const struct bpf_object *obj, bool is_sg)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name_of(is_sg)));
}

/* The kernel's word on the memory of the program's instructions, 0 unknown. */
static uint64_t memory_of(int prog_fd)
{
	char path[64], line[128];
	uint64_t bytes = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", prog_fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	if (info)
		fclose(info);
	return bytes;
}

/* A program that the kernel moved while it verified it must not stay bound to a device: when the
 * device goes, so does the kernel (bpf/shunt_steer_meta.bpf.h, leave_room). It lies where it was
 * put if it has as many pages as its instructions needed then. */
static bool is_moved(const struct bpf_object *obj, bool is_sg)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(obj, name_of(is_sg));
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t bytes = bpf_program__insn_cnt(prog) * sizeof(struct bpf_insn);

	return memory_of(bpf_program__fd(prog)) != (bytes + page - 1) / page * page;
}

static struct shunt_steer_want wanted_of(unsigned ifindex)
{
	struct shunt_netdev_xdp offers;

	if (shunt_netdev_xdp_query(ifindex, &offers, NULL))
		offers.rx_metadata = 0;
	return (struct shunt_steer_want){
		.hash = !!(offers.rx_metadata & SHUNT_NETDEV_XDP_MD_rx_hash),
		.time = !!(offers.rx_metadata & SHUNT_NETDEV_XDP_MD_rx_timestamp),
	};
}

static struct bpf_object *load_best(struct shunt_xdp *x)
{
	struct shunt_steer_want want = wanted_of(x->ifindex);
	const bool is_bound = want.hash || want.time;
	struct bpf_object *obj = load(x->ifindex, x->is_sg, &want);
	const char *why = is_bound ? "" : "the driver has none that it could be asked for";

	if (is_bound && !obj)
		why = "the kernel refuses a program that asks the driver";
	if (is_bound && obj && is_moved(obj, x->is_sg)) {
		why = "this kernel moves a program that asks the driver, and would crash when the "
		      "device goes";
		bpf_object__close(obj);
		obj = NULL;
	}
	snprintf(x->meta_why, sizeof(x->meta_why), "%s", why);
	if (!obj && is_bound) {
		want = (struct shunt_steer_want){0};
		obj = load(x->ifindex, x->is_sg, &want);
	}
	return obj;
}

static bool refuse(struct shunt_xdp *x, const char *why)
{
	snprintf(x->meta_why, sizeof(x->meta_why), "%s", why);
	return false;
}

bool shunt_xdp_meta_open(struct shunt_xdp *x)
{
	struct xdp_multiprog *mp;
	bool is_shared;

	if (x->requested == SHUNT_XDP_GENERIC)
		return refuse(x, "generic mode has none");
	mp = shunt_xdp_device_get(x->ifindex);
	is_shared = mp && shunt_xdp_device_is_shared(mp);
	xdp_multiprog__close(mp);
	if (is_shared)
		return refuse(x, SHUNT_XDP_META_SHARED);
	x->obj = load_best(x);
	if (!x->obj)
		return refuse(x, "the kernel refuses the program that writes it");
	x->prog_fd = fd_of(x->obj, x->is_sg);
	x->has_meta = !shunt_xdp_maps_open(x, x->prog_fd, NULL);
	if (!x->has_meta)
		shunt_xdp_meta_drop(x, "its maps cannot be reached");
	return x->has_meta;
}

void shunt_xdp_meta_drop(struct shunt_xdp *x, const char *why)
{
	refuse(x, why);
	x->has_meta = x->is_configured = x->is_open = x->has_published = false;
	shunt_xdp_maps_close(x);
	shunt_xdp_program_drop(x);
}

bool shunt_xdp_has_meta(const struct shunt_xdp *x, const char **why)
{
	*why = x->meta_why;
	return x->has_meta;
}
