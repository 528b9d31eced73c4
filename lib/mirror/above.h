/* SPDX-License-Identifier: BSD-2-Clause */
/* From the kernel's VLAN devices, bonds and bridges to the table of devices above ports
 * (fib/device.h): each VLAN device that is over a port, a bond, a bridge, or such a VLAN device;
 * each bond of ports, and each bridge that has some; and of these, what only routes.
 *
 * All of it: thread control.
 */
#ifndef SHUNT_MIRROR_ABOVE_H
#define SHUNT_MIRROR_ABOVE_H

#include "fib/device.h"
#include "mirror/table.h"

/* Why a device is in the table, or not: X(name, help) */
#define SHUNT_ABOVE_STATES(X)                                               \
	X(followed, "its packets go by shunt")                              \
	X(elsewhere, "it is not above a port of mode route, or it is deep") \
	X(down, "it is down, or the device beneath it is")                  \
	X(member, "it is a port of a bridge or a bond")                     \
	X(program, "it has an XDP program of its own")                      \
	X(priorities, "its ingress map has a priority over 15")             \
	X(bonding, "its bond sends in a way that only the kernel knows")    \
	X(members, "a member of its bond is no port of mode route")         \
	X(filtering, "its bridge has its VLAN on no port of mode route")    \
	X(shared, "a port of its bridge has a VLAN device of that tag")     \
	X(no_room, "the table has no place for it")

#define SHUNT_ABOVE_ORDER_MAX 64 /* members of a bond; of one with more no order is known */

enum shunt_above_state {
#define X(name, help) SHUNT_ABOVE_##name,
	SHUNT_ABOVE_STATES(X)
#undef X
};

/* shunt_above_state_name and _help return static text. Thread: any. */
const char *shunt_above_state_name(enum shunt_above_state state);
const char *shunt_above_state_help(enum shunt_above_state state);

struct shunt_mirror_aboves {
	struct shunt_mirror_store store; /* by ifindex */
	const struct shunt_mirror_table *table;
	struct shunt_devices *devices; /* NULL: there are none */
	/* The port that may have devices above it; -1: none. */
	int (*port_of)(void *ctx, uint32_t ifindex);
	/* Puts the names of a bond's members into names[max], in the kernel's order. Returns how
	 * many there are, or -errno. */
	int (*order_of)(const char *bond, char (*names)[16], unsigned max);
	void *ctx;
	uint32_t change_cnt; /* of devices that came, changed or went, ports too */
};

void shunt_mirror_above_init(struct shunt_mirror_aboves *aboves);
void shunt_mirror_above_fini(struct shunt_mirror_aboves *aboves);

/* shunt_mirror_above_number returns the number of the device with this ifindex; 0: it is not in the
 * table. */
uint32_t shunt_mirror_above_number(const struct shunt_mirror_aboves *aboves, uint32_t ifindex);

/* shunt_mirror_above_leg returns the number of a device's leg (bpf/shunt_device.h) on a port; 0: it
 * has none there. */
uint32_t shunt_mirror_above_leg(const struct shunt_mirror_aboves *aboves, uint32_t ifindex,
				unsigned port);

/* shunt_mirror_above_look says what there is to say of a device; *out as it is, or would be,
 * in the table, all zeros for one that is elsewhere. */
enum shunt_above_state shunt_mirror_above_look(const struct shunt_mirror_aboves *aboves,
					       uint32_t ifindex, struct shunt_device *out);

/* shunt_mirror_above_follow brings the table up to date with a device of the kernel's. When the
 * number is another than before, `renumbered` is called, and must leave no adjacency with the old
 * one. */
void shunt_mirror_above_follow(struct shunt_mirror_aboves *aboves, uint32_t ifindex,
			       void (*renumbered)(void *arg, uint32_t ifindex), void *arg);

#endif
