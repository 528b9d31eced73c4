// SPDX-License-Identifier: BSD-2-Clause
/* Packets through the IP nodes that leave by a leg of a device: by its port and with its tags, but
 * by the device where it is asked what they leave by. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <string.h>

#include "base/bytes.h"
#include "ip_rig.h"
#include "shunt_tables.h"

#define NET_A	 (IP_RIG_NET_CNT + 0)
#define NET_B	 (IP_RIG_NET_CNT + 1)
#define NO_QUEUE 40u /* a port */
#define L3_LEN	 46u
#define BARE	 0u /* in the place of a TCI */

static struct ip_rig *rig;
static uint32_t own; /* a bridge, by which comes what is untagged */

/* Of its two members only legs say by which one a packet leaves: port 0 or none. */
static uint32_t add_base(unsigned vid)
{
	const struct shunt_device device = {
		.member_cnt = 2,
		.members = {0, NO_QUEUE},
		.policy = SHUNT_DEVICE_BY_STATION,
		.tag_cnt = !!vid,
		.flags = SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6,
		.tags = {{htons(ETH_P_8021Q), htons((uint16_t)vid)}},
		.priorities = 0x03000003, /* without a tag, and PCP 6: priority 3 */
		.pcps = {0x5000},	  /* priority 3: PCP 5 */
	};

	return ip_rig_add_device(rig, &device);
}

/* vid: of the tag that packets get there, 0: none. */
static uint32_t add_leg(uint32_t base, unsigned port, unsigned vid)
{
	const struct shunt_device leg = {
		.base = (uint16_t)base,
		.member_cnt = 1,
		.members = {(uint8_t)port},
		.tag_cnt = !!vid,
		.tags = {{htons(ETH_P_8021Q), htons((uint16_t)vid)}},
		.pcps = {0x5000},
	};

	return ip_rig_add_device(rig, &leg);
}

static struct shunt_adj way_by(uint32_t device)
{
	return (struct shunt_adj){.eth = {2, 0, 0, 0, 0xaa, 9, 2, 0, 0, 0, 0, 3},
				  .mtu = 1500,
				  .port = SHUNT_ADJ_TAGGED,
				  .above = (uint16_t)device,
				  .kind = SHUNT_ADJ_REWRITE};
}

static void add_route(unsigned net, uint32_t device)
{
	const struct shunt_adj adj = way_by(device);

	ip_rig_add_route(rig, net, &adj);
}

static void start(void)
{
	rig = ip_rig_create(0);
	own = add_base(0);
	ip_rig_live(rig)->own = (uint16_t)(SHUNT_ADJ_TAGGED + own);
}

static void stop(void)
{
	ip_rig_destroy(rig);
}

TestSuite(leg_nodes, .init = start, .fini = stop);

static void seal(uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

struct bytes {
	uint8_t data[IP_RIG_FRAME_MAX];
	uint32_t len;
};

static void put(struct bytes *f, const void *bytes, uint32_t len)
{
	memcpy(f->data + f->len, bytes, len);
	f->len += len;
}

/* From 10.from.0.1 to 10.net.0.9, or the like of IPv6. */
static struct bytes packet(const void *macs, unsigned tci, bool is_ip6, unsigned from, unsigned net,
			   unsigned ttl)
{
	const uint8_t tag[] = {0x81, 0, (uint8_t)(tci >> 8), (uint8_t)tci};
	uint8_t ip[L3_LEN] = {0};
	struct bytes f = {.len = 0};

	put(&f, macs, 12);
	put(&f, tag, tci ? 4 : 0);
	put(&f, is_ip6 ? "\x86\xdd" : "\x08\0", 2);
	if (is_ip6) {
		memcpy(ip, "\x60\0\0\0\0\x06\x11", 7);
		ip[7] = (uint8_t)ttl;
		memcpy(ip + 8, "\x20\x01\x0d\xb8\xff\xff\0\0\0\0\0\0\0\0\0\x05", 16);
		memcpy(ip + 24, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16);
		ip[29] = (uint8_t)net;
	} else {
		memcpy(ip, "\x45\x00\0\x2e\0\0\0\0\0\x11\0\0\x0a\0\0\1\x0a\0\0\x09", 20);
		ip[8] = (uint8_t)ttl;
		ip[13] = (uint8_t)from;
		ip[17] = (uint8_t)net;
		seal(ip);
	}
	put(&f, ip, sizeof(ip));
	return f;
}

#define TO_US	"\2\0\0\0\0\1\2\0\0\0\0\x77"
#define ONWARD	"\2\0\0\0\xaa\x09\2\0\0\0\0\3"
#define NOWHERE 77u /* a source without a route of its own */

static void leaves(unsigned tci, unsigned net, bool is_ip6, unsigned port, unsigned tci_out,
		   int line)
{
	const struct bytes sent = packet(TO_US, tci, is_ip6, NOWHERE, net, 64);
	const struct bytes want = packet(ONWARD, tci_out, is_ip6, NOWHERE, net, 63);
	const struct ip_outcome *got = ip_rig_run(rig, sent.data, sent.len);

	cr_expect_eq(got->fate, IP_SENT, "line %d: fate %d, reason %u", line, got->fate,
		     got->reason);
	cr_expect_eq(got->port, port, "line %d: port %u", line, got->port);
	cr_expect(got->len == want.len && !memcmp(got->bytes, want.data, want.len), "line %d",
		  line);
}

static void punted(unsigned tci, unsigned from, unsigned net, bool is_ip6, unsigned reason,
		   int line)
{
	const struct bytes sent = packet(TO_US, tci, is_ip6, from, net, 64);
	const struct ip_outcome *got = ip_rig_run(rig, sent.data, sent.len);

	cr_expect(got->fate == IP_PUNTED && got->reason == reason, "line %d: fate %d, reason %u",
		  line, got->fate, got->reason);
}

#define LEAVES(tci, net, is_ip6, port, tci_out) leaves(tci, net, is_ip6, port, tci_out, __LINE__)
#define PUNTED(tci, from, net, is_ip6, reason) \
	punted(tci, from, net, is_ip6, SHUNT_PUNT_##reason, __LINE__)

Test(leg_nodes, port_and_tags)
{
	const uint32_t other = add_base(0), vlan = add_base(200), in = add_base(100);
	const struct bytes f = packet(TO_US, BARE, false, NOWHERE, NET_A, 64);

	cr_assert(in);
	for (int is_ip6 = 0; is_ip6 < 2; is_ip6++) {
		const unsigned pcp = is_ip6 ? 5 << 13 : 0;

		add_route(NET_A, add_leg(other, 1, 0));
		add_route(NET_B, add_leg(vlan, 1, 200));
		LEAVES(BARE, NET_A, is_ip6, 1, BARE);
		LEAVES(100, NET_A, is_ip6, 1, BARE);
		LEAVES(BARE, NET_B, is_ip6, 1, 200 | pcp);
		LEAVES(100, NET_B, is_ip6, 1, 200 | pcp);
		add_route(NET_A, add_leg(vlan, 1, 0)); /* bare there */
		add_route(NET_B, add_leg(vlan, 0, 200));
		LEAVES(BARE, NET_A, is_ip6, 1, BARE);
		LEAVES(BARE, NET_B, is_ip6, 0, 200 | pcp);
	}
	add_route(NET_A, add_leg(other, NO_QUEUE, 0));
	cr_expect_eq(ip_rig_run(rig, f.data, f.len)->fate, IP_DROPPED);
}

/* Of IPv6 the device says that it came in by: without a tag, what is mapped to PCP 0. */
Test(leg_nodes, priorities)
{
	add_base(100);
	add_route(NET_A, add_leg(add_base(200), 1, 200));
	LEAVES(BARE, NET_A, true, 1, 200 | 5 << 13);
	LEAVES(100, NET_A, true, 1, 200 | 5 << 13);
	LEAVES(100 | 6 << 13, NET_A, true, 1, 200 | 5 << 13);
	LEAVES(100 | 1 << 13, NET_A, true, 1, 200);
	LEAVES(100 | 6 << 13, NET_A, false, 1, 200); /* by its TOS */
	ip_rig_live(rig)->own = 0;		     /* it came in by the port itself */
	LEAVES(BARE, NET_A, true, 1, 200);
	LEAVES(100, NET_A, true, 1, 200 | 5 << 13);
}

/* The kernel may redirect, whichever port the neighbour is behind. */
Test(leg_nodes, back_by_any_leg)
{
	const uint32_t vlan = add_base(100), other = add_base(0);
	unsigned port;

	for (int is_ip6 = 0; is_ip6 < 2; is_ip6++) {
		for (port = 0; port < 2; port++) {
			add_route(NET_A, add_leg(own, port, 0));
			add_route(NET_B, add_leg(vlan, port, 100));
			PUNTED(BARE, NOWHERE, NET_A, is_ip6, redirect);
			PUNTED(100, NOWHERE, NET_B, is_ip6, redirect);
			LEAVES(100, NET_A, is_ip6, port, BARE);
			LEAVES(BARE, NET_B, is_ip6, port, 100 | (is_ip6 ? 5 << 13 : 0));
		}
		add_route(NET_A, add_leg(other, 0, 0));
		LEAVES(BARE, NET_A, is_ip6, 0, BARE);
	}
}

#define SOURCE 100u

Test(leg_nodes, way_back_by_any_leg)
{
	const uint32_t vlan = add_base(100), other = add_base(0);
	const struct {
		uint32_t device;
		bool is_plain, is_plain_tagged;
	} rows[] = {
		{add_leg(own, 0, 0), true, false},    {add_leg(own, 1, 0), true, false},
		{add_leg(other, 0, 0), false, false}, {add_leg(vlan, 0, 100), false, true},
		{add_leg(vlan, 1, 0), false, true},
	};
	unsigned i;

	ip_rig_set_flags(rig, vlan, SHUNT_TABLES_IP4 | SHUNT_TABLES_RPF4);
	ip_rig_live(rig)->rpf4 = SHUNT_SOURCE_RPF;
	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		const struct bytes f = packet(TO_US, BARE, false, SOURCE + i, IP_RIG_FAR, 64);
		const struct bytes tagged = packet(TO_US, 100, false, SOURCE + i, IP_RIG_FAR, 64);

		add_route(SOURCE + i, rows[i].device);
		cr_expect_eq(ip_rig_run(rig, f.data, f.len)->fate,
			     rows[i].is_plain ? IP_SENT : IP_PUNTED, "row %u", i);
		cr_expect_eq(ip_rig_run(rig, tagged.data, tagged.len)->fate,
			     rows[i].is_plain_tagged ? IP_SENT : IP_PUNTED, "row %u, tagged", i);
	}
	PUNTED(BARE, IP_RIG_BACK, IP_RIG_FAR, false, rp_filter); /* by the port itself */
}
