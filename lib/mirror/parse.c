// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/parse.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netlink.h"

static bool is_short(const struct nlmsghdr *nlh, size_t header_bytes)
{
	return mnl_nlmsg_get_payload_len(nlh) < MNL_ALIGN(header_bytes);
}

int shunt_mirror_parse_addr(const struct nlmsghdr *nlh, struct shunt_mirror_addr_info *out)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	bool has_local = false, has_peer = false;

	if (is_short(nlh, sizeof(*ifa)))
		return -EBADMSG;
	if (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6)
		return 0;
	memset(out, 0, sizeof(*out));
	out->ifindex = ifa->ifa_index;
	out->family = ifa->ifa_family;
	out->len = ifa->ifa_prefixlen;
	out->scope = ifa->ifa_scope;
	out->flags = ifa->ifa_flags;
	mnl_attr_for_each(attr, nlh, sizeof(*ifa))
	{
		if (mnl_attr_get_type(attr) == IFA_LOCAL)
			has_local = shunt_netlink_copy(out->local, sizeof(out->local), attr);
		else if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			has_peer = shunt_netlink_copy(out->peer, sizeof(out->peer), attr);
		else if (mnl_attr_get_type(attr) == IFA_FLAGS)
			out->flags = shunt_netlink_u32(attr);
	}
	if (!has_local)
		memcpy(out->local, out->peer, sizeof(out->local));
	if (!has_peer)
		memcpy(out->peer, out->local, sizeof(out->peer));
	return 1;
}

static void parse_neigh_attr(const struct nlattr *attr, struct shunt_mirror_neigh_info *out,
			     uint32_t *master)
{
	switch (mnl_attr_get_type(attr)) {
	case NDA_DST:
		if (out->family != AF_BRIDGE)
			shunt_netlink_copy(out->addr, sizeof(out->addr), attr);
		break;
	case NDA_LLADDR:
		out->lladdr_len =
			(uint8_t)shunt_netlink_copy(out->lladdr, sizeof(out->lladdr), attr);
		break;
	case NDA_VLAN:
		out->vlan = shunt_netlink_u16(attr);
		break;
	case NDA_MASTER:
		*master = shunt_netlink_u32(attr);
		break;
	}
}

int shunt_mirror_parse_neigh(const struct nlmsghdr *nlh, struct shunt_mirror_neigh_info *out)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	uint32_t master = 0;

	if (is_short(nlh, sizeof(*ndm)))
		return -EBADMSG;
	if ((ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6 &&
	     ndm->ndm_family != AF_BRIDGE) ||
	    (ndm->ndm_flags & NTF_PROXY))
		return 0;
	memset(out, 0, sizeof(*out));
	out->ifindex = (uint32_t)ndm->ndm_ifindex;
	out->family = ndm->ndm_family;
	out->state = ndm->ndm_state;
	mnl_attr_for_each(attr, nlh, sizeof(*ndm)) parse_neigh_attr(attr, out, &master);
	if (out->family != AF_BRIDGE)
		return 1;
	/* Only what a bridge forwards by; the others are a device's own filter (NTF_SELF). */
	if (!master)
		return 0;
	out->port = out->ifindex;
	out->ifindex = master;
	memcpy(out->addr, out->lladdr, sizeof(out->lladdr));
	return 1;
}

static bool is_default_rule(const struct shunt_mirror_rule_info *rule)
{
	if (rule->action != FR_ACT_TO_TBL)
		return false;
	if (rule->priority == 0)
		return rule->table == RT_TABLE_LOCAL;
	if (rule->priority == 32766)
		return rule->table == RT_TABLE_MAIN;
	return rule->priority == 32767 && rule->table == RT_TABLE_DEFAULT &&
	       rule->family == AF_INET;
}

/* Selectors that match no packet in transit: this host as input, an output device. A mark is no
 * such selector: a packet may come with one from another device of this host. */
static bool excludes_transit(const struct shunt_mirror_rule_info *rule, const struct nlattr *attr)
{
	return mnl_attr_get_type(attr) == FRA_OIFNAME || !strcmp(rule->iif, "lo");
}

static void parse_rule_attr(const struct nlattr *attr, struct shunt_mirror_rule_info *out)
{
	switch (mnl_attr_get_type(attr)) {
	case FRA_PRIORITY:
		out->priority = shunt_netlink_u32(attr);
		break;
	case FRA_TABLE:
		out->table = shunt_netlink_u32(attr);
		break;
	case FRA_SUPPRESS_PREFIXLEN:
		out->is_odd |= shunt_netlink_u32(attr) != UINT32_MAX;
		break;
	case FRA_IIFNAME:
		shunt_netlink_copy(out->iif, sizeof(out->iif), attr);
		out->iif[sizeof(out->iif) - 1] = '\0';
		break;
	case FRA_L3MDEV:
		out->is_l3mdev = shunt_netlink_u8(attr);
		break;
	case FRA_SRC:
		shunt_netlink_copy(out->src, sizeof(out->src), attr);
		break;
	case FRA_DST:
		shunt_netlink_copy(out->dst, sizeof(out->dst), attr);
		break;
	case FRA_FWMARK:
		out->mark = shunt_netlink_u32(attr);
		break;
	case FRA_FWMASK:
		out->mask = shunt_netlink_u32(attr);
		break;
	case FRA_PROTOCOL:
		break;
	default:
		out->is_odd = true;
	}
}

int shunt_mirror_parse_rule(const struct nlmsghdr *nlh, struct shunt_mirror_rule_info *out)
{
	const struct fib_rule_hdr *frh = mnl_nlmsg_get_payload(nlh);
	struct fib_rule_hdr stable;
	const struct nlattr *attr;
	bool passes_by = false;
	unsigned len_max;

	if (is_short(nlh, sizeof(*frh)))
		return -EBADMSG;
	if (frh->family != AF_INET && frh->family != AF_INET6)
		return 0;
	memset(out, 0, sizeof(*out));
	out->family = frh->family;
	len_max = frh->family == AF_INET ? 32 : 128;
	out->action = frh->action;
	out->table = frh->table;
	if (frh->src_len > len_max || frh->dst_len > len_max)
		return -EBADMSG;
	out->is_odd = frh->tos;
	out->src_len = frh->src_len;
	out->dst_len = frh->dst_len;
	out->is_inverted = !!(frh->flags & FIB_RULE_INVERT);
	mnl_attr_for_each(attr, nlh, sizeof(*frh))
	{
		parse_rule_attr(attr, out);
		passes_by |= excludes_transit(out, attr);
	}
	/* the kernel keeps host bits, and does not look at them */
	shunt_mirror_mask(out->src, sizeof(out->src), out->src_len);
	shunt_mirror_mask(out->dst, sizeof(out->dst), out->dst_len);
	out->is_marked = out->mark & out->mask;
	out->is_odd |= out->mask && !out->is_marked; /* packets without a mark match */
	out->is_default = !out->is_odd && !out->is_inverted && !out->is_l3mdev && !out->is_marked &&
			  !out->src_len && !out->dst_len && !out->iif[0] && is_default_rule(out);
	out->diverts = !out->is_default && (!passes_by || out->is_inverted);
	stable = *frh;
	stable.flags &= FIB_RULE_PERMANENT | FIB_RULE_INVERT; /* the others change */
	out->digest = shunt_mirror_hash(&stable, sizeof(stable), 0);
	out->digest = shunt_mirror_hash(mnl_nlmsg_get_payload_offset(nlh, sizeof(*frh)),
					mnl_nlmsg_get_payload_len(nlh) - sizeof(*frh), out->digest);
	return 1;
}

int shunt_mirror_parse_netconf(const struct nlmsghdr *nlh, struct shunt_mirror_netconf_info *out)
{
	const struct netconfmsg *ncm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (is_short(nlh, sizeof(*ncm)))
		return -EBADMSG;
	if (ncm->ncm_family != AF_INET && ncm->ncm_family != AF_INET6)
		return 0;
	memset(out, 0, sizeof(*out));
	out->ip = ncm->ncm_family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
	out->forwarding = -1;
	out->ignore_linkdown = -1;
	out->rp_filter = -1;
	mnl_attr_for_each(attr, nlh, sizeof(*ncm))
	{
		if (mnl_attr_get_type(attr) == NETCONFA_IFINDEX)
			out->ifindex = (int32_t)shunt_netlink_u32(attr);
		else if (mnl_attr_get_type(attr) == NETCONFA_FORWARDING)
			out->forwarding = !!shunt_netlink_u32(attr);
		else if (mnl_attr_get_type(attr) == NETCONFA_RP_FILTER)
			out->rp_filter = (int8_t)SHUNT_MIN(shunt_netlink_u32(attr), 127u);
		else if (mnl_attr_get_type(attr) == NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN)
			out->ignore_linkdown = !!shunt_netlink_u32(attr);
	}
	return 1;
}

static void parse_members(const struct nlattr *attr, struct shunt_mirror_nexthop_info *out,
			  struct shunt_mirror_member *members)
{
	const struct nexthop_grp *grp = mnl_attr_get_payload(attr);
	unsigned i, cnt = mnl_attr_get_payload_len(attr) / sizeof(*grp);
	uint32_t high;

	out->member_cnt = (uint16_t)SHUNT_MIN(cnt, (unsigned)SHUNT_MIRROR_MEMBERS_MAX);
	for (i = 0; i < out->member_cnt; i++) {
		members[i].id = grp[i].id;
		/* The byte behind the weight is zero, or (since Linux 6.12) its high byte. */
		high = ((const uint8_t *)&grp[i].weight)[1];
		members[i].weight = (high << 8 | grp[i].weight) + 1;
	}
}

static void parse_nexthop_attr(const struct nlattr *attr, struct shunt_mirror_nexthop_info *out,
			       struct shunt_mirror_member *members)
{
	switch (mnl_attr_get_type(attr)) {
	case NHA_ID:
		out->id = shunt_netlink_u32(attr);
		break;
	case NHA_OIF:
		out->ifindex = shunt_netlink_u32(attr);
		break;
	case NHA_GATEWAY:
		out->gw_family = shunt_netlink_copy(out->gw, sizeof(out->gw), attr) == 4 ? AF_INET
											 : AF_INET6;
		break;
	case NHA_BLACKHOLE:
		out->flags |= SHUNT_MIRROR_NH_BLACKHOLE;
		break;
	case NHA_ENCAP_TYPE:
		out->flags |= SHUNT_MIRROR_NH_ENCAP;
		break;
	case NHA_FDB:
		out->flags |= SHUNT_MIRROR_NH_FDB;
		break;
	case NHA_GROUP:
		parse_members(attr, out, members);
		break;
	}
}

int shunt_mirror_parse_nexthop(const struct nlmsghdr *nlh, struct shunt_mirror_nexthop_info *out,
			       struct shunt_mirror_member *members)
{
	const struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (is_short(nlh, sizeof(*nhm)))
		return -EBADMSG;
	memset(out, 0, sizeof(*out));
	out->family = nhm->nh_family;
	out->proto = nhm->nh_protocol;
	if (nhm->nh_flags & RTNH_F_ONLINK)
		out->flags |= SHUNT_MIRROR_NH_ONLINK;
	mnl_attr_for_each(attr, nlh, sizeof(*nhm)) parse_nexthop_attr(attr, out, members);
	return out->id ? 1 : -EBADMSG;
}
