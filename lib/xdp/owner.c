// SPDX-License-Identifier: BSD-2-Clause
/* Which process serves a steering program, as the program's maps say. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/netns.h"
#include "base/process.h"
#include "xdp/private.h"

void shunt_xdp_owner_set(struct shunt_steer_ctl *ctl, unsigned ifindex)
{
	ctl->owner_netns = shunt_netns_number();
	ctl->owner_ifindex = ifindex;
	ctl->owner_start = shunt_process_start(getpid());
	ctl->owner_pid = getpid();
}

void shunt_xdp_owner_clear(struct shunt_steer_ctl *ctl)
{
	if (ctl->live < SHUNT_STEER_LIVE_HANDOVER0) /* a handover ends by itself */
		shunt_xdp_live_set(ctl, SHUNT_STEER_LIVE_OFF, 0);
	ctl->owner_pid = 0;
}

uint32_t shunt_xdp_owner_alive(const struct shunt_steer_ctl *ctl)
{
	uint32_t pid = ctl->owner_pid;

	if (!pid || shunt_process_start(pid) != ctl->owner_start)
		return 0;
	return pid;
}

int shunt_xdp_owner_error(const char *ifname, uint32_t pid, struct shunt_err *err)
{
	return shunt_err_set(err, EBUSY,
			     "%s: process %u runs shunt on the device already; stop it first",
			     ifname, pid);
}

int shunt_xdp_owner_check(const char *ifname, const struct xdp_program *prog, struct shunt_err *err)
{
	struct shunt_xdp other;
	uint32_t pid;

	shunt_xdp_maps_init(&other);
	if (shunt_xdp_maps_open(&other, xdp_program__fd(prog), NULL) < 0)
		return 0; /* another version's: its owner is unknown */
	pid = shunt_xdp_owner_alive(other.ctl);
	shunt_xdp_maps_close(&other);
	return pid ? shunt_xdp_owner_error(ifname, pid, err) : 0;
}

static bool serves(const struct shunt_steer_ctl *ctl, unsigned ifindex)
{
	return ctl->owner_ifindex == ifindex && ctl->owner_netns == shunt_netns_number();
}

/* The other process that serves the device by that program; 0: none, or no steering program. */
static uint32_t other_of(int prog_fd, unsigned ifindex)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info), pid;
	struct shunt_xdp other;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) || !shunt_xdp_is_steering(info.name))
		return 0;
	shunt_xdp_maps_init(&other);
	if (shunt_xdp_maps_open(&other, prog_fd, NULL) < 0)
		return 0;
	pid = serves(other.ctl, ifindex) ? shunt_xdp_owner_alive(other.ctl) : 0;
	shunt_xdp_maps_close(&other);
	return pid == (uint32_t)getpid() ? 0 : pid;
}

int shunt_xdp_owner_look(const char *ifname, unsigned ifindex, struct shunt_err *err)
{
	uint32_t id = 0, pid = 0;

	while (!pid && !bpf_prog_get_next_id(id, &id)) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue; /* it has ended meanwhile */
		pid = other_of(fd, ifindex);
		close(fd);
	}
	return pid ? shunt_xdp_owner_error(ifname, pid, err) : 0;
}
