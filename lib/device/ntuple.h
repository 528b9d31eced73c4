/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's ntuple filters (`ethtool -n`): listed, set, found again and removed.
 *
 * Limits: some drivers alone say at which location a filter stands (RX_CLS_LOC_SPECIAL). Their
 * devices have no locations to choose from, and are refused. */
#ifndef SHUNT_DEVICE_NTUPLE_H
#define SHUNT_DEVICE_NTUPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "steer/filter.h"

#define SHUNT_NTUPLE_MAX 4096 /* filters of a device that are looked at */

struct shunt_ntuple {
	uint32_t size; /* places in the table */
	uint32_t cnt;  /* of them in use */
	uint32_t at[SHUNT_NTUPLE_MAX];
};

/* shunt_ntuple_read lists the locations that are in use. fd is any socket. Returns 0, -EOPNOTSUPP
 * where the driver has no such filters, or another -errno. Needs no rights. Thread: control. */
int shunt_ntuple_read(int fd, const char *ifname, struct shunt_ntuple *out);

/* shunt_ntuple_find returns the location of a filter that compares the same and leads to the same
 * queue (location of filter: where to look, or SHUNT_FILTER_ANY), or -ENOENT. Thread: control. */
int shunt_ntuple_find(int fd, const char *ifname, const struct shunt_ntuple *table,
		      const struct shunt_filter *filter);

/* shunt_ntuple_free returns the last location that is not in use, as ethtool chooses, or -ENOSPC;
 * shunt_ntuple_take marks one as used. Thread: any. */
int shunt_ntuple_free(const struct shunt_ntuple *table);
void shunt_ntuple_take(struct shunt_ntuple *table, uint32_t location);

/* shunt_ntuple_add sets a filter at its location, which must not be SHUNT_FILTER_ANY;
 * shunt_ntuple_del removes what stands at the location. Return 0 or -errno. Thread: control. */
int shunt_ntuple_add(int fd, const char *ifname, const struct shunt_filter *filter);
int shunt_ntuple_del(int fd, const char *ifname, uint32_t location);

/* shunt_ntuple_is_on says whether the device applies its filters (`ethtool -k`, ntuple-filters),
 * shunt_ntuple_turn switches that and returns 0 or -errno. Thread: control. */
bool shunt_ntuple_is_on(int fd, const char *ifname);
int shunt_ntuple_turn(int fd, const char *ifname, bool is_on);

#endif
