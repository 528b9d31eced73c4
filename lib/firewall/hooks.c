// SPDX-License-Identifier: BSD-2-Clause
/* What is on netfilter's hooks: BPF programs, and functions of owners that nobody asks about by
 * another way, as the translation of ILA. A function that is not known counts. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/take.h"

/* linux/netfilter/nfnetlink_hook.h, and what Linux 6.4 added to it. */
enum {
	HOOK_GET = 0,
	HOOK_NUM = 1,		/* be32 */
	HOOK_FUNCTION_NAME = 4, /* a string */
	HOOK_CHAIN_INFO = 6,	/* nested: */
	INFO_TYPE = 2,		/* be32 */
	TYPE_NFTABLES = 1,
	TYPE_BPF = 2,
};

/* How the functions begin that judge nothing by themselves, or of whose owners the tables are asked
 * for. Debian's hosts have those of conntrack and AppArmor without a rule.
 * Source: Linux 5.14 to 7.3. */
static const char *const known[] = {
	/* connection tracking, defragmentation, the core of translation: serve rules */
	"ipv4_conntrack_", "ipv6_conntrack_", "ipv6_defrag", "ipv4_confirm", "ipv6_confirm",
	"nf_confirm", "ipv4_helper", "ipv6_helper", "nf_ct_bridge_", "nf_nat_",
	/* tables and services: xtables.c, others.c */
	"ipt_do_table", "iptable_", "ip6t_do_table", "ip6table_", "ebt_", "ip_vs_",
	/* br_netfilter calls other hooks: calls.c */
	"ip_sabotage_in", "br_nf_",
	/* look at labels, which a packet has of rules, of IPsec, or of NetLabel */
	"apparmor_ip_postroute", "selinux_ip_"};

static bool is_known(const char *function)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(known); i++)
		if (!strncmp(function, known[i], strlen(known[i])))
			return true;
	return false;
}

struct owner {
	const char *function; /* "": a kernel without names of functions */
	uint32_t type;
};

static int take_info(const struct nlattr *attr, void *arg)
{
	struct owner *owner = arg;

	if (mnl_attr_get_type(attr) == INFO_TYPE)
		owner->type = ntohl(shunt_netlink_u32(attr));
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct owner *owner = arg;

	if (mnl_attr_get_type(attr) == HOOK_FUNCTION_NAME)
		owner->function = shunt_netlink_str(attr);
	if (mnl_attr_get_type(attr) == HOOK_CHAIN_INFO)
		mnl_attr_parse_nested(attr, take_info, arg);
	return MNL_CB_OK;
}

int shunt_firewall_take_hook(const struct nlmsghdr *nlh, void *arg)
{
	struct owner owner = {.function = ""};
	struct shunt_firewall_hook *hook = arg;

	if (!shunt_netlink_head(nlh, sizeof(struct nfgenmsg)))
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(struct nfgenmsg), take_attr, &owner);
	if (owner.type == TYPE_BPF)
		hook->has_bpf = true;
	else if (owner.type != TYPE_NFTABLES && !is_known(owner.function))
		snprintf(hook->stranger, sizeof(hook->stranger), "%s",
			 *owner.function ? owner.function : "of an owner untold");
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	*(struct shunt_firewall_hook *)arg = (struct shunt_firewall_hook){0};
}

static int ask_hook(uint8_t family, uint32_t number, struct shunt_firewall_hook *hook)
{
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFNL_SUBSYS_HOOK << 8 | HOOK_GET;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	mnl_attr_put_u32(nlh, HOOK_NUM, htonl(number));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_NETFILTER,
							       .request = nlh,
							       .take = shunt_firewall_take_hook,
							       .forget = forget,
							       .arg = hook});
}

/* The kernel does not list its hooks, or has none of the family. */
static bool is_lacking(int ret)
{
	return ret == -EINVAL || ret == -EPROTONOSUPPORT || ret == -EOPNOTSUPP;
}

static int ask_family(uint8_t family, enum shunt_judge_place place, struct shunt_judges *judges)
{
	/* a bridge's have the same numbers */
	static const uint32_t numbers[] = {NF_INET_PRE_ROUTING, NF_INET_FORWARD,
					   NF_INET_POST_ROUTING};
	struct shunt_firewall_hook hook;
	unsigned i;
	int ret;

	for (i = 0; i < SHUNT_ARRAY_LEN(numbers); i++) {
		ret = ask_hook(family, numbers[i], &hook);
		if (ret)
			return is_lacking(ret) ? 0 : ret;
		if (hook.has_bpf)
			shunt_judges_add(judges, SHUNT_JUDGE_bpf, place, 0, "program");
		if (*hook.stranger)
			shunt_judges_add(judges, SHUNT_JUDGE_hook, place, 0, "%s", hook.stranger);
	}
	return 0;
}

static void ask_all(struct shunt_judges *judges)
{
	int ret = ask_family(NFPROTO_IPV4, SHUNT_JUDGE_IP, judges);

	if (!ret)
		ret = ask_family(NFPROTO_IPV6, SHUNT_JUDGE_IP, judges);
	if (!ret)
		ret = ask_family(NFPROTO_BRIDGE, SHUNT_JUDGE_BRIDGE, judges);
	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0,
				 "netfilter's hooks: %s", strerror(-ret));
}

/* BPF_LINK_TYPE_NETFILTER of Linux 6.4. A link does not say its network namespace: one of another
 * counts, too. Returns 0 or -errno. */
static int ask_links(bool *has)
{
	struct bpf_link_info info;
	uint32_t id = 0, len;
	int fd;

	while (!bpf_link_get_next_id(id, &id)) {
		fd = bpf_link_get_fd_by_id(id);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return -errno;
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		*has |= !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == 10;
		close(fd);
	}
	return errno == ENOENT || errno == EINVAL ? 0 : -errno;
}

void shunt_firewall_open_hooks(struct shunt_firewall_asker *asker)
{
	struct shunt_firewall_hook hook;
	bool has = false;

	asker->lists_hooks = !is_lacking(ask_hook(NFPROTO_IPV4, NF_INET_FORWARD, &hook));
	asker->has_bpf = !asker->lists_hooks && !ask_links(&has) && has;
}

void shunt_firewall_ask_hooks(const struct shunt_firewall_asker *asker, struct shunt_judges *judges)
{
	if (asker->lists_hooks)
		ask_all(judges);
	else if (asker->has_bpf)
		shunt_judges_add(judges, SHUNT_JUDGE_bpf, SHUNT_JUDGE_IP, 0, "program");
}
