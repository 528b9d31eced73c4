// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/fdb_take.h"

#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netlink.h"

struct link {
	struct shunt_fdb_port port;
	bool has_state;
};

static int take_port_attr(const struct nlattr *attr, void *arg)
{
	struct link *link = arg;
	struct shunt_fdb_port *port = &link->port;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_BRPORT_STATE:
		link->has_state = true;
		port->forwards = shunt_netlink_u8(attr) == BR_STATE_FORWARDING;
		port->learns &= port->forwards || shunt_netlink_u8(attr) == BR_STATE_LEARNING;
		break;
	case IFLA_BRPORT_LEARNING:
		port->learns &= !!shunt_netlink_u8(attr);
		break;
	case IFLA_BRPORT_UNICAST_FLOOD:
		port->floods = shunt_netlink_u8(attr);
		break;
	case IFLA_BRPORT_BACKUP_PORT:
		port->has_backup = shunt_netlink_u32(attr);
		break;
	case IFLA_BRPORT_ISOLATED:
		port->left = shunt_netlink_u8(attr) ? SHUNT_LANE_REASON_isolated : port->left;
		break;
	case IFLA_BRPORT_LOCKED:
		port->left = shunt_netlink_u8(attr) ? SHUNT_LANE_REASON_locked : port->left;
		break;
	case IFLA_BRPORT_MODE:
		port->left = shunt_netlink_u8(attr) ? SHUNT_LANE_REASON_hairpin : port->left;
		break;
	}
	return MNL_CB_OK;
}

static int take_link_attr(const struct nlattr *attr, void *arg)
{
	struct link *link = arg;

	if (mnl_attr_get_type(attr) == IFLA_MASTER)
		link->port.bridge = shunt_netlink_u32(attr);
	if ((mnl_attr_get_type(attr) & NLA_TYPE_MASK) == IFLA_PROTINFO)
		mnl_attr_parse_nested(attr, take_port_attr, link);
	return MNL_CB_OK;
}

static void take_device(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg)
{
	const bool is_gone = nlh->nlmsg_type == RTM_DELLINK;
	struct shunt_brlink device;

	shunt_brlink_parse(nlh, &device);
	if (device.is_bridge && !is_gone)
		ops->bridge(arg, &device);
	if (device.is_vlan && device.lower)
		ops->vlan(arg, &device, is_gone && !device.is_moving);
}

/* A port of the kernel's bridge has a state. Without one it is a device that speaks of a switch of
 * its own: drivers do so of a port as well, after its bridge did. */
static void take_port(const struct nlmsghdr *nlh, uint32_t ifindex, const struct shunt_fdb_ops *ops,
		      void *arg)
{
	struct link link = {.port = {.ifindex = ifindex, .learns = true, .floods = true}};

	mnl_attr_parse(nlh, sizeof(struct ifinfomsg), take_link_attr, &link);
	if (nlh->nlmsg_type == RTM_DELLINK)
		ops->port(arg, &(struct shunt_fdb_port){.ifindex = ifindex});
	else if (link.has_state)
		ops->port(arg, &link.port);
}

static void take_link(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg)
{
	const struct ifinfomsg *ifi = shunt_netlink_head(nlh, sizeof(*ifi));

	if (!ifi)
		return;
	if (ifi->ifi_family == AF_UNSPEC)
		take_device(nlh, ops, arg);
	if (ifi->ifi_family == AF_BRIDGE)
		take_port(nlh, (uint32_t)ifi->ifi_index, ops, arg);
}

struct neigh {
	struct shunt_fdb_entry entry;
	bool has_mac;
};

static int take_neigh_attr(const struct nlattr *attr, void *arg)
{
	struct neigh *n = arg;

	switch (mnl_attr_get_type(attr)) {
	case NDA_LLADDR:
		n->has_mac = mnl_attr_get_payload_len(attr) == 6;
		if (n->has_mac)
			memcpy(n->entry.mac, mnl_attr_get_payload(attr), 6);
		break;
	case NDA_MASTER:
		n->entry.bridge = shunt_netlink_u32(attr);
		break;
	case NDA_VLAN:
		n->entry.vid = shunt_netlink_u16(attr);
		break;
	}
	return MNL_CB_OK;
}

/* Entries of the device itself (NTF_SELF) are filters of its receiver. */
static void take_neigh(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg)
{
	const struct ndmsg *ndm = shunt_netlink_head(nlh, sizeof(*ndm));
	struct neigh n = {0};

	if (!ndm || ndm->ndm_family != AF_BRIDGE || ndm->ndm_flags & NTF_SELF)
		return;
	n.entry.ifindex = (uint32_t)ndm->ndm_ifindex;
	mnl_attr_parse(nlh, sizeof(*ndm), take_neigh_attr, &n);
	if (!n.has_mac)
		return;
	if (!n.entry.bridge)
		n.entry.bridge = n.entry.ifindex;
	n.entry.kind = ndm->ndm_state & NUD_PERMANENT ? SHUNT_FDB_LOCAL
		       : ndm->ndm_flags & NTF_STICKY  ? SHUNT_FDB_STICKY
		       : ndm->ndm_state & NUD_NOARP   ? SHUNT_FDB_STATIC
						      : SHUNT_FDB_DYNAMIC;
	ops->entry(arg, &n.entry, nlh->nlmsg_type == RTM_DELNEIGH);
}

struct members {
	const struct shunt_fdb_ops *ops;
	void *arg;
	bool are_gone;
};

static int take_members(void *arg, const struct shunt_brvlan *first, unsigned last)
{
	const struct members *m = arg;

	m->ops->members(m->arg, first, last, m->are_gone);
	return 0;
}

static void take_vlans(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg)
{
	struct members members = {ops, arg, nlh->nlmsg_type == RTM_DELVLAN};
	uint32_t ifindex;

	shunt_brvlan_parse(nlh, &ifindex, take_members, &members);
}

void shunt_fdb_take(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg)
{
	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		take_link(nlh, ops, arg);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		take_neigh(nlh, ops, arg);
		break;
	case RTM_NEWVLAN:
	case RTM_DELVLAN:
		take_vlans(nlh, ops, arg);
		break;
	}
}
