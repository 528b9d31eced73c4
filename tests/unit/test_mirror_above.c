// SPDX-License-Identifier: BSD-2-Clause
/* VLAN devices as the kernel tells of them, to devices above ports: what becomes one, when it goes,
 * and that no adjacency names one that is gone. Port 0 is device 10, port 1 device 11. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "mirror/fib.h"
#include "mirror/mirror.h"
#include "mirror/parse.h"

#define P0 10u
#define P1 11u

static struct shunt_mirror_table table;
static struct shunt_mirror_fib fib;
static struct shunt_mirror_opts opts;
static struct shunt_err err;

static int port_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex == P0 || ifindex == P1 ? (int)(ifindex - P0) : -1;
}

/* Only port 0 may have devices above it. */
static int base_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex == P0 ? 0 : -1;
}

static struct shunt_mirror_link_info link_of(uint32_t ifindex, uint32_t parent, uint16_t type,
					     uint16_t id)
{
	struct shunt_mirror_link_info info;

	memset(&info, 0, sizeof(info));
	info.ifindex = ifindex;
	info.parent = parent;
	info.mtu = 1500;
	info.flags = IFF_UP | IFF_LOWER_UP;
	info.type = ARPHRD_ETHER;
	info.mac_len = ETH_ALEN;
	info.mac[5] = 1;
	info.vlan.type_be = htons(type);
	info.vlan.id = id;
	return info;
}

static void put(const struct shunt_mirror_link_info *info)
{
	cr_assert_geq(shunt_mirror_link_put(&table, info), 0);
}

static void start(void)
{
	struct shunt_mirror_link_info info;

	shunt_mirror_table_init(&table, 0);
	cr_assert_eq(shunt_fib4_create(&opts.fib4, 0, &err), 0);
	cr_assert_eq(shunt_fib6_create(&opts.fib6, 0, &err), 0);
	cr_assert_eq(shunt_nexthop_create(&opts.nexthops, 0, &err), 0);
	cr_assert_eq(shunt_devices_create_on(&opts.devices, NULL, &err), 0);
	opts.port_of = port_of;
	opts.base_of = base_of;
	cr_assert_eq(shunt_mirror_fib_init(&fib, &table, &opts, &err), 0);
	info = link_of(P0, 0, 0, 0);
	put(&info);
	info = link_of(P1, 0, 0, 0);
	put(&info);
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

TestSuite(mirror_above, .init = start, .fini = stop);

static uint32_t found(uint32_t outer, uint32_t inner)
{
	return shunt_device_number(
		shunt_devices_find(opts.devices, shunt_device_key(0, outer, inner)));
}

#define ONE(id)		  found(id, SHUNT_DEVICE_NO_TAG)
#define TWO(outer, inner) found(0x1000 | (outer), inner)

Test(mirror_above, comes_and_goes)
{
	struct shunt_mirror_link_info v = link_of(20, P0, ETH_P_8021Q, 100), changed;
	const struct shunt_device *device;

	put(&v);
	cr_assert(ONE(100));
	cr_expect_eq(shunt_mirror_above_number(&fib.aboves, 20), ONE(100));
	device = shunt_devices_at(opts.devices, ONE(100));
	cr_expect(device->ifindex == 20 && device->members[0] == 0 && device->tag_cnt == 1);
	cr_expect_eq(device->flags, 0, "what it forwards is said by others");

#define WITHOUT(field, value)                            \
	do {                                             \
		changed = v;                             \
		changed.field = value;                   \
		put(&changed);                           \
		cr_expect_eq(ONE(100), 0, #field);       \
		put(&v);                                 \
		cr_expect_neq(ONE(100), 0, "as before"); \
	} while (0)
	WITHOUT(flags, IFF_LOWER_UP);
	WITHOUT(master, 30);
	WITHOUT(xdp, 1);
	WITHOUT(vlan.is_odd, 1);
	WITHOUT(parent, P1);
	WITHOUT(parent, 0);
	WITHOUT(vlan.id, 101);
	shunt_mirror_link_del(&table, 20);
	cr_expect_eq(ONE(100), 0);
	cr_expect_eq(shunt_mirror_above_number(&fib.aboves, 20), 0);
}

Test(mirror_above, flags_stay_while_the_device_changes)
{
	struct shunt_mirror_link_info v = link_of(20, P0, ETH_P_8021Q, 100);
	uint32_t before;

	put(&v);
	before = ONE(100);
	shunt_devices_set_flags(opts.devices, before, 3);
	v.mac[5] = 9;
	put(&v);
	cr_expect(ONE(100) && ONE(100) != before, "a new number");
	cr_expect_eq(shunt_devices_at(opts.devices, ONE(100))->flags, 3);
	before = ONE(100);
	v.operstate = 6;
	put(&v);
	cr_expect_eq(ONE(100), before, "nothing that counts");
}

Test(mirror_above, above_another)
{
	struct shunt_mirror_link_info s = link_of(20, P0, ETH_P_8021AD, 30);
	struct shunt_mirror_link_info c = link_of(21, 20, ETH_P_8021Q, 31);
	const struct shunt_device *device;

	put(&c); /* it is told of first */
	cr_expect_eq(TWO(30, 31), 0);
	put(&s);
	cr_assert(TWO(30, 31));
	device = shunt_devices_at(opts.devices, TWO(30, 31));
	cr_expect(device->tag_cnt == 2 && device->ifindex == 21);
	cr_expect_eq(device->mtu_max, 1496);
	s.flags = 0;
	put(&s);
	cr_expect_eq(TWO(30, 31), 0);
	s.flags = IFF_UP | IFF_LOWER_UP;
	s.master = 40; /* its packets are a bridge's; those of the one above it are not */
	put(&s);
	cr_expect_neq(TWO(30, 31), 0);
	shunt_mirror_link_del(&table, 20);
	cr_expect_eq(TWO(30, 31), 0);
}

Test(mirror_above, adjacencies_name_the_one_that_is_there)
{
	struct shunt_mirror_link_info v = link_of(20, P0, ETH_P_8021Q, 100);
	struct shunt_mirror_neigh_info neigh = {.ifindex = 20,
						.family = AF_INET,
						.lladdr_len = ETH_ALEN,
						.addr = {10, 0, 0, 2},
						.state = NUD_PERMANENT,
						.lladdr = {2, 0, 0, 0, 0, 9}};
	const struct shunt_mirror_adj_key key = {
		.ifindex = 20, .gw_family = AF_INET, .gw = {10, 0, 0, 2}};
	const struct shunt_adj *now;
	uint32_t idx;

	put(&v);
	shunt_mirror_neigh_put(&table, &neigh);
	idx = shunt_mirror_adj_get(&fib.targets.adjs, &key, 0);
	now = &shunt_mirror_adj_at(&fib.targets.adjs, idx)->now;
	cr_expect(now->kind == SHUNT_ADJ_REWRITE && now->port == SHUNT_ADJ_TAGGED &&
		  now->above == ONE(100) && now->eth[5] == 9 && now->mtu == 1500);
	v.mac[5] = 7;
	put(&v);
	cr_expect(now->above == ONE(100) && now->eth[11] == 7);
	v.flags = 0;
	put(&v);
	cr_expect_eq(now->kind, SHUNT_ADJ_PUNT);
	v.flags = IFF_UP | IFF_LOWER_UP;
	v.master = 40;
	put(&v);
	cr_expect_eq(now->kind, SHUNT_ADJ_PUNT, "what leaves by it is a bridge's or a VRF's");
	shunt_mirror_adj_put(&fib.targets.adjs, idx);
	shunt_mirror_adj_reap(&fib.targets.adjs);
}

/* --- messages --------------------------------------------------------------------------------- */

static void put_map(struct nlmsghdr *nlh, uint16_t type, uint32_t from, uint32_t to)
{
	const struct ifla_vlan_qos_mapping map = {from, to};
	struct nlattr *nest = mnl_attr_nest_start(nlh, type);

	mnl_attr_put(nlh, IFLA_VLAN_QOS_MAPPING, sizeof(map), &map);
	mnl_attr_nest_end(nlh, nest);
}

static struct shunt_mirror_link_info parsed(bool is_elsewhere, uint32_t ingress_to)
{
	char buf[512];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	struct shunt_mirror_link_info info;
	struct nlattr *nest, *data;

	ifi->ifi_index = 20;
	mnl_attr_put_u32(nlh, IFLA_LINK, P0);
	if (is_elsewhere)
		mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 1);
	nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL, htons(ETH_P_8021AD));
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, 77);
	put_map(nlh, IFLA_VLAN_INGRESS_QOS, 5, ingress_to);
	put_map(nlh, IFLA_VLAN_EGRESS_QOS, 6, 4);
	put_map(nlh, IFLA_VLAN_EGRESS_QOS, 16, 4); /* no packet has that priority here */
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(shunt_mirror_parse_link(nlh, &info), 1);
	return info;
}

Test(mirror_above, message)
{
	struct shunt_mirror_link_info info = parsed(false, 3);

	cr_expect(info.parent == P0 && info.vlan.id == 77 &&
		  info.vlan.type_be == htons(ETH_P_8021AD) && !info.vlan.is_odd);
	cr_expect_eq(info.vlan.priorities, 3u << 20);
	cr_expect_eq(info.vlan.pcps, 4ull << 24);
	cr_expect_eq(parsed(true, 3).parent, 0);
	cr_expect(parsed(false, 16).vlan.is_odd);
}
