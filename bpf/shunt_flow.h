/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a steering program that asks for approved connections (steer/flow.bpf.h) does so. */
#ifndef SHUNT_FLOW_H
#define SHUNT_FLOW_H

/* The constant shunt_flow_asks: which of the kernel's functions there is. */
enum shunt_flow_asks {
	SHUNT_FLOW_ASKS_NOTHING = 0,
	SHUNT_FLOW_ASKS_CONNECTION, /* bpf_xdp_ct_lookup, Linux 5.18 */
	SHUNT_FLOW_ASKS_FLOWTABLE,  /* bpf_xdp_flow_lookup, Linux 6.11 */
};

/* AF_INET and AF_INET6 of both sides. */
#define SHUNT_FLOW_INET	 2
#define SHUNT_FLOW_INET6 10

#endif
