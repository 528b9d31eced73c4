/* SPDX-License-Identifier: BSD-2-Clause */
/* Netlink messages to the values of mirror/table.h. Each function takes a whole
 * message, of the type it is named after, new or del, from a dump or an event, and returns
 * 1 with *out filled; 0 when the message is about something that is not mirrored (another
 * family, another table, a cached route); -EBADMSG when it is cut short, or
 * says what cannot be. Thread: any. */
#ifndef SHUNT_MIRROR_PARSE_H
#define SHUNT_MIRROR_PARSE_H

#include <linux/netlink.h>

#include "mirror/route.h"

#define SHUNT_MIRROR_MEMBERS_MAX 256

struct shunt_mirror_netconf_info {
	int32_t ifindex;
	enum shunt_mirror_ip ip;
	int8_t forwarding; /* -1: not said */
	int8_t ignore_linkdown;
	int8_t rp_filter;
};

int shunt_mirror_parse_link(const struct nlmsghdr *nlh, struct shunt_mirror_link_info *out);

/* shunt_mirror_parse_bridged reads the messages of family AF_BRIDGE about a bridge's port. */
int shunt_mirror_parse_bridged(const struct nlmsghdr *nlh, uint32_t *ifindex,
			       struct shunt_mirror_bridged *out);

int shunt_mirror_parse_addr(const struct nlmsghdr *nlh, struct shunt_mirror_addr_info *out);
int shunt_mirror_parse_neigh(const struct nlmsghdr *nlh, struct shunt_mirror_neigh_info *out);
int shunt_mirror_parse_rule(const struct nlmsghdr *nlh, struct shunt_mirror_rule_info *out);
int shunt_mirror_parse_netconf(const struct nlmsghdr *nlh, struct shunt_mirror_netconf_info *out);

/* shunt_mirror_parse_nexthop fills up to SHUNT_MIRROR_MEMBERS_MAX members too. */
int shunt_mirror_parse_nexthop(const struct nlmsghdr *nlh, struct shunt_mirror_nexthop_info *out,
			       struct shunt_mirror_member *members);

/* shunt_mirror_parse_route leaves hops beyond out->path.hop_cnt as they were. Cost: some 60 ns
 * for a route of one next hop. */
int shunt_mirror_parse_route(const struct nlmsghdr *nlh, struct shunt_mirror_route_info *out);

#endif
