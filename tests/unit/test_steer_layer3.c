// SPDX-License-Identifier: BSD-2-Clause
/* The steering program in layer 3 mode: every reason, header fields and addresses at
 * their limits. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/bytes.h"
#include "steer_words.h"

static struct steer_rig rig;

Test(steer_layer3, layer3_by_mac_and_ethertype)
{
	static const struct {
		const char *dst;
		uint16_t type;
		int want;
	} cases[] = {
		{OWN, 0x0806, SHUNT_STEER_ARP},
		{BCAST, 0x0806, SHUNT_STEER_ARP},
		{THIRD, 0x0806, SHUNT_STEER_ARP},
		{OWN, 0x8100, SHUNT_STEER_VLAN},
		{OWN, 0x88a8, SHUNT_STEER_VLAN},
		{OWN, 0x9100, SHUNT_STEER_ETHERTYPE},
		{OWN, 0x8847, SHUNT_STEER_ETHERTYPE},
		{OWN, 0x0801, SHUNT_STEER_ETHERTYPE},
		{OWN, 0x0008, SHUNT_STEER_ETHERTYPE}, /* IPv4 in the wrong byte order */
		{OWN, 0x0026, SHUNT_STEER_ETHERTYPE}, /* a length: 802.2 */
		{THIRD, 0x0800, SHUNT_STEER_OTHER_MAC},
		{PEER, 0x86dd, SHUNT_STEER_OTHER_MAC},
		{"\x02\0\0\0\0\x00", 0x0800, SHUNT_STEER_OTHER_MAC},
		{"\x03\0\0\0\0\x01", 0x0800, SHUNT_STEER_MULTICAST},
		{BCAST, 0x0800, SHUNT_STEER_MULTICAST},
		{"\x01\0\x5e\0\0\x05", 0x0800, SHUNT_STEER_MULTICAST}, /* OSPF */
		{"\x33\x33\0\0\0\x12", 0x86dd, SHUNT_STEER_MULTICAST}, /* VRRP */
		{"\x01\x80\xc2\0\0\x00", 0x0026, SHUNT_STEER_LINK_LOCAL_CONTROL},
		{"\x01\x80\xc2\0\0\x0e", 0x88cc, SHUNT_STEER_LINK_LOCAL_CONTROL},
		{"\x01\x80\xc2\0\0\x0f", 0x88cc, SHUNT_STEER_LINK_LOCAL_CONTROL},
		{"\x01\x80\xc2\0\0\x10", 0x88cc, SHUNT_STEER_MULTICAST},
		{"\x01\x80\xc2\0\x01\x00", 0x88cc, SHUNT_STEER_MULTICAST},
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		frame_good4(&f);
		memcpy(f.data, cases[i].dst, 6);
		f.data[12] = cases[i].type >> 8;
		f.data[13] = cases[i].type & 0xff;
		expect_at(i, &f, cases[i].want);
	}
	steer_rig_fini(&rig);
}

Test(steer_layer3, ipv4_header_fields_at_their_limits)
{
	/* One byte of the good frame changed: offset in the IPv4 header, value. */
	static const struct {
		int at, value, want;
	} cases[] = {
		{0, 0x45, SHUNT_STEER_FORWARD4},
		{0, 0x44, SHUNT_STEER_BAD_HEADER},
		{0, 0x40, SHUNT_STEER_BAD_HEADER},
		{0, 0x46, SHUNT_STEER_IP_OPTIONS},
		{0, 0x4b, SHUNT_STEER_IP_OPTIONS}, /* 44 bytes of 46 */
		{0, 0x4c, SHUNT_STEER_BAD_HEADER}, /* 48 bytes of 46 */
		{0, 0x4f, SHUNT_STEER_BAD_HEADER},
		{0, 0x55, SHUNT_STEER_BAD_HEADER},
		{0, 0x65, SHUNT_STEER_BAD_HEADER},
		{0, 0x05, SHUNT_STEER_BAD_HEADER},
		{0, 0xf5, SHUNT_STEER_BAD_HEADER},
		{1, 0xff, SHUNT_STEER_FORWARD4}, /* any TOS */
		{3, 46, SHUNT_STEER_FORWARD4},
		{3, 47, SHUNT_STEER_BAD_HEADER}, /* a byte more than is there */
		{3, 45, SHUNT_STEER_FORWARD4},	 /* padding behind */
		{3, 20, SHUNT_STEER_FORWARD4},
		{3, 19, SHUNT_STEER_BAD_HEADER},
		{3, 0, SHUNT_STEER_BAD_HEADER},
		{2, 1, SHUNT_STEER_BAD_HEADER},
		{2, 0xff, SHUNT_STEER_BAD_HEADER},
		{6, 0x20, SHUNT_STEER_FORWARD4}, /* first fragment */
		{6, 0x1f, SHUNT_STEER_FORWARD4}, /* last fragment */
		{6, 0xff, SHUNT_STEER_FORWARD4},
		{7, 0xff, SHUNT_STEER_FORWARD4},
		{8, 0, SHUNT_STEER_TTL},
		{8, 1, SHUNT_STEER_TTL},
		{8, 2, SHUNT_STEER_FORWARD4},
		{8, 255, SHUNT_STEER_FORWARD4},
		{9, 0, SHUNT_STEER_FORWARD4},
		{9, 89, SHUNT_STEER_FORWARD4},
		{9, 255, SHUNT_STEER_FORWARD4},
		{10, 0xff, SHUNT_STEER_FORWARD4}, /* the checksum is the worker's to carry */
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		frame_good4(&f);
		f.data[14 + cases[i].at] = cases[i].value;
		expect_at(i, &f, cases[i].want);
	}
	steer_rig_fini(&rig);
}

Test(steer_layer3, ipv4_addresses)
{
	static const struct {
		const char *addr;
		int as_src, as_dst;
	} cases[] = {
		{"0.0.0.0", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"0.255.255.255", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"1.0.0.0", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"10.0.0.1", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"126.255.255.255", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"127.0.0.0", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"127.255.255.255", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"128.0.0.0", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"169.253.255.255", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"169.254.0.0", SHUNT_STEER_LINK_LOCAL, SHUNT_STEER_LINK_LOCAL},
		{"169.254.255.255", SHUNT_STEER_LINK_LOCAL, SHUNT_STEER_LINK_LOCAL},
		{"169.255.0.0", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"223.255.255.255", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"224.0.0.0", SHUNT_STEER_MARTIAN, SHUNT_STEER_MULTICAST},
		{"239.255.255.255", SHUNT_STEER_MARTIAN, SHUNT_STEER_MULTICAST},
		{"240.0.0.0", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"255.255.255.254", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"255.255.255.255", SHUNT_STEER_MARTIAN, SHUNT_STEER_MULTICAST},
		{"192.0.2.1", SHUNT_STEER_FORWARD4, SHUNT_STEER_LOCAL_ADDRESS},
		{"192.0.2.0", SHUNT_STEER_FORWARD4, SHUNT_STEER_FORWARD4},
		{"10.0.0.255", SHUNT_STEER_FORWARD4, SHUNT_STEER_LOCAL_ADDRESS},
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		frame_udp4(&f, cases[i].addr, "198.51.100.1");
		expect_at(i, &f, cases[i].as_src);
		frame_udp4(&f, "198.51.100.1", cases[i].addr);
		expect_at(i, &f, cases[i].as_dst);
	}
	steer_rig_fini(&rig);
}

Test(steer_layer3, ipv6_header_fields_at_their_limits)
{
	static const struct {
		int at, value, want;
	} cases[] = {
		{0, 0x60, SHUNT_STEER_FORWARD6},   {0, 0x6f, SHUNT_STEER_FORWARD6},
		{0, 0x40, SHUNT_STEER_BAD_HEADER}, {0, 0x70, SHUNT_STEER_BAD_HEADER},
		{1, 0xff, SHUNT_STEER_FORWARD6},   {5, 0, SHUNT_STEER_FORWARD6},
		{5, 7, SHUNT_STEER_FORWARD6},	   {5, 8, SHUNT_STEER_FORWARD6},
		{5, 9, SHUNT_STEER_BAD_HEADER},	   {4, 1, SHUNT_STEER_BAD_HEADER},
		{4, 0xff, SHUNT_STEER_BAD_HEADER}, {6, 0, SHUNT_STEER_HOPBYHOP},
		{6, 1, SHUNT_STEER_FORWARD6},	   {6, 43, SHUNT_STEER_FORWARD6},
		{6, 44, SHUNT_STEER_FORWARD6},	   {6, 50, SHUNT_STEER_FORWARD6},
		{6, 51, SHUNT_STEER_FORWARD6},	   {6, 58, SHUNT_STEER_FORWARD6},
		{6, 59, SHUNT_STEER_FORWARD6},	   {6, 60, SHUNT_STEER_FORWARD6},
		{6, 255, SHUNT_STEER_FORWARD6},	   {7, 0, SHUNT_STEER_HOP_LIMIT},
		{7, 1, SHUNT_STEER_HOP_LIMIT},	   {7, 2, SHUNT_STEER_FORWARD6},
		{7, 255, SHUNT_STEER_FORWARD6},
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		frame_good6(&f);
		f.data[14 + cases[i].at] = cases[i].value;
		expect_at(i, &f, cases[i].want);
	}
	steer_rig_fini(&rig);
}

Test(steer_layer3, ipv6_addresses)
{
	static const struct {
		const char *addr;
		int as_src, as_dst;
	} cases[] = {
		{"::", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"::1", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"::ffff:10.0.0.1", SHUNT_STEER_MARTIAN, SHUNT_STEER_MARTIAN},
		{"64:ff9b::10.0.0.1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"100::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"2001:db8::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_LOCAL_ADDRESS},
		{"2001:db8::2", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"fc00::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"fdff:ffff::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"fe00::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"fe7f:ffff::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"fe80::1", SHUNT_STEER_LINK_LOCAL, SHUNT_STEER_LINK_LOCAL},
		{"febf:ffff::1", SHUNT_STEER_LINK_LOCAL, SHUNT_STEER_LINK_LOCAL},
		{"fec0::1", SHUNT_STEER_FORWARD6, SHUNT_STEER_FORWARD6},
		{"ff02::1", SHUNT_STEER_MARTIAN, SHUNT_STEER_MULTICAST},
		{"ff0e::1", SHUNT_STEER_MARTIAN, SHUNT_STEER_MULTICAST},
	};
	struct frame f;

	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		frame_udp6(&f, cases[i].addr, "2001:db8:5::1");
		expect_at(i, &f, cases[i].as_src);
		frame_udp6(&f, "2001:db8:5::1", cases[i].addr);
		expect_at(i, &f, cases[i].as_dst);
	}
	steer_rig_fini(&rig);
}
