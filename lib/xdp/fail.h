/* SPDX-License-Identifier: BSD-2-Clause */
/* Failed redirects of the ports' XDP programs, by port and reason. The kernel frees a frame that a
 * far port could not send. Only its tracepoints tell. bpf/shunt_fail.bpf.c listens to them, for
 * these ports alone.
 *
 * Limits: the kernel must have BTF. Opening takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. What a
 * socket refused is in its own statistics.
 *
 *     shunt_xdp_fail_open(&fail, ifindexes, cnt, &err);
 *     shunt_xdp_fail_read(fail, port, SHUNT_FAIL_too_big);
 *     shunt_xdp_fail_close(fail);
 */
#ifndef SHUNT_XDP_FAIL_H
#define SHUNT_XDP_FAIL_H

#include <stdint.h>

#include "base/err.h"
#include "shunt_fail.h"

struct shunt_xdp_fail;

/* shunt_xdp_fail_open counts from now on the failed redirects of programs on these devices, which
 * are in the caller's network namespace. Index 0 is no device. Returns 0 with *out set, or -errno
 * with err set: -E2BIG above SHUNT_FAIL_PORTS_MAX; -EPERM; -EOPNOTSUPP where the kernel has no such
 * tracepoints or no BTF. Thread: init. Cost: setup; then a call for each redirected batch of the
 * whole machine. */
int shunt_xdp_fail_open(struct shunt_xdp_fail **out, const uint32_t *ifindexes, unsigned cnt,
			struct shunt_err *err);

/* shunt_xdp_fail_set_detour counts what fails at the device `detour` for ifindexes[port], too. A
 * port has one detour: it replaces the one before; 0: none. Thread: control. */
void shunt_xdp_fail_set_detour(struct shunt_xdp_fail *fail, unsigned port, uint32_t detour);

/* shunt_xdp_fail_read returns how many frames were lost at the device ifindexes[port] for a reason.
 * Thread: any. Cost: no syscall. */
uint64_t shunt_xdp_fail_read(const struct shunt_xdp_fail *fail, unsigned port,
			     enum shunt_fail_reason reason);

/* shunt_xdp_fail_name and _help return static strings, "?" out of range. Thread: any. */
const char *shunt_xdp_fail_name(enum shunt_fail_reason reason);
const char *shunt_xdp_fail_help(enum shunt_fail_reason reason);

/* shunt_xdp_fail_close ends the counting. NULL is legal. Thread: control. */
void shunt_xdp_fail_close(struct shunt_xdp_fail *fail);

#endif
