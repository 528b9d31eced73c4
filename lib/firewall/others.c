// SPDX-License-Identifier: BSD-2-Clause
/* IPsec, IPVS, and BPF programs on netfilter's hooks. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/xfrm.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/take.h"

/* --- IPsec ------------------------------------------------------------------------------------ */

int shunt_firewall_take_policy(const struct nlmsghdr *nlh, void *arg)
{
	const uint8_t *policy = shunt_netlink_head(nlh, sizeof(struct xfrm_userpolicy_info));
	unsigned *cnt = arg;
	uint8_t dir;

	if (!policy)
		return MNL_CB_OK;
	/* a byte of a structure that wants 8 bytes' alignment, where a message has 4 */
	dir = policy[offsetof(struct xfrm_userpolicy_info, dir)];
	*cnt += dir == XFRM_POLICY_FWD || dir == XFRM_POLICY_OUT;
	return MNL_CB_OK;
}

static void forget_policies(void *arg)
{
	*(unsigned *)arg = 0;
}

static int ask_policies(unsigned *cnt)
{
	char buf[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct xfrm_userpolicy_id))];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = XFRM_MSG_GETPOLICY;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_id));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_XFRM,
							       .request = nlh,
							       .take = shunt_firewall_take_policy,
							       .forget = forget_policies,
							       .arg = cnt});
}

int shunt_firewall_take_default(const struct nlmsghdr *nlh, void *arg)
{
	const struct xfrm_userpolicy_default *found = shunt_netlink_head(nlh, sizeof(*found));
	bool *blocks = arg;

	if (found && nlh->nlmsg_type == XFRM_MSG_GETDEFAULT)
		*blocks |=
			found->fwd == XFRM_USERPOLICY_BLOCK || found->out == XFRM_USERPOLICY_BLOCK;
	return MNL_CB_OK;
}

/* EINVAL: a kernel that does not know the question. */
static int error_of(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *error = shunt_netlink_head(nlh, sizeof(*error));

	if (nlh->nlmsg_type != NLMSG_ERROR || !error || error->error == -EINVAL)
		return 0;
	return error->error;
}

/* What becomes of packets that no policy is about (ip xfrm policy setdefault). Before Linux 5.15
 * they pass, and the question is not known. */
static int ask_default(bool *blocks)
{
	const struct timeval timeout = {.tv_sec = 1};
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_XFRM, SOCK_CLOEXEC);
	char buf[1024];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	ssize_t n;

	if (!nl)
		return -errno;
	nlh->nlmsg_type = XFRM_MSG_GETDEFAULT;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct xfrm_userpolicy_default));
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	n = mnl_socket_sendto(nl, nlh, nlh->nlmsg_len);
	if (n >= 0)
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	mnl_socket_close(nl);
	if (n < 0)
		return -errno;
	if (!shunt_netlink_ok(nlh, (int)n))
		return -EBADMSG;
	shunt_firewall_take_default(nlh, blocks);
	return error_of(nlh);
}

void shunt_firewall_ask_ipsec(struct shunt_judges *judges)
{
	unsigned cnt = 0;
	bool blocks = false;
	int ret = ask_policies(&cnt);

	if (!ret)
		ret = ask_default(&blocks);
	if (ret == -EPROTONOSUPPORT)
		return;
	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0, "IPsec: %s",
				 strerror(-ret));
	if (cnt)
		shunt_judges_add(judges, SHUNT_JUDGE_ipsec, SHUNT_JUDGE_IP, 0, "policies (%u)",
				 cnt);
	if (blocks)
		shunt_judges_add(judges, SHUNT_JUDGE_ipsec, SHUNT_JUDGE_IP, 0, "default of block");
}

/* --- IPVS ------------------------------------------------------------------------------------- */

/* /proc/net/ip_vs: a line a service, "TCP  C0A80001:0050 rr". */
void shunt_firewall_ask_ipvs(struct shunt_judges *judges)
{
	FILE *file = fopen("/proc/net/ip_vs", "re");
	char line[256];

	if (!file && errno != ENOENT)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0, "IPVS: %s",
				 strerror(errno));
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "TCP ", 4) || !strncmp(line, "UDP ", 4) ||
		    !strncmp(line, "SCTP ", 5) || !strncmp(line, "FWM ", 4))
			shunt_judges_add(judges, SHUNT_JUDGE_ipvs, SHUNT_JUDGE_IP, 0,
					 "service %.32s", line);
	if (file)
		fclose(file);
}

/* --- BPF on netfilter's hooks ----------------------------------------------------------------- */

/* linux/netfilter/nfnetlink_hook.h, and what Linux 6.4 added to it. */
enum {
	HOOK_GET = 0,
	HOOK_NUM = 1,	     /* be32 */
	HOOK_CHAIN_INFO = 6, /* nested: */
	INFO_TYPE = 2,	     /* be32 */
	TYPE_BPF = 2,
};

static int take_info(const struct nlattr *attr, void *arg)
{
	bool *has = arg;

	if (mnl_attr_get_type(attr) == INFO_TYPE && ntohl(shunt_netlink_u32(attr)) == TYPE_BPF)
		*has = true;
	return MNL_CB_OK;
}

static int take_hook_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == HOOK_CHAIN_INFO)
		mnl_attr_parse_nested(attr, take_info, arg);
	return MNL_CB_OK;
}

int shunt_firewall_take_hook(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct nfgenmsg), take_hook_attr, arg);
	return MNL_CB_OK;
}

static int ask_hook(uint8_t family, uint32_t hook, bool *has)
{
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFNL_SUBSYS_HOOK << 8 | HOOK_GET;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	mnl_attr_put_u32(nlh, HOOK_NUM, htonl(hook));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_NETFILTER,
							       .request = nlh,
							       .take = shunt_firewall_take_hook,
							       .arg = has});
}

/* Returns 0 or -errno; -EINVAL where the kernel does not list its hooks. */
static int ask_hooks(bool *has)
{
	static const uint8_t families[] = {NFPROTO_IPV4, NFPROTO_IPV6};
	static const uint32_t hooks[] = {NF_INET_PRE_ROUTING, NF_INET_FORWARD,
					 NF_INET_POST_ROUTING};
	unsigned f, h;
	int ret = 0;

	for (f = 0; f < SHUNT_ARRAY_LEN(families) && !ret; f++)
		for (h = 0; h < SHUNT_ARRAY_LEN(hooks) && !ret; h++)
			ret = ask_hook(families[f], hooks[h], has);
	return ret;
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

void shunt_firewall_open_bpf(struct shunt_firewall_asker *asker)
{
	bool has = false;

	asker->lists_hooks = !ask_hooks(&has);
	asker->has_bpf = !asker->lists_hooks && !ask_links(&has) && has;
}

void shunt_firewall_ask_bpf(const struct shunt_firewall_asker *asker, struct shunt_judges *judges)
{
	bool has = asker->has_bpf;
	int ret = asker->lists_hooks ? ask_hooks(&has) : 0;

	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0,
				 "netfilter's hooks: %s", strerror(-ret));
	if (has)
		shunt_judges_add(judges, SHUNT_JUDGE_bpf, SHUNT_JUDGE_IP, 0, "program");
}
