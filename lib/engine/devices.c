// SPDX-License-Identifier: BSD-2-Clause
#include "engine/devices.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/bridge.h"

/* The address of the bridge that a port routes for, in its place. */
static void read_bridge(const struct shunt_engine *engine, unsigned port, uint8_t *mac)
{
	char name[IF_NAMESIZE];

	if (engine->bridge && shunt_bridge_routes(engine->bridge, port) &&
	    if_indextoname(shunt_bridge_ifindex(engine->bridge, port), name))
		shunt_netdev_mac(name, mac);
}

/* What is sent to a port's new address is this host's. What is sent to the old one is not. */
static bool follow_macs(struct shunt_engine *engine)
{
	bool is_any_new = false;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		struct shunt_port *port = &engine->ports.at[i];
		uint8_t mac[8] = {0};
		uint64_t word;

		if (!port->xdp || shunt_netdev_mac(port->name, mac))
			memcpy(mac, port->netdev.mac, 6);
		is_any_new |= memcmp(mac, port->netdev.mac, 6) != 0;
		memcpy(port->netdev.mac, mac, 6);
		read_bridge(engine, i, mac);
		memcpy(&word, mac, sizeof(word));
		is_any_new |= word != engine->ports.macs[i];
		/* read by the workers, which order nothing by it */
		__atomic_store_n(&engine->ports.macs[i], word, __ATOMIC_RELAXED);
	}
	return is_any_new;
}

/* Switched frames may carry a VLAN tag more than the MTU, which every driver takes; a router
 * keeps to the MTU. */
static uint32_t max_len_of(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const uint32_t tag =
		shunt_config_mode(engine->config, port->index) == SHUNT_FORWARD_STATIC3 ? 0 : 4;

	return port->xdp ? port->mtu + ETH_HLEN + tag : UINT32_MAX;
}

static bool follow_mtus(struct shunt_engine *engine)
{
	bool is_any_new = false;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		struct shunt_port *port = &engine->ports.at[i];
		const uint32_t now = port->xdp ? shunt_netdev_mtu(port->name) : 0;
		const uint32_t before = port->mtu;

		port->mtu = now ? SHUNT_MIN(now, port->netdev.mtu) : port->netdev.mtu;
		is_any_new |= port->mtu != before;
		/* read by the workers, which order nothing by it */
		__atomic_store_n(&engine->ports.max_lens[i], max_len_of(engine, port),
				 __ATOMIC_RELAXED);
	}
	return is_any_new;
}

int shunt_engine_hear_devices(void)
{
	const struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int ret;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&links, sizeof(links)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

/* What was lost for want of room is news, too. */
static bool have_changed(int fd)
{
	bool have_some = false;
	char byte;

	while (recv(fd, &byte, sizeof(byte), MSG_TRUNC) >= 0 || errno == ENOBUFS || errno == EINTR)
		have_some = true;
	return have_some;
}

bool shunt_engine_follow_devices(struct shunt_engine *engine)
{
	const bool is_new = follow_macs(engine);

	return follow_mtus(engine) || is_new;
}

bool shunt_engine_follow_told(struct shunt_engine *engine)
{
	return have_changed(engine->links_fd) && shunt_engine_follow_devices(engine);
}

void shunt_engine_follow_names(struct shunt_engine *engine)
{
	char now[IF_NAMESIZE];
	unsigned i, w;

	for (i = 0; i < engine->ports.cnt; i++) {
		struct shunt_port *port = &engine->ports.at[i];

		if (!port->xdp || !if_indextoname(port->netdev.ifindex, now) ||
		    !strcmp(port->name, now) || !shunt_guard_try(engine->ports.guard))
			continue;
		memcpy(port->name, now, sizeof(now));
		shunt_guard_leave(engine->ports.guard);
		for (w = 0; w < engine->worker_cnt; w++)
			shunt_graph_name_port(&engine->workers[w]->graph, i, now);
	}
}

void shunt_engine_old_names(const struct shunt_engine *engine, struct shunt_config *config)
{
	unsigned i, k;

	for (i = 0; i < config->port_cnt; i++) {
		char *name = config->ports[i].name;

		for (k = 0;
		     k < engine->ports.cnt && shunt_config_find_port(engine->config, name) < 0; k++)
			if (!strcmp(engine->ports.at[k].name, name))
				memcpy(name, engine->ports.at[k].config->name,
				       sizeof(config->ports[i].name));
	}
}
