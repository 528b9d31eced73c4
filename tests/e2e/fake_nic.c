// SPDX-License-Identifier: BSD-2-Clause
/* A NIC with ntuple filters and an RSS table for programs that preload this: ethtool's ioctls
 * about them are answered from the file $FAKE_NIC, which outlives the processes as a NIC does. Its
 * filters are what the igb driver takes (Ethernet type, MAC addresses, VLAN priority), in 16
 * places, and it refuses what igb refuses; its table has 8 entries for 2 rings, the kernel's
 * default until somebody sets it. It is eth1, and eth10 once it is renamed. No device of the
 * machine nor of QEMU has such filters, and no veth a table.
 *
 * With $FAKE_DRIVER that is the name of its driver: the features that a veth has for VLAN tags are
 * then taken for real. $FAKE_FIXED names a feature that nobody can switch. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES	16
#define RINGS	2
#define ENTRIES 8

static struct nic {
	unsigned is_on;
	unsigned is_table_set; /* IFF_RXFH_CONFIGURED */
	unsigned table[ENTRIES];
	unsigned char is_used[PLACES];
	struct ethtool_rx_flow_spec filters[PLACES];
} * nic;
static int (*real_ioctl)(int fd, unsigned long request, ...);

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAKE_NIC");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	real_ioctl = dlsym(RTLD_NEXT, "ioctl");
	if (fd >= 0 && !ftruncate(fd, sizeof(*nic)))
		nic = mmap(NULL, sizeof(*nic), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
}

static int is_same(const struct ethtool_rx_flow_spec *a, const struct ethtool_rx_flow_spec *b)
{
	return a->flow_type == b->flow_type && !memcmp(&a->h_u, &b->h_u, sizeof(a->h_u)) &&
	       !memcmp(&a->m_u, &b->m_u, sizeof(a->m_u)) && a->h_ext.vlan_tci == b->h_ext.vlan_tci;
}

static int insert(const struct ethtool_rx_flow_spec *f)
{
	unsigned i;

	if (!nic->is_on)
		return -EOPNOTSUPP;
	if ((f->flow_type & ~FLOW_EXT) != ETHER_FLOW || f->location >= PLACES || f->ring_cookie > 1)
		return -EINVAL;
	for (i = 0; i < PLACES; i++)
		if (nic->is_used[i] && is_same(&nic->filters[i], f))
			return -EEXIST;
	nic->is_used[f->location] = 1;
	nic->filters[f->location] = *f;
	return 0;
}

static int list(struct ethtool_rxnfc *n)
{
	unsigned i, cnt = 0;

	for (i = 0; i < PLACES; i++) {
		if (!nic->is_used[i])
			continue;
		if (n->cmd == ETHTOOL_GRXCLSRLALL && cnt == n->rule_cnt)
			return -EMSGSIZE;
		if (n->cmd == ETHTOOL_GRXCLSRLALL)
			n->rule_locs[cnt] = i;
		cnt++;
	}
	n->rule_cnt = cnt;
	n->data = n->cmd == ETHTOOL_GRXCLSRLALL ? PLACES : 0;
	return 0;
}

static int get_table(struct ethtool_rxfh_indir *t)
{
	const unsigned room = t->size;
	unsigned i;

	t->size = ENTRIES;
	for (i = 0; i < ENTRIES && room; i++)
		t->ring_index[i] = nic->is_table_set ? nic->table[i] : i % RINGS;
	return room && room != ENTRIES ? -EINVAL : 0;
}

/* As the kernel's ethtool_set_rxfh_indir: no entries, and it is the default again. */
static int set_table(const struct ethtool_rxfh_indir *t)
{
	if (t->size && t->size != ENTRIES)
		return -EINVAL;
	nic->is_table_set = t->size;
	memcpy(nic->table, t->ring_index, t->size * sizeof(*t->ring_index));
	return 0;
}

static int answer(struct ethtool_rxnfc *n)
{
	const unsigned at = n->fs.location;

	switch (n->cmd) {
	case ETHTOOL_GRXCLSRLCNT:
	case ETHTOOL_GRXCLSRLALL:
		return list(n);
	case ETHTOOL_GRXRINGS:
		n->data = RINGS;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		if (at >= PLACES || !nic->is_used[at])
			return -EINVAL;
		n->fs = nic->filters[at];
		return 0;
	case ETHTOOL_SRXCLSRLINS:
		return insert(&n->fs);
	default:
		if (at >= PLACES || !nic->is_used[at])
			return -EINVAL;
		nic->is_used[at] = 0;
		return 0;
	}
}

/* What the device itself says of its features, with the switch of the filters among it. */
static void add_switch(int fd, struct ifreq *ifr, struct ethtool_gfeatures *f)
{
	struct {
		struct ethtool_gstrings head;
		char names[128][ETH_GSTRING_LEN];
	} strings = {.head = {ETHTOOL_GSTRINGS, ETH_SS_FEATURES, 0}};
	struct ifreq ask = *ifr;
	const char *fixed = getenv("FAKE_FIXED");
	unsigned i;

	ask.ifr_data = (void *)&strings;
	if (real_ioctl(fd, SIOCETHTOOL, &ask))
		return;
	for (i = 0; i < strings.head.len && i / 32 < f->size; i++) {
		if (fixed && !strcmp(strings.names[i], fixed))
			f->features[i / 32].available &= ~(1u << i % 32);
		if (!strcmp(strings.names[i], "rx-ntuple-filter")) {
			f->features[i / 32].available |= 1u << i % 32;
			f->features[i / 32].never_changed &= ~(1u << i % 32);
			f->features[i / 32].active &= ~(1u << i % 32);
			f->features[i / 32].active |= nic->is_on << i % 32;
		}
	}
}

static int flags(int fd, struct ifreq *ifr, struct ethtool_value *value)
{
	const unsigned wanted = value->data;
	int ret;

	if (value->cmd == ETHTOOL_SFLAGS) {
		nic->is_on = !!(wanted & ETH_FLAG_NTUPLE);
		if (!nic->is_on) /* as igb does */
			memset(nic->is_used, 0, sizeof(nic->is_used));
		return 0;
	}
	ret = real_ioctl(fd, SIOCETHTOOL, ifr);
	if (!ret && nic->is_on)
		value->data |= ETH_FLAG_NTUPLE;
	return ret;
}

static int driver(int fd, struct ifreq *ifr, struct ethtool_drvinfo *info)
{
	const char *name = getenv("FAKE_DRIVER");
	const int ret = real_ioctl(fd, SIOCETHTOOL, ifr);

	if (!ret && name)
		snprintf(info->driver, sizeof(info->driver), "%s", name);
	return ret;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *ifr;
	va_list ap;
	void *cmd;
	int ret;

	va_start(ap, request);
	ifr = va_arg(ap, void *);
	va_end(ap);
	if (!nic || request != SIOCETHTOOL ||
	    (strcmp(ifr->ifr_name, "eth1") && strcmp(ifr->ifr_name, "eth10")))
		return real_ioctl(fd, request, ifr);
	cmd = ifr->ifr_data;
	switch (*(__u32 *)cmd) {
	case ETHTOOL_GRXFHINDIR:
	case ETHTOOL_SRXFHINDIR:
		ret = *(__u32 *)cmd == ETHTOOL_GRXFHINDIR ? get_table(cmd) : set_table(cmd);
		errno = -ret;
		return ret ? -1 : 0;
	case ETHTOOL_GRXRINGS:
	case ETHTOOL_GRXCLSRLCNT:
	case ETHTOOL_GRXCLSRLALL:
	case ETHTOOL_GRXCLSRULE:
	case ETHTOOL_SRXCLSRLINS:
	case ETHTOOL_SRXCLSRLDEL:
		ret = answer(cmd);
		errno = -ret;
		return ret ? -1 : 0;
	case ETHTOOL_GFLAGS:
	case ETHTOOL_SFLAGS:
		return flags(fd, ifr, cmd);
	case ETHTOOL_GDRVINFO:
		return driver(fd, ifr, cmd);
	case ETHTOOL_GFEATURES:
		ret = real_ioctl(fd, request, ifr);
		if (!ret)
			add_switch(fd, ifr, cmd);
		return ret;
	default:
		return real_ioctl(fd, request, ifr);
	}
}
