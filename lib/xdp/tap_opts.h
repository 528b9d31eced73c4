/* SPDX-License-Identifier: BSD-2-Clause */
/* What a tap on a port is made with (shunt_xdp_tap in xdp.h). */
#ifndef SHUNT_XDP_TAP_OPTS_H
#define SHUNT_XDP_TAP_OPTS_H

#include <linux/filter.h>
#include <stdint.h>

#include "shunt_tap.h"
#include "tap/cbpf.h"

struct shunt_xdp_tap_opts {
	struct shunt_tap_opts opts;
	uint32_t ring_bytes; /* a power of 2, of pages */
	uint32_t filter_cnt; /* 0: every packet */
	struct sock_filter filter[SHUNT_CBPF_MAX];
};

#endif
