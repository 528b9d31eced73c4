// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/bound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "xdp/btf.h"

/* Linux 6.3. */
#ifndef BPF_F_XDP_DEV_BOUND_ONLY
#define BPF_F_XDP_DEV_BOUND_ONLY (1U << 6)
#endif

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

/* A program lies where it was put if it has as many pages as it needed then, for the kernel's
 * struct bpf_prog and the instructions behind it: see bpf_prog_size. */
static bool is_moved(const struct bpf_program *prog)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t insns = bpf_program__insn_cnt(prog) * sizeof(struct bpf_insn);
	const uint64_t bytes = shunt_xdp_btf_prog_head() + insns;

	return memory_of(bpf_program__fd(prog)) != (bytes + page - 1) / page * page;
}

int shunt_xdp_bound_load(struct bpf_object *obj, const char *name, unsigned ifindex)
{
	struct bpf_program *prog, *it = bpf_object__find_program_by_name(obj, name);
	int rc;

	if (!it)
		return -ENOENT;
	bpf_object__for_each_program(prog, obj) bpf_program__set_autoload(prog, prog == it);
	bpf_program__set_ifindex(it, ifindex);
	bpf_program__set_flags(it, bpf_program__flags(it) | BPF_F_XDP_DEV_BOUND_ONLY);
	rc = bpf_object__load(obj);
	if (rc)
		return rc;
	return is_moved(it) ? -EXDEV : 0;
}
