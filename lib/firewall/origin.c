// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/origin.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/netlink.h"
#include "firewall/take.h"

#define TAG_LEN 4

struct shunt_origin {
	pthread_mutex_t lock;
	struct mnl_socket *socket; /* NULL until opened */
	unsigned seq;
};

/* ---- the packet ----------------------------------------------------------------------------- */

/* Where a packet has what is translated. */
struct fields {
	int family;
	uint8_t proto;
	unsigned addr_len;  /* bytes */
	uint8_t *src, *dst; /* addresses */
	uint8_t *ports;	    /* source, then destination */
	uint8_t *ip_csum;   /* NULL: IPv6 */
	uint8_t *l4_csum;   /* NULL: UDP without one */
};

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static bool find_l4(struct fields *f, uint8_t *l4, const uint8_t *end)
{
	if (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP)
		return false;
	f->ports = l4;
	f->l4_csum = l4 + (f->proto == IPPROTO_TCP ? 16 : 6);
	if (f->l4_csum + 2 > end)
		return false;
	if (f->proto == IPPROTO_UDP && !load16(f->l4_csum))
		f->l4_csum = NULL;
	return true;
}

/* Whole packets without options or extension headers: no others are approved. */
static bool find_fields(struct fields *f, uint8_t *frame, uint32_t len)
{
	uint8_t *const end = frame + len;
	uint8_t *ip;

	*f = (struct fields){.family = AF_UNSPEC};
	while (len > ETHER_HDR_LEN &&
	       (load16(frame + 12) == ETHERTYPE_VLAN || load16(frame + 12) == ETH_P_8021AD)) {
		frame += TAG_LEN;
		len -= TAG_LEN;
	}
	ip = frame + ETHER_HDR_LEN;
	if (len < ETHER_HDR_LEN + 20)
		return false;
	if (load16(frame + 12) == ETHERTYPE_IP && ip[0] == 0x45 && !(load16(ip + 6) & 0x3fff)) {
		*f = (struct fields){.family = AF_INET,
				     .proto = ip[9],
				     .addr_len = 4,
				     .src = ip + 12,
				     .dst = ip + 16,
				     .ip_csum = ip + 10};
		return find_l4(f, ip + 20, end);
	}
	if (load16(frame + 12) != ETHERTYPE_IPV6 || len < ETHER_HDR_LEN + 40)
		return false;
	*f = (struct fields){
		.family = AF_INET6, .proto = ip[6], .addr_len = 16, .src = ip + 8, .dst = ip + 24};
	return find_l4(f, ip + 40, end);
}

/* RFC 1624, equation 3. len: even. */
static void change_csum(uint8_t *csum, const uint8_t *before, const uint8_t *after, unsigned len)
{
	uint32_t sum = (uint16_t)~load16(csum);
	unsigned i;

	for (i = 0; i < len; i += 2)
		sum += (uint16_t)~load16(before + i) + (uint32_t)load16(after + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	csum[0] = (uint8_t)(~sum >> 8);
	csum[1] = (uint8_t)~sum;
}

static void replace(struct fields *f, uint8_t *field, const uint8_t *with, unsigned len)
{
	if (f->ip_csum && field != f->ports)
		change_csum(f->ip_csum, field, with, len);
	if (f->l4_csum)
		change_csum(f->l4_csum, field, with, len);
	memcpy(field, with, len);
}

/* Whether that changed anything. */
static bool rewrite(struct fields *f, const struct shunt_flow_way *way)
{
	const uint8_t ports[4] = {(uint8_t)(way->sport >> 8), (uint8_t)way->sport,
				  (uint8_t)(way->dport >> 8), (uint8_t)way->dport};

	if (!memcmp(f->src, way->src, f->addr_len) && !memcmp(f->dst, way->dst, f->addr_len) &&
	    !memcmp(f->ports, ports, sizeof(ports)))
		return false;
	replace(f, f->src, way->src, f->addr_len);
	replace(f, f->dst, way->dst, f->addr_len);
	replace(f, f->ports, ports, sizeof(ports));
	if (f->proto == IPPROTO_UDP && f->l4_csum && !load16(f->l4_csum))
		memset(f->l4_csum, 0xff, 2);
	return true;
}

/* ---- its connection ------------------------------------------------------------------------- */

/* As the answer to the packet comes in. */
static struct shunt_flow_way answer_of(const struct fields *f)
{
	struct shunt_flow_way way = {.sport = load16(f->ports + 2), .dport = load16(f->ports)};

	memcpy(way.src, f->dst, f->addr_len);
	memcpy(way.dst, f->src, f->addr_len);
	return way;
}

static void put_request(struct nlmsghdr *nlh, int family, uint8_t proto,
			const struct shunt_flow_way *way)
{
	const bool is_ip6 = family == AF_INET6;
	const size_t addr_len = is_ip6 ? 16 : 4;
	struct nlattr *tuple, *nest;
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = (uint8_t)family;
	tuple = mnl_attr_nest_start(nlh, CTA_TUPLE_ORIG);
	nest = mnl_attr_nest_start(nlh, CTA_TUPLE_IP);
	mnl_attr_put(nlh, is_ip6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, addr_len, way->src);
	mnl_attr_put(nlh, is_ip6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, addr_len, way->dst);
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(nlh, CTA_PROTO_NUM, proto);
	mnl_attr_put_u16(nlh, CTA_PROTO_SRC_PORT, htons(way->sport));
	mnl_attr_put_u16(nlh, CTA_PROTO_DST_PORT, htons(way->dport));
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_nest_end(nlh, tuple);
}

static int take(const struct nlmsghdr *nlh, void *arg)
{
	return shunt_firewall_take_flow(nlh, 0, arg) ? MNL_CB_ERROR : MNL_CB_STOP;
}

/* The connection that has packets of that kind, either way. With the lock. */
static int ask(struct shunt_origin *origin, int family, uint8_t proto,
	       const struct shunt_flow_way *way, struct shunt_flow *out)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	ssize_t len;
	int got;

	put_request(nlh, family, proto, way);
	nlh->nlmsg_seq = ++origin->seq;
	if (mnl_socket_sendto(origin->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do { /* EPROTO: an answer to what was asked before */
		len = mnl_socket_recvfrom(origin->socket, buf, sizeof(buf));
		if (len < 0)
			return -errno;
		errno = 0;
		got = shunt_netlink_run(buf, (size_t)len, origin->seq,
					mnl_socket_get_portid(origin->socket), take, out);
	} while (got == MNL_CB_ERROR && errno == EPROTO);
	if (got == MNL_CB_ERROR)
		return errno ? -errno : -EBADMSG;
	return 0;
}

static bool is_same(const struct shunt_flow_way *a, const struct shunt_flow_way *b)
{
	return !memcmp(a->src, b->src, sizeof(a->src)) && !memcmp(a->dst, b->dst, sizeof(a->dst)) &&
	       a->sport == b->sport && a->dport == b->dport;
}

int shunt_origin_restore(struct shunt_origin *origin, uint8_t *frame, uint32_t len)
{
	struct shunt_flow_way answer;
	struct shunt_flow flow = {0};
	struct fields f;
	int ret;

	if (!find_fields(&f, frame, len))
		return 0;
	answer = answer_of(&f);
	pthread_mutex_lock(&origin->lock);
	ret = origin->socket ? ask(origin, f.family, f.proto, &answer, &flow) : -ENOENT;
	pthread_mutex_unlock(&origin->lock);
	if (ret)
		return ret;
	return rewrite(&f, is_same(&answer, &flow.out) ? &flow.back : &flow.out);
}

/* ---- life ----------------------------------------------------------------------------------- */

int shunt_origin_create(struct shunt_origin **out)
{
	struct shunt_origin *origin = calloc(1, sizeof(*origin));

	*out = origin;
	if (!origin)
		return -ENOMEM;
	pthread_mutex_init(&origin->lock, NULL);
	return 0;
}

void shunt_origin_destroy(struct shunt_origin *origin)
{
	if (!origin)
		return;
	if (origin->socket)
		mnl_socket_close(origin->socket);
	pthread_mutex_destroy(&origin->lock);
	free(origin);
}

/* No connection is from 0.0.0.0 to 0.0.0.0. With the lock. */
static int open_socket(struct shunt_origin *origin)
{
	const struct shunt_flow_way nobody = {0};
	struct shunt_flow flow;
	int ret;

	origin->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!origin->socket)
		return -errno;
	ret = mnl_socket_bind(origin->socket, 0, MNL_SOCKET_AUTOPID) < 0
		      ? -errno
		      : ask(origin, AF_INET, IPPROTO_UDP, &nobody, &flow);
	if (!ret || ret == -ENOENT)
		return 0;
	mnl_socket_close(origin->socket);
	origin->socket = NULL;
	return ret;
}

int shunt_origin_open(struct shunt_origin *origin, struct shunt_err *err)
{
	int ret;

	pthread_mutex_lock(&origin->lock);
	ret = origin->socket ? 0 : open_socket(origin);
	pthread_mutex_unlock(&origin->lock);
	return ret ? shunt_err_set(err, -ret,
				   "the kernel's connection tracking does not answer: %s",
				   strerror(-ret))
		   : 0;
}
