/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirrored objects: what the kernel has in links, addresses, neighbours, next-hop objects,
 * rules and routes, as plain values. Nothing here knows netlink; mirror/parse.h makes
 * these values from messages, mirror/fib.h makes a forwarding table of them.
 *
 * A dump is taken over by mark and sweep: shunt_mirror_table_mark begins a new mark, every
 * object that is put carries it, and what does not carry it when the dump is complete is
 * swept. So nothing is missing in between.
 *
 * The kernel does not send a message for every deletion: IPv4 routes and next-hop objects that go
 * with a device or a next-hop object vanish without a message. The table does the same by the
 * kernel's rules (net/ipv4/fib_semantics.c, fib_sync_down_dev; net/ipv4/nexthop.c,
 * remove_nexthop): such paths are doomed, and shunt_mirror_table_settle removes their routes
 * in one walk.
 *
 * The put functions return 1 for a change, 0 for none, -ENOMEM; del functions 1 or 0. All of it:
 * thread control.
 */
#ifndef SHUNT_MIRROR_TABLE_H
#define SHUNT_MIRROR_TABLE_H

#include "base/brvlan.h"
#include "shunt_tables.h"
#include "mirror/store.h"

enum shunt_mirror_ip { SHUNT_MIRROR_IP4, SHUNT_MIRROR_IP6, SHUNT_MIRROR_IP_CNT };

/* A RIB has the routes of one family in one space (bpf/shunt_tables.h). Those of space 0 have the
 * families' numbers. */
#define SHUNT_MIRROR_RIB_CNT (SHUNT_TABLES_SPACES * SHUNT_MIRROR_IP_CNT)

static inline unsigned shunt_mirror_rib(enum shunt_mirror_ip ip, unsigned space)
{
	return space * SHUNT_MIRROR_IP_CNT + ip;
}

/* shunt_mirror_mask clears the bits behind the first len of an address. Thread: any. */
static inline void shunt_mirror_mask(uint8_t *addr, unsigned bytes, unsigned len)
{
	unsigned i;

	for (i = 0; i<bytes; i++, len = len> 8 ? len - 8 : 0)
		addr[i] &= len >= 8 ? 0xff : (uint8_t) ~(0xff >> len);
}

static inline enum shunt_mirror_ip shunt_mirror_ip_of(unsigned rib)
{
	return (enum shunt_mirror_ip)(rib % SHUNT_MIRROR_IP_CNT);
}

static inline unsigned shunt_mirror_space_of(unsigned rib)
{
	return rib / SHUNT_MIRROR_IP_CNT;
}

/* A space that is not 0. Bit ip: of that family. */
struct shunt_mirror_space {
	uint32_t table;	  /* the kernel's, whose routes it has; 0: there is no such space */
	uint8_t is_heard; /* a dump has named all its routes */
	uint8_t is_ready; /* and all of them are in the FIB */
};

/* What a VLAN device does with tags; all zeros: it is none. */
struct shunt_mirror_vlan {
	uint64_t pcps;	     /* by priority below 16, four bits each: the PCP that packets get */
	uint32_t priorities; /* by PCP, four bits each: what comes in gets */
	uint16_t type_be;    /* of the tag */
	uint16_t id;
	uint8_t is_odd; /* a priority over 15 is mapped, which has no room here */
	uint8_t pad[7];
};

/* What a bond is, of bonds, and what it makes of a member, of members (linux/if_bonding.h). */
struct shunt_mirror_bond {
	uint8_t mode;	     /* BOND_MODE_* */
	uint8_t policy;	     /* BOND_XMIT_POLICY_* */
	uint16_t aggregator; /* 802.3ad: the active one's identifier */
	uint32_t pad;
};

struct shunt_mirror_bonded {
	uint16_t aggregator; /* 802.3ad: that it belongs to */
	uint16_t queue;	     /* not 0: what leaves by that transmit queue leaves by it */
	uint8_t is_backup;   /* it neither sends nor receives */
	uint8_t is_down;     /* the bond holds its link for lost */
	uint16_t pad;
};

/* What the kernel's bridge is, of bridges, and what it makes of a port, of ports
 * (linux/if_bridge.h). */
struct shunt_mirror_bridge {
	uint16_t vlan_type_be; /* of the tags that it filters by */
	uint8_t filters_vlans;
	uint8_t pad;
};

struct shunt_mirror_bridged {
	uint8_t state; /* BR_STATE_* */
	uint8_t pad[3];
};

/* The infos are compared as bytes: zero them before filling in. Addresses are in network
 * order, IPv4 in the first four bytes. */
struct shunt_mirror_link_info {
	uint32_t ifindex;
	uint32_t master; /* ifindex of its bridge, bond, VRF; 0: none */
	uint32_t mtu;
	uint32_t flags; /* IFF_* */
	uint16_t type;	/* ARPHRD_* */
	uint8_t operstate;
	uint8_t mac_len;
	uint8_t mac[8];
	char name[16];
	char kind[16];	    /* "veth", "bridge", ...; "" for hardware */
	uint32_t parent;    /* ifindex of the device beneath, in this network namespace; 0: none */
	uint32_t xdp;	    /* not 0: an XDP program is attached */
	uint32_t vrf_table; /* of a VRF: the kernel's table of its routes; 0: it is none */
	struct shunt_mirror_vlan vlan;
	struct shunt_mirror_bond bond;
	struct shunt_mirror_bonded bonded;
	struct shunt_mirror_bridge bridge;
	struct shunt_mirror_bridged bridged;
};

/* shunt_mirror_is_bond, _is_bridge and _is_vlan say what a device is. Thread: any. */
static inline bool shunt_mirror_is_bond(const struct shunt_mirror_link_info *info)
{
	return !strcmp(info->kind, "bond");
}

static inline bool shunt_mirror_is_bridge(const struct shunt_mirror_link_info *info)
{
	return !strcmp(info->kind, "bridge");
}

static inline bool shunt_mirror_is_vlan(const struct shunt_mirror_link_info *info)
{
	return info->vlan.type_be && info->parent;
}

struct shunt_mirror_link {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_link_info info;
	/* By family, from netconf; -1: not known. */
	int8_t forwarding[SHUNT_MIRROR_IP_CNT];
	int8_t ignore_linkdown[SHUNT_MIRROR_IP_CNT];
	int8_t rp_filter;
	bool has_ip6;  /* net.ipv6.conf.DEV.disable_ipv6 is known to be 0 */
	uint32_t mtu6; /* of IPv6 alone (sysctl net.ipv6.conf.DEV.mtu); 0: not known */
	/* Its last IPv4 address went: the kernel holds its next hops for dead until it has one
	 * again or is set up again. */
	bool is_addrless;
};

/* A VLAN of a bridge's port. */
struct shunt_mirror_bridge_vlan {
	struct shunt_mirror_obj obj;
	struct shunt_brvlan info;
};

struct shunt_mirror_addr_info {
	uint32_t ifindex;
	uint8_t family; /* AF_INET, AF_INET6 */
	uint8_t len;
	uint8_t scope;
	uint8_t pad;
	uint8_t local[16];
	uint8_t peer[16]; /* the same as local but on point-to-point links */
	uint32_t flags;	  /* IFA_F_* */
};

struct shunt_mirror_addr {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_addr_info info;
};

/* A neighbour, or (AF_BRIDGE) an entry of a bridge's forwarding database: then ifindex is the
 * bridge, addr and lladdr are the MAC, and port says behind which port it is. */
struct shunt_mirror_neigh_info {
	uint32_t ifindex;
	uint8_t family; /* AF_INET, AF_INET6, AF_BRIDGE */
	uint8_t lladdr_len;
	uint16_t vlan;
	uint8_t addr[16];
	uint16_t state; /* NUD_* */
	uint16_t pad;
	uint8_t lladdr[8];
	uint32_t port; /* AF_BRIDGE: ifindex; the bridge's own if it is for itself */
};

struct shunt_mirror_neigh {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_neigh_info info;
};

struct shunt_mirror_member {
	uint32_t id;
	uint32_t weight;
};

#define SHUNT_MIRROR_NH_BLACKHOLE 1
#define SHUNT_MIRROR_NH_ENCAP	  2
#define SHUNT_MIRROR_NH_ONLINK	  4
#define SHUNT_MIRROR_NH_FDB	  8

struct shunt_mirror_nexthop_info {
	uint32_t id;
	uint32_t ifindex;
	uint8_t family;
	uint8_t gw_family; /* 0: on-link */
	uint8_t flags;	   /* SHUNT_MIRROR_NH_* */
	uint8_t proto;
	uint16_t member_cnt; /* over 0: a group */
	uint16_t pad;
	uint8_t gw[16];
};

struct shunt_mirror_nexthop {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_nexthop_info info;
	struct shunt_mirror_member *members;
};

struct shunt_mirror_rule_info {
	uint32_t digest; /* of the whole rule */
	uint32_t priority;
	uint32_t table;
	uint32_t mark, mask;
	uint8_t family;
	uint8_t action;
	uint8_t is_default;  /* one of the five that the kernel starts with */
	uint8_t diverts;     /* may count for a packet in transit */
	uint8_t is_l3mdev;   /* leads what comes in by a VRF to the VRF's table */
	uint8_t is_odd;	     /* asks for more than the device that a packet came in by */
	uint8_t is_inverted; /* counts for what does not match */
	uint8_t is_marked;   /* for packets with a mark */
	uint8_t src_len, dst_len;
	uint8_t src[16], dst[16]; /* network order, without host bits */
	char iif[16];		  /* the device that it must have come in by; "": any */
};

struct shunt_mirror_rule {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_rule_info info;
};

/* Called after a change; each may be NULL. path_free is called just before a path that no
 * route uses goes away. */
struct shunt_mirror_watch {
	void *ctx;
	void (*prefix)(void *ctx, unsigned rib, const uint8_t *dst, unsigned len, bool is_local);
	void (*link)(void *ctx, uint32_t ifindex);
	void (*neigh)(void *ctx, const struct shunt_mirror_neigh_info *info);
	void (*nexthop)(void *ctx, uint32_t id);
	/* a rule for a prefix came or went (shunt_mirror_rule_prefix) */
	void (*rule)(void *ctx, enum shunt_mirror_ip ip, const uint8_t *dst, unsigned len);
	void (*path_free)(void *ctx, uint32_t path);
};

struct shunt_mirror_table {
	struct shunt_mirror_store links;
	struct shunt_mirror_store bridge_vlans;
	struct shunt_mirror_store addrs;
	struct shunt_mirror_store neighs;
	struct shunt_mirror_store nexthops;
	struct shunt_mirror_store rules;
	struct shunt_mirror_store paths;
	struct shunt_mirror_store routes[SHUNT_MIRROR_RIB_CNT];
	uint32_t len_cnt[SHUNT_MIRROR_RIB_CNT][129];  /* prefixes of each length */
	uint32_t local_cnt[SHUNT_MIRROR_IP_CNT][129]; /* routes of table local of each length */
	struct shunt_mirror_space spaces[SHUNT_TABLES_SPACES];
	uint32_t new_spaces;	 /* bit s: nobody has been told of space s */
	uint32_t policy_changes; /* of rules, of VRFs and what belongs to them */
	struct shunt_mirror_watch watch;
	uint8_t mark;
	uint32_t doomed_cnt; /* paths whose routes go at the next settle */
	uint32_t idle_cnt;   /* paths without a route, freed by shunt_mirror_path_reap */
	uint32_t policy_cnt; /* rules other than the default ones */
	uint32_t prefix_cnt[SHUNT_MIRROR_IP_CNT]; /* of these, those for a prefix alone, */
	uint32_t choosy_cnt; /* and those that ask for a packet's source or mark */
	/* The kernel's own rules to the tables local and main: two. A kernel without rules, or
	 * without IPv6, has none. */
	uint32_t default_cnt[SHUNT_MIRROR_IP_CNT];
	bool had_defaults[SHUNT_MIRROR_IP_CNT];
	uint32_t netconf_cnt; /* notices that a device's settings (sysctl) changed */
	uint64_t unmatched_deletes;
	/* What the operator's word and the firewall make of rules; the owner's. */
	bool are_rules_ignored; /* only VRFs lead to other tables than main */
	bool may_be_marked;	/* packets may have a mark that shunt does not see */
	/* As the kernel's fib_has_custom_local_routes, which once set stays so. */
	bool has_custom_locals;
};

/* shunt_mirror_table_init makes an empty table that refuses (-ENOMEM) more than routes_max
 * routes a family, 0 for no bound. shunt_mirror_table_fini frees it; legal on zeroed memory. */
void shunt_mirror_table_init(struct shunt_mirror_table *table, uint32_t routes_max);
void shunt_mirror_table_fini(struct shunt_mirror_table *table);

/* shunt_mirror_table_bytes returns the memory taken. */
size_t shunt_mirror_table_bytes(const struct shunt_mirror_table *table);

/* shunt_mirror_table_mark begins a new mark: every object counts as unseen from now on. */
void shunt_mirror_table_mark(struct shunt_mirror_table *table);

/* shunt_mirror_table_settle removes the routes of doomed paths. Returns how many.
 * Cost: nothing without doomed paths, else a walk over all routes. */
uint32_t shunt_mirror_table_settle(struct shunt_mirror_table *table);

int shunt_mirror_link_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_link_info *info);
int shunt_mirror_link_del(struct shunt_mirror_table *table, uint32_t ifindex);
struct shunt_mirror_link *shunt_mirror_link_get(const struct shunt_mirror_table *table,
						uint32_t ifindex);

/* The VLANs of bridges' ports; who changes them calls the watch of links.
 * shunt_mirror_bridge_vlan_get returns one, shunt_mirror_bridge_pvid that of what comes untagged,
 * NULL where there is none. shunt_mirror_bridge_vlan_forget removes all of a port. Cost: of the
 * last two a walk over all. */
int shunt_mirror_bridge_vlan_put(struct shunt_mirror_table *table, const struct shunt_brvlan *info);
int shunt_mirror_bridge_vlan_del(struct shunt_mirror_table *table, const struct shunt_brvlan *info);
const struct shunt_brvlan *shunt_mirror_bridge_vlan_get(const struct shunt_mirror_table *table,
							uint32_t ifindex, unsigned vid);
const struct shunt_brvlan *shunt_mirror_bridge_pvid(const struct shunt_mirror_table *table,
						    uint32_t ifindex);
void shunt_mirror_bridge_vlan_forget(struct shunt_mirror_table *table, uint32_t ifindex);

int shunt_mirror_addr_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_addr_info *info);
int shunt_mirror_addr_del(struct shunt_mirror_table *table,
			  const struct shunt_mirror_addr_info *info);

/* shunt_mirror_neigh_put returns 1 only for a change that matters: live or not, and where. */
int shunt_mirror_neigh_put(struct shunt_mirror_table *table,
			   const struct shunt_mirror_neigh_info *info);
int shunt_mirror_neigh_del(struct shunt_mirror_table *table,
			   const struct shunt_mirror_neigh_info *info);

/* shunt_mirror_neigh_is_live says whether the kernel would send to its MAC. */
bool shunt_mirror_neigh_is_live(const struct shunt_mirror_neigh_info *info);

/* shunt_mirror_neigh_get returns the neighbour of that family and address, or NULL. */
struct shunt_mirror_neigh *shunt_mirror_neigh_get(const struct shunt_mirror_table *table,
						  uint32_t ifindex, uint8_t family,
						  const uint8_t *addr);

/* shunt_mirror_station_get returns the bridge's entry of a station of six bytes at mac, in a VLAN
 * or in none (0), or NULL. */
struct shunt_mirror_neigh *shunt_mirror_station_get(const struct shunt_mirror_table *table,
						    uint32_t bridge, unsigned vid,
						    const uint8_t *mac);

/* members is copied; info->member_cnt of them. */
int shunt_mirror_nexthop_put(struct shunt_mirror_table *table,
			     const struct shunt_mirror_nexthop_info *info,
			     const struct shunt_mirror_member *members);
int shunt_mirror_nexthop_del(struct shunt_mirror_table *table, uint32_t id);
struct shunt_mirror_nexthop *shunt_mirror_nexthop_get(const struct shunt_mirror_table *table,
						      uint32_t id);

/* shunt_mirror_nexthop_uses says whether the next-hop object, or a member of the group, leaves
 * by the device. */
bool shunt_mirror_nexthop_uses(const struct shunt_mirror_table *table, uint32_t id,
			       uint32_t ifindex);

/* shunt_mirror_rule_prefix returns the prefix of a rule that may only match packets to it, or from
 * it, and its length in *len; NULL for another rule. Thread: the writer. */
const uint8_t *shunt_mirror_rule_prefix(const struct shunt_mirror_rule_info *info, unsigned *len);

int shunt_mirror_rule_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_rule_info *info);
int shunt_mirror_rule_del(struct shunt_mirror_table *table,
			  const struct shunt_mirror_rule_info *info);

/* shunt_mirror_table_sweep removes what does not carry the mark from one of links, addrs,
 * neighs (of that family; 0: any), nexthops, rules, bridge_vlans. Returns how many it removed. */
uint32_t shunt_mirror_table_sweep(struct shunt_mirror_table *table,
				  struct shunt_mirror_store *store, uint8_t family);

#endif
