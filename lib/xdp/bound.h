/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads a program that asks its driver for what the driver knows of a packet. The kernel wants such
 * a program bound to one device (Linux 6.3). It is alone there: libxdp's dispatcher is bound to
 * none. shuntd has no such program yet; tests/vm/cases/gone loads the steering program this way.
 *
 *	obj = bpf_object__open_file("program.bpf.o", NULL);
 *	rc = shunt_xdp_bound_load(obj, "program", ifindex);
 */
#ifndef SHUNT_XDP_BOUND_H
#define SHUNT_XDP_BOUND_H

struct bpf_object;

/* shunt_xdp_bound_load loads the program of this name, and no other, of an opened object, bound to
 * the device. Returns 0; -ENOENT: no such program; -errno of the kernel; -EXDEV: the kernel moved
 * the program while it verified it, and would crash when the device goes. bpf/steer/bound.bpf.h
 * says how a program avoids that. It cannot where constants are blinded
 * (net.core.bpf_jit_harden=2). The caller keeps the object, and closes it at once after an error.
 * Thread: control. Cost: setup. */
int shunt_xdp_bound_load(struct bpf_object *obj, const char *name, unsigned ifindex);

#endif
