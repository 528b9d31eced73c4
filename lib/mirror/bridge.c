// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/bridge.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_bridge.h>
#include <linux/if_ether.h>

const struct shunt_mirror_link *shunt_mirror_bridge_of(const struct shunt_mirror_table *table,
						       uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(table, ifindex);
	unsigned depth;

	for (depth = 0; link && depth < SHUNT_DEVICE_TAGS_MAX && shunt_mirror_is_vlan(&link->info);
	     depth++)
		link = shunt_mirror_link_get(table, link->info.parent);
	return link && shunt_mirror_is_bridge(&link->info) ? link : NULL;
}

/* --- VLANs ------------------------------------------------------------------------------------ */

/* The bridge's port, or the bridge itself, is a member of the VLAN, and may forward there. NULL:
 * not so. */
static const struct shunt_brvlan *find_vlan(const struct shunt_mirror_table *table,
					    uint32_t ifindex, unsigned vid)
{
	const struct shunt_brvlan *vlan = shunt_mirror_bridge_vlan_get(table, ifindex, vid);

	return vlan && vlan->state == BR_STATE_FORWARDING ? vlan : NULL;
}

unsigned shunt_mirror_bridge_vid(const struct shunt_mirror_table *table,
				 const struct shunt_mirror_link *bridge,
				 const struct shunt_mirror_link *device)
{
	const struct shunt_brvlan *vlan;

	if (!bridge->info.bridge.filters_vlans)
		return 0;
	if (bridge == device) {
		vlan = shunt_mirror_bridge_pvid(table, bridge->info.ifindex);
		vlan = vlan ? find_vlan(table, bridge->info.ifindex, vlan->vid) : NULL;
		return vlan && vlan->is_bare ? vlan->vid : 0;
	}
	if (device->info.parent != bridge->info.ifindex ||
	    device->info.vlan.type_be != bridge->info.bridge.vlan_type_be)
		return 0;
	vlan = find_vlan(table, bridge->info.ifindex, device->info.vlan.id);
	return vlan && !vlan->is_bare ? vlan->vid : 0;
}

static uint32_t find_vlan_device(const struct shunt_mirror_table *table,
				 const struct shunt_mirror_link *bridge, unsigned vid)
{
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->links, idx))) {
		link = shunt_mirror_store_at(&table->links, idx);
		if (link->info.parent == bridge->info.ifindex && link->info.vlan.id == vid &&
		    link->info.vlan.type_be == bridge->info.bridge.vlan_type_be)
			return link->info.ifindex;
	}
	return 0;
}

uint32_t shunt_mirror_bridge_untagged(const struct shunt_mirror_table *table,
				      const struct shunt_mirror_link *port,
				      const struct shunt_mirror_link *bridge, uint32_t *vlan)
{
	const struct shunt_brvlan *pvid, *own;

	*vlan = 0;
	if (!bridge->info.bridge.filters_vlans)
		return bridge->info.ifindex;
	*vlan = SHUNT_TABLES_VLANS;
	pvid = shunt_mirror_bridge_pvid(table, port->info.ifindex);
	if (!pvid || !find_vlan(table, port->info.ifindex, pvid->vid))
		return 0;
	*vlan |= pvid->vid;
	own = find_vlan(table, bridge->info.ifindex, pvid->vid);
	if (!own)
		return 0;
	return own->is_bare ? bridge->info.ifindex : find_vlan_device(table, bridge, pvid->vid);
}

/* --- ports ------------------------------------------------------------------------------------ */

/* A VLAN device of a port itself gets the frames of its tag before the bridge does
 * (vlan_do_receive), whatever its state. */
bool shunt_mirror_bridge_shares(const struct shunt_mirror_aboves *aboves,
				const struct shunt_device *device, uint32_t bridge)
{
	const struct shunt_mirror_link *link, *port;
	uint32_t idx = 0;

	while (device->tag_cnt && (idx = shunt_mirror_store_next(&aboves->table->links, idx))) {
		link = shunt_mirror_store_at(&aboves->table->links, idx);
		if (link->info.vlan.type_be != device->tags[0].type_be ||
		    link->info.vlan.id != ntohs(device->tags[0].tci_be))
			continue;
		port = shunt_mirror_link_get(aboves->table, link->info.parent);
		if (port && port->info.master == bridge &&
		    aboves->port_of(aboves->ctx, port->info.ifindex) >= 0)
			return true;
	}
	return false;
}

enum shunt_above_state shunt_mirror_bridge_members(const struct shunt_mirror_aboves *aboves,
						   const struct shunt_mirror_link *bridge,
						   const struct shunt_mirror_link *device,
						   struct shunt_device *out)
{
	const unsigned vid = shunt_mirror_bridge_vid(aboves->table, bridge, device);
	const struct shunt_mirror_link *link;
	unsigned port_cnt = 0;
	uint32_t idx = 0;
	int port;

	out->policy = SHUNT_DEVICE_BY_STATION;
	while ((idx = shunt_mirror_store_next(&aboves->table->links, idx))) {
		link = shunt_mirror_store_at(&aboves->table->links, idx);
		port = link->info.master == bridge->info.ifindex
			       ? aboves->port_of(aboves->ctx, link->info.ifindex)
			       : -1;
		if (port < 0)
			continue;
		port_cnt++;
		if (vid && !find_vlan(aboves->table, link->info.ifindex, vid))
			continue;
		if (out->member_cnt == SHUNT_DEVICE_MEMBERS_MAX)
			return SHUNT_ABOVE_no_room;
		out->members[out->member_cnt++] = (uint8_t)port;
	}
	if (!port_cnt)
		return SHUNT_ABOVE_elsewhere;
	if (!(bridge->info.flags & IFF_UP))
		return SHUNT_ABOVE_down;
	if (bridge->info.xdp)
		return SHUNT_ABOVE_program;
	if (bridge->info.bridge.filters_vlans && (!vid || !out->member_cnt))
		return SHUNT_ABOVE_filtering;
	return SHUNT_ABOVE_followed;
}

/* should_deliver, and that the frame leaves: a port without carrier may have a backup port. */
static bool can_send(const struct shunt_mirror_link *port, const struct shunt_mirror_link *bridge)
{
	const uint32_t up = IFF_UP | IFF_LOWER_UP;

	return port->info.master == bridge->info.ifindex && (port->info.flags & up) == up &&
	       port->info.bridged.state == BR_STATE_FORWARDING;
}

uint32_t shunt_mirror_bridge_find(const struct shunt_mirror_table *table,
				  const struct shunt_mirror_link *bridge, unsigned vid,
				  const uint8_t *mac)
{
	const struct shunt_mirror_neigh *entry =
		shunt_mirror_station_get(table, bridge->info.ifindex, vid, mac);
	const struct shunt_mirror_link *port =
		entry ? shunt_mirror_link_get(table, entry->info.port) : NULL;

	return port && can_send(port, bridge) ? port->info.ifindex : 0;
}
