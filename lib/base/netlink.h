/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump by netlink that is whole. What is added or removed while the kernel lists it can be left
 * out, or be there twice. The kernel marks such a dump (NLM_F_DUMP_INTR), and it is asked for
 * again.
 */
#ifndef SHUNT_BASE_NETLINK_H
#define SHUNT_BASE_NETLINK_H

#include <libmnl/libmnl.h>

struct shunt_netlink_dump {
	int bus;			/* NETLINK_ROUTE, ... */
	const struct nlmsghdr *request; /* flags NLM_F_REQUEST | NLM_F_DUMP are added */
	mnl_cb_t take;			/* called for every message */
	void (*forget)(void *arg);	/* called before each try: what was taken is no more */
	void *arg;
};

/* shunt_netlink_dump asks on a socket of its own. Returns 0 or -errno: the kernel's answer to the
 * request, -EAGAIN where the kernel gave no answer in a second, -EINTR where its tables changed
 * under sixteen dumps in a row. Thread: any. Cost: a netlink exchange, and the dump. */
int shunt_netlink_dump(const struct shunt_netlink_dump *dump);

#endif
