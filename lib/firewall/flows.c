// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/flows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netlink.h"
#include "firewall/take.h"

struct taking {
	void (*fn)(void *arg, const struct shunt_flow *flow);
	void (*forget)(void *arg);
	void *arg;
};

/* A message being read. */
struct flow {
	struct shunt_flow flow;
	struct shunt_flow_way *way; /* whose attributes follow */
	uint32_t status;
};

static int take_ip(const struct nlattr *attr, void *arg)
{
	struct flow *f = arg;

	switch (mnl_attr_get_type(attr)) {
	case CTA_IP_V4_SRC:
	case CTA_IP_V6_SRC:
		shunt_netlink_copy(f->way->src, sizeof(f->way->src), attr);
		break;
	case CTA_IP_V4_DST:
	case CTA_IP_V6_DST:
		shunt_netlink_copy(f->way->dst, sizeof(f->way->dst), attr);
		break;
	}
	return MNL_CB_OK;
}

static int take_proto(const struct nlattr *attr, void *arg)
{
	struct flow *f = arg;

	switch (mnl_attr_get_type(attr)) {
	case CTA_PROTO_NUM:
		f->flow.proto = shunt_netlink_u8(attr);
		break;
	case CTA_PROTO_SRC_PORT:
		f->way->sport = ntohs(shunt_netlink_u16(attr));
		break;
	case CTA_PROTO_DST_PORT:
		f->way->dport = ntohs(shunt_netlink_u16(attr));
		break;
	}
	return MNL_CB_OK;
}

static int take_tuple(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == CTA_TUPLE_IP)
		mnl_attr_parse_nested(attr, take_ip, arg);
	if (mnl_attr_get_type(attr) == CTA_TUPLE_PROTO)
		mnl_attr_parse_nested(attr, take_proto, arg);
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct flow *f = arg;

	switch (mnl_attr_get_type(attr)) {
	case CTA_TUPLE_ORIG:
		f->way = &f->flow.out;
		mnl_attr_parse_nested(attr, take_tuple, f);
		break;
	case CTA_TUPLE_REPLY:
		f->way = &f->flow.back;
		mnl_attr_parse_nested(attr, take_tuple, f);
		break;
	case CTA_STATUS:
		f->status = ntohl(shunt_netlink_u32(attr));
		break;
	case CTA_MARK:
		f->flow.mark = ntohl(shunt_netlink_u32(attr));
		break;
	}
	return MNL_CB_OK;
}

/* Kernels before 5.14 tell of all connections. */
int shunt_firewall_take_flow(const struct nlmsghdr *nlh, uint32_t status, struct shunt_flow *out)
{
	const struct nfgenmsg *nfg = shunt_netlink_head(nlh, sizeof(*nfg));
	struct flow f = {0};

	if (!nfg || (nfg->nfgen_family != AF_INET && nfg->nfgen_family != AF_INET6))
		return -ENOENT;
	mnl_attr_parse(nlh, sizeof(*nfg), take_attr, &f);
	if (~f.status & status)
		return -ENOENT;
	*out = f.flow;
	out->family = nfg->nfgen_family;
	out->is_translated = f.status & (IPS_SRC_NAT | IPS_DST_NAT);
	return 0;
}

static int take(const struct nlmsghdr *nlh, void *arg)
{
	const struct taking *taking = arg;
	struct shunt_flow flow;

	if (!shunt_firewall_take_flow(nlh, IPS_OFFLOAD, &flow))
		taking->fn(taking->arg, &flow);
	return MNL_CB_OK;
}

static void forget_all(void *arg)
{
	const struct taking *taking = arg;

	taking->forget(taking->arg);
}

int shunt_flows_ask(void (*fn)(void *arg, const struct shunt_flow *flow), void (*forget)(void *arg),
		    void *arg)
{
	struct taking taking = {fn, forget, arg};
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int ret;

	nlh->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	mnl_attr_put_u32(nlh, CTA_STATUS, htonl(IPS_OFFLOAD));
	mnl_attr_put_u32(nlh, CTA_STATUS_MASK, htonl(IPS_OFFLOAD));
	ret = shunt_netlink_dump(&(struct shunt_netlink_dump){
		.bus = NETLINK_NETFILTER,
		.request = nlh,
		.take = take,
		.forget = forget_all,
		.arg = &taking,
	});
	return shunt_firewall_lacks_nft(ret) ? -ENOSYS : ret;
}
