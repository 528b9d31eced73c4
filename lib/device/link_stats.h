/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's own counters, as `ip -s -s link` shows them. */
#ifndef SHUNT_DEVICE_LINK_STATS_H
#define SHUNT_DEVICE_LINK_STATS_H

#include <linux/if_link.h>

#include "base/err.h"

/* Those that count packets which did not get through: name of the field, help. */
#define SHUNT_LINK_DROPS(X)                                                              \
	X(rx_errors, "bad frames that the device received, all kinds")                   \
	X(rx_dropped, "received and then dropped by the device or driver, XDP included") \
	X(rx_missed_errors, "lost because the host's receive buffers were full")         \
	X(rx_over_errors, "receive overruns")                                            \
	X(rx_fifo_errors, "receive FIFO errors")                                         \
	X(rx_crc_errors, "received with a wrong checksum of the frame")                  \
	X(rx_length_errors, "received with a wrong length")                              \
	X(tx_errors, "frames that the device failed to send, all kinds")                 \
	X(tx_dropped, "dropped on the way out, by the device or driver")                 \
	X(tx_fifo_errors, "transmit FIFO errors")                                        \
	X(tx_carrier_errors, "lost for want of a carrier")

/* shunt_link_stats reads the counters of a device. Returns 0, or -errno with err
 * set (-ENODEV: gone). Thread: control. Cost: one netlink exchange. */
int shunt_link_stats(unsigned ifindex, struct rtnl_link_stats64 *out, struct shunt_err *err);

#endif
