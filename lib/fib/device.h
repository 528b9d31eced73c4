/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices above ports (bpf/shunt_device.h): from a port and the tags of a frame to the device
 * by which it comes in, and from a device's number to what leaves by it.
 *
 * One thread, the writer, adds and removes devices. What is removed is handed out again after a
 * grace period of liburcu, QSBR flavour. A frame's word is one store: readers see it or not.
 *
 * Limits: 2^14 devices; of those whose tags share a line, eight; of a bond, 14 members. What does
 * not fit is not in the table, and its frames are the kernel's.
 *
 *	shunt_devices_create_on(&devices, source, &err);
 *	number = shunt_devices_add(devices, &device);
 *	shunt_devices_find(devices, key)		workers
 *	shunt_devices_hide(devices, number);		and when no adjacency names it:
 *	shunt_devices_del(devices, number);
 */
#ifndef SHUNT_FIB_DEVICE_H
#define SHUNT_FIB_DEVICE_H

#include "base/bytes.h"
#include "fib/adj.h"
#include "fib/runs.h"
#include "shunt_device.h"

struct shunt_devices {
	/* lookups: constant from create to destroy */
	const uint64_t *words;	       /* lines of SHUNT_DEVICE_LINE_WORDS */
	const struct shunt_device *at; /* by number */
	/* the writer's */
	uint32_t cnts[SHUNT_DEVICE_PORTS]; /* of devices that frames find, by port */
	struct shunt_arena lines;
	struct shunt_runs runs;
	struct shunt_arena_budget budget;
};

/* shunt_devices_create_on makes an empty table in memory of the source, which must outlive it;
 * NULL: the system's. Returns 0, or -ENOMEM with *err filled and *out NULL. Thread: the writer. */
int shunt_devices_create_on(struct shunt_devices **out, const struct shunt_arena_source *source,
			    struct shunt_err *err);

/* shunt_devices_destroy frees it; NULL is legal; nobody may read it any more. Thread: the writer.
 */
void shunt_devices_destroy(struct shunt_devices *devices);

/* shunt_devices_key_of returns the key of frames that come in by a device with tags, on the port
 * that is its member of that index. Thread: any. */
uint32_t shunt_devices_key_of(const struct shunt_device *device, unsigned member);

/* shunt_devices_add puts a copy of the device into the table, of up to two tags. base: of a leg the
 * number of its device, 0 of others. Returns its number, 0 where there is no room, or another has
 * its tags. Thread: the writer. */
uint32_t shunt_devices_add(struct shunt_devices *devices, const struct shunt_device *device);

/* shunt_devices_hide has frames find the device no more; another may have its tags. Adjacencies may
 * still name it, until shunt_devices_del. Thread: the writer. Cost: a store for each member. */
void shunt_devices_hide(struct shunt_devices *devices, uint32_t number);
void shunt_devices_del(struct shunt_devices *devices, uint32_t number);

/* shunt_devices_set_flags says what a device forwards from now on (enum shunt_tables_flags).
 * Programs remember by which device tags come in, and what it forwards, until the tables' next
 * generation (shunt_xdp_tables_change); so they do after shunt_devices_hide. Thread: the writer.
 * Cost: a store for each member. */
void shunt_devices_set_flags(struct shunt_devices *devices, uint32_t number, uint32_t flags);

/* shunt_devices_find returns the word of the device by which a frame of this key comes in
 * (shunt_device_number, shunt_device_flags); 0: there is none. Thread: any registered QSBR thread.
 * Cost: packet, a cache line. */
static inline uint64_t shunt_devices_find(const struct shunt_devices *devices, uint32_t key)
{
	const uint64_t *words = devices->words + shunt_device_line(key) * SHUNT_DEVICE_LINE_WORDS;
	unsigned i;

	for (i = 0; i < SHUNT_DEVICE_LINE_WORDS; i++) {
		/* Pairs with the store in device.c. */
		const uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);

		if (word >> SHUNT_DEVICE_WORD_KEY_SHIFT == key)
			return shunt_device_number(word) ? word : 0;
	}
	return 0;
}

/* shunt_devices_at returns a device. Thread: any registered QSBR thread. */
static inline const struct shunt_device *shunt_devices_at(const struct shunt_devices *devices,
							  uint32_t number)
{
	return &devices->at[number];
}

/* shunt_devices_exit returns what a packet leaves by, as one number: a port's, or TAGGED and a
 * device's added, the same for all of its legs. Thread: any registered QSBR thread. */
static inline uint32_t shunt_devices_exit(const struct shunt_devices *devices,
					  const struct shunt_adj *adj)
{
	return adj->port == SHUNT_ADJ_TAGGED
		       ? SHUNT_ADJ_TAGGED + shunt_devices_at(devices, adj->above)->base
		       : adj->port;
}

#endif
