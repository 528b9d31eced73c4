// SPDX-License-Identifier: BSD-2-Clause
/* Flowtables of nftables: which devices they have. Connections that rules put into one are
 * forwarded by it where they come in by such a device, and pass no rule any more. One that is
 * offloaded to a NIC (`flags offload`) is not known to XDP programs.
 *
 * Source: nf_tables_fill_flowtable_info and nft_flow_offload_xdp_setup of Linux 6.12; device names
 * with an asterisk, nf_tables_api.c of Linux 6.16. */
#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/firewall.h"
#include "firewall/take.h"

#define FLAG_OFFLOAD  1 /* NFT_FLOWTABLE_HW_OFFLOAD */
#define DEVICE_PREFIX 2 /* NFTA_DEVICE_PREFIX: a name's beginning */

struct flowtable {
	const char *table;
	uint32_t flags;
	const struct nlattr *devices;
};

static int take_hook(const struct nlattr *attr, void *arg)
{
	struct flowtable *flowtable = arg;

	if (mnl_attr_get_type(attr) == NFTA_FLOWTABLE_HOOK_DEVS)
		flowtable->devices = attr;
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct flowtable *flowtable = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_FLOWTABLE_TABLE:
		flowtable->table = shunt_netlink_str(attr);
		break;
	case NFTA_FLOWTABLE_FLAGS:
		flowtable->flags = ntohl(shunt_netlink_u32(attr));
		break;
	case NFTA_FLOWTABLE_HOOK:
		mnl_attr_parse_nested(attr, take_hook, flowtable);
		break;
	}
	return MNL_CB_OK;
}

static void add_all_of(struct shunt_judges *judges, const char *prefix)
{
	struct if_nameindex *all = if_nameindex(), *one;

	for (one = all; one && one->if_index; one++)
		if (!strncmp(one->if_name, prefix, strlen(prefix)))
			shunt_judges_add_flowtable(judges, (int)one->if_index);
	if (all)
		if_freenameindex(all);
}

static int take_device(const struct nlattr *attr, void *arg)
{
	const char *name = shunt_netlink_str(attr);
	unsigned ifindex;

	if (mnl_attr_get_type(attr) == DEVICE_PREFIX) {
		add_all_of(arg, name);
	} else if (mnl_attr_get_type(attr) == NFTA_DEVICE_NAME) {
		ifindex = if_nametoindex(name);
		if (ifindex)
			shunt_judges_add_flowtable(arg, (int)ifindex);
	}
	return MNL_CB_OK;
}

int shunt_firewall_take_flowtable(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = shunt_netlink_head(nlh, sizeof(*nfg));
	const struct shunt_firewall_flowtables *all = arg;
	struct flowtable flowtable = {0};

	if (!nfg)
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*nfg), take_attr, &flowtable);
	if (flowtable.table && flowtable.devices && !(flowtable.flags & FLAG_OFFLOAD) &&
	    !shunt_firewall_is_ignored(all->ignored, nfg->nfgen_family, flowtable.table))
		mnl_attr_parse_nested(flowtable.devices, take_device, all->judges);
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	((struct shunt_firewall_flowtables *)arg)->judges->flowtable_cnt = 0;
}

/* What cannot be asked is not there: then rules judge, and the kernel has the frames. */
void shunt_firewall_ask_flowtables(struct shunt_judges *judges)
{
	struct shunt_firewall_ignored ignored = {0};
	struct shunt_firewall_flowtables all = {&ignored, judges};

	if (shunt_firewall_dump_ignored(&ignored) ||
	    shunt_firewall_dump_nft(NFT_MSG_GETFLOWTABLE, shunt_firewall_take_flowtable, forget,
				    &all))
		forget(&all);
	free(ignored.at);
}
