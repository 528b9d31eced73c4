// SPDX-License-Identifier: BSD-2-Clause
/* Translated packets are made what they were by what connection tracking knows: connections that
 * this test tells a kernel of, in a network namespace of its own, and packets of them. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stdbool.h>
#include <string.h>

#include "firewall/origin.h"
#include "measure/rng.h"
#include "netns.h"

#define SEED	20261126u
#define RUNS	400u
#define ETH_LEN 14u

static struct shunt_err err;
static uint64_t rng = SEED;

/* --- connections ------------------------------------------------------------------------------ */

/* Of packets one way; ports in host order. */
struct way {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
};

struct connection {
	bool is_ip6;
	uint8_t proto;
	struct way out, back;
};

static unsigned addr_len(const struct connection *c)
{
	return c->is_ip6 ? 16 : 4;
}

static void put_way(struct nlmsghdr *nlh, uint16_t type, const struct connection *c,
		    const struct way *way)
{
	struct nlattr *tuple = mnl_attr_nest_start(nlh, type);
	struct nlattr *nest = mnl_attr_nest_start(nlh, CTA_TUPLE_IP);

	mnl_attr_put(nlh, c->is_ip6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, addr_len(c), way->src);
	mnl_attr_put(nlh, c->is_ip6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, addr_len(c), way->dst);
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(nlh, CTA_PROTO_NUM, c->proto);
	mnl_attr_put_u16(nlh, CTA_PROTO_SRC_PORT, htons(way->sport));
	mnl_attr_put_u16(nlh, CTA_PROTO_DST_PORT, htons(way->dport));
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_nest_end(nlh, tuple);
}

/* The kernel has it from now on. */
static void begin(const struct connection *c)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct mnl_socket *socket = mnl_socket_open(NETLINK_NETFILTER);
	struct nfgenmsg *nfg;
	int len;

	cr_assert_not_null(socket);
	cr_assert_eq(mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID), 0);
	nlh->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = c->is_ip6 ? AF_INET6 : AF_INET;
	put_way(nlh, CTA_TUPLE_ORIG, c, &c->out);
	put_way(nlh, CTA_TUPLE_REPLY, c, &c->back);
	mnl_attr_put_u32(nlh, CTA_TIMEOUT, htonl(600));
	cr_assert_gt(mnl_socket_sendto(socket, nlh, nlh->nlmsg_len), 0);
	len = (int)mnl_socket_recvfrom(socket, buf, sizeof(buf));
	cr_assert_gt(len, 0);
	cr_assert_geq(mnl_cb_run(buf, (size_t)len, 0, mnl_socket_get_portid(socket), NULL, NULL), 0,
		      "the kernel takes no connection: %s", strerror(errno));
	mnl_socket_close(socket);
}

static void random_bytes(uint8_t *p, unsigned len)
{
	unsigned i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)shunt_rng_next(&rng);
}

/* The number keeps connections apart on both sides. */
static struct connection random_connection(unsigned number, bool is_translated)
{
	struct connection c = {.is_ip6 = shunt_rng_next(&rng) & 1,
			       .proto = shunt_rng_next(&rng) & 1 ? IPPROTO_TCP : IPPROTO_UDP};

	random_bytes(c.out.src, addr_len(&c));
	random_bytes(c.out.dst, addr_len(&c));
	c.out.src[0] = c.out.dst[0] = 0x20;
	c.out.src[1] = (uint8_t)(number >> 8);
	c.out.src[2] = (uint8_t)number;
	c.out.sport = (uint16_t)(1 + (shunt_rng_next(&rng) & 0x7fff));
	c.out.dport = (uint16_t)(1 + (shunt_rng_next(&rng) & 0x7fff));
	memcpy(c.back.src, c.out.dst, 16);
	memcpy(c.back.dst, c.out.src, 16);
	c.back.sport = c.out.dport;
	c.back.dport = c.out.sport;
	if (!is_translated)
		return c;
	if (shunt_rng_next(&rng) & 1) { /* destination, too */
		random_bytes(c.back.src + 1, addr_len(&c) - 1);
		c.back.sport = (uint16_t)(1 + (shunt_rng_next(&rng) & 0x7fff));
	}
	c.back.dst[0] = 0x2a;
	random_bytes(c.back.dst + 3, addr_len(&c) - 3);
	c.back.dport = (uint16_t)(1 + (shunt_rng_next(&rng) & 0x7fff));
	return c;
}

/* --- packets ---------------------------------------------------------------------------------- */

struct frame {
	uint8_t bytes[ETH_LEN + 8 + 40 + 20 + sizeof(uint64_t)];
	uint32_t len;
};

/* RFC 1071, byte by byte. */
static uint32_t sum_up(uint32_t sum, const uint8_t *p, unsigned len)
{
	unsigned i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* With all checksums right; has_csum: UDP has one. */
static struct frame frame_of(const struct connection *c, const struct way *way, uint64_t payload,
			     bool has_csum)
{
	const unsigned ip_len = c->is_ip6 ? 40 : 20;
	const unsigned head_len = c->proto == IPPROTO_TCP ? 20 : 8;
	const unsigned l4_len = head_len + sizeof(payload);
	struct frame f = {.len = ETH_LEN + ip_len + l4_len};
	uint8_t *ip = f.bytes + ETH_LEN, *l4 = ip + ip_len, *csum;
	uint32_t sum;

	put16(f.bytes + 12, c->is_ip6 ? 0x86dd : 0x0800);
	if (c->is_ip6) {
		ip[0] = 0x60;
		put16(ip + 4, l4_len);
		ip[6] = c->proto;
		ip[7] = 64;
	} else {
		ip[0] = 0x45;
		put16(ip + 2, ip_len + l4_len);
		put16(ip + 6, 0x4000); /* may not be cut */
		ip[8] = 64;
		ip[9] = c->proto;
	}
	memcpy(ip + (c->is_ip6 ? 8 : 12), way->src, addr_len(c));
	memcpy(ip + (c->is_ip6 ? 24 : 16), way->dst, addr_len(c));
	if (!c->is_ip6)
		put16(ip + 10, ~sum_up(0, ip, 20));
	put16(l4, way->sport);
	put16(l4 + 2, way->dport);
	if (c->proto == IPPROTO_TCP)
		l4[12] = 0x50;
	else
		put16(l4 + 4, l4_len);
	memcpy(l4 + head_len, &payload, sizeof(payload));
	csum = l4 + (c->proto == IPPROTO_TCP ? 16 : 6);
	sum = sum_up(c->proto + l4_len, way->src, addr_len(c));
	sum = sum_up(sum_up(sum, way->dst, addr_len(c)), l4, l4_len);
	if (has_csum || c->proto == IPPROTO_TCP)
		put16(csum, (~sum & 0xffff) || c->proto == IPPROTO_TCP ? ~sum : 0xffff);
	return f;
}

static struct way turned(const struct way *way)
{
	struct way other = {.sport = way->dport, .dport = way->sport};

	memcpy(other.src, way->dst, 16);
	memcpy(other.dst, way->src, 16);
	return other;
}

/* --- tests ------------------------------------------------------------------------------------ */

static struct shunt_origin *origin;

static void begin_test(void)
{
	int ret;

	netns_enter();
	cr_assert_eq(shunt_origin_create(&origin), 0);
	ret = shunt_origin_open(origin, &err);
	if (ret == -EOPNOTSUPP || ret == -EINVAL || ret == -EPROTONOSUPPORT)
		cr_skip_test("this kernel has no ctnetlink: %s", err.msg);
	cr_assert_eq(ret, 0, "%s", err.msg);
	cr_assert_eq(shunt_origin_open(origin, &err), 0, "a second time: %s", err.msg);
}

static void end_test(void)
{
	shunt_origin_destroy(origin);
}

TestSuite(origin, .init = begin_test, .fini = end_test);

/* VLAN tags before the packet, up to two. */
static void put_tags(struct frame *f, unsigned cnt)
{
	static const uint8_t tags[] = {0x88, 0xa8, 0x60, 30, 0x81, 0, 0, 31};
	const unsigned len = 4 * cnt;

	memmove(f->bytes + 12 + len, f->bytes + 12, f->len - 12);
	memcpy(f->bytes + 12, tags + sizeof(tags) - len, len);
	f->len += len;
}

/* As it left is as its answer comes in, turned round. */
static void check_way(const struct connection *c, const struct way *arrives,
		      const struct way *answer, bool is_translated, unsigned run)
{
	const uint64_t payload = shunt_rng_next(&rng);
	const bool has_csum = shunt_rng_next(&rng) & 3;
	const struct way left = turned(answer);
	struct frame want = frame_of(c, arrives, payload, has_csum);
	struct frame f = frame_of(c, &left, payload, has_csum);

	put_tags(&want, run % 3);
	put_tags(&f, run % 3);

	cr_assert_eq(shunt_origin_restore(origin, f.bytes, f.len), is_translated, "run %u", run);
	cr_assert_arr_eq(f.bytes, want.bytes, f.len, "run %u, IPv6 %d, protocol %u", run, c->is_ip6,
			 c->proto);
}

Test(origin, packets_are_what_they_were)
{
	unsigned i;

	for (i = 0; i < RUNS; i++) {
		const bool is_translated = i % 4;
		const struct connection c = random_connection(i, is_translated);

		begin(&c);
		check_way(&c, &c.out, &c.back, is_translated, i);
		check_way(&c, &c.back, &c.out, is_translated, i);
	}
}

Test(origin, of_no_connection_nothing_is_known)
{
	const struct connection c = random_connection(0, true);
	struct frame f = frame_of(&c, &c.out, 0, true), before = f;

	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), -ENOENT);
	cr_expect_arr_eq(f.bytes, before.bytes, f.len);
}

/* What is never translated is not asked about, and what is cut off not read. */
Test(origin, what_is_left_alone)
{
	struct connection c = random_connection(0, true);
	const struct way left = turned(&c.back);
	struct frame f, before;
	uint32_t len;

	c.is_ip6 = false;
	begin(&c);
	f = before = frame_of(&c, &left, 0, true);
	for (len = 0; len < ETH_LEN + 20 + (c.proto == IPPROTO_TCP ? 18 : 8); len++)
		cr_expect_eq(shunt_origin_restore(origin, f.bytes, len), 0, "%u bytes", len);
	f.bytes[ETH_LEN + 9] = IPPROTO_ICMP;
	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), 0);
	f = before;
	f.bytes[ETH_LEN + 7] = 1; /* a later fragment */
	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), 0);
	f = before;
	f.bytes[ETH_LEN] = 0x46;
	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), 0);
	f = before;
	put16(f.bytes + 12, 0x0806);
	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), 0);
	f = before;
	cr_expect_eq(shunt_origin_restore(origin, f.bytes, f.len), 1);
}
