// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/brlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/netlink.h"
#include "device/netdev_xdp.h"

/* --- asking ----------------------------------------------------------------------------------- */

static int take_bridge_attr(const struct nlattr *attr, void *arg)
{
	struct shunt_brlink *link = arg;

	if (mnl_attr_get_type(attr) == IFLA_BR_VLAN_FILTERING)
		link->filters_vlans = shunt_netlink_u8(attr);
	if (mnl_attr_get_type(attr) == IFLA_BR_VLAN_PROTOCOL)
		link->vlan_type_be = shunt_netlink_u16(attr);
	if (mnl_attr_get_type(attr) == IFLA_BR_AGEING_TIME)
		link->age_s = shunt_netlink_u32(attr) / 100; /* USER_HZ */
	return MNL_CB_OK;
}

/* The kind comes before the data. */
static int take_info(const struct nlattr *attr, void *arg)
{
	struct shunt_brlink *link = arg;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND) {
		const char *kind = shunt_netlink_str(attr);

		link->is_bridge = !strcmp(kind, "bridge");
		link->is_bond = !strcmp(kind, "bond");
		link->is_vlan = !strcmp(kind, "vlan");
		link->is_virtual = strcmp(kind, "veth") != 0 && strcmp(kind, "tun") != 0;
	}
	if (mnl_attr_get_type(attr) == IFLA_INFO_DATA && link->is_bridge)
		mnl_attr_parse_nested(attr, take_bridge_attr, link);
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct shunt_brlink *link = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		snprintf(link->name, sizeof(link->name), "%s", shunt_netlink_str(attr));
		break;
	case IFLA_MASTER:
		link->master = shunt_netlink_u32(attr);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == 6)
			memcpy(link->mac, mnl_attr_get_payload(attr), 6);
		break;
	case IFLA_LINK:
		link->lower = shunt_netlink_u32(attr);
		break;
	case IFLA_LINK_NETNSID: /* behind IFLA_LINK, which counts there */
		link->lower = 0;
		break;
	case IFLA_NEW_NETNSID:
		link->is_moving = true;
		break;
	case IFLA_LINKINFO:
		mnl_attr_parse_nested(attr, take_info, link);
		break;
	}
	return MNL_CB_OK;
}

void shunt_brlink_parse(const struct nlmsghdr *nlh, struct shunt_brlink *out)
{
	const struct ifinfomsg *ifi = shunt_netlink_head(nlh, sizeof(*ifi));

	memset(out, 0, sizeof(*out));
	if (!ifi)
		return;
	out->ifindex = (uint32_t)ifi->ifi_index;
	out->is_up = ifi->ifi_flags & IFF_UP;
	mnl_attr_parse(nlh, sizeof(*ifi), take_attr, out);
}

static int take_link(const struct nlmsghdr *nlh, void *arg)
{
	struct shunt_brlinks *links = arg;
	struct shunt_brlink *p;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	p = realloc(links->links, (links->cnt + 1) * sizeof(*p));
	if (!p) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	links->links = p;
	shunt_brlink_parse(nlh, &links->links[links->cnt++]);
	return MNL_CB_OK;
}

static void forget_links(void *arg)
{
	shunt_brlinks_fini(arg);
}

int shunt_brlinks_query(struct shunt_brlinks *out, struct shunt_err *err)
{
	char buf[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct ifinfomsg))];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int ret;

	memset(out, 0, sizeof(*out));
	nlh->nlmsg_type = RTM_GETLINK;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg)); /* AF_UNSPEC */
	ret = shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_ROUTE,
							      .request = nlh,
							      .take = take_link,
							      .forget = forget_links,
							      .arg = out});
	if (!ret)
		return 0;
	shunt_brlinks_fini(out);
	return shunt_err_set(err, -ret, "bridge: cannot list the devices: %s", strerror(-ret));
}

void shunt_brlinks_fini(struct shunt_brlinks *links)
{
	free(links->links);
	memset(links, 0, sizeof(*links));
}

const struct shunt_brlink *shunt_brlinks_at(const struct shunt_brlinks *links, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < links->cnt; i++)
		if (links->links[i].ifindex == ifindex)
			return &links->links[i];
	return NULL;
}

/* --- a bridge's or a bond's name for its ports ------------------------------------------------ */

/* The place in the group goes to the first port; the others are appended. */
static int add_port(struct shunt_config *config, struct shunt_group_config *group, unsigned place,
		    const char *name, bool is_first, struct shunt_err *err)
{
	struct shunt_port_config *p;
	int at;

	if (is_first) {
		p = &config->ports[group->port[place]];
		snprintf(p->name, sizeof(p->name), "%s", name);
		return 0;
	}
	at = shunt_config_add_port(config, name, err);
	if (at < 0)
		return at;
	p = &config->ports[at];
	*p = config->ports[group->port[place]];
	if (p->filter_cnt) {
		const size_t len = p->filter_cnt * sizeof(*p->filters);
		struct shunt_filter *filters = malloc(len);

		p->filters = filters ? memcpy(filters, p->filters, len) : NULL;
		if (!filters)
			return shunt_err_set(err, ENOMEM, "no memory for port %s", name);
	}
	snprintf(p->name, sizeof(p->name), "%s", name);
	group->port[group->port_cnt++] = (unsigned)at;
	return 0;
}

/* Why the port of a bridge cannot be a port here, with the settings of p; NULL: it can. A bond's
 * members all have to be ports, or the bond is the kernel's. */
static const char *why_not(const struct shunt_brlink *port, const struct shunt_brlink *master,
			   const struct shunt_port_config *p)
{
	struct shunt_netdev_xdp facts;

	if (master->is_bond)
		return NULL;
	if (port->is_bond)
		return "it is a bond, whose frames come by its members";
	if (!port->is_up)
		return "it is down";
	if (p->driver_mode == SHUNT_DRIVER_GENERIC)
		return NULL;
	if (port->is_virtual)
		return "it has no native XDP";
	if (shunt_netdev_xdp_query((int)port->ifindex, &facts, NULL) || !facts.is_known ||
	    facts.features & SHUNT_NETDEV_XDP_basic)
		return NULL;
	return "its driver has no native XDP";
}

static int refuse(const struct shunt_brlink *master, unsigned left_cnt, struct shunt_err *err)
{
	if (!left_cnt)
		return shunt_err_set(
			err, EINVAL, "%s is a %s without ports; ip link set DEVICE master %s",
			master->name, master->is_bond ? "bond" : "bridge", master->name);
	return shunt_err_set(
		err, EOPNOTSUPP,
		"%s: none of its %u port%s is up and can have native XDP; give it one "
		"that can, or choose driver mode generic for it (--driver-mode generic, "
		"slower)",
		master->name, left_cnt, left_cnt > 1 ? "s" : "");
}

static int expand_one(struct shunt_config *config, struct shunt_group_config *group, unsigned place,
		      const struct shunt_brlinks *links, const struct shunt_brlink *master,
		      shunt_brlink_left_fn *left, struct shunt_err *err)
{
	struct shunt_port_config *named = &config->ports[group->port[place]];
	const struct shunt_brlink *const end = links->links + links->cnt, *port;
	const struct shunt_port_config settings = *named;
	unsigned cnt = 0, left_cnt = 0;
	int ret = 0;

	snprintf(named->master, sizeof(named->master), "%s", master->name);
	named->is_bridged = master->is_bridge && group->mode == SHUNT_FORWARD_ROUTE;
	for (port = links->links; port < end && !ret; port++) {
		if (port->master != master->ifindex)
			continue;
		if (why_not(port, master, &settings))
			left_cnt++;
		else
			ret = add_port(config, group, place, port->name, !cnt++, err);
	}
	if (!ret && !cnt)
		ret = refuse(master, left_cnt, err);
	for (port = links->links; port < end && !ret; port++) {
		const char *why =
			port->master == master->ifindex ? why_not(port, master, &settings) : NULL;

		if (why)
			left(port->name, master->name, why);
	}
	return ret;
}

static const struct shunt_brlink *find(const struct shunt_brlinks *links, const char *name)
{
	unsigned i;

	for (i = 0; i < links->cnt; i++)
		if (!strcmp(links->links[i].name, name))
			return &links->links[i];
	return NULL;
}

static int expand_group(struct shunt_config *config, struct shunt_group_config *group,
			const struct shunt_brlinks *links, shunt_brlink_left_fn *left,
			struct shunt_err *err)
{
	unsigned i, cnt = group->port_cnt;
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		const struct shunt_port_config *port = &config->ports[group->port[i]];
		const struct shunt_brlink *link = find(links, port->name);

		const bool routes = group->mode == SHUNT_FORWARD_ROUTE;

		if (port->kind == SHUNT_PORT_XSK && link &&
		    (link->is_bridge || (routes && link->is_bond)))
			ret = expand_one(config, group, i, links, link, left, err);
	}
	return ret;
}

/* What native XDP cannot be on, or in vain, though another name serves. */
static int check_kind(const struct shunt_config *config, unsigned at,
		      const struct shunt_brlink *link, const struct shunt_brlinks *links,
		      struct shunt_err *err)
{
	const struct shunt_brlink *lower = shunt_brlinks_at(links, link->lower);

	if (link->is_bond)
		return shunt_err_set(
			err, EOPNOTSUPP,
			"%s is a bond, whose frames come by its members: mode %s cannot serve it; "
			"mode route can; or take its members out (ip link set DEVICE nomaster) and "
			"name them",
			link->name, shunt_forward_mode_name(shunt_config_mode(config, at)));
	if (link->is_vlan && lower)
		return shunt_err_set(err, EOPNOTSUPP,
				     "%s is a VLAN device of %s: name %s, whose VLAN devices modes "
				     "route and mix follow",
				     link->name, lower->name, lower->name);
	return 0;
}

static int check_kinds(const struct shunt_config *config, const struct shunt_brlinks *links,
		       struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < config->port_cnt && !ret; i++) {
		const struct shunt_port_config *port = &config->ports[i];
		const struct shunt_brlink *link = find(links, port->name);

		if (port->kind == SHUNT_PORT_XSK && port->driver_mode == SHUNT_DRIVER_NATIVE &&
		    link)
			ret = check_kind(config, i, link, links, err);
	}
	return ret;
}

int shunt_brlink_expand(struct shunt_config *config, shunt_brlink_left_fn *left,
			struct shunt_err *err)
{
	struct shunt_brlinks links;
	unsigned i;
	int ret;

	ret = shunt_brlinks_query(&links, err);
	for (i = 0; i < config->group_cnt && !ret; i++)
		ret = expand_group(config, &config->groups[i], &links, left, err);
	if (!ret)
		ret = check_kinds(config, &links, err);
	shunt_brlinks_fini(&links);
	return ret;
}

/* In the place of a name the ports that stand for it in `as`, if some do. */
static int expand_as(struct shunt_config *config, struct shunt_group_config *group, unsigned place,
		     const struct shunt_config *as, struct shunt_err *err)
{
	char master[sizeof(config->ports->name)];
	unsigned i, cnt = 0;
	int ret = 0;

	snprintf(master, sizeof(master), "%s", config->ports[group->port[place]].name);
	for (i = 0; i < as->port_cnt && !ret; i++)
		if (!strcmp(as->ports[i].master, master))
			ret = add_port(config, group, place, as->ports[i].name, !cnt++, err);
	return ret;
}

int shunt_brlink_expand_as(struct shunt_config *config, const struct shunt_config *as,
			   struct shunt_err *err)
{
	unsigned i, j;
	int ret = 0;

	for (i = 0; i < config->group_cnt; i++) {
		struct shunt_group_config *group = &config->groups[i];
		const unsigned cnt = group->port_cnt;

		for (j = 0; j < cnt && !ret; j++)
			ret = expand_as(config, group, j, as, err);
	}
	return ret;
}
