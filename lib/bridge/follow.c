// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/follow.h"

#include <arpa/inet.h>
#include <linux/if_bridge.h>
#include <linux/if_ether.h>
#include <string.h>

#include "base/clock.h"
#include "bridge/table.h"
#include "bridge/brlink.h"

/* Messages a service takes from each worker: some milliseconds' work. */
#define TAKE_MAX      SHUNT_LEARN_LEN

/* The kernel's bridge hears of a station three times in an ageing time. */
#define TELLS_PER_AGE 3u

/* --- what the kernel's bridge says ------------------------------------------------------------ */

static int bridge_over(const struct shunt_bridge *b, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (b->bridges[i].ifindex && b->bridges[i].ifindex == ifindex)
			return (int)i;
	return -1;
}

static void set_bit(uint64_t *word, unsigned bit, bool on)
{
	uint64_t mask = 1ULL << bit;

	__atomic_store_n(word, on ? *word | mask : *word & ~mask, __ATOMIC_RELAXED);
}

static void remove_entry(struct shunt_bridge *b, uint64_t key, unsigned port)
{
	struct shunt_mac_entry now;

	if (!shunt_mac_get(b->macs, key, &now) && now.port == port)
		shunt_mac_del(b->macs, key);
}

/* To shunt, a station behind a port that is the kernel's alone, or another bridge's, is the host's:
 * what goes there is punted. A port that was moved to this bridge is such a one. */
static void follow_entry(void *arg, const struct shunt_fdb_entry *entry, bool is_gone)
{
	struct shunt_bridge *b = arg;
	int bridge = bridge_over(b, entry->bridge), at = shunt_ports_at(b->ports, entry->ifindex);
	unsigned port = SHUNT_MAC_HOST;
	struct shunt_mac_entry now;
	uint64_t key;

	if (bridge < 0)
		return;
	if (at >= 0 && entry->kind != SHUNT_FDB_LOCAL && b->bridges[bridge].members >> at & 1)
		port = (unsigned)at;
	if (entry->vid && bridge >= SHUNT_MAC_VLAN_BRIDGES)
		return;
	key = shunt_mac_key(entry->mac, shunt_mac_group((unsigned)bridge, entry->vid));
	if (is_gone) {
		remove_entry(b, key, port);
		return;
	}
	if (entry->kind != SHUNT_FDB_DYNAMIC) {
		b->full += shunt_mac_set(b->macs, key, port, entry->kind != SHUNT_FDB_STATIC) ==
			   SHUNT_MAC_FULL;
		return;
	}
	if (!shunt_mac_get(b->macs, key, &now) && now.is_static)
		shunt_mac_del(b->macs, key); /* it was static in the kernel as well, until now */
	b->full += shunt_mac_learn(b->macs, key, port) == SHUNT_MAC_FULL;
}

static void set_foreign(struct shunt_bridge *b)
{
	__atomic_store_n(&b->masks.foreign, shunt_bridge_devices_mask(&b->foreign),
			 __ATOMIC_RELAXED);
}

/* A port that only the kernel's bridge has; bridge -1: it is none, or of a bridge that is not
 * followed. Shunt's own that were moved to another bridge count. */
static void follow_foreign(struct shunt_bridge *b, uint32_t ifindex, int bridge)
{
	if (bridge >= 0)
		shunt_bridge_devices_put(&b->foreign, ifindex, (unsigned)bridge);
	else
		shunt_bridge_devices_del(&b->foreign, ifindex);
	set_foreign(b);
}

static bool has_ctags(const struct shunt_bridge_one *one)
{
	return one->vlan_type_be == htons(ETH_P_8021Q);
}

/* Of a bridge that goes by other tags nobody but the kernel knows what is of a VLAN. */
static void follow_members(void *arg, const struct shunt_brvlan *first, unsigned last,
			   bool are_gone)
{
	struct shunt_bridge *b = arg;
	const int at = shunt_ports_at(b->ports, first->ifindex);

	if (at >= 0 && shunt_bridge_is_over(b, (unsigned)at))
		shunt_bridge_vlans_put(&b->vlans, (unsigned)at, first, last, are_gone,
				       has_ctags(&b->bridges[b->bridge_of[at]]));
}

/* --- what is left to the kernel --------------------------------------------------------------- */

/* Whether the bridge keeps VLANs apart in a way that only the kernel does. */
static bool is_beyond(const struct shunt_bridge *b, unsigned bridge)
{
	const struct shunt_bridge_one *one = &b->bridges[bridge];

	return one->filters_vlans &&
	       (bridge >= SHUNT_MAC_VLAN_BRIDGES || (!one->is_routed && !has_ctags(one)));
}

enum shunt_lane_reason shunt_bridge_leaves(const struct shunt_bridge *b, unsigned port)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	if (!one->ifindex || !(one->members >> port & 1))
		return SHUNT_LANE_REASON_none;
	if (b->fdb && shunt_fdb_is_behind(b->fdb))
		return SHUNT_LANE_REASON_unfollowed;
	if (is_beyond(b, b->bridge_of[port]))
		return SHUNT_LANE_REASON_vlan_filtering;
	if (b->left[port] == SHUNT_LANE_REASON_none && b->backed & one->members)
		return SHUNT_LANE_REASON_backup_port;
	return one->age_s ? b->left[port] : SHUNT_LANE_REASON_unaged;
}

/* A reader that sees one of the words before the others leaves too much to the kernel, or has
 * what was before. */
static void set_kernels(struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->ports->cnt; i++) {
		const bool is_left = shunt_bridge_leaves(b, i);
		const bool is_tagged = b->tagged >> i & 1;

		set_bit(&b->masks.untagged, i, is_tagged && !is_left);
		/* what is sent to a bridge and has tags, the router knows */
		set_bit(&b->masks.kernels, i, (is_tagged && !shunt_bridge_routes(b, i)) || is_left);
		set_bit(&b->masks.filters, i,
			shunt_bridge_is_over(b, i) && b->bridges[b->bridge_of[i]].filters_vlans);
	}
	shunt_bridge_publish(b);
}

/* The shortest of all bridges'. */
void shunt_bridge_set_age(struct shunt_bridge *b)
{
	uint32_t age_s = UINT32_MAX;
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		age_s = SHUNT_MIN(age_s, b->bridges[i].ifindex ? SHUNT_MAX(b->bridges[i].age_s, 1u)
							       : SHUNT_MAC_AGE_S_DEFAULT);
	if (age_s == b->age_s)
		return;
	b->age_s = age_s;
	b->age_due_ns = shunt_clock_ns() + age_s * SHUNT_NS_PER_SEC / SHUNT_MAC_AGE_TICKS;
	b->tell_due_ns = shunt_clock_ns() + age_s * SHUNT_NS_PER_SEC / TELLS_PER_AGE;
}

static void set_tags(struct shunt_bridge *b, unsigned bridge, uint16_t type_be)
{
	struct shunt_bridge_one *one = &b->bridges[bridge];
	unsigned i;

	if (one->vlan_type_be == type_be)
		return;
	one->vlan_type_be = type_be;
	for (i = 0; i < b->ports->cnt; i++)
		if (one->members >> i & 1)
			shunt_bridge_vlans_tell(&b->vlans, i, has_ctags(one));
}

static void follow_bridge(void *arg, const struct shunt_brlink *bridge)
{
	struct shunt_bridge *b = arg;
	int at = bridge_over(b, bridge->ifindex);

	if (at < 0)
		return;
	b->bridges[at].filters_vlans = bridge->filters_vlans;
	set_tags(b, (unsigned)at, bridge->vlan_type_be);
	b->bridges[at].age_s = bridge->age_s;
	shunt_bridge_set_age(b);
	set_kernels(b);
}

static void set_tagged(struct shunt_bridge *b)
{
	b->tagged = shunt_bridge_devices_mask(&b->vlan_devices);
	set_kernels(b);
}

/* One in another network namespace has its port's frames still. */
static void follow_vlan(void *arg, const struct shunt_brlink *vlan, bool is_gone)
{
	struct shunt_bridge *b = arg;
	const int at = shunt_ports_at(b->ports, vlan->lower);

	if (at < 0 || !shunt_bridge_is_over(b, (unsigned)at))
		return;
	if (is_gone)
		shunt_bridge_devices_del(&b->vlan_devices, vlan->ifindex);
	else
		shunt_bridge_devices_put(&b->vlan_devices, vlan->ifindex, (unsigned)at);
	if (vlan->is_moving)
		shunt_bridge_devices_keep(&b->vlan_devices, vlan->ifindex);
	set_tagged(b);
}

/* A port of shunt's that lies over a bridge of the kernel's. */
static void follow_own(struct shunt_bridge *b, unsigned at, const struct shunt_fdb_port *port,
		       bool is_member)
{
	set_bit(&b->masks.forwarding, at, is_member && port->forwards);
	set_bit(&b->masks.learning, at, is_member && port->learns);
	set_bit(&b->masks.flooding, at, is_member && port->floods);
	set_bit(&b->backed, at, is_member && port->has_backup);
	b->left[at] = is_member ? port->left : SHUNT_LANE_REASON_not_member;
	set_kernels(b);
	/* Of a member that may not forward, the kernel tells which stations it forgets. */
	if (is_member)
		return;
	shunt_mac_flush(b->macs, b->bridge_of[at], at);
	shunt_bridge_vlans_forget(&b->vlans, at);
}

static void follow_port(void *arg, const struct shunt_fdb_port *port)
{
	struct shunt_bridge *b = arg;
	const int at = shunt_ports_at(b->ports, port->ifindex);
	const int bridge = bridge_over(b, port->bridge);
	const bool is_over = at >= 0 && shunt_bridge_is_over(b, (unsigned)at);
	const bool is_member = is_over && bridge == b->bridge_of[at];

	if (bridge_over(b, port->ifindex) >= 0)
		return; /* the bridge speaks of itself */
	follow_foreign(b, port->ifindex, is_member ? -1 : bridge);
	if (!is_over)
		return;
	b->named |= 1ULL << at;
	follow_own(b, (unsigned)at, port, is_member);
}

/* --- all that it says, anew ------------------------------------------------------------------- */

/* Of the kernel's bridges. Those that are there still are told of, and who is heard is learned. */
static void forget_stations(struct shunt_bridge *b)
{
	struct shunt_mac_entry entry;
	uint64_t at = 0;

	while (shunt_mac_next(b->macs, &at, &entry))
		if (b->bridges[shunt_mac_key_bridge(entry.key)].ifindex)
			shunt_mac_del(b->macs, entry.key);
}

/* Meanwhile nothing is forwarded by what is known: the frames are the kernel's. */
static void begin_anew(void *arg)
{
	struct shunt_bridge *b = arg;
	unsigned i;

	b->named = 0;
	for (i = 0; i < b->ports->cnt; i++)
		if (shunt_bridge_is_over(b, i))
			shunt_bridge_vlans_forget(&b->vlans, i);
	shunt_bridge_devices_begin(&b->foreign);
	shunt_bridge_devices_begin(&b->vlan_devices);
	forget_stations(b);
}

static void end_anew(void *arg)
{
	const struct shunt_fdb_port none = {.bridge = 0};
	struct shunt_bridge *b = arg;
	unsigned i;

	shunt_bridge_devices_end(&b->foreign);
	set_foreign(b);
	shunt_bridge_devices_end(&b->vlan_devices);
	set_tagged(b);
	for (i = 0; i < b->ports->cnt; i++)
		if (shunt_bridge_is_over(b, i) && !(b->named >> i & 1))
			follow_own(b, i, &none, false);
}

const struct shunt_fdb_ops shunt_bridge_fdb_ops = {
	.entry = follow_entry,
	.port = follow_port,
	.bridge = follow_bridge,
	.vlan = follow_vlan,
	.members = follow_members,
	.begin = begin_anew,
	.end = end_anew,
};

/* --- what workers say ------------------------------------------------------------------------- */

static void tell_kernel(struct shunt_bridge *b, uint64_t key, unsigned port)
{
	uint8_t mac[6];

	if (!b->fdb || !b->bridges[shunt_mac_key_bridge(key)].ifindex || port >= SHUNT_PORT_MAX)
		return;
	shunt_mac_key_mac(key, mac);
	shunt_fdb_tell(b->fdb, b->ports->at[port].netdev.ifindex, mac, shunt_mac_key_vid(key));
}

static void learn(struct shunt_bridge *b, const struct shunt_told *told)
{
	enum shunt_mac_result result = shunt_mac_learn(b->macs, told->key, told->port);

	b->learned += result == SHUNT_MAC_NEW;
	b->moved += result == SHUNT_MAC_MOVED;
	b->full += result == SHUNT_MAC_FULL;
	b->pinned += result == SHUNT_MAC_STATIC;
	if (result == SHUNT_MAC_NEW || result == SHUNT_MAC_MOVED)
		tell_kernel(b, told->key, told->port);
}

void shunt_bridge_service(struct shunt_bridge *b)
{
	struct shunt_told told;
	unsigned i, n;
	bool was_behind;

	b->is_behind = false;
	for (i = 0; i < b->learn_cnt; i++) {
		shunt_learn_hush(&b->learns[i]);
		for (n = 0; n < TAKE_MAX && shunt_learn_take(&b->learns[i], &told); n++)
			learn(b, &told);
		b->is_behind |= n == TAKE_MAX;
	}
	if (!b->fdb)
		return;
	was_behind = shunt_fdb_is_behind(b->fdb);
	shunt_fdb_service(b->fdb);
	if (was_behind != shunt_fdb_is_behind(b->fdb))
		set_kernels(b);
}

bool shunt_bridge_is_behind(const struct shunt_bridge *b)
{
	return b->is_behind || (b->fdb && shunt_fdb_is_behind(b->fdb));
}

int shunt_bridge_fd(const struct shunt_bridge *b)
{
	return b->epoll_fd;
}

static void tell_all(struct shunt_bridge *b)
{
	struct shunt_mac_entry entry;
	uint64_t at = 0;

	while (shunt_mac_next(b->macs, &at, &entry))
		if (!entry.is_static && entry.age_ticks <= SHUNT_MAC_AGE_TICKS / TELLS_PER_AGE)
			tell_kernel(b, entry.key, entry.port);
}

void shunt_bridge_tick(struct shunt_bridge *b)
{
	const uint64_t age_ns = b->age_s * SHUNT_NS_PER_SEC;
	uint64_t now = shunt_clock_ns();

	for (; now >= b->age_due_ns; b->age_due_ns += age_ns / SHUNT_MAC_AGE_TICKS)
		b->aged += shunt_mac_age(b->macs, NULL, NULL);
	shunt_bridge_publish(b);
	if (!b->fdb || now < b->tell_due_ns)
		return;
	b->tell_due_ns = now + age_ns / TELLS_PER_AGE;
	tell_all(b);
}

uint64_t shunt_bridge_current_ns(const struct shunt_bridge *b, uint64_t now_ns, bool is_idle)
{
	if (!b->fdb || is_idle || shunt_fdb_is_behind(b->fdb))
		return now_ns;
	return SHUNT_MIN(shunt_fdb_current_ns(b->fdb), now_ns);
}

bool shunt_bridge_has_tells(const struct shunt_bridge *b)
{
	return b->fdb && shunt_fdb_has_tells(b->fdb);
}

void shunt_bridge_tell(struct shunt_bridge *b)
{
	bool are_any;

	if (!b->fdb || !shunt_guard_try(b->ports->guard))
		return;
	are_any = shunt_fdb_take_tells(b->fdb);
	shunt_guard_leave(b->ports->guard);
	if (are_any)
		shunt_fdb_send_tells(b->fdb);
}
