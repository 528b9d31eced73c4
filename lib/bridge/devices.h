/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that are told of one by one and stand for a bit of a mask each: ports that only the
 * kernel's bridge has, for that bridge; VLAN devices, for the port beneath. A dump names all that
 * there are: what is not named between begin and end goes. The bit of a device that finds no room
 * is set until the next dump begins. Thread: who has the guard. */
#ifndef SHUNT_BRIDGE_DEVICES_H
#define SHUNT_BRIDGE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#define SHUNT_BRIDGE_DEVICES_MAX 512

struct shunt_bridge_devices {
	struct {
		uint32_t ifindex;
		uint8_t bit;
		bool is_named; /* since the last dump began */
		bool stays;    /* no dump names it */
	} at[SHUNT_BRIDGE_DEVICES_MAX];
	unsigned cnt;
	uint64_t lost; /* bits of those that found no room */
};

/* shunt_bridge_devices_put names a device, which stands for that bit from now on, and for no other.
 * shunt_bridge_devices_del removes one, if it is there. Cost: a walk over the devices. */
void shunt_bridge_devices_put(struct shunt_bridge_devices *devices, uint32_t ifindex, unsigned bit);
void shunt_bridge_devices_del(struct shunt_bridge_devices *devices, uint32_t ifindex);

/* shunt_bridge_devices_keep makes a device one that stays, whatever a dump names, until it is put
 * anew or removed. */
void shunt_bridge_devices_keep(struct shunt_bridge_devices *devices, uint32_t ifindex);

/* shunt_bridge_devices_begin and shunt_bridge_devices_end are the two ends of a dump. */
void shunt_bridge_devices_begin(struct shunt_bridge_devices *devices);
void shunt_bridge_devices_end(struct shunt_bridge_devices *devices);

/* shunt_bridge_devices_mask returns the bits that any device stands for. */
uint64_t shunt_bridge_devices_mask(const struct shunt_bridge_devices *devices);

#endif
