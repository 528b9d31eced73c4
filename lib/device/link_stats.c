// SPDX-License-Identifier: BSD-2-Clause
#include "device/link_stats.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

#include "base/bytes.h"

struct found {
	struct rtnl_link_stats64 *out;
	bool has_stats;
};

static int read_attr(const struct nlattr *attr, void *data)
{
	struct found *f = data;

	/* Kernels differ in how many counters they know: the others stay 0. */
	if (mnl_attr_get_type(attr) == IFLA_STATS64) {
		memcpy(f->out, mnl_attr_get_payload(attr),
		       SHUNT_MIN(sizeof(*f->out), (size_t)mnl_attr_get_payload_len(attr)));
		f->has_stats = true;
	}
	return MNL_CB_OK;
}

static int read_link(const struct nlmsghdr *nlh, void *data)
{
	return mnl_attr_parse(nlh, sizeof(struct ifinfomsg), read_attr, data);
}

static int ask(struct mnl_socket *nl, unsigned ifindex, struct found *f)
{
	/* A device with many virtual functions or addresses answers at length. */
	char buf[32768] __attribute__((aligned(8)));
	struct timeval limit = {.tv_sec = 1};
	struct ifinfomsg *ifi;
	struct nlmsghdr *nlh;
	ssize_t n;

	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = 1;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = (int)ifindex;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n < 0)
		return -errno;
	if (mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), read_link, f) < 0)
		return -errno;
	return f->has_stats ? 0 : -ENODATA;
}

int shunt_link_stats(unsigned ifindex, struct rtnl_link_stats64 *out, struct shunt_err *err)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct found f = {.out = out};
	int ret;

	memset(out, 0, sizeof(*out));
	ret = nl ? ask(nl, ifindex, &f) : -errno;
	if (nl)
		mnl_socket_close(nl);
	if (ret)
		shunt_err_set(err, -ret, "device with index %u: RTM_GETLINK: %s", ifindex,
			      strerror(-ret));
	return ret;
}
