/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts of a network device, and promiscuity. The kernel takes promiscuity back by itself when
 * the descriptor is closed, also after a kill. And the addresses of this host. */
#ifndef SHUNT_DEVICE_NETDEV_H
#define SHUNT_DEVICE_NETDEV_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct shunt_netdev {
	unsigned ifindex;
	uint32_t mtu; /* bytes, without Ethernet header */
	uint8_t mac[6];
	bool is_up;
	bool has_master;    /* a bridge, a bond, a VRF: what it gets from the driver goes to that */
	unsigned queue_cnt; /* receive queues */
	unsigned queue_max; /* that it can be given, each with one to transmit; 0: not told */
	bool is_virtual;    /* on no bus: what it receives may have been on no wire */
	bool is_split;	    /* receive and transmit queues are set apart, as veth's */
	char driver[32];    /* "" where the device does not tell */
};

/* shunt_netdev_query reads the facts of a device of the caller's network
 * namespace. Returns 0, -ENODEV with err set, or another -errno. Thread: control.
 * Cost: a few ioctls. */
int shunt_netdev_query(const char *ifname, struct shunt_netdev *out, struct shunt_err *err);

/* shunt_netdev_mac reads a device's MAC address as it is now. Returns 0 or -errno. Thread: control.
 * Cost: an ioctl. */
int shunt_netdev_mac(const char *ifname, uint8_t mac[6]);

/* shunt_netdev_mtu returns a device's MTU as it is now, 0 where there is no such device. Thread:
 * control. Cost: an ioctl. */
uint32_t shunt_netdev_mtu(const char *ifname);

/* shunt_netdev_carrier_changes returns how often a device gained or lost its carrier, 0 where there
 * is no such device. Thread: control. Cost: a file of sysfs. */
uint32_t shunt_netdev_carrier_changes(const char *ifname);

/* shunt_netdev_queues returns how many receive queues a device has now, 0 where there is no such
 * device or it does not tell. Thread: control. Cost: an ioctl. */
unsigned shunt_netdev_queues(const char *ifname);

/* shunt_netdev_channels_print writes the command that gives a device cnt queues. Thread: control.
 */
void shunt_netdev_channels_print(const struct shunt_netdev *netdev, const char *ifname,
				 unsigned cnt, char *out, unsigned len);

/* shunt_netdev_promisc_open makes the device accept frames for any address until
 * the returned descriptor is closed. Returns the descriptor or -errno with err
 * set. Thread: control. */
int shunt_netdev_promisc_open(unsigned ifindex, const char *ifname, struct shunt_err *err);

/* The addresses of this host: what is sent to them is the kernel's. Broadcast
 * addresses of its subnets are among them. */
struct shunt_locals {
	uint32_t *ip4_be;
	unsigned ip4_cnt;
	struct in6_addr *ip6;
	unsigned ip6_cnt;
};

/* shunt_locals_query lists the addresses of every device of the caller's network
 * namespace, sorted. Returns 0 or -errno with err set; shunt_locals_fini frees.
 * shunt_locals_equal compares two lists. Thread: control. */
int shunt_locals_query(struct shunt_locals *out, struct shunt_err *err);
void shunt_locals_fini(struct shunt_locals *locals);
bool shunt_locals_equal(const struct shunt_locals *a, const struct shunt_locals *b);

#endif
