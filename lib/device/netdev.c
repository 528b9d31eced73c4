// SPDX-License-Identifier: BSD-2-Clause
#include "device/netdev.h"

#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "device/ethtool.h"

/* --- facts ------------------------------------------------------------------------------------ */

static unsigned queues_from_sysfs(const char *ifname)
{
	char path[64 + IFNAMSIZ];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", ifname);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		n += !strncmp(entry->d_name, "rx-", 3);
	closedir(dir);
	return n;
}

static bool has_link(const char *ifname, const char *name)
{
	char path[64 + IFNAMSIZ];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, name);
	return access(path, F_OK) == 0;
}

static unsigned queues_from_channels(int fd, const char *ifname, bool *is_split, unsigned *max)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (shunt_ethtool(fd, ifname, &channels))
		return 0;
	*is_split = !channels.max_combined;
	*max = *is_split ? SHUNT_MIN(channels.max_rx, channels.max_tx) : channels.max_combined;
	return channels.combined_count + channels.rx_count;
}

static int query(int fd, const char *ifname, struct shunt_netdev *out, struct shunt_err *err)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {0};

	strncpy(ifr.ifr_name, ifname, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr))
		return shunt_err_set(err, errno, "%s: cannot read its address: %s", ifname,
				     strerror(errno));
	if (ifr.ifr_hwaddr.sa_family != 1 /* ARPHRD_ETHER */)
		return shunt_err_set(err, EINVAL,
				     "%s: not an Ethernet device; shunt forwards Ethernet frames",
				     ifname);
	memcpy(out->mac, ifr.ifr_hwaddr.sa_data, 6);
	if (ioctl(fd, SIOCGIFMTU, &ifr))
		return shunt_err_set(err, errno, "%s: cannot read its MTU: %s", ifname,
				     strerror(errno));
	out->mtu = (uint32_t)ifr.ifr_mtu;
	if (ioctl(fd, SIOCGIFFLAGS, &ifr))
		return shunt_err_set(err, errno, "%s: cannot read its flags: %s", ifname,
				     strerror(errno));
	out->is_up = ifr.ifr_flags & IFF_UP;
	out->has_master = has_link(ifname, "master");
	out->is_virtual = !has_link(ifname, "device");
	if (!shunt_ethtool(fd, ifname, &driver))
		snprintf(out->driver, sizeof(out->driver), "%.31s", driver.driver);
	out->queue_cnt = queues_from_channels(fd, ifname, &out->is_split, &out->queue_max);
	if (!out->queue_cnt)
		out->queue_cnt = queues_from_sysfs(ifname);
	if (!out->queue_cnt)
		out->queue_cnt = 1;
	return 0;
}

int shunt_netdev_query(const char *ifname, struct shunt_netdev *out, struct shunt_err *err)
{
	int fd, ret;

	memset(out, 0, sizeof(*out));
	out->ifindex = strlen(ifname) < IFNAMSIZ ? if_nametoindex(ifname) : 0;
	if (!out->ifindex)
		return shunt_err_set(err, ENODEV,
				     "%s: no such device in this network namespace; see ip link",
				     ifname);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return shunt_err_set(err, errno, "%s: socket: %s", ifname, strerror(errno));
	ret = query(fd, ifname, out, err);
	close(fd);
	return ret;
}

/* Once rights are dropped, only AF_UNIX and AF_NETLINK sockets can be opened. */
static int open_unix(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Returns 0 with the answer in *ifr, all zeros before, or -errno. */
static int ask(const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int fd = open_unix(), ret;

	if (fd < 0)
		return -errno;
	strncpy(ifr->ifr_name, ifname, IFNAMSIZ - 1);
	ret = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return ret;
}

int shunt_netdev_mac(const char *ifname, uint8_t mac[6])
{
	struct ifreq ifr = {0};
	int ret = ask(ifname, SIOCGIFHWADDR, &ifr);

	if (!ret)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	return ret;
}

uint32_t shunt_netdev_mtu(const char *ifname)
{
	struct ifreq ifr = {0};

	return ask(ifname, SIOCGIFMTU, &ifr) ? 0 : (uint32_t)ifr.ifr_mtu;
}

uint32_t shunt_netdev_carrier_changes(const char *ifname)
{
	char path[64 + IFNAMSIZ], text[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/carrier_changes", ifname);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	return (uint32_t)strtoul(text, NULL, 10);
}

unsigned shunt_netdev_queues(const char *ifname)
{
	int fd = open_unix();
	unsigned cnt, max;
	bool is_split;

	if (fd < 0)
		return 0;
	cnt = queues_from_channels(fd, ifname, &is_split, &max);
	close(fd);
	return cnt;
}

void shunt_netdev_channels_print(const struct shunt_netdev *netdev, const char *ifname,
				 unsigned cnt, char *out, unsigned len)
{
	if (netdev->is_split)
		snprintf(out, len, "ethtool -L %s rx %u tx %u", ifname, cnt, cnt);
	else
		snprintf(out, len, "ethtool -L %s combined %u", ifname, cnt);
}

int shunt_netdev_promisc_open(unsigned ifindex, const char *ifname, struct shunt_err *err)
{
	struct packet_mreq mreq = {.mr_ifindex = (int)ifindex, .mr_type = PACKET_MR_PROMISC};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), code;

	if (fd >= 0 && !setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
		return fd;
	code = errno;
	if (fd >= 0)
		close(fd);
	return shunt_err_set(err, code, "%s: cannot make it promiscuous: %s%s", ifname,
			     strerror(code), code == EPERM ? "; CAP_NET_RAW is missing" : "");
}

/* --- this host's addresses -------------------------------------------------------------------- */

static int compare4(const void *a, const void *b)
{
	return memcmp(a, b, 4);
}

static int compare6(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void take(struct shunt_locals *out, const struct sockaddr *addr)
{
	if (!addr)
		return;
	if (addr->sa_family == AF_INET)
		out->ip4_be[out->ip4_cnt++] = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
	else if (addr->sa_family == AF_INET6)
		out->ip6[out->ip6_cnt++] = ((const struct sockaddr_in6 *)addr)->sin6_addr;
}

/* The one that was set, and the subnet's, which the kernel has beside it (fib_add_ifaddr). */
static void take_broadcasts(struct shunt_locals *out, const struct ifaddrs *ifa)
{
	struct sockaddr_in addr, mask;

	take(out, ifa->ifa_broadaddr);
	if (!ifa->ifa_netmask)
		return;
	memcpy(&addr, ifa->ifa_addr, sizeof(addr));
	memcpy(&mask, ifa->ifa_netmask, sizeof(mask));
	if (ntohl(mask.sin_addr.s_addr) <= UINT32_MAX - 2) /* /31 and /32 have none */
		out->ip4_be[out->ip4_cnt++] = addr.sin_addr.s_addr | ~mask.sin_addr.s_addr;
}

static unsigned unique(void *items, unsigned cnt, size_t size,
		       int (*compare)(const void *, const void *))
{
	unsigned kept = 0, i;
	char *at = items;

	qsort(items, cnt, size, compare);
	for (i = 0; i < cnt; i++)
		if (!i || compare(at + i * size, at + (kept - 1) * size))
			memmove(at + kept++ * size, at + i * size, size);
	return kept;
}

int shunt_locals_query(struct shunt_locals *out, struct shunt_err *err)
{
	struct ifaddrs *list, *ifa;
	unsigned n = 1;

	memset(out, 0, sizeof(*out));
	if (getifaddrs(&list))
		return shunt_err_set(err, errno, "cannot list this host's addresses: %s",
				     strerror(errno));
	for (ifa = list; ifa; ifa = ifa->ifa_next)
		n += 3;
	out->ip4_be = calloc(n, sizeof(*out->ip4_be));
	out->ip6 = calloc(n, sizeof(*out->ip6));
	for (ifa = out->ip4_be && out->ip6 ? list : NULL; ifa; ifa = ifa->ifa_next) {
		take(out, ifa->ifa_addr);
		if (ifa->ifa_addr && ifa->ifa_addr->sa_family == AF_INET &&
		    ifa->ifa_flags & IFF_BROADCAST)
			take_broadcasts(out, ifa);
	}
	freeifaddrs(list);
	if (!out->ip4_be || !out->ip6) {
		shunt_locals_fini(out);
		return shunt_err_set(err, ENOMEM, "not enough memory for this host's addresses");
	}
	out->ip4_cnt = unique(out->ip4_be, out->ip4_cnt, 4, compare4);
	out->ip6_cnt = unique(out->ip6, out->ip6_cnt, 16, compare6);
	return 0;
}

void shunt_locals_fini(struct shunt_locals *locals)
{
	free(locals->ip4_be);
	free(locals->ip6);
	memset(locals, 0, sizeof(*locals));
}

bool shunt_locals_equal(const struct shunt_locals *a, const struct shunt_locals *b)
{
	return a->ip4_cnt == b->ip4_cnt && a->ip6_cnt == b->ip6_cnt &&
	       (!a->ip4_cnt || !memcmp(a->ip4_be, b->ip4_be, a->ip4_cnt * 4UL)) &&
	       (!a->ip6_cnt || !memcmp(a->ip6, b->ip6, a->ip6_cnt * 16UL));
}
