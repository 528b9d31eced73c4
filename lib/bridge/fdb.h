/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's bridge beneath shunt's: its forwarding database and the state of its ports are
 * followed by netlink, and it is told of stations. What it learns from the frames that it still
 * sees (groups, ARP) goes into shunt's table. What shunt learns it is told as if it had seen such a
 * frame (NTF_USE). So its entries are ordinary ones, which age as they do without shunt. Entries
 * marked as learned elsewhere (NTF_EXT_LEARNED) would stay for ever after a kill.
 *
 * When the socket overruns, all is dumped again: bridges, their ports, their stations. What a dump
 * does not tell of is no more.
 *
 * What follows never waits for the kernel, dumps apart. To be told of a station the kernel takes
 * its lock of all devices, which it may hold for seconds: so what is to be told is noted, and told
 * by another thread.
 *
 *	shunt_fdb_create(&fdb, &ops, arg, &err);
 *	poll shunt_fdb_fd(fdb); shunt_fdb_service(fdb);
 *	shunt_fdb_tell(fdb, ifindex, mac);
 *	if (shunt_fdb_take_tells(fdb)) shunt_fdb_send_tells(fdb);	the other thread
 *	shunt_fdb_destroy(fdb);
 */
#ifndef SHUNT_BRIDGE_FDB_H
#define SHUNT_BRIDGE_FDB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/brvlan.h"
#include "base/err.h"
#include "bridge/brlink.h"
#include "choice/choice.h"

struct shunt_fdb;

enum shunt_fdb_kind {
	SHUNT_FDB_DYNAMIC,
	SHUNT_FDB_STATIC, /* does not age, but moves as others do */
	SHUNT_FDB_STICKY, /* does not move */
	SHUNT_FDB_LOCAL,  /* an address of the host */
};

struct shunt_fdb_entry {
	uint32_t ifindex; /* the port, or the bridge itself */
	uint32_t bridge;  /* ifindex */
	uint8_t mac[6];
	uint16_t vid; /* VLAN ID, which counts in a bridge that filters VLANs; 0: none */
	enum shunt_fdb_kind kind;
};

struct shunt_fdb_port {
	uint32_t ifindex;
	uint32_t bridge; /* 0: a port no more */
	bool forwards, learns, floods;
	bool has_backup; /* its stations are behind another port while it has no carrier */
	/* Why frames that come in there are left to the kernel's bridge; none: they are not. */
	enum shunt_lane_reason left;
};

struct shunt_fdb_ops {
	void (*entry)(void *arg, const struct shunt_fdb_entry *entry, bool is_gone);
	void (*port)(void *arg, const struct shunt_fdb_port *port);
	/* A bridge of which the kernel told, with its settings. */
	void (*bridge)(void *arg, const struct shunt_brlink *bridge);
	/* A VLAN device. In another network namespace it is there, but nothing more is told of it.
	 */
	void (*vlan)(void *arg, const struct shunt_brlink *vlan, bool is_gone);
	/* VLANs of a port, of the IDs from first->vid to last. */
	void (*members)(void *arg, const struct shunt_brvlan *first, unsigned last, bool are_gone);
	/* Before a dump, also one that is tried again, and when all was told. */
	void (*begin)(void *arg);
	void (*end)(void *arg);
};

struct shunt_fdb_stats {
	uint64_t messages, overruns, repeated, told, refused;
};

/* shunt_fdb_create opens the sockets and reads everything once, calling ops. Returns 0 or -errno
 * with err set. shunt_fdb_destroy: NULL is legal. Thread: control. */
int shunt_fdb_create(struct shunt_fdb **out, const struct shunt_fdb_ops *ops, void *arg,
		     struct shunt_err *err);
void shunt_fdb_destroy(struct shunt_fdb *fdb);

/* shunt_fdb_fd is readable when shunt_fdb_service has work. Thread: any. */
int shunt_fdb_fd(const struct shunt_fdb *fdb);

/* shunt_fdb_service takes what has come, calling ops. shunt_fdb_is_behind says whether events were
 * lost, and no dump came to its end since: the next service tries. shunt_fdb_current_ns returns
 * until when (CLOCK_MONOTONIC) all that the kernel told was taken. Thread: the follower, with the
 * guard. Cost: some milliseconds at most; after an overrun a dump. */
void shunt_fdb_service(struct shunt_fdb *fdb);
bool shunt_fdb_is_behind(const struct shunt_fdb *fdb);
uint64_t shunt_fdb_current_ns(const struct shunt_fdb *fdb);

/* shunt_fdb_tell notes that the kernel's bridge is to know that a station was heard on a port, in a
 * VLAN; vid 0: in none.
 * shunt_fdb_has_tells says whether any is noted. shunt_fdb_take_tells takes those noted to be sent,
 * and returns whether there are any. Thread: the one that holds the guard. */
void shunt_fdb_tell(struct shunt_fdb *fdb, uint32_t ifindex, const uint8_t *mac, unsigned vid);
bool shunt_fdb_has_tells(const struct shunt_fdb *fdb);
bool shunt_fdb_take_tells(struct shunt_fdb *fdb);

/* shunt_fdb_send_tells tells the kernel's bridge of those that were taken. Thread: control, without
 * the guard. Cost: a system call for 800; it waits for whoever changes devices. */
void shunt_fdb_send_tells(struct shunt_fdb *fdb);

/* shunt_fdb_stats copies the counters. Thread: control, with the guard. */
void shunt_fdb_stats(const struct shunt_fdb *fdb, struct shunt_fdb_stats *out);

#endif
