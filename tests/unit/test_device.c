// SPDX-License-Identifier: BSD-2-Clause
/* The table of devices above ports: found by port and tags, hidden, numbers that come back late. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <string.h>

#include "base/err.h"
#include "fib/device.h"

static struct shunt_devices *devices;

static void start(void)
{
	struct shunt_err err;

	cr_assert_eq(shunt_devices_create_on(&devices, NULL, &err), 0, "%s", err.msg);
}

static void stop(void)
{
	shunt_devices_destroy(devices);
}

static struct shunt_device one_tag(unsigned port, uint16_t type, unsigned id)
{
	return (struct shunt_device){
		.member_cnt = 1,
		.members = {(uint8_t)port},
		.tag_cnt = 1,
		.ifindex = id + 1,
		.tags = {{.type_be = htons(type), .tci_be = htons((uint16_t)id)}},
	};
}

static struct shunt_device two_tags(unsigned port, unsigned outer, unsigned inner)
{
	struct shunt_device device = one_tag(port, ETH_P_8021AD, outer);

	device.tag_cnt = 2;
	device.tags[1] = (struct shunt_vlan_tag){htons(ETH_P_8021Q), htons((uint16_t)inner)};
	return device;
}

static uint32_t find(const struct shunt_device *device)
{
	return shunt_device_number(shunt_devices_find(devices, shunt_devices_key_of(device, 0)));
}

TestSuite(device, .init = start, .fini = stop);

Test(device, each_is_found_by_its_port_and_tags_alone)
{
	struct shunt_device all[] = {
		one_tag(0, ETH_P_8021Q, 100),  one_tag(1, ETH_P_8021Q, 100),
		one_tag(0, ETH_P_8021AD, 100), one_tag(0, ETH_P_8021Q, 101),
		two_tags(0, 100, 100),	       two_tags(0, 100, 101),
		two_tags(63, 4094, 4094),      one_tag(63, ETH_P_8021Q, 4094),
	};
	uint32_t numbers[SHUNT_ARRAY_LEN(all)];

	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(all); i++) {
		cr_expect_eq(find(&all[i]), 0);
		numbers[i] = shunt_devices_add(devices, &all[i]);
		cr_assert(numbers[i]);
	}
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(all); i++) {
		cr_expect_eq(find(&all[i]), numbers[i]);
		all[i].base = (uint16_t)numbers[i];
		cr_expect_eq(memcmp(shunt_devices_at(devices, numbers[i]), &all[i], sizeof(all[i])),
			     0);
	}
	all[0].base = 0;
	cr_expect_eq(shunt_devices_add(devices, &all[0]), 0, "another has its tags");
}

Test(device, one_takes_the_place_of_another)
{
	struct shunt_device device = one_tag(3, ETH_P_8021Q, 7);
	const uint32_t before = shunt_devices_add(devices, &device);
	uint32_t after;

	shunt_devices_hide(devices, before);
	cr_expect_eq(find(&device), 0);
	device.ifindex = 9;
	after = shunt_devices_add(devices, &device);
	cr_expect(after && after != before);
	shunt_devices_hide(devices, before); /* it has no word any more */
	cr_expect_eq(find(&device), after);
	shunt_devices_del(devices, before);
	cr_expect_eq(shunt_devices_at(devices, before)->ifindex, 8, "somebody may still read it");
	shunt_devices_set_flags(devices, after, 5);
	cr_expect_eq(shunt_devices_at(devices, after)->flags, 5);
	cr_expect_eq(
		shunt_device_flags(shunt_devices_find(devices, shunt_devices_key_of(&device, 0))),
		5);
	shunt_devices_set_flags(devices, before, 7); /* somebody else's word */
	cr_expect_eq(
		shunt_device_flags(shunt_devices_find(devices, shunt_devices_key_of(&device, 0))),
		5);
}

Test(device, a_thousand_on_each_of_four_ports)
{
	unsigned lost = 0;

	for (unsigned port = 0; port < 4; port++)
		for (unsigned id = 1; id <= 1000; id++) {
			const struct shunt_device device = one_tag(port, ETH_P_8021Q, id);
			const uint32_t number = shunt_devices_add(devices, &device);

			lost += !number;
			cr_assert_eq(find(&device), number);
		}
	cr_expect_leq(lost, 4, "%u have no place", lost);
	for (unsigned id = 1001; id < 4095; id++) {
		const struct shunt_device device = one_tag(0, ETH_P_8021Q, id);

		cr_expect_eq(find(&device), 0);
	}
}

Test(device, priorities)
{
	const struct shunt_device device = {
		.tags = {{.tci_be = htons(100)}, {.tci_be = htons(0xfff)}},
		.pcps = {0x7000000000000050, 1},
	};

	cr_expect_eq(ntohs(shunt_device_tci_be(&device, 0, 0)), 100);
	cr_expect_eq(ntohs(shunt_device_tci_be(&device, 0, 1)), 100 | 5 << 13);
	cr_expect_eq(ntohs(shunt_device_tci_be(&device, 0, 15)), 100 | 7 << 13);
	cr_expect_eq(ntohs(shunt_device_tci_be(&device, 1, 0)), 0xfff | 1 << 13);
	/* ip_tos2prio: best effort, bulk, interactive, interactive bulk */
	cr_expect_eq(shunt_device_tos_priority(0), 0);
	cr_expect_eq(shunt_device_tos_priority(0x02), 0);
	cr_expect_eq(shunt_device_tos_priority(0x08), 2);
	cr_expect_eq(shunt_device_tos_priority(0x10), 6);
	cr_expect_eq(shunt_device_tos_priority(0x18), 4);
	cr_expect_eq(shunt_device_tos_priority(0xb8), 4, "the upper three bits do not count");
}

/* --- legs ------------------------------------------------------------------------------------- */

static struct shunt_device bridge_of(unsigned id)
{
	struct shunt_device device = one_tag(0, ETH_P_8021Q, id);

	device.policy = SHUNT_DEVICE_BY_STATION;
	device.members[device.member_cnt++] = 1;
	return device;
}

static uint32_t add_leg(uint32_t base, unsigned port)
{
	struct shunt_device leg = *shunt_devices_at(devices, base);

	leg.policy = 0;
	leg.base = (uint16_t)base;
	leg.member_cnt = 1;
	leg.members[0] = (uint8_t)port;
	return shunt_devices_add(devices, &leg);
}

/* By a leg nothing comes in: what its device is found by stays that one's. */
Test(device, legs)
{
	const struct shunt_device bridge = bridge_of(7), other = one_tag(2, ETH_P_8021Q, 7);
	const uint32_t number = shunt_devices_add(devices, &bridge);
	const uint32_t legs[] = {add_leg(number, 0), add_leg(number, 1)};
	const uint32_t leg = add_leg(number, 2); /* on a port that nothing comes in by */
	unsigned i;

	cr_assert(number && legs[0] && legs[1] && leg);
	cr_expect_eq(shunt_devices_at(devices, number)->base, number);
	for (i = 0; i < 2; i++) {
		const uint32_t key = shunt_devices_key_of(&bridge, i);

		cr_expect_eq(shunt_devices_at(devices, legs[i])->base, number);
		cr_expect_eq(shunt_device_number(shunt_devices_find(devices, key)), number);
		shunt_devices_set_flags(devices, legs[i], 5);
		cr_expect_eq(shunt_device_flags(shunt_devices_find(devices, key)), 0);
		shunt_devices_set_flags(devices, number, 3);
		cr_expect_eq(shunt_device_flags(shunt_devices_find(devices, key)), 3);
		shunt_devices_set_flags(devices, number, 0);
		shunt_devices_hide(devices, legs[i]);
		cr_expect_eq(shunt_device_number(shunt_devices_find(devices, key)), number);
		cr_expect_eq(devices->cnts[i], 1);
	}
	cr_expect_eq(find(&other), 0);
	cr_expect_eq(devices->cnts[2], 0);
	cr_expect(shunt_devices_add(devices, &other), "its tags are nobody's there");
	shunt_devices_hide(devices, number);
	for (i = 0; i < 2; i++) {
		cr_expect_eq(devices->cnts[i], 0);
		cr_expect_eq(shunt_devices_find(devices, shunt_devices_key_of(&bridge, i)), 0);
	}
}

/* One that is not put in whole leaves nothing. */
Test(device, a_tag_that_is_taken_on_one_port)
{
	const struct shunt_device other = one_tag(1, ETH_P_8021Q, 7), bridge = bridge_of(7);
	const uint32_t number = shunt_devices_add(devices, &other);

	cr_expect_eq(shunt_devices_add(devices, &bridge), 0);
	cr_expect_eq(find(&bridge), 0);
	cr_expect_eq(find(&other), number);
	cr_expect(devices->cnts[0] == 0 && devices->cnts[1] == 1);
}

Test(device, what_a_packet_leaves_by)
{
	const struct shunt_device bridge = bridge_of(7), vlan = one_tag(2, ETH_P_8021Q, 7);
	const uint32_t number = shunt_devices_add(devices, &bridge);
	const uint32_t legs[] = {add_leg(number, 0), add_leg(number, 1)};
	struct shunt_adj adj = {.port = 5};

	cr_expect_eq(shunt_devices_exit(devices, &adj), 5);
	adj.port = SHUNT_ADJ_TAGGED;
	adj.above = (uint16_t)number;
	cr_expect_eq(shunt_devices_exit(devices, &adj), SHUNT_ADJ_TAGGED + number);
	adj.above = (uint16_t)legs[0];
	cr_expect_eq(shunt_devices_exit(devices, &adj), SHUNT_ADJ_TAGGED + number);
	adj.above = (uint16_t)legs[1];
	cr_expect_eq(shunt_devices_exit(devices, &adj), SHUNT_ADJ_TAGGED + number);
	adj.above = (uint16_t)shunt_devices_add(devices, &vlan);
	cr_expect_eq(shunt_devices_exit(devices, &adj), SHUNT_ADJ_TAGGED + adj.above);
}

/* A bridge of one port is none: who is behind another of its ports has no way there. */
Test(device, one_that_is_a_port)
{
	struct shunt_device device = {.member_cnt = 1, .members = {3}};

	cr_expect(shunt_device_is_port(&device));
	device.policy = SHUNT_DEVICE_BY_STATION;
	cr_expect_not(shunt_device_is_port(&device));
	device.policy = 0;
	device.tag_cnt = 1;
	cr_expect_not(shunt_device_is_port(&device));
	device.tag_cnt = 0;
	device.member_cnt = 2;
	cr_expect_not(shunt_device_is_port(&device));
}
