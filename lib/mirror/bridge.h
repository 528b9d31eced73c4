/* SPDX-License-Identifier: BSD-2-Clause */
/* A bridge of the kernel's as a device above ports: which of its ports are shunt's, of which VLAN
 * what comes and leaves is, and behind which port a neighbour is (br_handle_frame_finish,
 * br_dev_xmit, br_forward).
 *
 * Thread: control.
 */
#ifndef SHUNT_MIRROR_BRIDGE_H
#define SHUNT_MIRROR_BRIDGE_H

#include "mirror/above.h"

/* shunt_mirror_bridge_members puts into *out the ports of the bridge that are ports of shunt's, and
 * by which packets of the device, the bridge itself or a VLAN device above it, come and leave.
 * Returns `followed`, or why its packets are not shunt's. */
enum shunt_above_state shunt_mirror_bridge_members(const struct shunt_mirror_aboves *aboves,
						   const struct shunt_mirror_link *bridge,
						   const struct shunt_mirror_link *device,
						   struct shunt_device *out);

/* shunt_mirror_bridge_shares says whether a port of the bridge has a VLAN device of its own with
 * the outermost tag of a device above the bridge: what carries that comes in by the port's. Cost: a
 * walk over all devices. */
bool shunt_mirror_bridge_shares(const struct shunt_mirror_aboves *aboves,
				const struct shunt_device *device, uint32_t bridge);

/* shunt_mirror_bridge_of returns the bridge that a device is, or that it is a VLAN device above;
 * NULL: of none. */
const struct shunt_mirror_link *shunt_mirror_bridge_of(const struct shunt_mirror_table *table,
						       uint32_t ifindex);

/* shunt_mirror_bridge_vid returns the VLAN that packets of a device are of in the bridge; 0: the
 * bridge does not filter VLANs, or only it knows. */
unsigned shunt_mirror_bridge_vid(const struct shunt_mirror_table *table,
				 const struct shunt_mirror_link *bridge,
				 const struct shunt_mirror_link *device);

/* shunt_mirror_bridge_untagged returns the ifindex of the device by which packets come in that
 * arrive untagged on a port of the bridge; 0: by none. *vlan: as in struct shunt_tables_cfg. */
uint32_t shunt_mirror_bridge_untagged(const struct shunt_mirror_table *table,
				      const struct shunt_mirror_link *port,
				      const struct shunt_mirror_link *bridge, uint32_t *vlan);

/* shunt_mirror_bridge_find returns the ifindex of the port by which the bridge sends to the
 * station, in a VLAN or in none (0); 0: it floods, or sends nowhere. */
uint32_t shunt_mirror_bridge_find(const struct shunt_mirror_table *table,
				  const struct shunt_mirror_link *bridge, unsigned vid,
				  const uint8_t *mac);

#endif
