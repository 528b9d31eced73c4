/* SPDX-License-Identifier: BSD-2-Clause */
/* Taps: a port's steering program exchanged in place for one that shows its frames to a ring
 * (bpf/steer/tap.bpf.h), and back. Both use the same maps, so nothing is lost meanwhile, and without a tap
 * nothing is paid for it.
 *
 * Limits: one tap a port. Not where the program is external, or runs under libxdp's dispatcher: there it
 * cannot be exchanged in one step.
 *
 *	fd = shunt_xdp_tap(x, &opts, &err);
 *	shunt_xdp_untap(x, &err);
 */
#ifndef SHUNT_XDP_TAP_H
#define SHUNT_XDP_TAP_H

#include <linux/filter.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_tap.h"

struct shunt_xdp;

#define SHUNT_XDP_TAP_FILTER_MAX 512 /* instructions of classic BPF */

struct shunt_xdp_tap_opts {
	struct shunt_tap_opts opts;
	uint32_t ring_bytes; /* a power of 2, of pages */
	uint32_t filter_cnt; /* 0: every packet */
	struct sock_filter filter[SHUNT_XDP_TAP_FILTER_MAX];
};

/* shunt_xdp_tap has the program show its frames. Returns the ring's descriptor, the caller's, or -errno
 * with err set, and the program as it was: -EOPNOTSUPP see the limits; -EBUSY there is a tap; -EINVAL the
 * filter. A port whose program is off the device is tapped when it comes back. Thread: control. Cost: a
 * program is loaded. */
int shunt_xdp_tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts, struct shunt_err *err);

/* shunt_xdp_untap puts the plain program back, where there is a tap. Returns 0 or -errno with err set.
 * Thread: control. Cost: a syscall. */
int shunt_xdp_untap(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_tap_lost returns how many records had no room, since the program was loaded.
 * Thread: control. */
uint64_t shunt_xdp_tap_lost(const struct shunt_xdp *x);

#endif
