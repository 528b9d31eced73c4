// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/devices.h"

void shunt_bridge_devices_del(struct shunt_bridge_devices *devices, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < devices->cnt; i++)
		if (devices->at[i].ifindex == ifindex) {
			devices->at[i] = devices->at[--devices->cnt];
			return;
		}
}

void shunt_bridge_devices_put(struct shunt_bridge_devices *devices, uint32_t ifindex, unsigned bit)
{
	shunt_bridge_devices_del(devices, ifindex);
	if (devices->cnt == SHUNT_BRIDGE_DEVICES_MAX) {
		devices->lost |= 1ULL << bit;
		return;
	}
	devices->at[devices->cnt].ifindex = ifindex;
	devices->at[devices->cnt].bit = (uint8_t)bit;
	devices->at[devices->cnt].stays = false;
	devices->at[devices->cnt++].is_named = true;
}

void shunt_bridge_devices_keep(struct shunt_bridge_devices *devices, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < devices->cnt; i++)
		devices->at[i].stays |= devices->at[i].ifindex == ifindex;
}

void shunt_bridge_devices_begin(struct shunt_bridge_devices *devices)
{
	unsigned i;

	devices->lost = 0;
	for (i = 0; i < devices->cnt; i++)
		devices->at[i].is_named = false;
}

void shunt_bridge_devices_end(struct shunt_bridge_devices *devices)
{
	unsigned i = 0;

	while (i < devices->cnt)
		if (devices->at[i].is_named || devices->at[i].stays)
			i++;
		else
			devices->at[i] = devices->at[--devices->cnt];
}

uint64_t shunt_bridge_devices_mask(const struct shunt_bridge_devices *devices)
{
	uint64_t mask = devices->lost;
	unsigned i;

	for (i = 0; i < devices->cnt; i++)
		mask |= 1ULL << devices->at[i].bit;
	return mask;
}
