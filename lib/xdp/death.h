/* SPDX-License-Identifier: BSD-2-Clause */
/* The gates of all ports close the moment that the daemon is given a fatal signal, or ends in
 * another way (bpf/shunt_death.bpf.c). Without it they close one after the other, when the kernel
 * has taken the sockets of the ended process out of their maps: what comes meanwhile is lost.
 *
 * Limits: as of xdp/fail.h: BTF, and CAP_BPF and CAP_PERFMON to open it.
 *
 *     shunt_xdp_death_open(&death, ports, cnt, &err);
 *     shunt_xdp_death_close(death);
 */
#ifndef SHUNT_XDP_DEATH_H
#define SHUNT_XDP_DEATH_H

#include "xdp/xdp.h"

struct shunt_xdp_death;

/* shunt_xdp_death_open watches over the calling process for these ports, which are attached. Ports
 * with `crosses` go on crossing after the end. Frames of other ports go to the kernel.
 * Returns 0 with *out set, or -errno with err set: -E2BIG above SHUNT_DEATH_PORTS_MAX; -EPERM;
 * -EOPNOTSUPP where the kernel has no such tracepoints or no BTF. Thread: init. Cost: setup; then a
 * comparison for each signal and each task that ends, of the whole machine. */
int shunt_xdp_death_open(struct shunt_xdp_death **out, struct shunt_xdp *const *ports, unsigned cnt,
			 struct shunt_err *err);

/* shunt_xdp_death_close ends that: before an orderly end withdraws the ports. NULL is legal.
 * Thread: control. */
void shunt_xdp_death_close(struct shunt_xdp_death *death);

#endif
