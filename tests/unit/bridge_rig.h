/* SPDX-License-Identifier: BSD-2-Clause */
/* A bridge of the kernel's as messages tell of it, and the devices above ports that the mirror
 * makes of it. Devices 10 and 11, ports 0 and 1 of shunt's, are its ports at first, in state
 * forwarding; 12 to 25, ports 2 to 15, may become some; 26 is one that is not shunt's. */
#ifndef SHUNT_TESTS_BRIDGE_RIG_H
#define SHUNT_TESTS_BRIDGE_RIG_H

#include <linux/if_bridge.h>
#include <linux/netlink.h>

#include "mirror/fib.h"
#include "mirror/mirror.h"

enum { P0 = 10, P1, P2, PORT_CNT = 16, STRANGER = P0 + PORT_CNT, BRIDGE = 30, VLAN_DEVICE = 40 };

extern struct shunt_mirror_table rig_table;
extern struct shunt_mirror_fib rig_fib;
extern struct shunt_devices *rig_devices;

/* As they were put at first. */
extern struct shunt_mirror_link_info rig_bridge, rig_ports[PORT_CNT], rig_stranger;

/* rig_bridge_start puts the bridge, its two ports and the stranger; one that filters VLANs has, and
 * its ports have, VLAN 1 untagged. */
void rig_bridge_start(bool filters_vlans);
void rig_bridge_stop(void);

/* rig_link makes the info of a device that is up, rig_vlan that of a VLAN device above another;
 * rig_put puts it. */
struct shunt_mirror_link_info rig_link(uint32_t ifindex, const char *kind);
struct shunt_mirror_link_info rig_vlan(uint32_t ifindex, uint32_t parent, uint16_t type,
				       uint16_t id);
void rig_put(const struct shunt_mirror_link_info *info);

/* rig_take takes a message over, and returns what shunt_mirror_take does. */
int rig_take(const struct nlmsghdr *nlh);

/* Messages: the bridge knows, or knows no more, station 02:00:00:00:00:n behind a port, vid 0: in
 * no VLAN; a port has a state; a device has VLANs from first to last, or has them no more. */
void rig_station(uint16_t type, uint8_t n, uint32_t port, unsigned vid);
void rig_state(uint32_t port, uint8_t state);
void rig_vlans(uint16_t type, uint32_t ifindex, unsigned first, unsigned last, uint16_t flags);
void rig_vlan_state(uint32_t ifindex, unsigned vid, uint16_t flags, uint8_t state);

/* rig_neighbour has 10.0.0.n be at station n of a device; rig_adj_make makes the adjacency there,
 * and returns it as it is from now on. */
void rig_neighbour(uint32_t ifindex, uint8_t n, uint8_t station);
const struct shunt_adj *rig_adj_make(uint32_t ifindex, uint8_t n);

/* GOES: an adjacency leads by a device's leg on a port; STAYS: to the kernel. */
void rig_expect_leg(const struct shunt_adj *way, uint32_t ifindex, unsigned port, int line);
#define GOES(way, ifindex, port) rig_expect_leg(way, ifindex, port, __LINE__)
#define STAYS(way)		 cr_expect_eq((way)->kind, SHUNT_ADJ_PUNT, "line %d", __LINE__)

/* rig_number returns the number of a device, 0 for none; rig_device the device, which must be
 * there; rig_leg that of its leg on a port. rig_found: by which one a frame with a VLAN ID's tag
 * comes in. */
uint32_t rig_number(uint32_t ifindex);
const struct shunt_device *rig_device(uint32_t ifindex);
uint32_t rig_leg(uint32_t ifindex, unsigned port);
const struct shunt_device *rig_leg_at(uint32_t ifindex, unsigned port);
uint32_t rig_found(unsigned port, unsigned vid);

/* rig_members returns a device's members as hexadecimal digits, "-" where it is not there; it fails
 * the test where its legs are not one a member. */
const char *rig_members(uint32_t ifindex);

/* rig_state_of is what there is to say of a device. */
enum shunt_above_state rig_state_of(uint32_t ifindex);

#endif
