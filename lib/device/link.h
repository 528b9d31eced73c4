/* SPDX-License-Identifier: BSD-2-Clause */
/* One device, asked for by rtnetlink and interface index: /sys may belong to another network
 * namespace. */
#ifndef SHUNT_DEVICE_LINK_H
#define SHUNT_DEVICE_LINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>

/* shunt_link_ask calls take(attr, arg) for every attribute of the device's RTM_NEWLINK. Returns 0
 * or -errno: -ENODEV where there is no such device, -EAGAIN without an answer in a second. Thread:
 * control. Cost: a netlink exchange. */
int shunt_link_ask(unsigned ifindex, mnl_attr_cb_t take, void *arg);

/* shunt_link_master sets the index of the device (a bridge, a bond, a VRF) that this one is a port
 * of, 0 where it is of none. Returns 0 or -errno as shunt_link_ask does; then nothing is known.
 * Thread: control. Cost: a netlink exchange. */
int shunt_link_master(unsigned ifindex, int *master);

/* shunt_link_is_in_vrf says whether the device belongs to a VRF; false where that is not known.
 * Thread: control. Cost: a netlink exchange. */
bool shunt_link_is_in_vrf(unsigned ifindex);

/* shunt_link_peer returns the index of the device that what is sent into this one comes out of (a
 * veth's other end), or that lies beneath it (a VLAN device's), if that is in the caller's network
 * namespace; else 0. Thread: control. Cost: a netlink exchange. */
unsigned shunt_link_peer(unsigned ifindex);

#endif
