// SPDX-License-Identifier: BSD-2-Clause
#include "engine/frames.h"

#include <errno.h>
#include <stdio.h>

#include "port/jumbo.h"

static void ask_jumbo(const struct shunt_port *port, struct shunt_jumbo *out)
{
	const struct shunt_port_config *config = port->config;
	struct shunt_err unknown;

	*out = (struct shunt_jumbo){
		.ifname = config->name,
		.driver = *port->netdev.driver ? port->netdev.driver : "unknown",
		.mtu = port->netdev.mtu,
		.is_generic = config->driver_mode == SHUNT_DRIVER_GENERIC,
		.is_copied = config->copy_mode == SHUNT_COPY_COPY,
		.needs_zerocopy =
			config->require_zerocopy || config->copy_mode == SHUNT_COPY_ZEROCOPY,
	};
	shunt_kernel_query(&out->kernel);
	shunt_netdev_xdp_query((unsigned)port->netdev.ifindex, &out->xdp, &unknown);
	/* Without zero-copy no MTU helps: the sockets are refused. */
	if (out->is_generic ||
	    (out->xdp.is_known && !(out->xdp.features & SHUNT_NETDEV_XDP_xsk_zerocopy)))
		out->needs_zerocopy = false;
}

static int refuse_mtu(const struct shunt_jumbo *jumbo, uint32_t frame_size, const char *why,
		      struct shunt_err *err)
{
	char remedy[128];

	if (*why)
		snprintf(remedy, sizeof(remedy), "lower the MTU: ip link set dev %s mtu %u",
			 jumbo->ifname, shunt_jumbo_mtu_max(jumbo, frame_size));
	else
		snprintf(remedy, sizeof(remedy), "set frame_size %u or lower the MTU",
			 SHUNT_FRAME_SIZE_MAX);
	return shunt_err_set(
		err, ERANGE, "%s: MTU %u makes packets of %u bytes, a frame of %u holds %u%s%s; %s",
		jumbo->ifname, jumbo->mtu, shunt_jumbo_packet(jumbo), frame_size,
		shunt_jumbo_room(jumbo, frame_size), *why ? ", and " : "", why, remedy);
}

int shunt_engine_fit_frames(struct shunt_engine *engine, struct shunt_port *port,
			    struct shunt_err *err)
{
	struct shunt_jumbo jumbo;
	char why[160] = "";

	ask_jumbo(port, &jumbo);
	if (!engine->config->frame_size && shunt_jumbo_frames(&jumbo, engine->frame_size) > 1)
		engine->frame_size = SHUNT_FRAME_SIZE_MAX;
	port->packet_frames = shunt_jumbo_frames(&jumbo, engine->frame_size);
	shunt_jumbo_limit(&jumbo,
			  engine->config->frame_size ? engine->config->frame_size
						     : SHUNT_FRAME_SIZE_MAX,
			  port->mtu_limit, sizeof(port->mtu_limit));
	if (port->packet_frames == 1)
		return 0;
	if (shunt_jumbo_frames(&jumbo, SHUNT_FRAME_SIZE_MAX) == 1 ||
	    !shunt_jumbo_works(&jumbo, engine->frame_size, why, sizeof(why)))
		return refuse_mtu(&jumbo, engine->frame_size, why, err);
	port->multi_buffer = engine->multi_buffer = true;
	return 0;
}
