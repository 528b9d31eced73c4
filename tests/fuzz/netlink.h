/* SPDX-License-Identifier: BSD-2-Clause */
/* Those who read netlink messages, for the target netlink. Each _start forgets what an input before
 * said, _take hands a message over, and _finish ends the process when what was made of the messages
 * contradicts itself. */
#ifndef SHUNT_TEST_FUZZ_NETLINK_H
#define SHUNT_TEST_FUZZ_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

/* Devices of the world that the messages are about: as tests/fuzz/netlink_seeds makes it. */
enum { FIRST_PORT = 2, PORT_CNT = 4, FIRST_BRIDGE = 6, BRIDGE_CNT = 2 };

/* Bits of an input's second byte. */
enum {
	FIB_FIRST = 1, /* the FIB follows from the first message on, else it is loaded at the end */
	CHECK = 2,     /* the dumps are a check of the device in the third byte */
};

/* The mirror and the FIB that is made of it. */
void netlink_mirror_start(unsigned bits, uint32_t ifindex);
void netlink_mirror_take(const struct nlmsghdr *nlh);
void netlink_mirror_finish(void);

/* A bridge of shunt's over each of the kernel's. */
void netlink_bridge_start(void);
void netlink_bridge_take(const struct nlmsghdr *nlh);
void netlink_bridge_finish(void);

/* What judges packets: nftables, netfilter's hooks, tc, IPsec. */
void netlink_firewall_start(void);
void netlink_firewall_take(const struct nlmsghdr *nlh, int bus);
void netlink_firewall_finish(void);

#endif
