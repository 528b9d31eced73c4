// SPDX-License-Identifier: BSD-2-Clause
/* Facts of a device, by ethtool, rtnetlink, sysfs and BPF. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "device/driver.h"
#include "doctor/facts.h"
#include "device/ethtool.h"
#include "device/features.h"
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
	unsigned master, peer;
	bool is_peer_elsewhere;
	char kind[16];
};

static int take_link(const struct nlattr *attr, void *data)
{
	struct link_facts *out = data;
	const struct nlattr *nested;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_MASTER:
		out->master = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINK:
		out->peer = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINK_NETNSID:
		out->is_peer_elsewhere = true;
		break;
	case IFLA_LINKINFO:
		mnl_attr_for_each_nested(nested,
					 attr) if (mnl_attr_get_type(nested) == IFLA_INFO_KIND)
			snprintf(out->kind, sizeof(out->kind), "%s", mnl_attr_get_str(nested));
		break;
	}
	return MNL_CB_OK;
}

static int link_message(const struct nlmsghdr *nlh, void *data)
{
	return mnl_attr_parse(nlh, sizeof(struct ifinfomsg), take_link, data);
}

static void read_link(struct mnl_socket *nl, unsigned ifindex, struct link_facts *out)
{
	char buf[32768] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = 1;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n > 0)
		mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), link_message, out);
}

static void read_neighbourhood(int fd, struct doctor_device_facts *out)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct timeval limit = {.tv_sec = 1};
	struct link_facts link, master;

	if (!nl)
		return;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		goto out;
	read_link(nl, out->netdev.ifindex, &link);
	memcpy(out->kind, link.kind, sizeof(out->kind));
	if (link.master && if_indextoname(link.master, out->master)) {
		read_link(nl, link.master, &master);
		memcpy(out->master_kind, master.kind, sizeof(out->master_kind));
	}
	if (!strcmp(link.kind, "veth") && link.peer && !link.is_peer_elsewhere &&
	    if_indextoname(link.peer, out->peer)) {
		out->peer_ifindex = link.peer;
		read_offloads(fd, out->peer, &out->peer_offloads);
	}
out:
	mnl_socket_close(nl);
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

/* Those that fit. */
static void read_bridge_ports(struct doctor_device_facts *out)
{
	char path[96];
	const struct dirent *entry;
	unsigned len = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%s/brif", out->ifname);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)) &&
	       len + strlen(entry->d_name) + 2 < sizeof(out->bridge_ports))
		if (*entry->d_name != '.')
			len += (unsigned)snprintf(out->bridge_ports + len,
						  sizeof(out->bridge_ports) - len, "%s%s",
						  len ? " " : "", entry->d_name);
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
	out->filters_vlans = *text == '1';
	read_bridge_ports(out);
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
