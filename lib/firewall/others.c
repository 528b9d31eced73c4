// SPDX-License-Identifier: BSD-2-Clause
/* IPsec and IPVS. */
#include <errno.h>
#include <linux/xfrm.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/take.h"

/* --- IPsec ------------------------------------------------------------------------------------ */

static int take_if_id(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == XFRMA_IF_ID)
		*(uint32_t *)arg = shunt_netlink_u32(attr);
	return MNL_CB_OK;
}

/* With an if_id a policy is about what goes through the XFRM interface of that number: that device
 * is no port. */
int shunt_firewall_take_policy(const struct nlmsghdr *nlh, void *arg)
{
	const uint8_t *policy = shunt_netlink_head(nlh, sizeof(struct xfrm_userpolicy_info));
	unsigned *cnt = arg;
	uint32_t if_id = 0;
	uint8_t dir;

	if (!policy)
		return MNL_CB_OK;
	/* a byte of a structure that wants 8 bytes' alignment, where a message has 4 */
	dir = policy[offsetof(struct xfrm_userpolicy_info, dir)];
	mnl_attr_parse(nlh, sizeof(struct xfrm_userpolicy_info), take_if_id, &if_id);
	*cnt += !if_id && (dir == XFRM_POLICY_FWD || dir == XFRM_POLICY_OUT);
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
					 "service %.*s", (int)strcspn(line, "\n"), line);
	if (file)
		fclose(file);
}
