/* SPDX-License-Identifier: BSD-2-Clause */
/* The VLANs of ports over kernel bridges that keep them apart: what the kernel told, and of it what
 * workers and programs look up. Thread: who has the guard. */
#ifndef SHUNT_BRIDGE_VLANS_H
#define SHUNT_BRIDGE_VLANS_H

#include "base/brvlan.h"
#include "shunt_steer_mac.h"

struct shunt_bridge_vlans {
	struct shunt_steer_vlans *told; /* NULL: nobody looks them up, and nothing is kept */
	struct shunt_steer_vlan known[SHUNT_STEER_VLANS];
};

/* shunt_bridge_vlans_put takes what the kernel told of a port, of the VLANs from first->vid to
 * last: they are its VLANs, or are no more. shunt_bridge_vlans_forget ends all of a port's. Where
 * not is_told, readers are told that the port is a member of none; shunt_bridge_vlans_tell tells
 * them after that has changed. */
void shunt_bridge_vlans_put(struct shunt_bridge_vlans *vlans, unsigned port,
			    const struct shunt_brvlan *first, unsigned last, bool are_gone,
			    bool is_told);
void shunt_bridge_vlans_forget(struct shunt_bridge_vlans *vlans, unsigned port);
void shunt_bridge_vlans_tell(struct shunt_bridge_vlans *vlans, unsigned port, bool is_told);

#endif
