/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's BTF says, read once a process. For each object that asks where a field of a
 * kernel's structure lies (CO-RE), libbpf would read all of it, 5 MB. So such an object is given a
 * few structures of it instead, in a file.
 *
 *	struct shunt_xdp_btf btf;
 *	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = shunt_xdp_btf_open(&btf));
 *	... open and load ...
 *	shunt_xdp_btf_close(&btf);
 */
#ifndef SHUNT_XDP_BTF_H
#define SHUNT_XDP_BTF_H

#include <stdint.h>

struct shunt_xdp_btf {
	int fd;
	char path[32];
};

/* shunt_xdp_btf_open makes the file, with task_struct, net_device, net, and what lies in them.
 * Returns its path, which is btf's; NULL where the kernel has no BTF, or there is no memory: libbpf
 * then reads the kernel's itself, or says why not. shunt_xdp_btf_close ends the file; legal after
 * NULL. Thread: any. Cost: setup. */
const char *shunt_xdp_btf_open(struct shunt_xdp_btf *btf);
void shunt_xdp_btf_close(struct shunt_xdp_btf *btf);

/* shunt_xdp_btf_prog_head returns the bytes of the kernel's struct bpf_prog, 0 unknown. Thread:
 * any. Cost: setup. */
uint32_t shunt_xdp_btf_prog_head(void);

#endif
