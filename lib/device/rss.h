/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's receive-side scaling: the table by which it chooses a queue for a flow
 * (`ethtool -x`), made to use the first queues only and put back. */
#ifndef SHUNT_DEVICE_RSS_H
#define SHUNT_DEVICE_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SHUNT_RSS_MAX 2048 /* entries of a table */

struct shunt_rss {
	uint32_t cnt; /* entries */
	uint32_t queue[SHUNT_RSS_MAX];
};

/* shunt_rss_read reads the table. fd is any socket. Returns 0, -EOPNOTSUPP where the device
 * has none, or another -errno. Thread: control. */
int shunt_rss_read(int fd, const char *ifname, struct shunt_rss *out);

/* shunt_rss_write puts a table in force. Returns 0 or -errno. Thread: control. */
int shunt_rss_write(int fd, const char *ifname, const struct shunt_rss *rss);

/* shunt_rss_is_default tells whether a table has the entries of the kernel's own, which a device
 * has before one is set. shunt_rss_reset gives the device that table; it returns 0 or -errno.
 * Unlike the same table set by hand, it follows the number of queues, and the kernel lets that be
 * lowered.
 *
 * Limits: no kernel tells which of the two a table is. A driver that begins with another table
 * (igb) gets that one back by its entries, as one that was set. Thread: control. Cost: a syscall.
 */
bool shunt_rss_is_default(int fd, const char *ifname, const struct shunt_rss *rss);
int shunt_rss_reset(int fd, const char *ifname);

/* shunt_rss_spread makes a table of cnt entries that uses the first queues evenly;
 * shunt_rss_is_spread tells whether one is that. Thread: any. */
void shunt_rss_spread(struct shunt_rss *rss, uint32_t cnt, uint32_t queues);
bool shunt_rss_is_spread(const struct shunt_rss *rss, uint32_t queues);

#endif
