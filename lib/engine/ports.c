// SPDX-License-Identifier: BSD-2-Clause
#include "engine/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/driver.h"
#include "device/kernel.h"
#include "device/link.h"
#include "device/tags.h"
#include "engine/frames.h"
#include "firewall/firewall.h"
#include "xdp/flow_count.h"

/* Connections that are counted at once, at most. */
#define FLOWS_MAX (1u << 19)

static void print_more_queues(const struct shunt_port *port, unsigned cnt, char *out, unsigned len)
{
	char command[64];

	shunt_netdev_channels_print(&port->netdev, port->config->name, cnt, command,
				    sizeof(command));
	if (port->netdev.queue_max && cnt > port->netdev.queue_max)
		snprintf(out, len, ", this device can have %u queue%s", port->netdev.queue_max,
			 port->netdev.queue_max > 1 ? "s" : "");
	else
		snprintf(out, len, " or raise the queues with %s", command);
}

static int check_queues(struct shunt_port *port, unsigned worker_cnt, struct shunt_err *err)
{
	const struct shunt_port_config *config = port->config;
	char remedy[128];

	port->queue_cnt = config->queues ? config->queues : port->netdev.queue_cnt;
	print_more_queues(port, SHUNT_MAX(port->queue_cnt, worker_cnt), remedy, sizeof(remedy));
	if (port->queue_cnt > port->netdev.queue_cnt)
		return shunt_err_set(err, EINVAL,
				     "%s: %u queues asked for and the device has %u; lower "
				     "queues%s",
				     config->name, port->queue_cnt, port->netdev.queue_cnt, remedy);
	if (port->queue_cnt > SHUNT_STEER_SOCKETS_MAX)
		port->queue_cnt = SHUNT_STEER_SOCKETS_MAX;
	if (port->queue_cnt < worker_cnt)
		return shunt_err_set(err, EINVAL,
				     "%s: %u workers and %u queues: every worker needs a queue of "
				     "every port to transmit on; use fewer workers%s",
				     config->name, worker_cnt, port->queue_cnt, remedy);
	return 0;
}

/* What a bridge or a bond gets from its port, the kernel does not route by the port. One that the
 * configuration names is followed. */
static int check_master(const struct shunt_engine *engine, const struct shunt_port *port,
			struct shunt_err *err)
{
	if (!port->netdev.has_master || *port->config->master ||
	    shunt_ports_mode(&engine->ports, port->index) != SHUNT_FORWARD_ROUTE ||
	    shunt_link_is_in_vrf((unsigned)port->netdev.ifindex))
		return 0;
	return shunt_err_set(
		err, EINVAL,
		"%s is a port of another device (a bridge, a bond), which takes what comes in: mode "
		"route would not forward as the kernel does; name the bridge or the bond in its "
		"place, or ip link set %s nomaster",
		port->name, port->name);
}

/* In generic mode a packet whose checksum was left to a device cannot be translated: what is left
 * to do goes with it, and is not to be seen. */
static bool asks_flows(const struct shunt_engine *engine, const struct shunt_port *port)
{
	return engine->config->firewall != SHUNT_FIREWALL_IGNORE &&
	       port->config->driver_mode != SHUNT_DRIVER_GENERIC &&
	       shunt_ports_mode(&engine->ports, port->index) == SHUNT_FORWARD_ROUTE &&
	       (engine->can_manage || shunt_firewall_has_flowtable(port->netdev.ifindex));
}

/* Else the worker does, which takes the frame for that. */
static bool changes_lengths(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const enum shunt_forward_mode mode = shunt_ports_mode(&engine->ports, port->index);

	return shunt_config_lane(engine->config, port->index) == SHUNT_REQUEST_XDP &&
	       (mode == SHUNT_FORWARD_ROUTE || mode == SHUNT_FORWARD_STATIC3);
}

static int open_device(struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	struct shunt_xdp_opts opts = {
		.ifname = port->name,
		.requested = port->config->driver_mode == SHUNT_DRIVER_GENERIC ? SHUNT_XDP_GENERIC
									       : SHUNT_XDP_NATIVE,
		.external = config->external,
		.replace = config->replace,
		.persist = config->persist,
		.counts = config->count,
		.patience = config->patience,
	};
	struct shunt_kernel kernel;
	int ret = shunt_netdev_query(port->name, &port->netdev, err);

	if (ret)
		return ret;
	if (!port->netdev.is_up)
		return shunt_err_set(err, ENETDOWN, "%s is down; ip link set %s up", port->name,
				     port->name);
	ret = check_master(engine, port, err);
	if (!ret)
		ret = shunt_engine_fit_frames(engine, port, err);
	if (!ret)
		ret = check_queues(port, config->worker_cnt, err);
	if (ret)
		return ret;
	opts.multi_buffer = port->multi_buffer;
	/* In generic mode the kernel copies a packet of several buffers into pages that it keeps.
	 */
	shunt_kernel_query(&kernel);
	opts.asks_tags = shunt_driver_of(port->netdev.driver)->is_pair &&
			 shunt_kernel_has(&kernel, SHUNT_KERNEL_tag_beside);
	opts.asks_flows = asks_flows(engine, port);
	opts.changes_lengths = changes_lengths(engine, port);
	opts.flow_counts = engine->flow_counts;
	if (opts.requested == SHUNT_XDP_GENERIC && !opts.external)
		opts.multi_buffer |= shunt_kernel_has(&kernel, SHUNT_KERNEL_generic_pages);
	ret = shunt_xdp_open(&port->xdp, &opts, err);
	if (ret || !shunt_ports_hears_all(&engine->ports, port->index))
		return ret;
	port->promisc_fd = shunt_netdev_promisc_open(port->netdev.ifindex, port->name, err);
	return port->promisc_fd < 0 ? port->promisc_fd : 0;
}

static int open_port(struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err)
{
	const bool is_device = port->config->kind == SHUNT_PORT_XSK;
	const int ret = is_device ? open_device(engine, port, err) : 0;

	if (ret)
		return ret;
	if (!is_device)
		port->queue_cnt = engine->config->worker_cnt;
	port->queues = calloc(port->queue_cnt, sizeof(*port->queues));
	return port->queues ? 0 : shunt_err_set(err, ENOMEM, "%s: not enough memory", port->name);
}

int shunt_engine_open_ports(struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_err why; /* the table's own attempt says it */
	unsigned i;
	int ret = 0;

	engine->can_manage = engine->config->firewall == SHUNT_FIREWALL_MANAGE &&
			     shunt_config_uses(engine->config, SHUNT_FORWARD_ROUTE) &&
			     !shunt_firewall_can_manage(&why);
	if (engine->config->flow_counts)
		ret = shunt_xdp_flow_counts_create(&engine->flow_counts,
						   2 * shunt_xdp_flow_limit(FLOWS_MAX), err);
	for (i = 0; i < engine->ports.cnt && !ret; i++)
		ret = open_port(engine, &engine->ports.at[i], err);
	return ret;
}

void shunt_engine_close_port(struct shunt_port *port)
{
	shunt_xdp_detach(port->xdp);
	if (port->promisc_fd >= 0)
		close(port->promisc_fd);
	free(port->queues);
}

/* An external program's mode is not in the configuration: it was chosen when it was attached. */
static int check_external(const struct shunt_engine *engine, const struct shunt_port *port,
			  struct shunt_err *err)
{
	const int mode = shunt_config_mode(engine->config, port->index);
	struct shunt_xdp_info info;

	if (!engine->config->external || shunt_config_peer(engine->config, port->index) >= 0 ||
	    shunt_xdp_info(port->xdp, &info, NULL) || info.in_use != SHUNT_XDP_GENERIC)
		return 0;
	return shunt_err_set(err, EINVAL,
			     "%s: the steering program was attached in generic mode, and what mode "
			     "%s hands back to the kernel would come to it again, for ever; attach "
			     "it with `ip link set dev %s xdpdrv obj shunt_steer.bpf.o sec xdp`",
			     port->name, shunt_forward_mode_name(mode), port->name);
}

/* The journal has switched it off by now, where the driver lets it be. */
static int check_tags(const struct shunt_port *port, struct shunt_err *err)
{
	if (port->lane.facts.has_fallback ||
	    !shunt_tags_taken(port->name, port->netdev.driver).feature)
		return 0;
	return shunt_err_set(
		err, EOPNOTSUPP,
		"%s: its NIC takes VLAN tags off before XDP sees a frame, and the "
		"driver %s does not let that be switched off: tagged frames would leave "
		"untagged; put a bridge of the kernel's beneath, which forwards then, "
		"or use another NIC",
		port->name, *port->netdev.driver ? port->netdev.driver : "unknown");
}

int shunt_engine_attach_ports(struct shunt_engine *engine, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->ports.cnt && !ret; i++) {
		struct shunt_port *port = &engine->ports.at[i];

		/* Before the attach, at which a driver may start its device anew. */
		port->lane.carrier_changes = shunt_netdev_carrier_changes(port->name);
		if (port->xdp)
			ret = check_tags(port, err);
		if (port->xdp && !ret)
			ret = shunt_xdp_attach(port->xdp, err);
		if (port->xdp && !ret)
			ret = check_external(engine, port, err);
	}
	return ret;
}
