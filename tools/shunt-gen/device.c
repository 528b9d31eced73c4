// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "gen.h"

/* A link that is lost is not LOWER_UP at once, and not RUNNING up to a second later; one that comes
 * can be sent by when it is both. IFF_LOWER_UP is linux/if.h's, which net/if.h does not go with. */
#define LINK_UP		(IFF_RUNNING | 1 << 16)

#define CARRIER_S	10
#define CARRIER_LOOK_US 20000

static void set_name(struct ifreq *req, const char *name, void *data)
{
	memset(req, 0, sizeof(*req));
	strncpy(req->ifr_name, name, sizeof(req->ifr_name) - 1);
	req->ifr_data = data;
}

/* A device need not say what drives it, or how fast it is. */
static void ask_driver(struct gen_device *d, int fd, const char *name)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
	struct ifreq req;
	uint32_t mbps;

	set_name(&req, name, &info);
	if (!ioctl(fd, SIOCETHTOOL, &req))
		memcpy(d->driver, info.driver, sizeof(d->driver) - 1);
	set_name(&req, name, &cmd);
	if (ioctl(fd, SIOCETHTOOL, &req))
		return;
	mbps = ethtool_cmd_speed(&cmd);
	if (mbps && mbps != (uint32_t)SPEED_UNKNOWN)
		d->line_bps = mbps * 1e6;
}

static int ask_mtu(struct gen_device *d, int fd, const char *name, struct shunt_err *err)
{
	struct ifreq req;

	set_name(&req, name, NULL);
	if (ioctl(fd, SIOCGIFMTU, &req) < 0)
		return shunt_err_set(err, errno, "%s: ioctl(SIOCGIFMTU): %s", name,
				     strerror(errno));
	d->mtu = (unsigned)req.ifr_mtu;
	return 0;
}

static int take(struct gen_device *d, const struct ifaddrs *a, struct shunt_err *err)
{
	const struct sockaddr_ll *ll = (const void *)a->ifa_addr;
	int fd, rc;

	if (ll->sll_hatype != ARPHRD_ETHER)
		return shunt_err_set(err, EINVAL, "%s is not an Ethernet device", a->ifa_name);
	if (!(a->ifa_flags & IFF_UP))
		return shunt_err_set(err, ENETDOWN, "%s is down: `ip link set %s up` first",
				     a->ifa_name, a->ifa_name);
	d->ifindex = ll->sll_ifindex;
	d->has_carrier = (a->ifa_flags & LINK_UP) == LINK_UP;
	memcpy(d->mac, ll->sll_addr, ETH_ALEN);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return shunt_err_set(err, errno, "socket(AF_INET): %s", strerror(errno));
	rc = ask_mtu(d, fd, a->ifa_name, err);
	ask_driver(d, fd, a->ifa_name);
	close(fd);
	return rc;
}

int gen_device_get(struct gen_device *d, const char *name, struct shunt_err *err)
{
	struct ifaddrs *list, *a;
	int rc;

	memset(d, 0, sizeof(*d));
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

bool gen_device_is_here(int ifindex)
{
	char name[IF_NAMESIZE];

	return if_indextoname((unsigned)ifindex, name);
}

int gen_device_await(const char *name, struct shunt_err *err)
{
	const uint64_t until = shunt_clock_ns() + CARRIER_S * SHUNT_NS_PER_SEC;
	struct gen_device now;

	do {
		int rc = gen_device_get(&now, name, err);

		if (rc || now.has_carrier || gen_signal_is_there())
			return rc;
		usleep(CARRIER_LOOK_US);
	} while (shunt_clock_ns() < until);
	return shunt_err_set(err, ENETDOWN, "%s has had no carrier for %d s: is its other end up?",
			     name, CARRIER_S);
}

/* --- the driver's own counters ---------------------------------------------------------------- */

static int ethtool(int fd, const char *name, void *cmd)
{
	struct ifreq req;

	set_name(&req, name, cmd);
	return ioctl(fd, SIOCETHTOOL, &req);
}

static unsigned counter_cnt(int fd, const char *name)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t len;
	} sset = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS}};

	return ethtool(fd, name, &sset) || !sset.info.sset_mask ? 0 : sset.len;
}

/* tx0_xdp_tx, tx1_xdp_tx ... */
static bool is_xdp_tx(const char *counter)
{
	unsigned queue;
	int end = 0;

	return sscanf(counter, "tx%u_xdp_tx%n", &queue, &end) == 1 && end && !counter[end];
}

static uint64_t sum_xdp_tx(int fd, const char *name, unsigned cnt)
{
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + cnt * ETH_GSTRING_LEN);
	struct ethtool_stats *values = calloc(1, sizeof(*values) + cnt * sizeof(uint64_t));
	uint64_t sum = 0;

	if (!names || !values)
		goto out;
	*names = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = cnt};
	*values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = cnt};
	if (ethtool(fd, name, names) || ethtool(fd, name, values))
		goto out;
	for (unsigned i = 0; i < cnt; i++)
		if (is_xdp_tx((const char *)names->data + (size_t)i * ETH_GSTRING_LEN))
			sum += values->data[i];
out:
	free(names);
	free(values);
	return sum;
}

uint64_t gen_device_xdp_tx(const char *name)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned cnt;
	uint64_t sum;

	if (fd < 0)
		return 0;
	cnt = counter_cnt(fd, name);
	sum = cnt ? sum_xdp_tx(fd, name, cnt) : 0;
	close(fd);
	return sum;
}
