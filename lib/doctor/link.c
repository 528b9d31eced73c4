// SPDX-License-Identifier: BSD-2-Clause
/* Facts of a device, by ethtool, rtnetlink, sysfs and BPF. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "device/driver.h"
#include "doctor/facts.h"
#include "device/ethtool.h"
#include "device/features.h"
#include "device/link.h"
#include "device/ntuple.h"
#include "xdp/xdp.h"

/* --- ethtool ---------------------------------------------------------------------------------- */

static void read_ring(int fd, struct doctor_device_facts *out)
{
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};

	if (!shunt_ethtool(fd, out->ifname, &ring))
		out->ring = ring.rx_pending;
}

static void read_ntuple(int fd, struct doctor_device_facts *out)
{
	struct shunt_ntuple *table = malloc(sizeof(*table));

	out->ntuple_cnt = -1;
	if (table && !shunt_ntuple_read(fd, out->ifname, table)) {
		out->ntuple_cnt = (int)table->cnt;
		out->ntuple_size = table->size;
	}
	free(table);
}

static void take_feature(const char *name, bool is_on, bool can_change, void *data)
{
	struct doctor_offloads *out = data;

	if (!strcmp(name, SHUNT_FEATURE_RX_VLAN) || !strcmp(name, SHUNT_FEATURE_RX_STAG))
		out->takes_tags_for_good |= is_on && !can_change;
#define X(field, string)           \
	if (!strcmp(name, string)) \
		out->field = is_on;
	DOCTOR_OFFLOADS(X)
#undef X
}

static void read_offloads(int fd, const char *ifname, struct doctor_offloads *out)
{
	shunt_features_each(fd, ifname, take_feature, out);
}

/* --- rtnetlink -------------------------------------------------------------------------------- */

struct link_facts {
	unsigned master;
	char kind[16];
};

static int take_link(const struct nlattr *attr, void *data)
{
	struct link_facts *out = data;
	const struct nlattr *nested;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_MASTER:
		out->master = shunt_netlink_u32(attr);
		break;
	case IFLA_LINKINFO:
		mnl_attr_for_each_nested(nested,
					 attr) if (mnl_attr_get_type(nested) == IFLA_INFO_KIND)
			snprintf(out->kind, sizeof(out->kind), "%s", shunt_netlink_str(nested));
		break;
	}
	return MNL_CB_OK;
}

static void read_neighbourhood(int fd, struct doctor_device_facts *out)
{
	struct link_facts link = {0}, master = {0};

	if (shunt_link_ask(out->netdev.ifindex, take_link, &link))
		return;
	memcpy(out->kind, link.kind, sizeof(out->kind));
	if (link.master && if_indextoname(link.master, out->master)) {
		shunt_link_ask(link.master, take_link, &master);
		memcpy(out->master_kind, master.kind, sizeof(out->master_kind));
	}
	if (!shunt_driver_of(out->netdev.driver)->is_pair)
		return;
	out->peer_ifindex = shunt_link_peer(out->netdev.ifindex);
	if (out->peer_ifindex && if_indextoname(out->peer_ifindex, out->peer))
		read_offloads(fd, out->peer, &out->peer_offloads);
	else
		out->peer_ifindex = 0;
}

/* --- XDP -------------------------------------------------------------------------------------- */

/* Its name needs CAP_SYS_ADMIN, its number needs nothing. */
static void read_program(struct doctor_device_facts *out)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd;

	if (bpf_xdp_query((int)out->netdev.ifindex, 0, &opts))
		return;
	out->program.is_generic = !opts.drv_prog_id && !opts.hw_prog_id;
	out->program.id = opts.drv_prog_id  ? opts.drv_prog_id
			  : opts.hw_prog_id ? opts.hw_prog_id
					    : opts.skb_prog_id;
	if (out->program.id)
		out->program.is_ours = shunt_xdp_is_on(out->netdev.ifindex);
	fd = out->program.id ? bpf_prog_get_fd_by_id(out->program.id) : -1;
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		snprintf(out->program.name, sizeof(out->program.name), "%s", info.name);
	close(fd);
}

/* --- sysfs ------------------------------------------------------------------------------------ */

/* A bridge's, or a bond's; those that fit. */
static void read_ports(struct doctor_device_facts *out)
{
	char path[96];
	const struct dirent *entry;
	unsigned len = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%s/brif", out->ifname);
	dir = opendir(path);
	if (!dir) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/bonding/slaves", out->ifname);
		shunt_doctor_read_text(path, out->ports, sizeof(out->ports));
		return;
	}
	while ((entry = readdir(dir)) && len + strlen(entry->d_name) + 2 < sizeof(out->ports))
		if (*entry->d_name != '.')
			len += (unsigned)snprintf(out->ports + len, sizeof(out->ports) - len,
						  "%s%s", len ? " " : "", entry->d_name);
	closedir(dir);
}

static void read_sysfs(struct doctor_device_facts *out)
{
	char path[96], text[128];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/numa_node", out->ifname);
	shunt_doctor_read_text(path, text, sizeof(text));
	out->numa_node = *text ? atoi(text) : -1;
	snprintf(path, sizeof(path), "/sys/class/net/%s/device/local_cpulist", out->ifname);
	shunt_doctor_read_text(path, out->local_cpus, sizeof(out->local_cpus));
	/* A string of 64 bits, the first is bit 0; 33 is VIRTIO_F_ACCESS_PLATFORM. */
	snprintf(path, sizeof(path), "/sys/class/net/%s/device/features", out->ifname);
	shunt_doctor_read_text(path, text, sizeof(text));
	out->virtio_dma = !shunt_driver_of(out->netdev.driver)->is_virtio || strlen(text) < 34
				  ? -1
				  : text[33] == '1';
	snprintf(path, sizeof(path), "/sys/class/net/%s/bridge/vlan_filtering", out->ifname);
	shunt_doctor_read_text(path, text, sizeof(text));
	out->filters_stags = *text == '1';
	snprintf(path, sizeof(path), "/sys/class/net/%s/bridge/vlan_protocol", out->ifname);
	shunt_doctor_read_text(path, text, sizeof(text));
	out->filters_stags &= strtoul(text, NULL, 0) == ETH_P_8021AD;
	read_ports(out);
	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", out->ifname);
	shunt_doctor_read_text(path, text, sizeof(text));
	out->is_forwarding = *text == '1';
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool has_carrier(int fd, const char *ifname)
{
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	return !ioctl(fd, SIOCGIFFLAGS, &ifr) && ifr.ifr_flags & IFF_RUNNING;
}

int shunt_doctor_device_facts(const char *ifname, struct doctor_device_facts *out,
			      struct shunt_err *err)
{
	int ret, fd;

	memset(out, 0, sizeof(*out));
	ret = shunt_netdev_query(ifname, &out->netdev, err);
	if (ret)
		return ret;
	snprintf(out->ifname, sizeof(out->ifname), "%s", ifname);
	shunt_netdev_xdp_query(out->netdev.ifindex, &out->xdp, NULL);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return shunt_err_set(err, errno, "%s: socket: %s", ifname, strerror(errno));
	out->is_running = has_carrier(fd, ifname);
	read_ring(fd, out);
	read_ntuple(fd, out);
	read_offloads(fd, ifname, &out->offloads);
	read_neighbourhood(fd, out);
	close(fd);
	read_program(out);
	read_sysfs(out);
	shunt_kernel_query(&out->kernel);
	return 0;
}
