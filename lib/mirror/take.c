// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/take.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "mirror/space.h"

/* The port of a bridge has another state. */
static int take_bridged(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	const struct shunt_mirror_link *link;
	struct shunt_mirror_bridged bridged;
	struct shunt_mirror_link_info info;
	uint32_t ifindex;
	int ret = shunt_mirror_parse_bridged(nlh, &ifindex, &bridged);

	link = ret > 0 ? shunt_mirror_link_get(taker->table, ifindex) : NULL;
	if (!link)
		return SHUNT_MIN(ret, 0);
	info = link->info;
	info.bridged = bridged;
	return shunt_mirror_link_put(taker->table, &info);
}

static int take_link(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	const struct shunt_mirror_link *old;
	struct shunt_mirror_link_info info;
	int ret = shunt_mirror_parse_link(nlh, &info);

	if (ret <= 0)
		return ret < 0 ? ret : take_bridged(taker, nlh);
	if (nlh->nlmsg_type == RTM_DELLINK)
		return shunt_mirror_link_del(taker->table, info.ifindex);
	old = shunt_mirror_link_get(taker->table, info.ifindex);
	if (old && (old->info.flags & IFF_UP) && !(info.flags & IFF_UP))
		shunt_mirror_dump_want_check(taker->dump, info.ifindex);
	shunt_mirror_space_want(taker->table, info.vrf_table);
	return shunt_mirror_link_put(taker->table, &info);
}

struct vlans {
	struct shunt_mirror_table *table;
	bool are_gone;
	int changed;
};

static int take_vlan_run(void *arg, const struct shunt_brvlan *first, unsigned last)
{
	struct shunt_brvlan info = *first;
	struct vlans *vlans = arg;
	unsigned vid;
	int ret;

	for (vid = first->vid; vid <= last; vid++) {
		info.vid = (uint16_t)vid;
		ret = vlans->are_gone ? shunt_mirror_bridge_vlan_del(vlans->table, &info)
				      : shunt_mirror_bridge_vlan_put(vlans->table, &info);
		if (ret < 0)
			return ret;
		vlans->changed |= ret;
	}
	return 0;
}

static int take_vlans(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct vlans vlans = {.table = taker->table, .are_gone = nlh->nlmsg_type == RTM_DELVLAN};
	uint32_t ifindex = 0;
	int ret = shunt_brvlan_parse(nlh, &ifindex, take_vlan_run, &vlans);

	if (vlans.changed && taker->table->watch.link)
		taker->table->watch.link(taker->table->watch.ctx, ifindex);
	return ret ? ret : vlans.changed;
}

static int take_addr(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct shunt_mirror_addr_info info;
	int ret = shunt_mirror_parse_addr(nlh, &info);

	if (ret <= 0)
		return ret;
	if (nlh->nlmsg_type == RTM_DELADDR)
		shunt_mirror_dump_want_check(taker->dump, info.ifindex);
	if (nlh->nlmsg_type == RTM_DELADDR)
		return shunt_mirror_addr_del(taker->table, &info);
	return shunt_mirror_addr_put(taker->table, &info);
}

static int take_neigh(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct shunt_mirror_neigh_info info;
	int ret = shunt_mirror_parse_neigh(nlh, &info);

	if (ret <= 0)
		return ret;
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		return shunt_mirror_neigh_del(taker->table, &info);
	return shunt_mirror_neigh_put(taker->table, &info);
}

static int take_rule(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct shunt_mirror_rule_info info;
	int ret = shunt_mirror_parse_rule(nlh, &info);

	if (ret <= 0)
		return ret;
	if (nlh->nlmsg_type == RTM_DELRULE)
		return shunt_mirror_rule_del(taker->table, &info);
	if (!info.is_odd && !info.is_inverted && !info.src_len && !info.dst_len)
		shunt_mirror_space_want(taker->table, info.table);
	return shunt_mirror_rule_put(taker->table, &info);
}

static int take_netconf(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct shunt_mirror_netconf_info info;
	struct shunt_mirror_link *link;
	int ret = shunt_mirror_parse_netconf(nlh, &info);

	taker->table->netconf_cnt++;
	if (ret <= 0 || info.ifindex <= 0 || nlh->nlmsg_type == RTM_DELNETCONF)
		return SHUNT_MIN(ret, 0);
	link = shunt_mirror_link_get(taker->table, (uint32_t)info.ifindex);
	if (!link)
		return 0;
	if (info.forwarding >= 0)
		link->forwarding[info.ip] = info.forwarding;
	if (info.rp_filter >= 0)
		link->rp_filter = info.rp_filter;
	if (info.ignore_linkdown >= 0)
		link->ignore_linkdown[info.ip] = info.ignore_linkdown;
	return 0;
}

static int take_nexthop(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh)
{
	struct shunt_mirror_nexthop_info info;
	int ret = shunt_mirror_parse_nexthop(nlh, &info, taker->members);

	if (ret <= 0)
		return ret;
	if (nlh->nlmsg_type == RTM_DELNEXTHOP)
		return shunt_mirror_nexthop_del(taker->table, info.id);
	return shunt_mirror_nexthop_put(taker->table, &info, taker->members);
}

static enum shunt_mirror_how how_of(const struct shunt_mirror_taker *taker,
				    const struct nlmsghdr *nlh, bool is_dump)
{
	if (is_dump) /* a check lists a part of each run of routes: their order stays */
		return taker->dump->run == SHUNT_MIRROR_RUN_CHECK ? SHUNT_MIRROR_HOW_APPEND
								  : SHUNT_MIRROR_HOW_DUMP;
	if (nlh->nlmsg_flags & NLM_F_REPLACE)
		return SHUNT_MIRROR_HOW_REPLACE;
	return nlh->nlmsg_flags & NLM_F_APPEND ? SHUNT_MIRROR_HOW_APPEND : SHUNT_MIRROR_HOW_ADD;
}

static int take_route(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh, bool is_dump)
{
	int ret = shunt_mirror_parse_route(nlh, &taker->route), space;

	if (ret <= 0)
		return ret;
	space = shunt_mirror_space_find(taker->table, taker->route.table);
	if (space < 0)
		return 0;
	taker->route.space = (uint8_t)space;
	if (nlh->nlmsg_type == RTM_DELROUTE)
		return shunt_mirror_route_del(taker->table, &taker->route);
	return shunt_mirror_route_put(taker->table, &taker->route, how_of(taker, nlh, is_dump));
}

int shunt_mirror_take(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh, bool is_dump)
{
	switch (nlh->nlmsg_type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		return take_route(taker, nlh, is_dump);
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		return take_neigh(taker, nlh);
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return take_link(taker, nlh);
	case RTM_NEWVLAN:
	case RTM_DELVLAN:
		return take_vlans(taker, nlh);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return take_addr(taker, nlh);
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		return take_nexthop(taker, nlh);
	case RTM_NEWRULE:
	case RTM_DELRULE:
		return take_rule(taker, nlh);
	case RTM_NEWNETCONF:
	case RTM_DELNETCONF:
		return take_netconf(taker, nlh);
	default:
		return 0;
	}
}
