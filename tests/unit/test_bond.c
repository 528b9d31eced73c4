// SPDX-License-Identifier: BSD-2-Clause
/* The member of a bond that a packet leaves by: against the formulas of the kernel's document
 * (Documentation/networking/bonding.rst), written down a second time, and what it does not say,
 * which tests/vm/cases/bonds has from the kernel itself. And bonds as the kernel tells of them, to
 * devices above ports. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_bonding.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "mirror/fib.h"
#include "mirror/mirror.h"
#include "mirror/parse.h"
#include "shunt_bond.h"

/* --- the hash --------------------------------------------------------------------------------- */

struct packet {
	uint8_t ip[128];
	unsigned len;
	bool is_ip6;
};

static struct packet packet4(uint8_t protocol, uint8_t source, const void *payload, unsigned len)
{
	struct packet p = {.len = 20 + len};

	memcpy(p.ip, "\x45\0\0\0\0\0\0\0\x40\0\0\0\x0a\0\0\0\xc6\x33\x64\x07", 20);
	p.ip[9] = protocol;
	p.ip[15] = source;
	memcpy(p.ip + 20, payload, len);
	p.ip[3] = (uint8_t)p.len;
	return p;
}

static struct packet packet6(uint8_t protocol, const void *payload, unsigned len)
{
	struct packet p = {.len = 40 + len, .is_ip6 = true};
	unsigned i;

	p.ip[0] = 0x60;
	p.ip[6] = protocol;
	for (i = 8; i < 40; i++)
		p.ip[i] = (uint8_t)(i * i * 7);
	memcpy(p.ip + 40, payload, len);
	p.ip[5] = (uint8_t)len;
	return p;
}

static uint32_t hash(enum shunt_bond_policy policy, uint32_t hash_eth, const struct packet *p)
{
	return shunt_bond_hash(policy, hash_eth, p->ip, p->ip + p->len, p->is_ip6);
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof(w));
	return w;
}

static uint32_t addrs(const struct packet *p)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = p->is_ip6 ? 8 : 12; i < (p->is_ip6 ? 40u : 20u); i += 4)
		sum ^= word(p->ip + i);
	return sum;
}

/* "hash = hash XOR source IP XOR destination IP; hash = hash XOR (hash RSHIFT 16); hash = hash XOR
 * (hash RSHIFT 8)" */
static uint32_t with_addrs(uint32_t sum, const struct packet *p)
{
	sum ^= addrs(p);
	sum ^= sum >> 16;
	return sum ^ sum >> 8;
}

static void is_by(const struct packet *p, uint32_t ports, int line)
{
	const uint32_t eth = shunt_bond_hash_eth(0x5a, 0xc3, p->is_ip6 ? ETH_P_IPV6 : ETH_P_IP);

	cr_expect_eq(eth, (0x5au ^ 0xc3u ^ (p->is_ip6 ? 0x86ddu : 0x0800u)), "line %d", line);
	cr_expect_eq(hash(SHUNT_BOND_LAYER2, eth, p), eth, "line %d", line);
	cr_expect_eq(hash(SHUNT_BOND_LAYER23, eth, p), with_addrs(eth, p), "line %d", line);
	cr_expect_eq(hash(SHUNT_BOND_LAYER34, eth, p), with_addrs(ports, p) >> 1, "line %d", line);
}

#define IS_BY(p, ports) is_by(p, ports, __LINE__)

Test(bond, hash)
{
	static const uint8_t with_ports[] = {0x12, 0x34, 0, 53, 9, 9, 9, 9};
	const uint32_t ports = word(with_ports);
	struct packet p;

	p = packet4(17, 1, with_ports, 8);
	IS_BY(&p, ports);
	p.ip[6] = 0x20; /* a first fragment */
	IS_BY(&p, 0);
	p.ip[6] = 0x40; /* not to be fragmented: that is none */
	IS_BY(&p, ports);
	p.ip[6] = 0x80; /* the reserved bit: nor is that */
	IS_BY(&p, ports);
	p.ip[3] = 23; /* what follows is padding of the frame */
	IS_BY(&p, 0);
	p.ip[3] = 28;
	p.len = 23;
	IS_BY(&p, 0);
	p = packet4(6, 2, with_ports, 8);
	IS_BY(&p, ports);
	p = packet4(47, 3, with_ports, 8); /* GRE has no ports */
	IS_BY(&p, 0);
	p = packet4(51, 3, with_ports, 8); /* AH: its SPI is the second word */
	IS_BY(&p, word(with_ports + 4));
	p = packet4(17, 4, "\1\1\1\0\x12\x34\0\x35", 8);
	p.ip[0] = 0x46; /* options */
	IS_BY(&p, ports);
	p = packet6(132, with_ports, 8);
	IS_BY(&p, ports);
	p = packet6(60, with_ports, 8); /* behind an extension header nothing is looked for */
	IS_BY(&p, 0);
}

/* What a packet is translated to says the same as the packet that it is then. */
Test(bond, hash_of_a_flow)
{
	static const uint8_t with_ports[] = {0x12, 0x34, 0, 53, 9, 9, 9, 9};
	const struct packet all[] = {packet4(17, 1, with_ports, 8), packet6(6, with_ports, 8)};
	enum shunt_bond_policy policy;
	unsigned i;

	for (i = 0; i < 2; i++) {
		const bool is_ip6 = all[i].is_ip6;
		/* behind IPv4's there may be what a flow of IPv6 has left */
		__u64 src[2] = {~0ULL, 1}, dst[2] = {2ULL << 32, 3};

		memcpy(src, all[i].ip + (is_ip6 ? 8 : 12), is_ip6 ? 16 : 4);
		memcpy(dst, all[i].ip + (is_ip6 ? 24 : 16), is_ip6 ? 16 : 4);
		for (policy = 0; policy < SHUNT_BOND_POLICY_CNT; policy++)
			cr_expect_eq(shunt_bond_hash_flow(policy, 0x0866, src, dst,
							  word(with_ports), is_ip6),
				     hash(policy, 0x0866, &all[i]), "policy %u, packet %u", policy,
				     i);
	}
}

static uint32_t icmp_word(uint8_t type, uint8_t code, uint16_t id)
{
	uint8_t bytes[4] = {type, code};

	memcpy(bytes + 2, &id, 2); /* in the host's order */
	return word(bytes);
}

Test(bond, hash_of_icmp)
{
	struct packet inner = packet4(17, 9, "\x12\x34\0\x35", 4), p;
	uint8_t error[8 + 128] = {3, 1};
	const uint32_t eth = shunt_bond_hash_eth(1, 2, ETH_P_IP);

	p = packet4(1, 1, "\x08\0\xff\xff\x12\x34\0\1", 8);
	IS_BY(&p, icmp_word(8, 0, 0x1234));
	p = packet4(1, 1, "\x08\0\xff\xff\0\0\0\1", 8);
	IS_BY(&p, icmp_word(8, 0, 1));
	p = packet6(58, "\x81\0\xff\xff\x12\x34\0\1", 8);
	IS_BY(&p, icmp_word(129, 0, 0x1234));
	p = packet4(1, 1, "\x09\0\xff\xff\x12\x34\0\1", 8); /* an advertisement has no identifier */
	IS_BY(&p, 0);
	p = packet4(1, 1, "\x08\0\xff\xff\x12\x34\0", 7); /* cut short */
	IS_BY(&p, 0);
	/* An error goes as the packet that it is about. */
	memcpy(error + 8, inner.ip, inner.len);
	p = packet4(1, 1, error, 8 + inner.len);
	cr_expect_eq(hash(SHUNT_BOND_LAYER34, eth, &p), hash(SHUNT_BOND_LAYER34, eth, &inner));
	cr_expect_eq(hash(SHUNT_BOND_LAYER23, eth, &p), hash(SHUNT_BOND_LAYER23, eth, &inner));
	p = packet4(1, 1, error, 8 + 19); /* of which too little is there */
	cr_expect_eq(hash(SHUNT_BOND_LAYER34, eth, &p), eth);
	inner = packet6(6, "\x12\x34\0\x35", 4);
	error[0] = 2;
	error[1] = 0;
	memcpy(error + 8, inner.ip, inner.len);
	p = packet6(58, error, 8 + inner.len);
	cr_expect_eq(hash(SHUNT_BOND_LAYER34, eth, &p), hash(SHUNT_BOND_LAYER34, eth, &inner));
}

/* --- bonds ------------------------------------------------------------------------------------ */

#define BOND  30u
#define P0    10u
#define PORTS 3u /* devices 10, 11, 12; 13 is no port */

static struct shunt_mirror_table table;
static struct shunt_mirror_fib fib;
static struct shunt_mirror_opts opts;
static struct shunt_err err;
static const char *order; /* names of one letter; NULL: not told */

static int port_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex >= P0 && ifindex < P0 + PORTS ? (int)(ifindex - P0) : -1;
}

static int order_of(const char *bond, char (*names)[16], unsigned max)
{
	unsigned i;

	cr_assert_str_eq(bond, "bond");
	if (!order)
		return -ENODEV;
	for (i = 0; order[i] && i < max; i++) {
		names[i][0] = order[i];
		names[i][1] = '\0';
	}
	return (int)strlen(order);
}

static struct shunt_mirror_link_info link_of(uint32_t ifindex, const char *name)
{
	struct shunt_mirror_link_info info;

	memset(&info, 0, sizeof(info));
	info.ifindex = ifindex;
	info.mtu = 1500;
	info.flags = IFF_UP | IFF_LOWER_UP;
	info.type = ARPHRD_ETHER;
	info.mac_len = ETH_ALEN;
	strcpy(info.name, name);
	return info;
}

static struct shunt_mirror_link_info bond, member[4], vlan;

static void put(const struct shunt_mirror_link_info *info)
{
	cr_assert_geq(shunt_mirror_link_put(&table, info), 0);
}

static void start(void)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	unsigned i;

	order = "ab";
	shunt_mirror_table_init(&table, 0);
	cr_assert_eq(shunt_fib4_create(&opts.fib4, 0, &err), 0);
	cr_assert_eq(shunt_fib6_create(&opts.fib6, 0, &err), 0);
	cr_assert_eq(shunt_nexthop_create(&opts.nexthops, 0, &err), 0);
	cr_assert_eq(shunt_devices_create_on(&opts.devices, NULL, &err), 0);
	opts.port_of = opts.base_of = port_of;
	opts.order_of = order_of;
	cr_assert_eq(shunt_mirror_fib_init(&fib, &table, &opts, &err), 0);
	bond = link_of(BOND, "bond");
	strcpy(bond.kind, "bond");
	bond.bond.mode = BOND_MODE_XOR;
	bond.bond.policy = BOND_XMIT_POLICY_LAYER34;
	put(&bond);
	vlan = link_of(40, "vlan");
	vlan.parent = BOND;
	vlan.vlan.type_be = htons(ETH_P_8021Q);
	vlan.vlan.id = 100;
	put(&vlan);
	for (i = 0; i < 4; i++) {
		member[i] = link_of(P0 + i, names[i]);
		member[i].master = i < 2 ? BOND : 0;
		put(&member[i]);
	}
}

static void stop(void)
{
	shunt_mirror_fib_fini(&fib);
	cr_expect_eq(opts.devices->runs.live_cnt, 0, "devices are left");
	shunt_devices_destroy(opts.devices);
	shunt_nexthop_destroy(opts.nexthops);
	shunt_fib6_destroy(opts.fib6);
	shunt_fib4_destroy(opts.fib4);
	shunt_mirror_table_fini(&table);
}

TestSuite(bonds, .init = start, .fini = stop);

/* Ports, by which the bond's packets leave, as digits. NULL: it is not in the table. */
static const char *ports_of(uint32_t ifindex)
{
	static char text[SHUNT_DEVICE_MEMBERS_MAX + 1];
	const uint32_t number = shunt_mirror_above_number(&fib.aboves, ifindex);
	const struct shunt_device *device = shunt_devices_at(opts.devices, number);
	unsigned i;

	if (!number)
		return "-";
	for (i = 0; i < device->member_cnt; i++)
		text[i] = (char)('0' + device->members[i]);
	text[i] = '\0';
	return text;
}

/* By which frames with the VLAN device's tag find it. */
static const char *ports_in(void)
{
	static char text[PORTS + 1];
	const uint32_t number = shunt_mirror_above_number(&fib.aboves, vlan.ifindex);
	unsigned i, cnt = 0;

	for (i = 0; i < PORTS; i++)
		if (shunt_device_number(shunt_devices_find(
			    opts.devices, shunt_device_key(i, 100, SHUNT_DEVICE_NO_TAG))))
			text[cnt++] = (char)('0' + i);
	text[cnt] = '\0';
	cr_expect(!cnt == !number);
	return text;
}

#define ARE(ports)                                                            \
	do {                                                                  \
		cr_expect_str_eq(ports_of(BOND), ports);                      \
		cr_expect_str_eq(ports_of(vlan.ifindex), ports);              \
		cr_expect_str_eq(ports_in(), *(ports) == '-' ? "" : (ports)); \
	} while (0)

/* As it is with that; and as before without. */
#define WITH(info, field, value, ports)                       \
	do {                                                  \
		struct shunt_mirror_link_info changed = info; \
		changed.field = value;                        \
		put(&changed);                                \
		ARE(ports);                                   \
		put(&(info));                                 \
		ARE("01");                                    \
	} while (0)

Test(bonds, members_that_send)
{
	ARE("01");
	WITH(member[0], flags, IFF_UP, "1");
	WITH(member[0], flags, IFF_LOWER_UP, "1");
	WITH(member[1], bonded.is_down, 1, "0");
	WITH(member[1], bonded.is_backup, 1, "0");
	WITH(member[1], master, 0, "0");
	WITH(member[1], master, 77, "0");
	WITH(member[3], master, BOND, "-"); /* no port, and the order does not have it */
	WITH(member[0], bonded.queue, 1, "-");
	WITH(bond, bond.mode, BOND_MODE_ROUNDROBIN, "-");
	WITH(bond, bond.mode, BOND_MODE_ALB, "-");
	WITH(bond, bond.policy, BOND_XMIT_POLICY_ENCAP34, "-");
	WITH(bond, flags, 0, "-");
	order = "dba";
	member[2].master = BOND;
	member[2].bonded.is_down = 1;
	put(&member[2]);
	cr_expect_str_eq(ports_of(BOND), "10", "in the kernel's order, of those that can");
	member[2].bonded.is_down = 0;
	put(&member[2]);
	ARE("-");
	order = "cba";
	put(&bond); /* nothing new, so nobody looks */
	bond.mtu = 1400;
	put(&bond);
	cr_expect_str_eq(ports_of(BOND), "210");
	cr_expect_eq(shunt_devices_at(opts.devices, shunt_mirror_above_number(&fib.aboves, BOND))
			     ->policy,
		     SHUNT_BOND_LAYER34);
	order = NULL;
	bond.mtu = 1500;
	put(&bond);
	ARE("-");
}

Test(bonds, member_that_is_no_port)
{
	order = "ad";
	member[1].master = 0;
	member[3].master = BOND;
	put(&member[1]);
	put(&member[3]);
	ARE("-");
	member[3].bonded.is_down = 1; /* it does not send */
	put(&member[3]);
	ARE("0");
}

Test(bonds, active_backup_and_lacp)
{
	bond.bond.mode = BOND_MODE_ACTIVEBACKUP;
	bond.bond.policy = BOND_XMIT_POLICY_ENCAP34; /* does not count there */
	put(&bond);
	member[0].bonded.is_backup = 1;
	order = NULL; /* nor does that, of one */
	put(&member[0]);
	ARE("1");
	member[0].bonded.is_backup = 0;
	member[1].bonded.is_backup = 1;
	order = "ab";
	put(&member[0]);
	put(&member[1]);
	ARE("0");
	member[1].bonded.is_backup = 0;
	put(&member[1]);
	bond.bond.mode = BOND_MODE_8023AD;
	bond.bond.policy = BOND_XMIT_POLICY_LAYER23;
	bond.bond.aggregator = 2;
	put(&bond);
	ARE("-");
	member[0].bonded.aggregator = 2;
	put(&member[0]);
	ARE("0");
	member[1].bonded.aggregator = 2;
	put(&member[1]);
	ARE("01");
	shunt_mirror_link_del(&table, member[0].ifindex);
	ARE("1");
	shunt_mirror_link_del(&table, BOND);
	ARE("-");
}

/* What leaves by a bond with one member leaves by that port, in the straight line. */
Test(bonds, adjacencies)
{
	const struct shunt_mirror_neigh_info neigh = {.ifindex = BOND,
						      .family = AF_INET,
						      .lladdr_len = ETH_ALEN,
						      .addr = {10, 0, 0, 2},
						      .state = 0x80, /* NUD_PERMANENT */
						      .lladdr = {2, 0, 0, 0, 0, 9}};
	const struct shunt_mirror_adj_key key = {
		.ifindex = BOND, .gw_family = AF_INET, .gw = {10, 0, 0, 2}};
	const struct shunt_adj *now;
	uint32_t idx;

	shunt_mirror_neigh_put(&table, &neigh);
	idx = shunt_mirror_adj_get(&fib.targets.adjs, &key, 0);
	now = &shunt_mirror_adj_at(&fib.targets.adjs, idx)->now;
	cr_expect(now->kind == SHUNT_ADJ_REWRITE && now->port == SHUNT_ADJ_TAGGED &&
		  now->above == shunt_mirror_above_number(&fib.aboves, BOND) && now->mtu == 1500);
	member[0].bonded.is_down = 1;
	put(&member[0]);
	cr_expect(now->kind == SHUNT_ADJ_REWRITE && now->port == 1 && !now->above);
	bond.bond.mode = BOND_MODE_ROUNDROBIN;
	put(&bond);
	cr_expect_eq(now->kind, SHUNT_ADJ_PUNT);
	shunt_mirror_adj_put(&fib.targets.adjs, idx);
}

/* The router looks at once whose the port's packets are (router/look.c). */
Test(bonds, a_port_that_becomes_anothers_is_told_of)
{
	const uint32_t before = fib.aboves.change_cnt;

	member[2].master = 77;
	put(&member[2]);
	cr_expect_neq(fib.aboves.change_cnt, before);
}

Test(bonds, message)
{
	char buf[512];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	struct shunt_mirror_link_info info;
	struct nlattr *nest, *data, *ad;

	ifi->ifi_index = 20;
	nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "bond");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u8(nlh, IFLA_BOND_MODE, BOND_MODE_8023AD);
	mnl_attr_put_u8(nlh, IFLA_BOND_XMIT_HASH_POLICY, BOND_XMIT_POLICY_LAYER23);
	ad = mnl_attr_nest_start(nlh, IFLA_BOND_AD_INFO);
	mnl_attr_put_u16(nlh, IFLA_BOND_AD_INFO_AGGREGATOR, 3);
	mnl_attr_nest_end(nlh, ad);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, "bond");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_SLAVE_DATA);
	mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_STATE, BOND_STATE_BACKUP);
	mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_MII_STATUS, BOND_LINK_FAIL);
	mnl_attr_put_u16(nlh, IFLA_BOND_SLAVE_QUEUE_ID, 4);
	mnl_attr_put_u16(nlh, IFLA_BOND_SLAVE_AD_AGGREGATOR_ID, 5);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(shunt_mirror_parse_link(nlh, &info), 1);
	cr_expect(shunt_mirror_is_bond(&info) && info.bond.mode == BOND_MODE_8023AD &&
		  info.bond.policy == BOND_XMIT_POLICY_LAYER23 && info.bond.aggregator == 3);
	cr_expect(info.bonded.is_backup && info.bonded.is_down && info.bonded.queue == 4 &&
		  info.bonded.aggregator == 5);
}
