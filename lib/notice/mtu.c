// SPDX-License-Identifier: BSD-2-Clause
#include "notice/mtu.h"

#include <net/ethernet.h>

/* Switched frames may carry a VLAN tag more than the MTU, which every driver takes; a router
 * keeps to the MTU. */
static uint32_t max_len_of(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const uint32_t tag =
		shunt_config_mode(engine->config, port->index) == SHUNT_FORWARD_STATIC3 ? 0 : 4;

	return port->xdp ? port->mtu + ETH_HLEN + tag : UINT32_MAX;
}

bool shunt_mtu_follow(struct shunt_engine *engine)
{
	bool is_any_new = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];
		const uint32_t now = port->xdp ? shunt_netdev_mtu(port->name) : 0;
		const uint32_t before = port->mtu;

		port->mtu = now ? SHUNT_MIN(now, port->netdev.mtu) : port->netdev.mtu;
		is_any_new |= port->mtu != before;
		/* read by the workers, who order nothing by it */
		__atomic_store_n(&engine->max_lens[i], max_len_of(engine, port), __ATOMIC_RELAXED);
	}
	return is_any_new;
}

/* 0 where it was not raised, or the device is gone. */
static uint32_t raised_to(const struct shunt_port *port)
{
	const uint32_t now = port->xdp ? shunt_netdev_mtu(port->name) : 0;

	return now > port->netdev.mtu ? now : 0;
}

static void write_sentence(const struct shunt_port *port, uint32_t now, struct shunt_err *out)
{
	shunt_err_set(
		out, 0,
		"%s: its MTU was raised to %u, and shuntd runs with the %u that it was: longer "
		"packets do not come through; start it again (--takeover), or: ip link set "
		"dev %s mtu %u",
		port->name, now, port->netdev.mtu, port->name, port->netdev.mtu);
}

bool shunt_mtu_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	const uint32_t now = raised_to(port);

	if (now)
		write_sentence(port, now, out);
	return now;
}

unsigned shunt_mtu_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	unsigned cnt = 0, i;

	for (i = 0; i < engine->port_cnt && cnt < max; i++) {
		struct shunt_port *port = &engine->ports[i];
		const uint32_t now = raised_to(port);

		if (now && now != port->mtu_told)
			write_sentence(port, now, &out[cnt++]);
		port->mtu_told = now;
	}
	return cnt;
}
