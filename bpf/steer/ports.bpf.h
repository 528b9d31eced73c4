/* SPDX-License-Identifier: GPL-2.0-only */
/* Out by another port, inside the kernel. Each function asks for the redirect and says whether the
 * frame will leave: where the port's slot is empty it will not, and has not been touched.
 *
 * is_sg: of packets of several buffers. A devmap's programs must agree on frags, so there are two
 * maps of each kind. */
#ifndef SHUNT_STEER_PORTS_BPF_H
#define SHUNT_STEER_PORTS_BPF_H

#include "steer/maps.bpf.h"

static __always_inline bool redirects(__u32 port, const bool is_sg)
{
	if (is_sg)
		return bpf_redirect_map(&shunt_ports_sg, port, XDP_PASS) == XDP_REDIRECT;
	return bpf_redirect_map(&shunt_ports, port, XDP_PASS) == XDP_REDIRECT;
}

/* By all other ports of the bridge at once, where the worker sends one frame after the other. */
static __always_inline bool floods(const bool is_sg)
{
	if (is_sg)
		return bpf_redirect_map(&shunt_flood_sg, 0, BPF_F_BROADCAST) == XDP_REDIRECT;
	return bpf_redirect_map(&shunt_flood, 0, BPF_F_BROADCAST) == XDP_REDIRECT;
}

#endif
