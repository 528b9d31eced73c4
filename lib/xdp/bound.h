/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading a program that asks its driver what that knows of a packet. The kernel wants it bound to
 * one device (Linux 6.3), where it then stands alone: libxdp's dispatcher is bound to none.
 *
 *	obj = bpf_object__open_file("program.bpf.o", NULL);
 *	rc = shunt_xdp_bound_load(obj, "program", ifindex);
 */
#ifndef SHUNT_XDP_BOUND_H
#define SHUNT_XDP_BOUND_H

struct bpf_object;

/* shunt_xdp_bound_load loads of an opened object the one program of this name, bound to the device.
 * Returns 0; -ENOENT without such a program; -EXDEV where the kernel moved the program while it
 * verified it, and would crash when the device goes (bpf/steer/bound.bpf.h says how a program
 * avoids that; where constants are blinded, net.core.bpf_jit_harden=2, it cannot); -errno of the
 * kernel. The object stays the caller's, which closes it at once after an error. Thread: control.
 * Cost: setup. */
int shunt_xdp_bound_load(struct bpf_object *obj, const char *name, unsigned ifindex);

#endif
