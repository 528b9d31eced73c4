/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says about bridges when one asks: which devices are bridges, and which
 * devices are their ports. For setting up; fdb.h follows changes. */
#ifndef SHUNT_BRIDGE_BRLINK_H
#define SHUNT_BRIDGE_BRLINK_H

#include <linux/netlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

struct shunt_brlink {
	uint32_t ifindex;
	uint32_t master; /* ifindex of the bridge or bond that it is a port of; 0: none */
	char name[IFNAMSIZ];
	uint8_t mac[6];
	bool is_bridge, is_bond, is_vlan;
	bool is_virtual; /* neither a NIC nor a veth nor a tap */
	bool is_up;
	uint32_t lower; /* of a VLAN device: the one beneath; 0: in another network namespace */
	bool is_moving; /* to another network namespace */
	/* of a bridge */
	bool filters_vlans;
	uint16_t vlan_type_be; /* of the tags that it filters by */
	uint32_t age_s;	       /* 0: entries are not kept */
};

struct shunt_brlinks {
	struct shunt_brlink *links;
	unsigned cnt;
};

/* shunt_brlinks_query lists the devices of the caller's network namespace; shunt_brlinks_fini
 * frees. Returns 0 or -errno with err set. Thread: control. Cost: a netlink dump. */
int shunt_brlinks_query(struct shunt_brlinks *out, struct shunt_err *err);
void shunt_brlinks_fini(struct shunt_brlinks *links);

/* shunt_brlinks_at returns the device of that index, NULL where there is none. Thread: any. */
const struct shunt_brlink *shunt_brlinks_at(const struct shunt_brlinks *links, uint32_t ifindex);

/* shunt_brlink_parse reads a message of the type RTM_NEWLINK; all zeros of one that is cut
 * short. Thread: any. */
void shunt_brlink_parse(const struct nlmsghdr *nlh, struct shunt_brlink *out);

/* shunt_brlink_expand replaces a port that is a kernel bridge by the ports of that bridge, and in
 * groups of mode route one that is a bond by its members, with the settings that were given for it.
 * Ports of a bridge that are down, or cannot have XDP as these settings ask for it, are left out:
 * they stay the kernel's, and left is called for each, with the reason. Returns
 * 0 or -errno with err set: a bridge without ports, or of which all were left out; a bond without
 * members; in driver mode native a bond as a port of another mode, or a VLAN device; or no memory.
 * Thread: control, before shunt_engine_create. */
typedef void shunt_brlink_left_fn(const char *port, const char *bridge, const char *why);
int shunt_brlink_expand(struct shunt_config *config, shunt_brlink_left_fn *left,
			struct shunt_err *err);

/* shunt_brlink_expand_as does so as it was done for another configuration, whatever ports the
 * bridges and bonds have now. Returns 0 or -errno with err set. Thread: control. */
int shunt_brlink_expand_as(struct shunt_config *config, const struct shunt_config *as,
			   struct shunt_err *err);

#endif
