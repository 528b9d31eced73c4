// SPDX-License-Identifier: BSD-2-Clause
/* RTM_NEWLINK, and what it says of VLAN devices, bonds, bridges and their members; see
 * mirror/parse.h. */
#include "mirror/parse.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_bonding.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netlink.h"

static void parse_ingress_map(const struct nlattr *nest, struct shunt_mirror_vlan *out)
{
	struct ifla_vlan_qos_mapping map;
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (shunt_netlink_copy(&map, sizeof(map), attr) != sizeof(map))
			continue;
		out->is_odd |= map.to > 15;
		out->priorities |= (map.to & 15) << (map.from & 7) * 4;
	}
}

static void parse_egress_map(const struct nlattr *nest, struct shunt_mirror_vlan *out)
{
	struct ifla_vlan_qos_mapping map;
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (shunt_netlink_copy(&map, sizeof(map), attr) == sizeof(map) && map.from < 16)
			out->pcps |= (uint64_t)(map.to & 7) << map.from * 4;
	}
}

static void parse_vlan(const struct nlattr *nest, struct shunt_mirror_vlan *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_VLAN_ID:
			out->id = shunt_netlink_u16(attr);
			break;
		case IFLA_VLAN_PROTOCOL:
			shunt_netlink_copy(&out->type_be, sizeof(out->type_be), attr);
			break;
		case IFLA_VLAN_INGRESS_QOS:
			parse_ingress_map(attr, out);
			break;
		case IFLA_VLAN_EGRESS_QOS:
			parse_egress_map(attr, out);
			break;
		}
	}
}

static void parse_aggregator(const struct nlattr *nest, struct shunt_mirror_bond *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == IFLA_BOND_AD_INFO_AGGREGATOR)
			out->aggregator = shunt_netlink_u16(attr);
	}
}

static void parse_bond(const struct nlattr *nest, struct shunt_mirror_bond *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_BOND_MODE:
			out->mode = shunt_netlink_u8(attr);
			break;
		case IFLA_BOND_XMIT_HASH_POLICY:
			out->policy = shunt_netlink_u8(attr);
			break;
		case IFLA_BOND_AD_INFO:
			parse_aggregator(attr, out);
			break;
		}
	}
}

static void parse_vrf(const struct nlattr *nest, struct shunt_mirror_link_info *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == IFLA_VRF_TABLE)
			out->vrf_table = shunt_netlink_u32(attr);
	}
}

static void parse_bonded(const struct nlattr *nest, struct shunt_mirror_bonded *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_BOND_SLAVE_STATE:
			out->is_backup = shunt_netlink_u8(attr) == BOND_STATE_BACKUP;
			break;
		case IFLA_BOND_SLAVE_MII_STATUS:
			out->is_down = shunt_netlink_u8(attr) != BOND_LINK_UP;
			break;
		case IFLA_BOND_SLAVE_QUEUE_ID:
			out->queue = shunt_netlink_u16(attr);
			break;
		case IFLA_BOND_SLAVE_AD_AGGREGATOR_ID:
			out->aggregator = shunt_netlink_u16(attr);
			break;
		}
	}
}

static void parse_bridge(const struct nlattr *nest, struct shunt_mirror_bridge *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == IFLA_BR_VLAN_FILTERING)
			out->filters_vlans = shunt_netlink_u8(attr);
		if (mnl_attr_get_type(attr) == IFLA_BR_VLAN_PROTOCOL)
			out->vlan_type_be = shunt_netlink_u16(attr);
	}
}

static void parse_bridged(const struct nlattr *nest, struct shunt_mirror_bridged *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == IFLA_BRPORT_STATE)
			out->state = shunt_netlink_u8(attr);
	}
}

/* A kind stands before its data (rtnl_link_info_fill, rtnl_link_slave_info_fill). */
static void parse_linkinfo(const struct nlattr *nest, struct shunt_mirror_link_info *out)
{
	const struct nlattr *attr;
	char master[sizeof(out->kind)] = "";

	mnl_attr_for_each_nested(attr, nest)
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_INFO_KIND:
			shunt_netlink_copy(out->kind, sizeof(out->kind) - 1, attr);
			break;
		case IFLA_INFO_SLAVE_KIND:
			shunt_netlink_copy(master, sizeof(master) - 1, attr);
			break;
		case IFLA_INFO_DATA:
			if (!strcmp(out->kind, "vlan"))
				parse_vlan(attr, &out->vlan);
			if (shunt_mirror_is_bond(out))
				parse_bond(attr, &out->bond);
			else if (shunt_mirror_is_bridge(out))
				parse_bridge(attr, &out->bridge);
			else if (!strcmp(out->kind, "vrf"))
				parse_vrf(attr, out);
			break;
		case IFLA_INFO_SLAVE_DATA:
			if (!strcmp(master, "bond"))
				parse_bonded(attr, &out->bonded);
			else if (!strcmp(master, "bridge"))
				parse_bridged(attr, &out->bridged);
			break;
		}
	}
}

static void parse_xdp(const struct nlattr *nest, struct shunt_mirror_link_info *out)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == IFLA_XDP_ATTACHED)
			shunt_netlink_copy(&out->xdp, 1, attr);
	}
}

static void parse_link_attr(const struct nlattr *attr, struct shunt_mirror_link_info *out)
{
	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		shunt_netlink_copy(out->name, sizeof(out->name) - 1, attr);
		break;
	case IFLA_ADDRESS:
		out->mac_len = (uint8_t)shunt_netlink_copy(out->mac, sizeof(out->mac), attr);
		break;
	case IFLA_MTU:
		out->mtu = shunt_netlink_u32(attr);
		break;
	case IFLA_MASTER:
		out->master = shunt_netlink_u32(attr);
		break;
	case IFLA_OPERSTATE:
		shunt_netlink_copy(&out->operstate, 1, attr);
		break;
	case IFLA_LINKINFO:
		parse_linkinfo(attr, out);
		break;
	case IFLA_LINK:
		out->parent = shunt_netlink_u32(attr);
		break;
	case IFLA_XDP:
		parse_xdp(attr, out);
		break;
	}
}

int shunt_mirror_parse_link(const struct nlmsghdr *nlh, struct shunt_mirror_link_info *out)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	bool is_elsewhere = false;

	if (mnl_nlmsg_get_payload_len(nlh) < MNL_ALIGN(sizeof(*ifi)))
		return -EBADMSG;
	if (ifi->ifi_family != AF_UNSPEC)
		return 0;
	memset(out, 0, sizeof(*out));
	out->ifindex = (uint32_t)ifi->ifi_index;
	out->flags = ifi->ifi_flags;
	out->type = ifi->ifi_type;
	mnl_attr_for_each(attr, nlh, sizeof(*ifi))
	{
		is_elsewhere |= mnl_attr_get_type(attr) == IFLA_LINK_NETNSID;
		parse_link_attr(attr, out);
	}
	if (is_elsewhere)
		out->parent = 0;
	return 1;
}

/* What br_ifinfo_notify tells: the state of a port that has changed, and nothing else of it. */
int shunt_mirror_parse_bridged(const struct nlmsghdr *nlh, uint32_t *ifindex,
			       struct shunt_mirror_bridged *out)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (mnl_nlmsg_get_payload_len(nlh) < MNL_ALIGN(sizeof(*ifi)))
		return -EBADMSG;
	if (ifi->ifi_family != AF_BRIDGE || nlh->nlmsg_type != RTM_NEWLINK)
		return 0;
	memset(out, 0, sizeof(*out));
	*ifindex = (uint32_t)ifi->ifi_index;
	mnl_attr_for_each(attr, nlh, sizeof(*ifi))
	{
		/* a driver that speaks of a switch of its own nests nothing there */
		if (attr->nla_type == (IFLA_PROTINFO | NLA_F_NESTED)) {
			parse_bridged(attr, out);
			return 1;
		}
	}
	return 0;
}
