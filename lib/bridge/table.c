// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/table.h"

#include <jansson.h>
#include <string.h>

#include "base/mac.h"

_Static_assert(sizeof(struct shunt_mac_bucket) == sizeof(struct shunt_steer_mac_bucket) &&
		       SHUNT_MAC_SLOT_CNT == SHUNT_STEER_MAC_SLOT_CNT &&
		       SHUNT_MAC_KEY_BITS == SHUNT_STEER_MAC_KEY_BITS &&
		       SHUNT_MAC_SLOT_VALID == SHUNT_STEER_MAC_VALID &&
		       SHUNT_MAC_SLOT_SECOND == SHUNT_STEER_MAC_SECOND &&
		       SHUNT_MAC_SLOT_STATIC == SHUNT_STEER_MAC_STATIC &&
		       SHUNT_MAC_SLOT_PORT == SHUNT_STEER_MAC_PORT,
	       "the workers' table is the programs'");

/* What every bridging port has room for, however many addresses another port's stations make up. */
#define RESERVED_MAX 1024u

static void reserve(struct shunt_bridge *b)
{
	const uint32_t each =
		SHUNT_MIN(RESERVED_MAX, SHUNT_MAC_MAX_DEFAULT / 2 / SHUNT_MAX(b->ports->cnt, 1u));
	unsigned i;

	for (i = 0; i < b->ports->cnt; i++)
		if (shunt_bridge_has(b, i, i))
			shunt_mac_reserve(b->macs, i, each);
}

/* What the programs remember of stations is no longer so. */
static void tell_programs(void *arg)
{
	const struct shunt_bridge *b = arg;
	unsigned i;

	for (i = 0; i < b->ports->cnt; i++)
		if (b->ports->at[i].xdp && shunt_bridge_has(b, i, i))
			shunt_xdp_forget_stations(b->ports->at[i].xdp);
}

static int make_table(struct shunt_bridge *b, uint64_t seed, struct shunt_err *err)
{
	int ret;

	if (!shunt_ports_any_device(b->ports))
		return shunt_mac_create(&b->macs, SHUNT_MAC_MAX_DEFAULT, seed, err);
	ret = shunt_xdp_macs_open(&b->xdp_macs, err);
	if (ret)
		return ret;
	ret = shunt_mac_create_in(&b->macs, b->xdp_macs->buckets, SHUNT_XDP_MACS_BYTES,
				  SHUNT_MAC_MAX_DEFAULT, seed, err);
	if (ret)
		return ret;
	b->xdp_macs->bridge->factor = b->macs->factor;
	b->vlans.told = b->xdp_macs->vlans;
	shunt_mac_watch(b->macs, tell_programs, b);
	shunt_bridge_publish(b);
	return 0;
}

int shunt_bridge_open_table(struct shunt_bridge *b, uint64_t seed, struct shunt_err *err)
{
	const int ret = make_table(b, seed, err);

	if (!ret)
		reserve(b);
	return ret;
}

void shunt_bridge_publish(struct shunt_bridge *b)
{
	if (!b->xdp_macs)
		return;
	/* read by the programs, which order nothing by them */
	__atomic_store_n(&b->xdp_macs->bridge->forwarding, b->masks.forwarding, __ATOMIC_RELAXED);
	__atomic_store_n(&b->xdp_macs->bridge->untagged, b->masks.untagged, __ATOMIC_RELAXED);
	__atomic_store_n(&b->xdp_macs->bridge->kernels, b->masks.kernels, __ATOMIC_RELAXED);
	__atomic_store_n(&b->xdp_macs->bridge->filters, b->masks.filters, __ATOMIC_RELAXED);
	__atomic_store_n(&b->xdp_macs->bridge->learning, b->masks.learning, __ATOMIC_RELAXED);
	__atomic_store_n(&b->xdp_macs->bridge->tick, b->macs->tick, __ATOMIC_RELAXED);
	tell_programs(b);
}

static void inherit(struct shunt_bridge *b, const json_t *row)
{
	const char *text = json_string_value(json_object_get(row, "mac"));
	const char *name = json_string_value(json_object_get(row, "port"));
	const struct shunt_port *port = name ? shunt_ports_named(b->ports, name) : NULL;
	uint8_t mac[6];

	if (!port || !shunt_bridge_has(b, port->index, port->index) ||
	    b->bridges[b->bridge_of[port->index]].ifindex || !text || shunt_mac_parse(text, mac))
		return;
	shunt_mac_learn(b->macs, shunt_mac_key(mac, b->bridge_of[port->index]), port->index);
}

void shunt_bridge_inherit(struct shunt_bridge *b, const struct json_t *macs)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(macs, "macs"), i, row)
		inherit(b, row);
}

bool shunt_bridge_has(const struct shunt_bridge *b, unsigned port, unsigned other)
{
	const uint64_t both = 1ULL << port | 1ULL << other;

	return (b->bridges[b->bridge_of[port]].members & both) == both;
}
