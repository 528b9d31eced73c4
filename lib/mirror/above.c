// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/above.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>

#include "mirror/bond.h"
#include "mirror/space.h"

const char *shunt_above_state_name(enum shunt_above_state state)
{
	static const char *const names[] = {
#define X(name, help) #name,
		SHUNT_ABOVE_STATES(X)
#undef X
	};

	return names[state];
}

const char *shunt_above_state_help(enum shunt_above_state state)
{
	static const char *const helps[] = {
#define X(name, help) help,
		SHUNT_ABOVE_STATES(X)
#undef X
	};

	return helps[state];
}

struct above {
	struct shunt_mirror_obj obj;
	uint32_t ifindex;
	uint32_t number;
};

static bool eq(const void *obj, const void *key)
{
	return ((const struct above *)obj)->ifindex == *(const uint32_t *)key;
}

static uint32_t hash_of(uint32_t ifindex)
{
	return shunt_mirror_hash(&ifindex, sizeof(ifindex), 0);
}

static uint32_t find(const struct shunt_mirror_aboves *aboves, uint32_t ifindex)
{
	return shunt_mirror_store_find(&aboves->store, hash_of(ifindex), eq, &ifindex);
}

void shunt_mirror_above_init(struct shunt_mirror_aboves *aboves)
{
	shunt_mirror_store_init(&aboves->store, sizeof(struct above), 0);
}

void shunt_mirror_above_fini(struct shunt_mirror_aboves *aboves)
{
	struct above *above;
	uint32_t idx = 0;

	while (aboves->devices && (idx = shunt_mirror_store_next(&aboves->store, idx))) {
		above = shunt_mirror_store_at(&aboves->store, idx);
		shunt_devices_hide(aboves->devices, above->number);
		shunt_devices_del(aboves->devices, above->number);
	}
	shunt_mirror_store_fini(&aboves->store);
}

uint32_t shunt_mirror_above_number(const struct shunt_mirror_aboves *aboves, uint32_t ifindex)
{
	const uint32_t idx = find(aboves, ifindex);

	return idx ? ((const struct above *)shunt_mirror_store_at(&aboves->store, idx))->number : 0;
}

/* --- what the kernel has ---------------------------------------------------------------------- */

static bool is_vlan(const struct shunt_mirror_link_info *info)
{
	return info->vlan.type_be && info->parent;
}

static bool is_ether(const struct shunt_mirror_link_info *info)
{
	return info->type == ARPHRD_ETHER && info->mac_len == ETH_ALEN;
}

/* A VLAN device's port, or its bond's. */
static enum shunt_above_state find_ports(const struct shunt_mirror_aboves *aboves, uint32_t ifindex,
					 struct shunt_device *out)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(aboves->table, ifindex);
	const int port = aboves->port_of(aboves->ctx, ifindex);

	if (port >= 0) {
		out->members[0] = (uint8_t)port;
		out->member_cnt = 1;
		return SHUNT_ABOVE_followed;
	}
	return link && shunt_mirror_is_bond(&link->info)
		       ? shunt_mirror_bond_members(aboves, link, out)
		       : SHUNT_ABOVE_elsewhere;
}

/* The VLAN device between this one and the port or the bond; NULL: there is none. */
static const struct shunt_mirror_link *find_beneath(const struct shunt_mirror_aboves *aboves,
						    const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_link *beneath =
		is_vlan(&link->info) ? shunt_mirror_link_get(aboves->table, link->info.parent)
				     : NULL;

	return beneath && is_vlan(&beneath->info) ? beneath : NULL;
}

/* What is redirected to a port may be longer than its MTU by one tag (xdp_ok_fwd_dev). Longer
 * packets are the kernel's, which sends them. */
static uint32_t mtu_max(const struct shunt_mirror_aboves *aboves,
			const struct shunt_mirror_link *link,
			const struct shunt_mirror_link *beneath)
{
	const struct shunt_mirror_link *port =
		beneath ? shunt_mirror_link_get(aboves->table, beneath->info.parent) : NULL;

	return port ? SHUNT_MIN(link->info.mtu, port->info.mtu - 4) : link->info.mtu;
}

static void put_tag(struct shunt_device *out, const struct shunt_mirror_vlan *vlan)
{
	out->tags[out->tag_cnt].type_be = vlan->type_be;
	out->tags[out->tag_cnt].tci_be = htons(vlan->id);
	out->pcps[out->tag_cnt] = vlan->pcps;
	out->tag_cnt++;
}

/* What comes between a device's packets and the port: another program, which sees them first, or a
 * priority that the table has no room for. Of the device itself also what is above it. */
static enum shunt_above_state state_of(const struct shunt_mirror_aboves *aboves,
				       const struct shunt_mirror_link *link,
				       const struct shunt_mirror_link *beneath)
{
	if (!(link->info.flags & IFF_UP) || (beneath && !(beneath->info.flags & IFF_UP)))
		return SHUNT_ABOVE_down;
	if (link->info.master && !shunt_mirror_vrf(aboves->table, link))
		return SHUNT_ABOVE_member;
	if (link->info.xdp || (beneath && beneath->info.xdp))
		return SHUNT_ABOVE_program;
	return link->info.vlan.is_odd ? SHUNT_ABOVE_priorities : SHUNT_ABOVE_followed;
}

enum shunt_above_state shunt_mirror_above_look(const struct shunt_mirror_aboves *aboves,
					       uint32_t ifindex, struct shunt_device *out)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(aboves->table, ifindex);
	const struct shunt_mirror_link *beneath;
	enum shunt_above_state state = SHUNT_ABOVE_elsewhere;

	memset(out, 0, sizeof(*out));
	if (!aboves->devices || !link || !is_ether(&link->info))
		return state;
	beneath = find_beneath(aboves, link);
	if (is_vlan(&link->info))
		state = find_ports(aboves, beneath ? beneath->info.parent : link->info.parent, out);
	else if (shunt_mirror_is_bond(&link->info))
		state = shunt_mirror_bond_members(aboves, link, out);
	if (state == SHUNT_ABOVE_elsewhere)
		return state;
	if (beneath)
		put_tag(out, &beneath->info.vlan);
	if (is_vlan(&link->info))
		put_tag(out, &link->info.vlan);
	memcpy(out->mac, link->info.mac, ETH_ALEN); /* which is in adjacencies */
	out->ifindex = ifindex;
	out->mtu_max = mtu_max(aboves, link, beneath);
	out->priorities = link->info.vlan.priorities;
	return state == SHUNT_ABOVE_followed ? state_of(aboves, link, beneath) : state;
}

/* --- what the table has ----------------------------------------------------------------------- */

static void put(struct shunt_mirror_aboves *aboves, uint32_t ifindex, uint32_t idx, uint32_t number)
{
	struct above *above;

	if (!number) {
		if (idx)
			shunt_mirror_store_drop(&aboves->store, hash_of(ifindex), idx);
		return;
	}
	above = shunt_mirror_store_at(&aboves->store, idx);
	above->number = number;
}

/* 0 without memory. */
static uint32_t make(struct shunt_mirror_aboves *aboves, uint32_t ifindex)
{
	const uint32_t idx = shunt_mirror_store_alloc(&aboves->store);

	if (!idx)
		return 0;
	((struct above *)shunt_mirror_store_at(&aboves->store, idx))->ifindex = ifindex;
	shunt_mirror_store_link(&aboves->store, hash_of(ifindex), idx);
	return idx;
}

void shunt_mirror_above_follow(struct shunt_mirror_aboves *aboves, uint32_t ifindex,
			       void (*renumbered)(void *arg, uint32_t ifindex), void *arg)
{
	const uint32_t old = shunt_mirror_above_number(aboves, ifindex);
	uint32_t idx = find(aboves, ifindex), number = 0;
	struct shunt_device want;
	bool is_wanted;

	if (!aboves->devices)
		return;
	is_wanted = shunt_mirror_above_look(aboves, ifindex, &want) == SHUNT_ABOVE_followed;
	if (old) {
		/* what is forwarded from it is set by others */
		want.flags = shunt_devices_at(aboves->devices, old)->flags;
		if (is_wanted &&
		    !memcmp(&want, shunt_devices_at(aboves->devices, old), sizeof(want)))
			return;
		shunt_devices_hide(aboves->devices, old);
	}
	if (is_wanted && !idx)
		idx = make(aboves, ifindex);
	if (is_wanted && idx)
		number = shunt_devices_add(aboves->devices, &want);
	put(aboves, ifindex, idx, number);
	if (number == old)
		return;
	aboves->change_cnt++;
	renumbered(arg, ifindex);
	if (old)
		shunt_devices_del(aboves->devices, old);
}
