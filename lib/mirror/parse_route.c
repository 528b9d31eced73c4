// SPDX-License-Identifier: BSD-2-Clause
/* RTM_NEWROUTE and RTM_DELROUTE; see mirror/parse.h. This runs once for each route of a dump. */
#include "mirror/parse.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "base/netlink.h"

/* Attributes that are used only when all are read: with a next-hop object or a multipath attribute
 * the single hop does not count. */
struct found {
	struct shunt_mirror_hop hop; /* RTA_OIF, RTA_GATEWAY, RTA_VIA, RTA_ENCAP */
	const struct nlattr *multipath;
	uint32_t table;
};

static void parse_gateway(const struct nlattr *attr, struct shunt_mirror_hop *hop)
{
	shunt_netlink_copy(hop->gw, sizeof(hop->gw), attr);
	hop->gw_family = mnl_attr_get_payload_len(attr) == 4 ? AF_INET : AF_INET6;
}

/* RTA_VIA: a family and an address of it. */
static void parse_via(const struct nlattr *attr, struct shunt_mirror_hop *hop)
{
	const struct rtvia *via = mnl_attr_get_payload(attr);
	unsigned len = mnl_attr_get_payload_len(attr);

	if (len < sizeof(*via) || len - sizeof(*via) > sizeof(hop->gw))
		return;
	hop->gw_family = (uint8_t)via->rtvia_family;
	memcpy(hop->gw, via->rtvia_addr, len - sizeof(*via));
}

static void parse_metrics(const struct nlattr *nest, struct shunt_mirror_path_key *key)
{
	const struct nlattr *attr;

	key->metrics =
		shunt_mirror_hash(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), 1);
	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == RTAX_MTU)
			key->mtu = shunt_netlink_u32(attr);
		else if (mnl_attr_get_type(attr) == RTAX_LOCK &&
			 (shunt_netlink_u32(attr) & 1u << RTAX_MTU))
			key->flags |= SHUNT_MIRROR_PATH_MTU_LOCK;
	}
}

static void parse_attr(const struct nlattr *attr, struct shunt_mirror_route_info *out,
		       struct found *found)
{
	switch (mnl_attr_get_type(attr)) {
	case RTA_DST:
		shunt_netlink_copy(out->dst, sizeof(out->dst), attr);
		break;
	case RTA_SRC:
		shunt_netlink_copy(out->path.src, sizeof(out->path.src), attr);
		break;
	case RTA_TABLE:
		found->table = shunt_netlink_u32(attr);
		break;
	case RTA_PRIORITY:
		out->metric = shunt_netlink_u32(attr);
		break;
	case RTA_OIF:
		found->hop.ifindex = shunt_netlink_u32(attr);
		break;
	case RTA_GATEWAY:
		parse_gateway(attr, &found->hop);
		break;
	case RTA_VIA:
		parse_via(attr, &found->hop);
		break;
	case RTA_ENCAP_TYPE:
		found->hop.flags |= SHUNT_MIRROR_HOP_ENCAP;
		break;
	case RTA_MULTIPATH:
		found->multipath = attr;
		break;
	case RTA_NH_ID:
		out->path.nhid = shunt_netlink_u32(attr);
		break;
	case RTA_PREFSRC:
		shunt_netlink_copy(out->path.prefsrc, sizeof(out->path.prefsrc), attr);
		break;
	case RTA_METRICS:
		parse_metrics(attr, &out->path);
		break;
	}
}

static void parse_hop_attrs(const struct rtnexthop *rtnh, struct shunt_mirror_hop *hop)
{
	const void *attrs = RTNH_DATA(rtnh);
	const struct nlattr *attr;

	mnl_attr_for_each_payload(attrs, rtnh->rtnh_len - sizeof(*rtnh))
	{
		if (mnl_attr_get_type(attr) == RTA_GATEWAY)
			parse_gateway(attr, hop);
		else if (mnl_attr_get_type(attr) == RTA_VIA)
			parse_via(attr, hop);
		else if (mnl_attr_get_type(attr) == RTA_ENCAP_TYPE)
			hop->flags |= SHUNT_MIRROR_HOP_ENCAP;
	}
}

static int parse_multipath(const struct nlattr *nest, struct shunt_mirror_route_info *out)
{
	const struct rtnexthop *rtnh = mnl_attr_get_payload(nest);
	int left = mnl_attr_get_payload_len(nest);
	struct shunt_mirror_hop *hop;

	for (; left > 0; left -= RTNH_ALIGN(rtnh->rtnh_len), rtnh = RTNH_NEXT(rtnh)) {
		if (left < (int)sizeof(*rtnh) || !RTNH_OK(rtnh, left))
			return -EBADMSG;
		if (out->path.hop_cnt == SHUNT_MIRROR_HOPS_MAX) {
			out->path.flags |= SHUNT_MIRROR_PATH_MANY;
			break;
		}
		hop = &out->hops[out->path.hop_cnt++];
		memset(hop, 0, sizeof(*hop));
		hop->ifindex = (uint32_t)rtnh->rtnh_ifindex;
		hop->weight = rtnh->rtnh_hops + 1;
		if (rtnh->rtnh_flags & RTNH_F_ONLINK)
			hop->flags |= SHUNT_MIRROR_HOP_ONLINK;
		parse_hop_attrs(rtnh, hop);
	}
	return 0;
}

static bool is_before(const struct shunt_mirror_hop *a, const struct shunt_mirror_hop *b)
{
	if (a->ifindex != b->ifindex)
		return a->ifindex < b->ifindex;
	return memcmp(a->gw, b->gw, sizeof(a->gw)) < 0;
}

/* IPv6 keeps its multipath hops in a ring and begins the list anywhere: sorted, the same set
 * is the same path. A few dozen hops: insertion. */
static void sort_hops(struct shunt_mirror_route_info *out)
{
	struct shunt_mirror_hop hop;
	unsigned i, j;

	for (i = 1; i < out->path.hop_cnt; i++) {
		hop = out->hops[i];
		for (j = i; j && is_before(&hop, &out->hops[j - 1]); j--)
			out->hops[j] = out->hops[j - 1];
		out->hops[j] = hop;
	}
}

/* Which IPv6 routes the kernel joins to one (rt6_qualify_for_ecmp): those with a gateway that
 * are not from router advertisements. */
static bool is_ecmp(const struct shunt_mirror_route_info *out)
{
	return out->ip == SHUNT_MIRROR_IP6 && out->path.hop_cnt && out->hops[0].gw_family &&
	       (out->path.hop_cnt > 1 || out->path.proto != RTPROT_RA);
}

static int take_hops(struct shunt_mirror_route_info *out, const struct found *found)
{
	if (out->path.nhid) {
		/* The hops are a copy of the object's; the type too, at the moment. */
		out->path.type = RTN_UNICAST;
		return 0;
	}
	if (found->multipath) {
		if (parse_multipath(found->multipath, out))
			return -EBADMSG;
		if (out->ip == SHUNT_MIRROR_IP6)
			sort_hops(out);
	} else if (found->hop.ifindex || found->hop.gw_family) {
		out->hops[0] = found->hop;
		out->path.hop_cnt = 1;
	}
	if (is_ecmp(out))
		out->path.flags |= SHUNT_MIRROR_PATH_ECMP;
	return 0;
}

/* The kernel refuses such a prefix, as the FIB does, which would be given up for want of it. */
static bool has_host_bits(const struct shunt_mirror_route_info *route)
{
	const unsigned bytes = route->ip == SHUNT_MIRROR_IP4 ? 4 : 16;
	unsigned i = route->len / 8;

	if (i < bytes && (route->dst[i] & 0xff >> route->len % 8))
		return true;
	while (++i < bytes)
		if (route->dst[i])
			return true;
	return false;
}

int shunt_mirror_parse_route(const struct nlmsghdr *nlh, struct shunt_mirror_route_info *out)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct found found = {.hop.weight = 1};
	const struct nlattr *attr;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*rtm))
		return -EBADMSG;
	if ((rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6) ||
	    (rtm->rtm_flags & RTM_F_CLONED))
		return 0;
	memset(out, 0, offsetof(struct shunt_mirror_route_info, hops));
	out->ip = rtm->rtm_family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
	out->len = rtm->rtm_dst_len;
	out->tos = rtm->rtm_tos;
	out->path.family = rtm->rtm_family;
	out->path.type = rtm->rtm_type;
	out->path.proto = rtm->rtm_protocol;
	out->path.scope = rtm->rtm_scope;
	out->path.src_len = rtm->rtm_src_len;
	found.table = rtm->rtm_table;
	if (rtm->rtm_flags & RTNH_F_ONLINK)
		found.hop.flags |= SHUNT_MIRROR_HOP_ONLINK;
	mnl_attr_for_each(attr, nlh, sizeof(*rtm)) parse_attr(attr, out, &found);
	if (out->len > (out->ip == SHUNT_MIRROR_IP4 ? 32 : 128) || has_host_bits(out))
		return -EBADMSG;
	out->table = found.table;
	out->is_local = found.table == RT_TABLE_LOCAL;
	return take_hops(out, &found) ? -EBADMSG : 1;
}
