// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"

/* Optional: what a kernel without IPv6, or older than 5.3 (next-hop objects) or 5.6 (VLANs of
 * bridges), may lack. */
static const struct {
	int group;
	bool is_optional;
} groups[] = {
	{RTNLGRP_LINK, false},	      {RTNLGRP_NEIGH, false},	  {RTNLGRP_IPV4_IFADDR, false},
	{RTNLGRP_IPV4_ROUTE, false},  {RTNLGRP_IPV4_RULE, false}, {RTNLGRP_IPV6_IFADDR, true},
	{RTNLGRP_IPV6_ROUTE, true},   {RTNLGRP_IPV6_RULE, true},  {RTNLGRP_IPV4_NETCONF, true},
	{RTNLGRP_IPV6_NETCONF, true}, {RTNLGRP_NEXTHOP, true},	  {RTNLGRP_BRVLAN, true},
};

static int join(struct mnl_socket *nl, struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(groups); i++) {
		int group = groups[i].group;

		if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0 &&
		    !groups[i].is_optional)
			return shunt_err_set(err, errno,
					     "netlink mirror: cannot join multicast group %d: %s",
					     group, strerror(errno));
	}
	return 0;
}

/* The buffer holds the events that come while the mirror's thread does other work. Only root may
 * have more than net.core.rmem_max. */
static void size_rcvbuf(struct mnl_socket *nl, uint32_t bytes)
{
	int fd = mnl_socket_get_fd(nl);
	int half = (int)(SHUNT_MIN(bytes, (uint32_t)INT32_MAX) / 2); /* the kernel doubles it */

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
}

static int open_here(struct mnl_socket **out, uint32_t rcvbuf_bytes, struct shunt_err *err)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int one = 1, ret;

	if (!nl)
		return shunt_err_set(err, errno, "netlink mirror: socket(AF_NETLINK): %s",
				     strerror(errno));
	size_rcvbuf(nl, rcvbuf_bytes);
	/* Linux 4.20; without it dumps are not filtered, which costs time only. */
	mnl_socket_setsockopt(nl, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		ret = shunt_err_set(err, errno, "netlink mirror: bind: %s", strerror(errno));
	else
		ret = join(nl, err);
	if (ret)
		mnl_socket_close(nl);
	else
		*out = nl;
	return ret;
}

int shunt_mirror_socket_open(struct mnl_socket **out, int netns_fd, uint32_t rcvbuf_bytes,
			     struct shunt_err *err)
{
	int home, ret;

	*out = NULL;
	if (netns_fd < 0)
		return open_here(out, rcvbuf_bytes, err);
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		return shunt_err_set(err, errno, "netlink mirror: /proc/thread-self/ns/net: %s",
				     strerror(errno));
	if (setns(netns_fd, CLONE_NEWNET) < 0) {
		ret = shunt_err_set(err, errno, "netlink mirror: setns(fd %d): %s", netns_fd,
				    strerror(errno));
	} else {
		ret = open_here(out, rcvbuf_bytes, err);
		if (setns(home, CLONE_NEWNET) < 0)
			ret = shunt_err_set(err, errno, "netlink mirror: setns back: %s",
					    strerror(errno));
	}
	close(home);
	return ret;
}
