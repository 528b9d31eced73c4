// SPDX-License-Identifier: BSD-2-Clause
#include "gen.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int get_mtu(unsigned *mtu, const char *name, struct shunt_err *err)
{
	struct ifreq req = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return shunt_err_set(err, errno, "socket(AF_INET): %s", strerror(errno));
	strncpy(req.ifr_name, name, sizeof(req.ifr_name) - 1);
	if (ioctl(fd, SIOCGIFMTU, &req) < 0)
		rc = shunt_err_set(err, errno, "%s: ioctl(SIOCGIFMTU): %s", name, strerror(errno));
	else
		*mtu = (unsigned)req.ifr_mtu;
	close(fd);
	return rc;
}

static int take(struct gen_device *d, const struct ifaddrs *a, struct shunt_err *err)
{
	const struct sockaddr_ll *ll = (const void *)a->ifa_addr;
	const struct rtnl_link_stats *stats = a->ifa_data;

	if (ll->sll_hatype != ARPHRD_ETHER)
		return shunt_err_set(err, EINVAL, "%s is not an Ethernet device", a->ifa_name);
	if (!(a->ifa_flags & IFF_UP))
		return shunt_err_set(err, ENETDOWN, "%s is down: `ip link set %s up` first",
				     a->ifa_name, a->ifa_name);
	d->ifindex = ll->sll_ifindex;
	memcpy(d->mac, ll->sll_addr, ETH_ALEN);
	d->tx_frames = stats ? stats->tx_packets : 0;
	return get_mtu(&d->mtu, a->ifa_name, err);
}

int gen_device_get(struct gen_device *d, const char *name, struct shunt_err *err)
{
	struct ifaddrs *list, *a;
	int rc;

	if (getifaddrs(&list) < 0)
		return shunt_err_set(err, errno, "getifaddrs: %s", strerror(errno));
	for (a = list; a; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_PACKET &&
		    !strcmp(a->ifa_name, name))
			break;
	rc = a ? take(d, a, err)
	       : shunt_err_set(err, ENODEV,
			       "%s: no such device in this network namespace; `ip link` lists them",
			       name);
	freeifaddrs(list);
	return rc;
}
