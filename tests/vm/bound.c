// SPDX-License-Identifier: BSD-2-Clause
/* bound OBJECT DEVICE: puts the program shunt_steer_bnd on the device that it is bound to, says
 * "bound", and waits to be killed. Exit status 2: the kernel moved the program, which is gone. */
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xdp/bound.h"

#define NAME "shunt_steer_bnd"

int main(int argc, char **argv)
{
	const unsigned ifindex = argc == 3 ? if_nametoindex(argv[2]) : 0;
	struct bpf_object *obj = ifindex ? bpf_object__open_file(argv[1], NULL) : NULL;
	int rc = obj ? shunt_xdp_bound_load(obj, NAME, ifindex) : -EINVAL;

	if (!rc)
		rc = bpf_xdp_attach((int)ifindex,
				    bpf_program__fd(bpf_object__find_program_by_name(obj, NAME)),
				    XDP_FLAGS_DRV_MODE, NULL);
	if (rc) {
		bpf_object__close(obj);
		fprintf(stderr, "bound: %s\n", strerror(-rc));
		return rc == -EXDEV ? 2 : 1;
	}
	puts("bound");
	fflush(stdout);
	return pause();
}
