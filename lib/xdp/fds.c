// SPDX-License-Identifier: BSD-2-Clause
/* libxdp (1.3.1) leaks descriptors of a device's programs each time it looks at the device. It
 * looks several times to attach or detach. A daemon with few descriptors would soon have none left.
 * The leaked ones are closed here. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

bool shunt_xdp_is_dispatcher(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, SHUNT_XDP_DISPATCHER);
}

/* Without /proc all count as open, so none is closed. */
void shunt_xdp_fds_look(struct shunt_xdp_fds *fds)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	memset(fds, dir ? 0 : 0xff, sizeof(*fds));
	while (dir && (entry = readdir(dir))) {
		unsigned long fd = strtoul(entry->d_name, NULL, 10);

		if (fd < SHUNT_XDP_FDS_MAX && fd != (unsigned long)dirfd(dir))
			fds->open[fd / 64] |= 1ULL << fd % 64;
	}
	if (dir)
		closedir(dir);
}

static bool is_program(int fd)
{
	char path[64], is[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, is, sizeof(is) - 1) > 0 && !strcmp(is, "anon_inode:bpf-prog");
}

static bool is_own(const struct shunt_xdp *x, int fd)
{
	struct bpf_program *prog;
	bool is = fd == x->prog_fd;

	if (x->obj)
		bpf_object__for_each_program(prog, x->obj) is |= bpf_program__fd(prog) == fd;
	return is;
}

void shunt_xdp_fds_sweep(const struct shunt_xdp_fds *before, const struct shunt_xdp *x)
{
	struct shunt_xdp_fds now;
	int fd;

	shunt_xdp_fds_look(&now);
	for (fd = 0; fd < SHUNT_XDP_FDS_MAX; fd++)
		if (now.open[fd / 64] & ~before->open[fd / 64] & 1ULL << fd % 64 &&
		    (x ? is_program(fd) && !is_own(x, fd) : shunt_xdp_is_dispatcher(fd)))
			close(fd);
}
