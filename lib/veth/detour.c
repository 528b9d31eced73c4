// SPDX-License-Identifier: BSD-2-Clause
#include "veth/detour.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/driver.h"
#include "device/ethtool.h"
#include "veth/veth.h"
#include "shunt_detour.skel.h"

struct shunt_detours {
	struct shunt_detour *skel;
};

static void far_end_name(unsigned far, char *name)
{
	snprintf(name, IFNAMSIZ, "shunt-e%u", far);
}

void shunt_detour_name(unsigned far, char *name)
{
	snprintf(name, IFNAMSIZ, "shunt-d%u", far);
}

unsigned shunt_detour_find(unsigned far)
{
	char name[IFNAMSIZ];

	shunt_detour_name(far, name);
	return if_nametoindex(name);
}

int shunt_detours_open(struct shunt_detours **out, struct shunt_err *err)
{
	struct shunt_detours *detours = calloc(1, sizeof(*detours));
	libbpf_print_fn_t before;
	int code;

	if (!detours)
		return shunt_err_set(err, ENOMEM, "detours: not enough memory");
	before = libbpf_set_print(NULL); /* the error says it */
	detours->skel = shunt_detour__open_and_load();
	code = errno;
	libbpf_set_print(before);
	if (detours->skel) {
		*out = detours;
		return 0;
	}
	free(detours);
	return shunt_err_set(err, code, "detours: the kernel refused the program: %s",
			     strerror(code));
}

void shunt_detours_close(struct shunt_detours *detours)
{
	if (!detours)
		return;
	shunt_detour__destroy(detours->skel);
	free(detours);
}

static int ask_ethtool(const char *name, void *command)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	ret = shunt_ethtool(fd, name, command);
	close(fd);
	return ret;
}

/* GRO gives the end a NAPI. Without a NAPI it takes no frames from XDP. */
static int switch_gro_on(const char *name)
{
	struct ethtool_value gro = {.cmd = ETHTOOL_SGRO, .data = 1};

	return ask_ethtool(name, &gro);
}

static bool is_veth(const char *name)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	return !ask_ethtool(name, &info) && shunt_driver_of(info.driver)->is_pair;
}

/* clsact goes with the device; what is there is replaced in one step. */
static int attach(int prog_fd, unsigned ifindex, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1, .prog_fd = prog_fd,
		    .flags = BPF_TC_F_REPLACE);
	int ret = bpf_tc_hook_create(&hook);

	return ret && ret != -EEXIST ? ret : bpf_tc_attach(&hook, &opts);
}

/* The near end gets the program first, on egress: what the kernel itself sends there must not
 * leave. Then the far end may take what is redirected. */
static int connect_ends(const struct shunt_detours *detours, unsigned near, unsigned end,
			unsigned far)
{
	libbpf_print_fn_t before;
	const int map_fd = bpf_map__fd(detours->skel->maps.shunt_ways);
	const int prog_fd = bpf_program__fd(detours->skel->progs.shunt_detour);
	const __u32 key = end, value = far;
	int ret = bpf_map_update_elem(map_fd, &key, &value, BPF_ANY) ? -errno : 0;

	before = libbpf_set_print(NULL); /* a hook that is there already is no error */
	if (!ret)
		ret = attach(prog_fd, near, BPF_TC_EGRESS);
	if (!ret)
		ret = attach(prog_fd, end, BPF_TC_INGRESS);
	libbpf_set_print(before);
	return ret;
}

static int make(const char *name, const char *end, uint32_t mtu, uint32_t queues,
		struct shunt_err *err)
{
	int ret;

	if (!if_nametoindex(name)) {
		ret = shunt_veth_create(name, end, mtu, queues, err);
		return ret < 0 ? ret : 0;
	}
	if (!is_veth(name) || !if_nametoindex(end))
		return shunt_err_set(err, EEXIST,
				     "%s: a device of that name is there and none of shunt's; "
				     "ip link del %s, or rename it",
				     name, name);
	return 0;
}

static int set_mtus(const char *name, const char *end, uint32_t mtu)
{
	const int ret = shunt_veth_set_mtu(name, mtu);

	return ret ? ret : shunt_veth_set_mtu(end, mtu);
}

int shunt_detour_open(struct shunt_detours *detours, unsigned far, uint32_t mtu, uint32_t queues,
		      struct shunt_err *err)
{
	char name[IFNAMSIZ], end[IFNAMSIZ];
	int ret;

	shunt_detour_name(far, name);
	far_end_name(far, end);
	ret = make(name, end, mtu, queues, err);
	if (ret)
		return ret;
	ret = switch_gro_on(end);
	if (!ret)
		ret = connect_ends(detours, if_nametoindex(name), if_nametoindex(end), far);
	if (!ret)
		ret = set_mtus(name, end, mtu);
	if (!ret)
		return (int)if_nametoindex(name);
	shunt_veth_delete(name, NULL);
	return shunt_err_set(err, -ret, "%s: cannot send by it: %s%s", name, strerror(-ret),
			     ret == -ENOENT || ret == -EOPNOTSUPP
				     ? "; the kernel needs CONFIG_NET_CLS_ACT and "
				       "CONFIG_NET_CLS_BPF"
				     : "");
}

void shunt_detour_close(struct shunt_detours *detours, unsigned far)
{
	char end[IFNAMSIZ];
	__u32 key;

	far_end_name(far, end);
	key = if_nametoindex(end);
	shunt_detour_clean(far, NULL);
	bpf_map_delete_elem(bpf_map__fd(detours->skel->maps.shunt_ways), &key);
}

int shunt_detour_clean(unsigned far, struct shunt_err *err)
{
	char name[IFNAMSIZ];
	int ret;

	shunt_detour_name(far, name);
	if (!if_nametoindex(name) || !is_veth(name))
		return 0;
	ret = shunt_veth_delete(name, err);
	return ret == -ENODEV ? 0 : ret ? ret : 1;
}
