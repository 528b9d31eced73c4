// SPDX-License-Identifier: BSD-2-Clause
#include "base/brvlan.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <string.h>

#include "base/bytes.h"
#include "base/netlink.h"

static void parse_entry(const struct nlattr *nest, struct shunt_brvlan *out, unsigned *last)
{
	struct bridge_vlan_info vlan = {0};
	const struct nlattr *attr;

	*last = 0;
	out->state = BR_STATE_FORWARDING;
	mnl_attr_for_each_nested(attr, nest)
	{
		switch (mnl_attr_get_type(attr)) {
		case BRIDGE_VLANDB_ENTRY_INFO:
			shunt_netlink_copy(&vlan, sizeof(vlan), attr);
			break;
		case BRIDGE_VLANDB_ENTRY_RANGE:
			*last = shunt_netlink_u16(attr);
			break;
		case BRIDGE_VLANDB_ENTRY_STATE:
			out->state = shunt_netlink_u8(attr);
			break;
		}
	}
	out->vid = vlan.vid;
	out->is_pvid = vlan.flags & BRIDGE_VLAN_INFO_PVID;
	out->is_bare = vlan.flags & BRIDGE_VLAN_INFO_UNTAGGED;
	*last = SHUNT_MAX(*last, (unsigned)out->vid);
}

int shunt_brvlan_parse(const struct nlmsghdr *nlh, uint32_t *ifindex,
		       int (*each)(void *arg, const struct shunt_brvlan *info, unsigned last),
		       void *arg)
{
	const struct br_vlan_msg *msg = mnl_nlmsg_get_payload(nlh);
	struct shunt_brvlan info;
	const struct nlattr *attr;
	unsigned last;
	int ret = 0;

	if (mnl_nlmsg_get_payload_len(nlh) < MNL_ALIGN(sizeof(*msg)))
		return -EBADMSG;
	*ifindex = msg->ifindex;
	mnl_attr_for_each(attr, nlh, sizeof(*msg))
	{
		if (ret || mnl_attr_get_type(attr) != BRIDGE_VLANDB_ENTRY)
			continue;
		memset(&info, 0, sizeof(info));
		info.ifindex = msg->ifindex;
		parse_entry(attr, &info, &last);
		if (info.vid && last < SHUNT_BRVLAN_IDS)
			ret = each(arg, &info, last);
	}
	return ret;
}
