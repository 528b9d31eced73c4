// SPDX-License-Identifier: BSD-2-Clause
#include "journal/promisc.h"

#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>

static bool get(const char *ifname, int fd, struct ifreq *req)
{
	snprintf(req->ifr_name, sizeof(req->ifr_name), "%s", ifname);
	return !ioctl(fd, SIOCGIFFLAGS, req);
}

bool shunt_journal_promisc_is_off(const char *ifname, int fd)
{
	struct ifreq req = {.ifr_flags = 0};

	return get(ifname, fd, &req) && !(req.ifr_flags & IFF_PROMISC);
}

bool shunt_journal_promisc_set(const char *ifname, int fd, bool is_on)
{
	struct ifreq req = {.ifr_flags = 0};

	if (!get(ifname, fd, &req) || !(req.ifr_flags & IFF_PROMISC) == !is_on)
		return false;
	req.ifr_flags = (short)(req.ifr_flags ^ IFF_PROMISC);
	return !ioctl(fd, SIOCSIFFLAGS, &req);
}
