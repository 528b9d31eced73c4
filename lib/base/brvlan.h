/* SPDX-License-Identifier: BSD-2-Clause */
/* The VLANs of a bridge's ports, as the kernel tells of them: RTM_NEWVLAN and RTM_DELVLAN
 * (br_vlan_fill_vids in the kernel's net/bridge/br_vlan.c). */
#ifndef SHUNT_BASE_BRVLAN_H
#define SHUNT_BASE_BRVLAN_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#define SHUNT_BRVLAN_IDS 4095 /* a VLAN's ID is from 1, and below */

/* A VLAN that a bridge's port is a member of, or the bridge itself as a device. */
struct shunt_brvlan {
	uint32_t ifindex; /* the port's, or the bridge's */
	uint16_t vid;
	uint8_t state; /* BR_STATE_* */
	bool is_pvid;  /* what comes untagged is of it */
	bool is_bare;  /* what leaves has no tag */
	uint8_t pad[3];
};

/* shunt_brvlan_parse calls `each` for each run of VLANs that the message names, of the IDs from
 * info->vid to last. Returns 0, or what `each` returned where that is not 0: then it calls it no
 * more; -EBADMSG where the message is cut short. Thread: any. */
int shunt_brvlan_parse(const struct nlmsghdr *nlh, uint32_t *ifindex,
		       int (*each)(void *arg, const struct shunt_brvlan *info, unsigned last),
		       void *arg);

#endif
