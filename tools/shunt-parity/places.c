// SPDX-License-Identifier: BSD-2-Clause
/* One table says the routes to dut (world.c) and the addresses to the generator. */
#include "places.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

const struct parity_place parity_places[] = {
	{"198.18.0.0/16", "via 10.0.1.2"},
	{"198.19.0.0/16", "via 10.0.2.2"},
	{"198.20.0.0/16", "via 10.0.3.2"},
	{"198.18.1.1/32", "via 10.0.2.2"},
	{"198.18.2.0/24", "via 10.0.3.2"},
	{"198.18.3.0/24", "blackhole"},
	{"198.18.4.0/24", "unreachable"},
	{"198.18.5.0/24", "prohibit"},
	{"198.18.6.0/24", "throw"},
	{"198.18.8.0/24", "nexthop via 10.0.2.2 weight 1 nexthop via 10.0.2.3 weight 2", 0,
	 MULTIPATH},
	{"198.18.9.0/24", "dev eth2", 3, UNRESOLVED},
	{"198.18.10.0/24", "via 10.0.2.2 mtu 1000"},
	{"198.18.11.0/24", "via 10.0.2.99", 0, UNRESOLVED},
	{"198.18.12.0/24", "via inet6 fd00:2::2"},
	{"198.18.13.0/24", "local dev lo", 0, OWN},
	{"198.18.14.0/24", "via 10.0.9.2"},
	{"198.18.15.0/24", "nhid 10"},
	{"198.18.16.0/24", "nhid 11", 0, MULTIPATH},
	{"198.18.17.0/24", "nhid 12"},
	{"198.18.18.0/24", "via 10.0.2.2 mtu lock 900"},
	{"198.18.20.128/25", "via 10.0.2.3"},
	{"198.18.20.0/22", "via 10.0.3.3"},
	{"0.0.0.0/0", "via 10.0.2.3", 0, EVEN},
	{"10.0.1.2/31", NULL, 0, NOT_A_ROUTE},
	{"10.0.2.2/31", NULL, 0, NOT_A_ROUTE},
	{"10.0.3.2/31", NULL, 0, NOT_A_ROUTE},
	{"10.0.2.100/32", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"10.0.3.99/32", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"10.0.2.99/32", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"10.0.1.1/32", NULL, 0, NOT_A_ROUTE | OWN},
	{"10.0.2.1/32", NULL, 0, NOT_A_ROUTE | OWN},
	{"10.0.3.1/32", NULL, 0, NOT_A_ROUTE | OWN},
	{"10.0.1.255/32", NULL, 0, NOT_A_ROUTE | OWN},
	{"10.0.2.0/32", NULL, 0, NOT_A_ROUTE | UNRESOLVED},

	{"2001:2:0:1::/64", "via fd00:1::2"},
	{"2001:2:0:2::/64", "via fd00:2::2"},
	{"2001:2:0:3::/64", "via fd00:3::2"},
	{"2001:2:0:1:1::1/128", "via fd00:2::2"},
	{"2001:2:0:1:2::/80", "via fd00:3::2"},
	{"2001:2:0:1:3::/80", "blackhole"},
	{"2001:2:0:1:4::/80", "unreachable"},
	{"2001:2:0:1:5::/80", "prohibit"},
	{"2001:2:0:1:6::/80", "throw"},
	{"2001:2:0:1:8::/80", "nexthop via fd00:2::2 weight 1 nexthop via fd00:2::3 weight 2", 0,
	 MULTIPATH},
	{"2001:2:0:1:9::/80", "dev eth2", 3, UNRESOLVED},
	{"2001:2:0:1:a::/80", "via fd00:2::2 mtu 1300"},
	{"2001:2:0:1:b::/80", "via fd00:2::99", 0, UNRESOLVED},
	{"2001:2:0:1:d::/80", "local dev lo", 0, OWN},
	{"2001:2:0:1:e::/80", "via fd00:9::2"},
	{"2001:2:0:1:f::/80", "nhid 20"},
	{"2001:2:0:1:10::/80", "nhid 21", 0, MULTIPATH},
	{"2001:2:0:1:12::/80", "via fd00:2::2 mtu lock 1290"},
	{"2001:2:0:1:11::/80", "via fe80::3 dev eth1"},
	{"2001:2:0:1:13::/80", "via fe80::3 dev eth3"},
	{"64:ff9b::/96", "via fd00:2::3"},
	{"::/0", "via fd00:2::3", 0, ODD},
	{"fd00:1::2/127", NULL, 0, NOT_A_ROUTE},
	{"fd00:2::2/127", NULL, 0, NOT_A_ROUTE},
	{"fd00:3::2/127", NULL, 0, NOT_A_ROUTE},
	{"fd00:2::100/128", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"fd00:2::99/128", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"fd00:3::99/128", NULL, 0, NOT_A_ROUTE | UNRESOLVED},
	{"fd00:1::1/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fd00:2::1/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fd00:3::1/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fd00:1::/128", NULL, 0, NOT_A_ROUTE | OWN}, /* subnet-router anycast */
	{"fd00:2::/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fd00:3::/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fe80::ff:fe00:101/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fe80::ff:fe00:201/128", NULL, 0, NOT_A_ROUTE | OWN},
	{"fe80::ff:fe00:301/128", NULL, 0, NOT_A_ROUTE | OWN},
};

/* Seldom right, as a source or a destination. */
static const char *const odd4[] = {
	"0.0.0.0",   "0.1.2.3",	    "127.0.0.1",  "127.1.2.3",	     "224.0.0.1",
	"224.0.0.5", "239.1.2.3",   "240.0.0.1",  "255.255.255.255", "255.255.255.254",
	"192.0.2.1", "169.254.1.1", "10.0.1.255", "10.0.2.0",	     "198.18.255.255",
};
static const char *const odd6[] = {
	"::",	   "::1",	  "::ffff:198.18.0.1", "::198.18.0.1", "fe80::2",
	"ff02::1", "ff02::2",	  "ff05::1:3",	       "ff0e::1234",   "ff01::1",
	"fec0::1", "2001:db8::1", "2002:c612:1::1",    "100::1",       "0:0:0:1::1",
};

static const char *const stations[2][PARITY_PORTS] = {
	{"10.0.1.2", "10.0.2.3", "10.0.3.2"},
	{"fd00:1::2", "fd00:2::3", "fd00:3::2"},
};

#define PLACE_CNT (sizeof(parity_places) / sizeof(parity_places[0]))

static struct net {
	uint8_t addr[16];
	uint8_t len, v6;
} nets[PLACE_CNT];
static unsigned family_first[3];

static void load(void)
{
	char text[64];
	unsigned i;

	if (family_first[2])
		return;
	for (i = 0; i < PLACE_CNT; i++) {
		const char *slash = strchr(parity_places[i].prefix, '/');

		memcpy(text, parity_places[i].prefix, (size_t)(slash - parity_places[i].prefix));
		text[slash - parity_places[i].prefix] = 0;
		nets[i].len = (uint8_t)atoi(slash + 1);
		nets[i].v6 = strchr(text, ':') != NULL;
		inet_pton(nets[i].v6 ? AF_INET6 : AF_INET, text, nets[i].addr);
		if (nets[i].v6 && !family_first[1])
			family_first[1] = i;
	}
	family_first[2] = PLACE_CNT;
}

unsigned parity_place_first(unsigned family)
{
	load();
	return family_first[family];
}

static bool within(const struct net *net, const uint8_t *addr)
{
	unsigned whole = net->len / 8, rest = net->len % 8;

	if (memcmp(net->addr, addr, whole))
		return false;
	return !rest || !((net->addr[whole] ^ addr[whole]) & (0xff00 >> rest));
}

/* The flags of the longest prefix that holds an address. */
static unsigned flags_of(bool v6, const uint8_t *addr)
{
	unsigned i, flags = 0;
	int longest = -1;

	load();
	for (i = family_first[v6]; i < family_first[v6 + 1]; i++)
		if (nets[i].len > longest && within(&nets[i], addr)) {
			longest = nets[i].len;
			flags = parity_places[i].flags;
		}
	return flags;
}

bool parity_is_own(bool v6, const uint8_t *addr)
{
	return flags_of(v6, addr) & OWN;
}

bool parity_is_unresolved(bool v6, const uint8_t *addr)
{
	if (!v6 && addr[0] == 10 && addr[1] == 0 && addr[2] <= PARITY_PORTS)
		return !addr[3] || addr[3] > 3; /* on a link: not a station */
	return flags_of(v6, addr) & UNRESOLVED;
}

bool parity_is_multipath(bool v6, const uint8_t *addr)
{
	return flags_of(v6, addr) & MULTIPATH;
}

static bool is_odd4(const uint8_t *addr)
{
	uint8_t odd[4];
	unsigned i;

	for (i = 0; i < sizeof(odd4) / sizeof(*odd4); i++)
		if (inet_pton(AF_INET, odd4[i], odd) == 1 && !memcmp(addr, odd, sizeof(odd)))
			return true;
	return false;
}

/* All but the plain networks, which have as many sources as there are frames. */
bool parity_is_frequent(const uint8_t *addr)
{
	return is_odd4(addr) || addr[0] != 198 || addr[1] < 18 || addr[1] > 20 ||
	       (addr[1] == 18 && addr[2] < 32);
}

static void pick_odd(struct parity_rng *rng, bool v6, uint8_t *addr)
{
	if (v6)
		inet_pton(AF_INET6, odd6[parity_below(rng, sizeof(odd6) / sizeof(*odd6))], addr);
	else
		inet_pton(AF_INET, odd4[parity_below(rng, sizeof(odd4) / sizeof(*odd4))], addr);
}

static void pick_within(struct parity_rng *rng, unsigned place, uint8_t *addr)
{
	const struct net *net = &nets[place];
	unsigned bit, bits = net->v6 ? 128 : 32;

	memcpy(addr, net->addr, net->v6 ? 16 : 4);
	if (parity_places[place].hosts) {
		addr[bits / 8 - 1] = (uint8_t)(1 + parity_below(rng, parity_places[place].hosts));
		return;
	}
	for (bit = net->len; bit < bits; bit++)
		if (parity_rand(rng) & 1)
			addr[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));
}

void parity_pick_dst(struct parity_rng *rng, bool v6, uint8_t *addr)
{
	unsigned first, place;

	load();
	first = family_first[v6];
	if (parity_chance(rng, 7)) {
		pick_odd(rng, v6, addr);
		return;
	}
	place = first + parity_below(rng, family_first[v6 + 1] - first);
	/* The plain networks, behind station 2 of each link, half of the time. */
	if (parity_chance(rng, 50))
		place = first + parity_below(rng, 3);
	pick_within(rng, place, addr);
}

void parity_pick_src(struct parity_rng *rng, bool v6, unsigned port, unsigned vrf, uint8_t *addr)
{
	unsigned roll = parity_below(rng, 100);

	load();
	if (roll < 4)
		pick_odd(rng, v6, addr);
	else if (roll < 12)
		do
			parity_pick_dst(rng, v6, addr);
		while (parity_is_unresolved(v6, addr)); /* answers would wait there */
	else
		pick_within(rng, family_first[v6] + parity_net_of(vrf, port), addr);
	if (roll >= 90) /* on the link itself */
		inet_pton(v6 ? AF_INET6 : AF_INET, stations[v6][port], addr);
}
