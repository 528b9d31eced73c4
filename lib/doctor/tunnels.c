// SPDX-License-Identifier: BSD-2-Clause
/* Devices that change what a packet is: their routes and their frames are the kernel's. */
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "doctor/facts.h"

struct list {
	char *text;
	unsigned len, used, left_out;
};

struct device {
	const char *name, *kind;
};

/* By the names that `ip -d link` prints. */
static bool is_tunnel(const char *kind)
{
	static const char *const kinds[] = {
		"wireguard", "gre",	"gretap", "ip6gre", "ip6gretap", "erspan", "ip6erspan",
		"ipip",	     "sit",	"ip6tnl", "vti",    "vti6",	 "xfrm",   "vxlan",
		"geneve",    "bareudp", "gtp",	  "ppp",    "tun",	 "ovpn",   "macvlan",
		"macvtap",   "ipvlan",	"ipvtap", "macsec", "amt",
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static int take_info(const struct nlattr *attr, void *arg)
{
	struct device *device = arg;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND &&
	    !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		device->kind = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct device *device = arg;

	if (mnl_attr_get_type(attr) == IFLA_IFNAME && !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		device->name = mnl_attr_get_str(attr);
	else if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
		mnl_attr_parse_nested(attr, take_info, device);
	return MNL_CB_OK;
}

static void list(struct list *out, const struct device *device)
{
	char entry[64];
	const unsigned more = (unsigned)snprintf(entry, sizeof(entry), "%s%s (%s)",
						 out->used ? ", " : "", device->name, device->kind);

	if (more >= sizeof(entry) || out->used + more >= out->len) {
		out->left_out++;
		return;
	}
	memcpy(out->text + out->used, entry, more + 1);
	out->used += more;
}

static int take_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = shunt_netlink_head(nlh, sizeof(*ifi));
	struct device device = {0};

	if (nlh->nlmsg_type != RTM_NEWLINK || !ifi || !(ifi->ifi_flags & IFF_UP))
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*ifi), take_attr, &device);
	if (device.name && device.kind && is_tunnel(device.kind))
		list(arg, &device);
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	struct list *list = arg;

	list->used = list->left_out = 0;
	*list->text = 0;
}

void shunt_doctor_list_tunnels(char *out, unsigned len)
{
	struct list list = {.text = out, .len = len};
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	*out = 0;
	nlh->nlmsg_type = RTM_GETLINK;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_ROUTE,
							    .request = nlh,
							    .take = take_link,
							    .forget = forget,
							    .arg = &list}))
		*out = 0;
	else if (list.left_out)
		snprintf(out + list.used, len - list.used, " and %u more", list.left_out);
}
