// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/above.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/netlink.h"

#define LEVELS_MAX 8 /* as of nested devices in the kernel (MAX_NEST_DEV) */

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct shunt_firewall_above *above = arg;

	if (mnl_attr_get_type(attr) == IFLA_LINK)
		above->parent = (int)shunt_netlink_u32(attr);
	else if (mnl_attr_get_type(attr) == IFLA_LINK_NETNSID)
		above->ifindex = 0; /* the device beneath is another network namespace's */
	return MNL_CB_OK;
}

static int take_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = shunt_netlink_head(nlh, sizeof(*ifi));
	struct shunt_firewall_aboves *aboves = arg;
	struct shunt_firewall_above above = {0}, *at;

	if (nlh->nlmsg_type != RTM_NEWLINK || !ifi)
		return MNL_CB_OK;
	above.ifindex = ifi->ifi_index;
	mnl_attr_parse(nlh, sizeof(*ifi), take_attr, &above);
	if (!above.ifindex || !above.parent)
		return MNL_CB_OK;
	if (aboves->cnt == aboves->max) {
		aboves->max = aboves->max ? 2 * aboves->max : 16;
		at = realloc(aboves->at, aboves->max * sizeof(*at));
		if (!at) {
			aboves->ret = -ENOMEM;
			return MNL_CB_STOP;
		}
		aboves->at = at;
	}
	aboves->at[aboves->cnt++] = above;
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	struct shunt_firewall_aboves *aboves = arg;

	aboves->cnt = 0;
	aboves->ret = 0;
}

static int by_ifindex(const void *a, const void *b)
{
	const struct shunt_firewall_above *one = a, *two = b;

	return (one->ifindex > two->ifindex) - (one->ifindex < two->ifindex);
}

static const struct shunt_firewall_above *find(const struct shunt_firewall_aboves *aboves,
					       int ifindex)
{
	const struct shunt_firewall_above key = {.ifindex = ifindex};

	return aboves->cnt ? bsearch(&key, aboves->at, aboves->cnt, sizeof(key), by_ifindex) : NULL;
}

bool shunt_firewall_has(const int *ifindexes, unsigned cnt, int ifindex)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		if (ifindexes[i] == ifindex)
			return true;
	return false;
}

/* 0: it is above none of them. */
static int base_of(const struct shunt_firewall_aboves *aboves,
		   const struct shunt_firewall_above *above, const int *ifindexes, unsigned cnt)
{
	unsigned level;

	for (level = 0; above && level < LEVELS_MAX; level++) {
		if (shunt_firewall_has(ifindexes, cnt, above->parent))
			return above->parent;
		above = find(aboves, above->parent);
	}
	return 0;
}

/* Those above others are needed until all bases are known. */
static int keep_ours(struct shunt_firewall_aboves *aboves, const int *ifindexes, unsigned cnt)
{
	int *bases = calloc(aboves->cnt + 1, sizeof(*bases));
	unsigned i, kept = 0;

	if (!bases)
		return -ENOMEM;
	for (i = 0; i < aboves->cnt; i++)
		bases[i] = base_of(aboves, &aboves->at[i], ifindexes, cnt);
	for (i = 0; i < aboves->cnt; i++)
		if (bases[i])
			aboves->at[kept++] =
				(struct shunt_firewall_above){aboves->at[i].ifindex, bases[i]};
	aboves->cnt = kept;
	free(bases);
	return 0;
}

int shunt_firewall_aboves_ask(struct shunt_firewall_aboves *aboves, const int *ifindexes,
			      unsigned cnt)
{
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nlattr *nest;
	int ret;

	*aboves = (struct shunt_firewall_aboves){.cnt = 0};
	nlh->nlmsg_type = RTM_GETLINK;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_str(nlh, IFLA_INFO_KIND, "vlan");
	mnl_attr_nest_end(nlh, nest);
	ret = shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_ROUTE,
							      .request = nlh,
							      .take = take_link,
							      .forget = forget,
							      .arg = aboves});
	if (!ret)
		ret = aboves->ret;
	if (!ret && aboves->cnt) {
		qsort(aboves->at, aboves->cnt, sizeof(*aboves->at), by_ifindex);
		ret = keep_ours(aboves, ifindexes, cnt);
	}
	if (ret)
		shunt_firewall_aboves_free(aboves);
	return ret;
}

void shunt_firewall_aboves_free(struct shunt_firewall_aboves *aboves)
{
	free(aboves->at);
	*aboves = (struct shunt_firewall_aboves){.cnt = 0};
}

int shunt_firewall_base(const struct shunt_firewall_aboves *aboves, int ifindex)
{
	const struct shunt_firewall_above *above = aboves ? find(aboves, ifindex) : NULL;

	return above ? above->parent : ifindex;
}
