/* SPDX-License-Identifier: BSD-2-Clause */
/* Where XDP and sockets would see frames of every VLAN without their tags: a NIC takes them off
 * what it receives, or a veth's other end hands them over beside the frames. */
#ifndef SHUNT_DEVICE_TAGS_H
#define SHUNT_DEVICE_TAGS_H

#include <net/if.h>
#include <stdbool.h>

struct shunt_tags_taken {
	const char *feature; /* as ethtool -K names it; NULL: it takes none */
	bool can_change;     /* the driver lets it be switched */
};

/* shunt_tags_taken asks; of a device that does not answer it says that it takes none. Thread:
 * control. Cost: five syscalls. */
struct shunt_tags_taken shunt_tags_taken(const char *ifname, const char *driver);

struct shunt_tags_beside {
	bool may_come;	     /* beside frames */
	char peer[IFNAMSIZ]; /* from this device; "": from one in another network namespace */
};

/* shunt_tags_beside asks. Of an other end that is in another namespace nobody here can tell: from
 * there they may come. Thread: control. Cost: a netlink exchange, five syscalls. */
struct shunt_tags_beside shunt_tags_beside(unsigned ifindex, const char *driver);

#endif
