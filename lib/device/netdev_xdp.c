// SPDX-License-Identifier: BSD-2-Clause
#include "base/netlink.h"
#include "device/netdev_xdp.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/bytes.h"

/* linux/netdev.h, Documentation/netlink/specs/netdev.yaml. */
enum {
	DEV_GET = 1,
	DEV_IFINDEX = 1,
	DEV_XDP_FEATURES = 3,
	DEV_ZC_MAX_SEGS,
	DEV_RX_METADATA,
	DEV_XSK_FEATURES,
};

struct request {
	char buf[1024] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
};

static void begin(struct request *r, uint16_t type, uint8_t cmd)
{
	struct genlmsghdr *genl;

	r->nlh = mnl_nlmsg_put_header(r->buf);
	r->nlh->nlmsg_type = type;
	r->nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	r->nlh->nlmsg_seq = 1;
	genl = mnl_nlmsg_put_extra_header(r->nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = 1;
}

/* Sends r and gives every message of the answer to fn, up to the acknowledgement. */
static int exchange(struct mnl_socket *nl, const struct request *r, mnl_cb_t fn, void *data)
{
	char buf[8192] __attribute__((aligned(8)));
	int ret;

	if (mnl_socket_sendto(nl, r->nlh, r->nlh->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (n < 0)
			return -errno;
		ret = shunt_netlink_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), fn, data);
	} while (ret > 0);
	return ret < 0 ? -errno : 0;
}

static int take_family(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
		*(uint16_t *)data = shunt_netlink_u16(attr);
	return MNL_CB_OK;
}

static int take_dev(const struct nlattr *attr, void *data)
{
	struct shunt_netdev_xdp *out = data;

	switch (mnl_attr_get_type(attr)) {
	case DEV_XDP_FEATURES:
		out->features = shunt_netlink_u64(attr);
		break;
	case DEV_ZC_MAX_SEGS:
		out->zc_max_segs = shunt_netlink_u32(attr);
		break;
	case DEV_RX_METADATA:
		out->rx_metadata = shunt_netlink_u64(attr);
		break;
	case DEV_XSK_FEATURES:
		out->xsk_features = shunt_netlink_u64(attr);
		break;
	}
	return MNL_CB_OK;
}

static int family_message(const struct nlmsghdr *nlh, void *data)
{
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), take_family, data);
}

static int dev_message(const struct nlmsghdr *nlh, void *data)
{
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), take_dev, data);
}

static int ask(struct mnl_socket *nl, unsigned ifindex, struct shunt_netdev_xdp *out)
{
	struct timeval limit = {.tv_sec = 1};
	uint16_t family = 0;
	struct request r;
	int ret;

	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return -errno;
	begin(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(r.nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	ret = exchange(nl, &r, family_message, &family);
	if (ret == -ENOENT || (!ret && !family))
		return 0;
	if (ret)
		return ret;
	begin(&r, family, DEV_GET);
	mnl_attr_put_u32(r.nlh, DEV_IFINDEX, ifindex);
	ret = exchange(nl, &r, dev_message, out);
	out->is_known = !ret;
	return ret;
}

int shunt_netdev_xdp_query(unsigned ifindex, struct shunt_netdev_xdp *out, struct shunt_err *err)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	int ret;

	memset(out, 0, sizeof(*out));
	ret = nl ? ask(nl, ifindex, out) : -errno;
	if (nl)
		mnl_socket_close(nl);
	if (ret)
		shunt_err_set(err, -ret, "device with index %u: netdev dev-get: %s", ifindex,
			      strerror(-ret));
	return ret;
}

static void put(char *buf, unsigned len, const char *name)
{
	unsigned used = (unsigned)strlen(buf);

	snprintf(buf + used, len - used, "%s%s", used ? " " : "", name);
}

void shunt_netdev_xdp_print(const struct shunt_netdev_xdp *xdp, char *buf, unsigned len)
{
	buf[0] = 0;
#define X(name, bit, help)               \
	if (xdp->features & 1u << (bit)) \
		put(buf, len, #name);
	SHUNT_NETDEV_XDP_FEATURES(X)
#undef X
#define X(name, bit)                        \
	if (xdp->rx_metadata & 1u << (bit)) \
		put(buf, len, #name);
	SHUNT_NETDEV_XDP_RX_METADATA(X)
#undef X
#define X(name, bit)                         \
	if (xdp->xsk_features & 1u << (bit)) \
		put(buf, len, #name);
	SHUNT_NETDEV_XSK_FEATURES(X)
#undef X
	if (!*buf)
		put(buf, len, "none");
}
