// SPDX-License-Identifier: BSD-2-Clause
#include "device/link.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/time.h>

#include "base/netlink.h"

struct taker {
	mnl_attr_cb_t take;
	void *arg;
};

static int read_link(const struct nlmsghdr *nlh, void *data)
{
	struct taker *t = data;

	return mnl_attr_parse(nlh, sizeof(struct ifinfomsg), t->take, t->arg);
}

static int exchange(struct mnl_socket *nl, unsigned ifindex, struct taker *t)
{
	/* A device with many virtual functions or addresses answers at length. */
	char buf[32768] __attribute__((aligned(8)));
	const struct timeval limit = {.tv_sec = 1};
	struct ifinfomsg *ifi;
	struct nlmsghdr *nlh;
	ssize_t n;

	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = 1;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n < 0 ||
	    shunt_netlink_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), read_link, t) < 0)
		return -errno;
	return 0;
}

int shunt_link_ask(unsigned ifindex, mnl_attr_cb_t take, void *arg)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct taker t = {take, arg};
	int ret;

	if (!nl)
		return -errno;
	ret = exchange(nl, ifindex, &t);
	mnl_socket_close(nl);
	return ret;
}

static int take_master(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == IFLA_MASTER)
		*(int *)arg = (int)shunt_netlink_u32(attr);
	return MNL_CB_OK;
}

struct peer {
	unsigned ifindex;
	bool is_elsewhere;
};

static int take_peer(const struct nlattr *attr, void *arg)
{
	struct peer *peer = arg;

	if (mnl_attr_get_type(attr) == IFLA_LINK)
		peer->ifindex = shunt_netlink_u32(attr);
	else if (mnl_attr_get_type(attr) == IFLA_LINK_NETNSID)
		peer->is_elsewhere = true;
	return MNL_CB_OK;
}

unsigned shunt_link_peer(unsigned ifindex)
{
	struct peer peer = {0};

	shunt_link_ask(ifindex, take_peer, &peer);
	return peer.is_elsewhere ? 0 : peer.ifindex;
}

int shunt_link_master(unsigned ifindex, int *master)
{
	*master = 0;
	return shunt_link_ask(ifindex, take_master, master);
}

static int take_slave_kind(const struct nlattr *attr, void *arg)
{
	const struct nlattr *inner;

	if (mnl_attr_get_type(attr) != IFLA_LINKINFO)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(inner, attr)
	{
		if (mnl_attr_get_type(inner) == IFLA_INFO_SLAVE_KIND)
			*(bool *)arg = !strncmp(mnl_attr_get_payload(inner), "vrf",
						mnl_attr_get_payload_len(inner));
	}
	return MNL_CB_OK;
}

bool shunt_link_is_in_vrf(unsigned ifindex)
{
	bool is_in_vrf = false;

	shunt_link_ask(ifindex, take_slave_kind, &is_in_vrf);
	return is_in_vrf;
}
