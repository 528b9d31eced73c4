// SPDX-License-Identifier: BSD-2-Clause
/* The VLANs of bridges that filter them, and of their ports; see mirror/table.h. */
#include "mirror/table.h"

static bool eq(const void *obj, const void *key)
{
	const struct shunt_brvlan *a = &((const struct shunt_mirror_bridge_vlan *)obj)->info;
	const struct shunt_brvlan *b = key;

	return a->ifindex == b->ifindex && a->vid == b->vid;
}

static uint32_t hash_of(const struct shunt_brvlan *info)
{
	return shunt_mirror_hash(&info->ifindex, sizeof(info->ifindex), info->vid);
}

/* A port has one PVID. The kernel tells of the VLAN that is it now, and of no other
 * (__vlan_add_pvid, br_vlan_notify). */
static void set_pvid(struct shunt_mirror_table *table, const struct shunt_brvlan *pvid)
{
	struct shunt_mirror_bridge_vlan *vlan;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->bridge_vlans, idx))) {
		vlan = shunt_mirror_store_at(&table->bridge_vlans, idx);
		if (vlan->info.ifindex == pvid->ifindex && vlan->info.vid != pvid->vid)
			vlan->info.is_pvid = false;
	}
}

int shunt_mirror_bridge_vlan_put(struct shunt_mirror_table *table, const struct shunt_brvlan *info)
{
	const int ret = shunt_mirror_store_put(&table->bridge_vlans, hash_of(info), eq, info,
					       sizeof(*info), table->mark, NULL);

	if (ret > 0 && info->is_pvid)
		set_pvid(table, info);
	return ret;
}

int shunt_mirror_bridge_vlan_del(struct shunt_mirror_table *table, const struct shunt_brvlan *info)
{
	const uint32_t hash = hash_of(info);
	const uint32_t idx = shunt_mirror_store_find(&table->bridge_vlans, hash, eq, info);

	if (!idx)
		return 0;
	shunt_mirror_store_drop(&table->bridge_vlans, hash, idx);
	return 1;
}

const struct shunt_brvlan *shunt_mirror_bridge_vlan_get(const struct shunt_mirror_table *table,
							uint32_t ifindex, unsigned vid)
{
	const struct shunt_brvlan key = {.ifindex = ifindex, .vid = (uint16_t)vid};
	const uint32_t idx = shunt_mirror_store_find(&table->bridge_vlans, hash_of(&key), eq, &key);
	const struct shunt_mirror_bridge_vlan *vlan =
		idx ? shunt_mirror_store_at(&table->bridge_vlans, idx) : NULL;

	return vlan ? &vlan->info : NULL;
}

const struct shunt_brvlan *shunt_mirror_bridge_pvid(const struct shunt_mirror_table *table,
						    uint32_t ifindex)
{
	const struct shunt_mirror_bridge_vlan *vlan;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->bridge_vlans, idx))) {
		vlan = shunt_mirror_store_at(&table->bridge_vlans, idx);
		if (vlan->info.ifindex == ifindex && vlan->info.is_pvid)
			return &vlan->info;
	}
	return NULL;
}

void shunt_mirror_bridge_vlan_forget(struct shunt_mirror_table *table, uint32_t ifindex)
{
	struct shunt_brvlan info;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->bridge_vlans, idx))) {
		info = ((struct shunt_mirror_bridge_vlan *)shunt_mirror_store_at(
				&table->bridge_vlans, idx))
			       ->info;
		if (info.ifindex == ifindex)
			shunt_mirror_bridge_vlan_del(table, &info);
	}
}
