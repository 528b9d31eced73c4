// SPDX-License-Identifier: BSD-2-Clause
#include "veth/veth.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

#include "base/netlink.h"

/* --- one request ------------------------------------------------------------------------------ */

static int exchange(struct mnl_socket *nl, const struct nlmsghdr *request)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	ssize_t n;

	if (mnl_socket_sendto(nl, request, request->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n < 0)
		return -errno;
	if (shunt_netlink_run(buf, (size_t)n, request->nlmsg_seq, mnl_socket_get_portid(nl), NULL,
			      NULL) < 0)
		return -errno;
	return 0;
}

static int ask(const struct nlmsghdr *request)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int ret;

	if (!nl)
		return -errno;
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? -errno : exchange(nl, request);
	mnl_socket_close(nl);
	return ret;
}

static struct nlmsghdr *begin(char *buf, uint16_t type, uint16_t flags, struct ifinfomsg **link)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = 1;
	*link = mnl_nlmsg_put_extra_header(nlh, sizeof(**link));
	return nlh;
}

/* --- the pair --------------------------------------------------------------------------------- */

static void put_end(struct nlmsghdr *nlh, const char *name, uint32_t mtu, uint32_t queues)
{
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, queues);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, queues);
}

static int add_pair(const char *name, const char *peer, uint32_t mtu, uint32_t queues)
{
	char buf[1024];
	struct ifinfomsg *link;
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link);
	struct nlattr *info, *data, *end;

	put_end(nlh, name, mtu, queues);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	end = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	memset(mnl_nlmsg_put_extra_header(nlh, sizeof(*link)), 0, sizeof(*link));
	put_end(nlh, peer, mtu, queues);
	mnl_attr_nest_end(nlh, end);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh);
}

static int silence(const char *name)
{
	char buf[512];
	struct ifinfomsg *link;
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, 0, &link);
	struct nlattr *spec, *inet6;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(nlh, AF_INET6);
	mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(nlh, inet6);
	mnl_attr_nest_end(nlh, spec);
	return ask(nlh);
}

static int raise_link(const char *name)
{
	char buf[256];
	struct ifinfomsg *link;
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, 0, &link);

	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return ask(nlh);
}

int shunt_veth_create(const char *name, const char *peer, uint32_t mtu, uint32_t queues,
		      struct shunt_err *err)
{
	int ret = add_pair(name, peer, mtu, queues);

	if (ret)
		return shunt_err_set(err, -ret, "%s: cannot make the veth pair: %s%s", name,
				     strerror(-ret),
				     ret == -EOPNOTSUPP ? "; load the module veth" : "");
	silence(name); /* a kernel without IPv6 refuses, and sends nothing either */
	silence(peer);
	ret = raise_link(name);
	if (!ret)
		ret = raise_link(peer);
	if (!ret)
		return (int)if_nametoindex(name);
	shunt_veth_delete(name, NULL);
	return shunt_err_set(err, -ret, "%s: cannot set the device up: %s", name, strerror(-ret));
}

int shunt_veth_set_mtu(const char *name, uint32_t mtu)
{
	char buf[256];
	struct ifinfomsg *link;
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, 0, &link);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	return ask(nlh);
}

int shunt_veth_delete(const char *name, struct shunt_err *err)
{
	char buf[256];
	struct ifinfomsg *link;
	struct nlmsghdr *nlh = begin(buf, RTM_DELLINK, 0, &link);
	int ret;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	ret = ask(nlh);
	if (!ret)
		return 0;
	return shunt_err_set(err, -ret, "%s: cannot delete the device: %s", name, strerror(-ret));
}
