// SPDX-License-Identifier: BSD-2-Clause
#include "lane/lane.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"
#include "lane/detours.h"
#include "engine/engine.h"
#include "router/router.h"
#include "veth/detour.h"
#include "device/netdev_xdp.h"

/* ---- what the devices can ------------------------------------------------------------------- */

/* Before Linux 6.3 no driver can be asked. These sent redirected frames by then, with a program
 * of their own attached, as every port of ours has. veth is not among them: it drops them without
 * a word unless its peer has a NAPI, which cannot be seen from here. */
static bool sends_by_name(const char *driver)
{
	static const char *const known[] = {"virtio_net", "igb",       "igc",	  "ixgbe", "i40e",
					    "ice",	  "mlx5_core", "bnxt_en", "tun",   "ena"};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(known); i++)
		if (!strcmp(driver, known[i]))
			return true;
	return false;
}

void shunt_lane_ask(struct shunt_port *port)
{
	struct shunt_netdev_xdp facts;
	char name[IF_NAMESIZE];

	if (!port->xdp)
		return;
	/* A device that is gone takes nothing. */
	port->lane.has_xdp_transmit = false;
	port->lane.is_gone = !if_indextoname(port->netdev.ifindex, name);
	if (port->lane.is_gone || shunt_netdev_xdp_query(port->netdev.ifindex, &facts, NULL))
		return;
	port->lane.is_confirmed = facts.is_known;
	port->lane.has_xdp_transmit = facts.is_known ? facts.features & SHUNT_NETDEV_XDP_ndo_xmit
						     : sends_by_name(port->netdev.driver);
}

/* By name: of veth it is the peer's NAPI that matters, tun sends to a queue. */
bool shunt_lane_sends_bare(const struct shunt_port *port)
{
	return !strcmp(port->netdev.driver, "veth") || !strcmp(port->netdev.driver, "tun");
}

static void look(struct shunt_port *port)
{
	const bool took = port->lane.has_xdp_transmit, was_suspended = port->lane.is_suspended;
	struct shunt_xdp_info info = {0};
	int rc;

	shunt_lane_ask(port);
	rc = port->xdp && !port->lane.is_gone ? shunt_xdp_info(port->xdp, &info, NULL) : 0;
	port->lane.is_taken_off = rc == -ENOENT;
	port->lane.is_suspended = port->lane.is_gone ? was_suspended : info.suspended;
	port->lane.is_blocked = info.blocked;
	/* what it takes with its program, which some drivers ask for */
	if (was_suspended && info.suspended && !shunt_lane_sends_bare(port))
		port->lane.has_xdp_transmit = took;
}

bool shunt_lane_is_zerocopy(const struct shunt_port *port)
{
	struct shunt_xsk_in_use in_use;
	unsigned q;

	for (q = 0; q < port->queue_cnt; q++)
		if (!port->queues || !port->queues[q] ||
		    shunt_xsk_in_use(port->queues[q], &in_use) || !in_use.zerocopy)
			return false;
	return port->xdp;
}

bool shunt_lane_takes_frames(const struct shunt_port *from, const struct shunt_port *to)
{
	if (!from->xdp || !to->xdp || from == to)
		return false;
	/* A generic program's redirect goes through the device's ordinary transmit. */
	if (from->config->driver_mode == SHUNT_DRIVER_GENERIC)
		return true;
	/* virtio_net wants room for its header before a frame, and the page that the kernel
	 * copies a frame of a zero-copy ring into has none (xdp_convert_zc_to_xdp_frame). By
	 * name, for no feature of a device (netdev's xdp-features) tells of such a want. */
	if (!strcmp(to->netdev.driver, "virtio_net") && shunt_lane_is_zerocopy(from))
		return false;
	return to->lane.has_xdp_transmit;
}

unsigned shunt_lane_far_ifindex(const struct shunt_port *from, const struct shunt_port *to)
{
	if (shunt_lane_takes_frames(from, to))
		return to->netdev.ifindex;
	return from->xdp && to->xdp && from != to && !from->has_fallback ? to->detour_ifindex : 0;
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* The ports that a port's frames leave by, and what is known of them together. */
struct far {
	unsigned cnt, taking_cnt;
	bool are_devices, are_zerocopy;	      /* the port itself included */
	const struct shunt_port *no_zerocopy; /* one of them */
	const struct shunt_port *not_taking;
};

static void far_add(struct far *far, const struct shunt_port *port, const struct shunt_port *to)
{
	bool takes = shunt_lane_takes_frames(port, to);

	far->cnt++;
	far->taking_cnt += takes;
	if (!takes)
		far->not_taking = to;
	far->are_devices &= to->xdp != NULL;
	if (!shunt_lane_is_zerocopy(to)) {
		far->are_zerocopy = false;
		far->no_zerocopy = far->no_zerocopy ? far->no_zerocopy : to;
	}
}

static struct far far_of(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_config *config = engine->config;
	bool zerocopy = shunt_lane_is_zerocopy(port);
	struct far far = {.are_devices = port->xdp != NULL,
			  .are_zerocopy = zerocopy,
			  .no_zerocopy = zerocopy ? NULL : port};
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (shunt_config_reaches(config, port->index, i))
			far_add(&far, port, &engine->ports[i]);
	return far;
}

static void say(struct shunt_lane_choice *choice, enum shunt_lane lane, const char *fmt, ...)
{
	va_list ap;

	choice->in_use = lane;
	va_start(ap, fmt);
	vsnprintf(choice->why, sizeof(choice->why), fmt, ap);
	va_end(ap);
}

static const char *refusal(const struct shunt_port *port)
{
	return port->lane.is_gone ? "is gone" : "takes no frames from XDP";
}

static void say_detour(struct shunt_lane_choice *choice, const struct shunt_port *to,
		       const struct shunt_port *no_zerocopy)
{
	char pair[IF_NAMESIZE];

	shunt_detour_name(to->netdev.ifindex, pair);
	say(choice, SHUNT_LANE_XDP,
	    "%s%s; %s takes no frames from XDP and gets them by a veth pair, %s",
	    no_zerocopy ? "no zero-copy on " : "asked for", no_zerocopy ? no_zerocopy->name : "",
	    to->name, pair);
}

static void choose_auto(const struct shunt_engine *engine, const struct shunt_port *port,
			struct shunt_lane_choice *choice)
{
	enum shunt_forward_mode mode =
		(enum shunt_forward_mode)shunt_config_mode(engine->config, port->index);
	struct far far = far_of(engine, port);

	if (!far.are_devices)
		say(choice, SHUNT_LANE_USER, "not all of the ports are network devices");
	else if (engine->config->front_cnt)
		say(choice, SHUNT_LANE_USER, "nodes are configured, which no other lane has");
	else if (far.are_zerocopy)
		say(choice, SHUNT_LANE_USER, "the kernel granted zero-copy on all of the ports");
	else if (mode == SHUNT_FORWARD_ROUTE && !engine->router->tables)
		say(choice, SHUNT_LANE_USER,
		    "all of the drivers claim zero-copy, for which the tables were made");
	else if (port->is_generic_dear && port->has_fallback && far.cnt)
		say(choice, SHUNT_LANE_KERNEL,
		    "before Linux 6.9 a generic program on %s costs more than it saves",
		    port->netdev.driver);
	else if (port->bulk.is_seen && far.cnt)
		say(choice, SHUNT_LANE_KERNEL,
		    "TCP in bulk on %s, whose senders leave the cutting into segments to a device",
		    port->name);
	else if (far.taking_cnt)
		say(choice, SHUNT_LANE_XDP, "no zero-copy on %s, and %s%s frames from XDP",
		    far.no_zerocopy->name,
		    far.not_taking ? "not all of the others" : "the other end",
		    far.not_taking ? " take" : " takes");
	else if (!far.cnt)
		say(choice, SHUNT_LANE_KERNEL, "there is no other port to forward to");
	else if (port->has_fallback)
		say(choice, SHUNT_LANE_KERNEL, "no zero-copy on %s, and %s %s",
		    far.no_zerocopy->name, far.not_taking->name, refusal(far.not_taking));
	else if (shunt_detours_can(engine, far.not_taking))
		say_detour(choice, far.not_taking, far.no_zerocopy);
	else if (far.not_taking->has_no_detour)
		say(choice, SHUNT_LANE_USER, "%s takes no frames from XDP; %.140s",
		    far.not_taking->name, far.not_taking->detour_err.msg);
	else
		say(choice, SHUNT_LANE_USER, "%s %s, and the kernel knows nothing of a %s",
		    far.not_taking->name, refusal(far.not_taking), shunt_forward_mode_name(mode));
}

static void choose_asked(const struct shunt_engine *engine, const struct shunt_port *port,
			 struct shunt_lane_choice *choice)
{
	struct far far = far_of(engine, port);

	if (choice->requested == SHUNT_REQUEST_USER)
		say(choice, SHUNT_LANE_USER, "asked for");
	else if (choice->requested == SHUNT_REQUEST_KERNEL)
		say(choice, SHUNT_LANE_KERNEL, "asked for%s",
		    port->has_fallback
			    ? ""
			    : "; the kernel forwards nothing between these ports, nothing crosses");
	else if (far.not_taking && !port->has_fallback && shunt_detours_can(engine, far.not_taking))
		say_detour(choice, far.not_taking, NULL);
	else if (far.not_taking)
		say(choice, SHUNT_LANE_XDP, "asked for; %s %s, so what goes there is the kernel's",
		    far.not_taking->name, refusal(far.not_taking));
	else
		say(choice, SHUNT_LANE_XDP, "asked for");
}

/* Says so where frames are left to the kernel whatever lane was asked for. */
static bool choose_kernel(const struct shunt_engine *engine, const struct shunt_port *port,
			  struct shunt_lane_choice *choice)
{
	int mode = shunt_config_mode(engine->config, port->index);
	const char *left = engine->bridge ? shunt_bridge_leaves(engine->bridge, port->index) : NULL;

	if (left)
		say(choice, SHUNT_LANE_KERNEL, "%s %s, which only the kernel's bridge minds",
		    port->name, left);
	else if (mode == SHUNT_FORWARD_ROUTE && engine->router->is_diverted)
		say(choice, SHUNT_LANE_KERNEL,
		    "routing rules (ip rule) lead to other tables than main, which only the "
		    "kernel follows");
	else
		return false;
	return true;
}

/* Says so where the program is not on the device, for another reason than that nothing needs it. */
static bool choose_without_program(const struct shunt_port *port, struct shunt_lane_choice *choice)
{
	if (choice->is_gone)
		say(choice, choice->in_use,
		    "%s is gone; a device that takes its place is served after a restart%s",
		    port->name,
		    choice->is_suspended ? ""
					 : "; in another network namespace it still has the "
					   "program, which passes everything");
	else if (choice->is_taken_off)
		say(choice, SHUNT_LANE_KERNEL,
		    "somebody took the steering program off %s; it is served after a restart",
		    port->name);
	else if (choice->is_blocked)
		say(choice, SHUNT_LANE_KERNEL,
		    "another's XDP program came on %s while everything was the kernel's; the "
		    "steering program returns when that goes",
		    port->name);
	else if (choice->is_refused)
		say(choice, SHUNT_LANE_KERNEL,
		    "the steering program, off while everything was the kernel's, could not "
		    "return: %s",
		    choice->refusal.msg);
	else
		return false;
	return true;
}

static bool choose(const struct shunt_engine *engine, struct shunt_port *port)
{
	struct shunt_lane_choice *choice = &port->lane, before = *choice;
	bool is_first = !*before.why;

	choice->requested = shunt_config_lane(engine->config, port->index);
	choice->is_left = choose_kernel(engine, port, choice);
	if (!choice->is_left && choice->requested == SHUNT_REQUEST_AUTO)
		choose_auto(engine, port, choice);
	else if (!choice->is_left)
		choose_asked(engine, port, choice);
	choice->wanted = choice->in_use;
	if (choice->is_gone)
		choice->in_use = before.in_use;
	choose_without_program(port, choice);
	if (!is_first && choice->in_use == before.in_use && !strcmp(choice->why, before.why))
		return false;
	choice->is_new = true;
	choice->change_cnt += !is_first && choice->in_use != before.in_use;
	return true;
}

bool shunt_lane_choose(struct shunt_engine *engine)
{
	bool took[SHUNT_PORT_MAX], is_changed = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		took[i] = engine->ports[i].lane.has_xdp_transmit;
		look(&engine->ports[i]);
		is_changed |= took[i] != engine->ports[i].lane.has_xdp_transmit;
	}
	for (i = 0; i < engine->port_cnt; i++)
		is_changed |= choose(engine, &engine->ports[i]);
	return is_changed;
}

bool shunt_lane_take_new(struct shunt_port *port)
{
	bool is_new = port->lane.is_new;

	port->lane.is_new = false;
	return is_new;
}
