// SPDX-License-Identifier: BSD-2-Clause
/* What br_netfilter shows to other hooks. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "device/link.h"
#include "firewall/firewall.h"

/* Without br_netfilter there is no such file. */
static int read_setting(const char *name, bool *is_set)
{
	char path[80];
	FILE *file;
	int value, ret = 0;

	snprintf(path, sizeof(path), "/proc/sys/net/bridge/bridge-nf-call-%s", name);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	if (fscanf(file, "%d", &value) == 1)
		*is_set |= value;
	else
		ret = -EIO;
	fclose(file);
	return ret;
}

static int take_setting(const struct nlattr *attr, void *arg)
{
	struct shunt_firewall_calls *calls = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_BR_NF_CALL_IPTABLES:
	case IFLA_BR_NF_CALL_IP6TABLES:
		calls->ip |= shunt_netlink_u8(attr);
		break;
	case IFLA_BR_NF_CALL_ARPTABLES:
		calls->arp |= shunt_netlink_u8(attr);
		break;
	}
	return MNL_CB_OK;
}

static int take_data(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
		mnl_attr_parse_nested(attr, take_setting, arg);
	return MNL_CB_OK;
}

static int take_bridge(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
		mnl_attr_parse_nested(attr, take_data, arg);
	return MNL_CB_OK;
}

int shunt_firewall_calls_ask(int bridge, struct shunt_firewall_calls *out)
{
	int ret;

	*out = (struct shunt_firewall_calls){0};
	ret = read_setting("iptables", &out->ip);
	if (!ret)
		ret = read_setting("ip6tables", &out->ip);
	if (!ret)
		ret = read_setting("arptables", &out->arp);
	if (!ret && !(out->ip && out->arp))
		ret = shunt_link_ask((unsigned)bridge, take_bridge, out);
	return ret;
}
