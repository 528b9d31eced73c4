// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The kernel answers at once or not at all. */
#define TIMEOUT_S 2

struct chain {
	uint8_t family;
	const char *table, *name;
	uint32_t hook; /* UINT32_MAX: no base chain */
	uint32_t policy, rule_cnt;
};

static const char *family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_BRIDGE:
		return "bridge";
	case NFPROTO_NETDEV:
		return "netdev";
	}
	return NULL; /* of ARP: not forwarded */
}

static int take_hook(const struct nlattr *attr, void *arg)
{
	struct chain *chain = arg;

	if (mnl_attr_get_type(attr) == NFTA_HOOK_HOOKNUM && !mnl_attr_validate(attr, MNL_TYPE_U32))
		chain->hook = ntohl(mnl_attr_get_u32(attr));
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct chain *chain = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_CHAIN_TABLE:
		chain->table = mnl_attr_get_str(attr);
		break;
	case NFTA_CHAIN_NAME:
		chain->name = mnl_attr_get_str(attr);
		break;
	case NFTA_CHAIN_HOOK:
		mnl_attr_parse_nested(attr, take_hook, chain);
		break;
	case NFTA_CHAIN_POLICY:
		chain->policy = ntohl(mnl_attr_get_u32(attr));
		break;
	case NFTA_CHAIN_USE:
		chain->rule_cnt = ntohl(mnl_attr_get_u32(attr));
		break;
	}
	return MNL_CB_OK;
}

/* Whether a forwarded frame would meet the chain. What is for this host, or from it, is the
 * kernel's in any case. The hooks of a netdev chain have numbers of their own, and a forwarded
 * frame meets all of them. */
static bool is_met(const struct chain *chain)
{
	if (chain->hook == UINT32_MAX || !chain->table || !chain->name ||
	    !family_name(chain->family) || (!chain->rule_cnt && chain->policy == NF_ACCEPT))
		return false;
	return chain->family == NFPROTO_NETDEV ||
	       (chain->hook != NF_INET_LOCAL_IN && chain->hook != NF_INET_LOCAL_OUT);
}

static int take_chain(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = mnl_nlmsg_get_payload(nlh);
	struct chain chain = {.family = nfg->nfgen_family, .hook = UINT32_MAX, .policy = NF_ACCEPT};
	struct shunt_firewall *out = arg;

	mnl_attr_parse(nlh, sizeof(*nfg), take_attr, &chain);
	if (!is_met(&chain))
		return MNL_CB_OK;
	if (!out->chain_cnt++)
		snprintf(out->chain, sizeof(out->chain), "%s %.24s %.24s",
			 family_name(chain.family), chain.table, chain.name);
	return MNL_CB_OK;
}

static int take_policy(const struct nlmsghdr *nlh, void *arg)
{
	const struct xfrm_userpolicy_info *policy = mnl_nlmsg_get_payload(nlh);
	struct shunt_firewall *out = arg;

	out->policy_cnt += policy->dir == XFRM_POLICY_FWD || policy->dir == XFRM_POLICY_OUT;
	return MNL_CB_OK;
}

static void dump(int bus, uint16_t type, size_t extra_len, mnl_cb_t take,
		 struct shunt_firewall *out)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	char buf[32768];
	struct nlmsghdr *nlh;
	int ret = MNL_CB_OK;
	ssize_t n;

	if (!nl)
		return;
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(nlh, extra_len);
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	errno = 0;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		ret = MNL_CB_ERROR;
	while (ret > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		ret = n < 0 ? MNL_CB_ERROR : mnl_cb_run(buf, (size_t)n, 0, 0, take, out);
	}
	out->is_untold |= ret < 0 && errno == EPERM;
	mnl_socket_close(nl);
}

static void read_iptables(const char *path, struct shunt_firewall *out)
{
	FILE *file = fopen(path, "re");
	char table[32];

	while (file && fscanf(file, "%31s", table) == 1)
		if (!strstr(out->iptables, table))
			snprintf(out->iptables + strlen(out->iptables),
				 sizeof(out->iptables) - strlen(out->iptables), "%s%s",
				 *out->iptables ? " " : "", table);
	if (file)
		fclose(file);
}

void shunt_firewall_query(struct shunt_firewall *out)
{
	memset(out, 0, sizeof(*out));
	dump(NETLINK_NETFILTER, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN,
	     sizeof(struct nfgenmsg), take_chain, out);
	dump(NETLINK_XFRM, XFRM_MSG_GETPOLICY, sizeof(struct xfrm_userpolicy_id), take_policy, out);
	read_iptables("/proc/net/ip_tables_names", out);
	read_iptables("/proc/net/ip6_tables_names", out);
}

bool shunt_firewall_sentence(const struct shunt_firewall *by, struct shunt_err *out)
{
	char what[224] = "";
	int len = 0;

	if (by->chain_cnt > 1)
		len += snprintf(what, sizeof(what), ", nftables (%s and %u more)", by->chain,
				by->chain_cnt - 1);
	else if (by->chain_cnt)
		len += snprintf(what, sizeof(what), ", nftables (%s)", by->chain);
	if (*by->iptables)
		len += snprintf(what + len, sizeof(what) - (size_t)len, ", iptables (%s)",
				by->iptables);
	if (by->policy_cnt)
		len += snprintf(what + len, sizeof(what) - (size_t)len, ", IPsec policies (%u)",
				by->policy_cnt);
	if (!len)
		return false;
	shunt_err_set(
		out, 0,
		"what shunt forwards bypasses %s; steering rules leave to the kernel what must "
		"not (--rule '... lane kernel')",
		what + strlen(", "));
	return true;
}
