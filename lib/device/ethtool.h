/* SPDX-License-Identifier: BSD-2-Clause */
/* One ethtool request by ioctl. */
#ifndef SHUNT_DEVICE_ETHTOOL_H
#define SHUNT_DEVICE_ETHTOOL_H

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* shunt_ethtool asks the device's driver; command begins with its number, fd is any socket. Returns
 * 0 or -errno. Thread: control. Cost: a syscall. */
static inline int shunt_ethtool(int fd, const char *ifname, void *command)
{
	struct ifreq ifr = {.ifr_data = command};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.15s", ifname);
	return ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
}

#endif
