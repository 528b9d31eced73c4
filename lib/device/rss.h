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

/* shunt_rss_is_default tells whether a table is the kernel's own, which an unset one is, and
 * shunt_rss_reset gives it that: unlike the same table set by hand it follows the number of queues,
 * and the kernel lets that be lowered. (Which of both it is, no kernel tells;
 * and a driver that begins with another table, as igb does, gets that one by its entries only, as
 * one that was set.) shunt_rss_reset returns 0 or -errno. Thread: control. Cost: a syscall. */
bool shunt_rss_is_default(int fd, const char *ifname, const struct shunt_rss *rss);
int shunt_rss_reset(int fd, const char *ifname);

/* shunt_rss_spread makes a table of cnt entries that uses the first queues evenly;
 * shunt_rss_is_spread tells whether one is that. Thread: any. */
void shunt_rss_spread(struct shunt_rss *rss, uint32_t cnt, uint32_t queues);
bool shunt_rss_is_spread(const struct shunt_rss *rss, uint32_t queues);

#endif
