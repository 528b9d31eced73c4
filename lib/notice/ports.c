// SPDX-License-Identifier: BSD-2-Clause
/* Notices about ports and their queues. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"
#include "device/driver.h"
#include "device/kernel.h"
#include "device/tags.h"
#include "lane/judged.h"
#include "notice/checks.h"
#include "port/kernel_part.h"
#include "router/router.h"
#include "steer/steer.h"

static const struct shunt_port *port_of(const struct shunt_engine *engine,
					const struct shunt_notice *notice)
{
	return &engine->ports.at[notice->port];
}

static bool routes(const struct shunt_engine *engine, const struct shunt_notice *notice)
{
	return engine->router && shunt_ports_routes(&engine->ports, (unsigned)notice->port);
}

/* --- what the kernel would do in shunt's place ------------------------------------------------ */

/* One notice a bridge, about the first of its ports. */
uint64_t shunt_notice_check_unbridged(const struct shunt_engine *engine,
				      const struct shunt_notice *before, struct shunt_err *text)
{
	const char *name = port_of(engine, before)->name;

	if (!engine->bridge || !shunt_bridge_is_alone(engine->bridge, (unsigned)before->port))
		return 0;
	shunt_err_set(text, 0,
		      "no kernel bridge lies beneath %s and the ports bridged with it: when shuntd "
		      "is stopped, nothing bridges them; make one (ip link add br0 type bridge; "
		      "ip link set %s master br0 ...) and run shuntd bridge br0",
		      name, name);
	return 1;
}

uint64_t shunt_notice_check_ip4_forwarding(const struct shunt_engine *engine,
					   const struct shunt_notice *before,
					   struct shunt_err *text)
{
	const char *name = port_of(engine, before)->name;

	if (!routes(engine, before) || !(engine->router->ip4_off >> before->port & 1))
		return 0;
	shunt_err_set(text, 0,
		      "%s: IPv4 forwarding is off, so the kernel gets and drops what would be "
		      "routed; sysctl net.ipv4.conf.%s.forwarding=1 (or net.ipv4.ip_forward=1)",
		      name, name);
	return 1;
}

uint64_t shunt_notice_check_rp_filter(const struct shunt_engine *engine,
				      const struct shunt_notice *before, struct shunt_err *text)
{
	const char *name = port_of(engine, before)->name;

	if (!routes(engine, before) || engine->router->live[before->port].rpf4 != SHUNT_SOURCE_RPF)
		return 0;
	shunt_err_set(text, 0,
		      "%s: rp_filter is on: every source is looked up, and the kernel decides "
		      "wherever the answer is not plain; sysctl net.ipv4.conf.all.rp_filter=0 "
		      "net.ipv4.conf.%s.rp_filter=0 where it is not needed",
		      name, name);
	return 1;
}

/* --- what the device does --------------------------------------------------------------------- */

/* The journal switches that off while shuntd runs. Where it is on nevertheless, frames of every
 * VLAN are seen without their tags: all frames are left to the kernel. */
uint64_t shunt_notice_check_tags(const struct shunt_engine *engine,
				 const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	const struct shunt_tags_taken t =
		port->xdp ? shunt_tags_taken(port->name, port->netdev.driver)
			  : (struct shunt_tags_taken){NULL, false};

	if (!t.feature)
		return 0;
	if (t.can_change)
		shunt_err_set(text, 0,
			      "%s: its NIC takes VLAN tags off before XDP sees a frame (%s was "
			      "switched on, or the driver refused): tagged frames would leave "
			      "without, so the kernel has all of them; ethtool -K %s %s off",
			      port->name, t.feature, port->name, t.feature);
	else
		shunt_err_set(text, 0,
			      "%s: its NIC takes VLAN tags off before XDP sees a frame (%s), which "
			      "the driver %s does not let be switched off: tagged frames would "
			      "leave without, so the kernel has all of them",
			      port->name, t.feature,
			      *port->netdev.driver ? port->netdev.driver : "unknown");
	return 1;
}

static void print_why_unseen(const struct shunt_xdp_info *info, char *out, size_t len)
{
	struct shunt_kernel kernel;

	shunt_kernel_query(&kernel);
	if (!shunt_kernel_has(&kernel, SHUNT_KERNEL_tag_beside))
		snprintf(out, len, "before %s", shunt_kernel_since(SHUNT_KERNEL_tag_beside));
	else if (info->in_use == SHUNT_XDP_GENERIC)
		snprintf(out, len, "in generic mode");
	else if (info->dispatcher)
		snprintf(out, len, "under libxdp's dispatcher");
	else if (info->external)
		snprintf(out, len, "the program that was attached does not ask for them");
	else
		snprintf(out, len, "the kernel refused the program that asks for them");
}

uint64_t shunt_notice_check_flows_late(const struct shunt_engine *engine,
				       const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);

	if (engine->config->firewall == SHUNT_FIREWALL_IGNORE ||
	    !shunt_backoff_was_refused(&port->lane.flows_backoff) ||
	    !shunt_lane_lacks_flows(&engine->lanes, port->index))
		return 0;
	shunt_err_set(text, 0,
		      "%s: a flowtable has it, but its steering program cannot ask that: %s; all "
		      "stays the kernel's",
		      port->name, port->lane.flows_refusal.msg);
	return 1;
}

/* A veth, where frames leave by another port while the program does not see such tags. */
uint64_t shunt_notice_check_tags_beside(const struct shunt_engine *engine,
					const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	struct shunt_tags_beside t = {0};
	struct shunt_xdp_info info;
	char why[64];

	if (port->xdp && port->lane.choice.lane != SHUNT_LANE_KERNEL &&
	    !shunt_xdp_info(port->xdp, &info, NULL) && !info.reads_tags)
		t = shunt_tags_beside(port->netdev.ifindex, port->netdev.driver);
	if (!t.may_come)
		return 0;
	print_why_unseen(&info, why, sizeof(why));
	shunt_err_set(text, 0,
		      "%s: VLAN tags that come beside frames are not seen (%s), and such frames "
		      "leave without; %s hands them over so while its txvlan is on; %sethtool -K "
		      "%s txvlan off tx-vlan-stag-hw-insert off",
		      port->name, why,
		      *t.peer ? t.peer : "its other end, in another network namespace,",
		      *t.peer ? "" : "there: ", *t.peer ? t.peer : "PEER");
	return 1;
}

uint64_t shunt_notice_check_mtu(const struct shunt_engine *engine,
				const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	const uint32_t now = port->xdp ? shunt_netdev_mtu(port->name) : 0;

	if (now <= port->netdev.mtu)
		return 0;
	shunt_err_set(
		text, 0,
		"%s: its MTU was raised to %u, and shuntd runs with the %u that it was: longer "
		"packets do not come through; start it again (--takeover), or: ip link set "
		"dev %s mtu %u",
		port->name, now, port->netdev.mtu, port->name, port->netdev.mtu);
	return now;
}

/* The kernel refuses fewer queues while they have sockets. What a cross-connect gets on a new queue
 * crosses in the steering program, unless on_death is kernel: then it is lost. */
uint64_t shunt_notice_check_queues(const struct shunt_engine *engine,
				   const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	const unsigned now = shunt_port_queues_now(port);
	char command[64];

	if (now <= port->netdev.queue_cnt)
		return 0;
	shunt_netdev_channels_print(&port->netdev, port->name, port->netdev.queue_cnt, command,
				    sizeof(command));
	shunt_err_set(text, 0,
		      "%s: it has %u queues now, and shuntd serves %u of the %u that it had: what "
		      "arrives on the others reaches no worker; start it again (--takeover), or: "
		      "%s",
		      port->name, now, port->queue_cnt, port->netdev.queue_cnt, command);
	return now;
}

/* The next start by the old name would fail. */
uint64_t shunt_notice_check_renamed(const struct shunt_engine *engine,
				    const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	uint64_t key = 1;
	unsigned i;

	if (!strcmp(port->name, port->config->name))
		return 0;
	shunt_err_set(text, 0,
		      "%s: the device was called %s when shuntd was started, and is served as "
		      "before; the next start has to name it %s",
		      port->name, port->config->name, port->name);
	for (i = 0; port->name[i]; i++)
		key = key * 31 + (uint8_t)port->name[i];
	return key;
}

/* --- what becomes of its frames --------------------------------------------------------------- */

/* Fewer frames say nothing: after a start the host's own traffic comes first. */
#define ENOUGH 1000

static const char *remedy(int reason)
{
	switch (reason) {
	case SHUNT_STEER_NO_SOCKET:
		return "serve every queue (leave out queues), or have the device spread over those "
		       "that are (spread: true, or ethtool -X)";
	case SHUNT_STEER_HUNG:
		return "give the worker a CPU of its own (--cpu)";
	case SHUNT_STEER_DRY:
		return "raise frames";
	case SHUNT_STEER_RULE_KERNEL:
		return "a rule wants it so";
	default:
		return "it is not for forwarding; shuntctl show drops has the reasons";
	}
}

/* Raised when the kernel gets at least half, of enough frames to tell, and cleared at a third, so
 * that it does not come and go. A lane that was chosen is no cause. */
uint64_t shunt_notice_check_kernel_part(const struct shunt_engine *engine,
					const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_port *port = port_of(engine, before);
	struct shunt_kernel_part part;

	shunt_kernel_part_read(port, (unsigned)before->queue, &part);
	if (part.kernel < ENOUGH || part.reason == SHUNT_STEER_LANE_KERNEL ||
	    part.kernel * (before->key ? 2 : 1) < part.forwarded)
		return 0;
	shunt_err_set(text, 0,
		      "%s queue %d: %" PRIu64 " %% of %" PRIu64 " frames went to the kernel, most "
		      "because of '%s'; %s",
		      port->name, before->queue, part.kernel * 100 / (part.kernel + part.forwarded),
		      part.kernel + part.forwarded, shunt_steer_reason_name(part.reason),
		      remedy(part.reason));
	return 1;
}
