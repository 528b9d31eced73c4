// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/above.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>

#include "mirror/bond.h"
#include "mirror/bridge.h"
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

/* The numbers of a device and of its legs, in the order of its members; 0: there is none. */
struct numbers {
	uint32_t device;
	uint32_t legs[SHUNT_DEVICE_MEMBERS_MAX];
};

struct above {
	struct shunt_mirror_obj obj;
	uint32_t ifindex;
	struct numbers numbers;
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

static void del(struct shunt_mirror_aboves *aboves, const struct numbers *numbers)
{
	unsigned i;

	if (numbers->device)
		shunt_devices_del(aboves->devices, numbers->device);
	for (i = 0; i < SHUNT_DEVICE_MEMBERS_MAX; i++)
		if (numbers->legs[i])
			shunt_devices_del(aboves->devices, numbers->legs[i]);
}

void shunt_mirror_above_fini(struct shunt_mirror_aboves *aboves)
{
	struct above *above;
	uint32_t idx = 0;

	while (aboves->devices && (idx = shunt_mirror_store_next(&aboves->store, idx))) {
		above = shunt_mirror_store_at(&aboves->store, idx);
		shunt_devices_hide(aboves->devices, above->numbers.device);
		del(aboves, &above->numbers);
	}
	shunt_mirror_store_fini(&aboves->store);
}

static struct numbers numbers_of(const struct shunt_mirror_aboves *aboves, uint32_t ifindex)
{
	const uint32_t idx = find(aboves, ifindex);

	return idx ? ((const struct above *)shunt_mirror_store_at(&aboves->store, idx))->numbers
		   : (struct numbers){.device = 0};
}

uint32_t shunt_mirror_above_number(const struct shunt_mirror_aboves *aboves, uint32_t ifindex)
{
	const uint32_t idx = find(aboves, ifindex);

	return idx ? ((const struct above *)shunt_mirror_store_at(&aboves->store, idx))
			       ->numbers.device
		   : 0;
}

uint32_t shunt_mirror_above_leg(const struct shunt_mirror_aboves *aboves, uint32_t ifindex,
				unsigned port)
{
	const struct numbers numbers = numbers_of(aboves, ifindex);
	unsigned i;

	for (i = 0; i < SHUNT_DEVICE_MEMBERS_MAX && numbers.legs[i]; i++)
		if (shunt_devices_at(aboves->devices, numbers.legs[i])->members[0] == port)
			return numbers.legs[i];
	return 0;
}

/* --- what the kernel has ---------------------------------------------------------------------- */

static bool is_ether(const struct shunt_mirror_link_info *info)
{
	return info->type == ARPHRD_ETHER && info->mac_len == ETH_ALEN;
}

/* The ports of a bond or a bridge that a device is, or is above. */
static enum shunt_above_state find_members(const struct shunt_mirror_aboves *aboves,
					   const struct shunt_mirror_link *link,
					   const struct shunt_mirror_link *device,
					   struct shunt_device *out)
{
	if (link && shunt_mirror_is_bond(&link->info))
		return shunt_mirror_bond_members(aboves, link, out);
	if (link && shunt_mirror_is_bridge(&link->info))
		return shunt_mirror_bridge_members(aboves, link, device, out);
	return SHUNT_ABOVE_elsewhere;
}

/* A VLAN device's port, or those of the bond or the bridge beneath it. */
static enum shunt_above_state find_ports(const struct shunt_mirror_aboves *aboves, uint32_t ifindex,
					 const struct shunt_mirror_link *device,
					 struct shunt_device *out)
{
	const int port = aboves->port_of(aboves->ctx, ifindex);

	if (port >= 0) {
		out->members[0] = (uint8_t)port;
		out->member_cnt = 1;
		return SHUNT_ABOVE_followed;
	}
	return find_members(aboves, shunt_mirror_link_get(aboves->table, ifindex), device, out);
}

/* The VLAN device between this one and the port or the bond; NULL: there is none. */
static const struct shunt_mirror_link *find_beneath(const struct shunt_mirror_aboves *aboves,
						    const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_link *beneath =
		shunt_mirror_is_vlan(&link->info)
			? shunt_mirror_link_get(aboves->table, link->info.parent)
			: NULL;

	return beneath && shunt_mirror_is_vlan(&beneath->info) ? beneath : NULL;
}

/* What is redirected to a port may be longer than its MTU by one tag (xdp_ok_fwd_dev). Longer
 * packets are the kernel's, which sends them. */
static uint16_t mtu_max(const struct shunt_mirror_aboves *aboves,
			const struct shunt_mirror_link *link,
			const struct shunt_mirror_link *beneath)
{
	const struct shunt_mirror_link *port =
		beneath ? shunt_mirror_link_get(aboves->table, beneath->info.parent) : NULL;

	const uint32_t mtu = port ? SHUNT_MIN(link->info.mtu, port->info.mtu - 4) : link->info.mtu;

	return (uint16_t)SHUNT_MIN(mtu, (uint32_t)UINT16_MAX);
}

/* In a bridge that keeps its VLANs apart the bridge's own packets are of one, too. */
static void put_bridge_tag(const struct shunt_mirror_aboves *aboves,
			   const struct shunt_mirror_link *bridge, struct shunt_device *out)
{
	out->tags[0].type_be = bridge->info.bridge.vlan_type_be;
	out->tags[0].tci_be =
		htons((uint16_t)shunt_mirror_bridge_vid(aboves->table, bridge, bridge));
	out->tag_cnt = 1;
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
	if (shunt_mirror_is_vlan(&link->info))
		state = find_ports(aboves, beneath ? beneath->info.parent : link->info.parent, link,
				   out);
	else
		state = find_members(aboves, link, link, out);
	if (state == SHUNT_ABOVE_elsewhere)
		return state;
	if (beneath)
		put_tag(out, &beneath->info.vlan);
	if (shunt_mirror_is_vlan(&link->info))
		put_tag(out, &link->info.vlan);
	else if (shunt_mirror_bridge_vid(aboves->table, link, link))
		put_bridge_tag(aboves, link, out);
	memcpy(out->mac, link->info.mac, ETH_ALEN); /* which is in adjacencies */
	out->ifindex = ifindex;
	out->mtu_max = mtu_max(aboves, link, beneath);
	out->priorities = link->info.vlan.priorities;
	if (state == SHUNT_ABOVE_followed && out->policy == SHUNT_DEVICE_BY_STATION &&
	    shunt_mirror_bridge_shares(
		    aboves, out, shunt_mirror_bridge_of(aboves->table, ifindex)->info.ifindex))
		state = SHUNT_ABOVE_shared;
	return state == SHUNT_ABOVE_followed ? state_of(aboves, link, beneath) : state;
}

/* --- what the table has ----------------------------------------------------------------------- */

static void put(struct shunt_mirror_aboves *aboves, uint32_t ifindex, uint32_t idx,
		const struct numbers *numbers)
{
	struct above *above;

	if (!numbers->device) {
		if (idx)
			shunt_mirror_store_drop(&aboves->store, hash_of(ifindex), idx);
		return;
	}
	above = shunt_mirror_store_at(&aboves->store, idx);
	above->numbers = *numbers;
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

static unsigned leg_cnt(const struct shunt_device *device)
{
	return device->policy == SHUNT_DEVICE_BY_STATION ? device->member_cnt : 0;
}

/* A device as it is to be in the table, and of a bridge's its ports: each one's MTU, and whether
 * packets leave by it without a tag. */
struct wanted {
	struct shunt_device device;
	uint32_t mtus[SHUNT_DEVICE_MEMBERS_MAX];
	bool are_bare[SHUNT_DEVICE_MEMBERS_MAX];
};

static void read_legs(const struct shunt_mirror_aboves *aboves,
		      const struct shunt_mirror_link *bridge, struct wanted *out)
{
	const unsigned vid =
		bridge->info.bridge.filters_vlans ? ntohs(out->device.tags[0].tci_be) : 0;
	const struct shunt_brvlan *vlan;
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;
	unsigned i;
	int port;

	while ((idx = shunt_mirror_store_next(&aboves->table->links, idx))) {
		link = shunt_mirror_store_at(&aboves->table->links, idx);
		port = link->info.master == bridge->info.ifindex
			       ? aboves->port_of(aboves->ctx, link->info.ifindex)
			       : -1;
		vlan = vid ? shunt_mirror_bridge_vlan_get(aboves->table, link->info.ifindex, vid)
			   : NULL;
		for (i = 0; port >= 0 && i < out->device.member_cnt; i++)
			if (out->device.members[i] == port) {
				out->mtus[i] = link->info.mtu;
				out->are_bare[i] = vlan && vlan->is_bare;
			}
	}
}

static bool find_wanted(const struct shunt_mirror_aboves *aboves, uint32_t ifindex,
			struct wanted *out)
{
	if (shunt_mirror_above_look(aboves, ifindex, &out->device) != SHUNT_ABOVE_followed)
		return false;
	if (leg_cnt(&out->device))
		read_legs(aboves, shunt_mirror_bridge_of(aboves->table, ifindex), out);
	return true;
}

/* What leaves by one of a bridge's ports: no longer than that port takes, with its tags but one. */
static struct shunt_device leg_of(const struct wanted *want, uint32_t base, unsigned member)
{
	const uint32_t inner_len = want->device.tag_cnt > 1 ? 4 : 0;
	struct shunt_device leg = want->device;

	memset(leg.members, 0, sizeof(leg.members));
	leg.members[0] = want->device.members[member];
	leg.member_cnt = 1;
	leg.policy = 0;
	leg.flags = 0;
	leg.base = (uint16_t)base;
	if (want->are_bare[member]) {
		leg.tag_cnt = 0;
		memset(leg.tags, 0, sizeof(leg.tags));
		memset(leg.pcps, 0, sizeof(leg.pcps));
	}
	leg.mtu_max = (uint16_t)SHUNT_MIN((uint32_t)leg.mtu_max, want->mtus[member] - inner_len);
	return leg;
}

static bool is_at(const struct shunt_mirror_aboves *aboves, uint32_t number,
		  const struct shunt_device *want)
{
	return number && !memcmp(want, shunt_devices_at(aboves->devices, number), sizeof(*want));
}

/* Whether the table has the device as it is wanted. What is forwarded from it is set by others. */
static bool has(const struct shunt_mirror_aboves *aboves, const struct numbers *numbers,
		const struct wanted *want)
{
	struct shunt_device device = want->device;
	unsigned i;

	if (!numbers->device)
		return false;
	device.base = (uint16_t)numbers->device;
	device.flags = shunt_devices_at(aboves->devices, numbers->device)->flags;
	if (!is_at(aboves, numbers->device, &device))
		return false;
	for (i = 0; i < leg_cnt(&device); i++) {
		const struct shunt_device leg = leg_of(want, numbers->device, i);

		if (!is_at(aboves, numbers->legs[i], &leg))
			return false;
	}
	return true;
}

/* All of a device, or nothing. */
static void add(struct shunt_mirror_aboves *aboves, const struct wanted *want, struct numbers *out)
{
	bool is_missing = false;
	unsigned i;

	*out = (struct numbers){.device = shunt_devices_add(aboves->devices, &want->device)};
	for (i = 0; out->device && i < leg_cnt(&want->device); i++) {
		const struct shunt_device leg = leg_of(want, out->device, i);

		out->legs[i] = shunt_devices_add(aboves->devices, &leg);
		is_missing |= !out->legs[i];
	}
	if (!is_missing)
		return;
	shunt_devices_hide(aboves->devices, out->device);
	del(aboves, out);
	*out = (struct numbers){.device = 0};
}

void shunt_mirror_above_follow(struct shunt_mirror_aboves *aboves, uint32_t ifindex,
			       void (*renumbered)(void *arg, uint32_t ifindex), void *arg)
{
	const struct numbers old = numbers_of(aboves, ifindex);
	struct numbers now = {.device = 0};
	uint32_t idx = find(aboves, ifindex);
	struct wanted want = {.mtus = {0}};
	bool is_wanted;

	if (!aboves->devices)
		return;
	is_wanted = find_wanted(aboves, ifindex, &want);
	if (is_wanted && has(aboves, &old, &want))
		return;
	if (old.device) {
		want.device.flags = shunt_devices_at(aboves->devices, old.device)->flags;
		shunt_devices_hide(aboves->devices, old.device);
	}
	if (is_wanted && !idx)
		idx = make(aboves, ifindex);
	if (is_wanted && idx)
		add(aboves, &want, &now);
	put(aboves, ifindex, idx, &now);
	if (now.device == old.device)
		return;
	aboves->change_cnt++;
	renumbered(arg, ifindex);
	del(aboves, &old);
}
