// SPDX-License-Identifier: BSD-2-Clause
/* The network that both labs are. On link L (1 to 3) dut is 10.0.L.1, fd00:L::1, MAC
 * 02:00:00:00:0L:01; stations 2 and 3 are beyond it. Behind station 2 of link L lie
 * 198.(17+L).0.0/16 and 2001:2:0:L::/64. Link 3 has MTU 1280. One table says the routes to
 * dut and the destinations to the generator.
 *
 * With VRFs all of this is there three times, with the same addresses: in red, in blue and in no
 * VRF. Each has a device on every link, the port itself in one of them: eth1 in red, eth2 in blue,
 * eth3 in none. Its stations' MACs are 02:00:00:VRF:0L:HOST, and the networks that are behind
 * link L in no VRF are behind the next link in red, and the one after it in blue.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

enum {
	MULTIPATH = 1,
	UNRESOLVED = 2,
	EVEN = 4, /* in even variants only */
	ODD = 8,
	NOT_A_ROUTE = 16, /* a destination alone */
	OWN = 32,
};

static const struct place {
	const char *prefix, *how;
	unsigned hosts; /* destinations used of it; 0: all */
	unsigned flags;
} places[] = {
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

#define PLACE_CNT (sizeof(places) / sizeof(places[0]))

/* --- what differs in a VRF --- */
enum { MAIN, RED, BLUE };
static const char *const vrfs[PARITY_VRFS] = {"main", "red", "blue"};
static const unsigned tables[PARITY_VRFS] = {254, 1001, 1002};

/* A place's route in one VRF, by a device of `of`; NULL: none, so that what is after the VRF's
 * table decides. */
static const struct exception {
	const char *prefix;
	unsigned vrf, of;
	const char *how;
} exceptions[] = {
	/* leaks that are wanted */
	{"198.18.1.1/32", BLUE, RED, "via 10.0.2.3 dev eth2"},
	{"198.18.2.0/24", RED, BLUE, "via 10.0.3.3 dev eth3"},
	{"198.18.20.128/25", RED, BLUE, "via 10.0.2.3 dev eth2"},
	{"198.18.20.128/25", BLUE, MAIN, "via 10.0.3.2 dev eth3"},
	{"198.18.20.0/22", MAIN, RED, "via 10.0.1.3 dev eth1"},
	{"2001:2:0:1:1::1/128", BLUE, RED, "via fd00:2::3 dev eth2"},
	{"2001:2:0:1:2::/80", RED, BLUE, "via fd00:3::3 dev eth3"},
	{"2001:2:0:1:11::/80", RED, BLUE, "via fe80::3 dev eth2"},
	{"2001:2:0:1:13::/80", MAIN, RED, "via fe80::3 dev eth1"},
	{"198.18.14.0/24", RED, MAIN, "via 10.0.9.2 dev other0"},
	{"198.18.14.0/24", BLUE, MAIN, "via 10.0.9.2 dev other0"},
	{"2001:2:0:1:e::/80", RED, MAIN, "via fd00:9::2 dev other0"},
	{"2001:2:0:1:e::/80", BLUE, MAIN, "via fd00:9::2 dev other0"},
	/* thrown in both VRFs */
	{"198.18.6.0/24", MAIN, MAIN, "via 10.0.2.3"},
	{"2001:2:0:1:6::/80", MAIN, MAIN, "via fd00:2::3"},
	/* The default of red ends there, blue has none. */
	{"0.0.0.0/0", RED, RED, "unreachable metric 4278198272"},
	{"::/0", RED, RED, "unreachable metric 4278198272"},
	{"0.0.0.0/0", BLUE, BLUE, NULL},
	{"64:ff9b::/96", BLUE, BLUE, NULL},
	{"::/0", BLUE, BLUE, NULL},
};

const char *parity_vrf_name(unsigned vrf)
{
	static const char *const names[PARITY_VRFS] = {"no VRF", "VRF red", "VRF blue"};

	return vrf < PARITY_VRFS ? names[vrf] : "a tag of no VRF";
}

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
		const char *slash = strchr(places[i].prefix, '/');

		memcpy(text, places[i].prefix, (size_t)(slash - places[i].prefix));
		text[slash - places[i].prefix] = 0;
		nets[i].len = (uint8_t)atoi(slash + 1);
		nets[i].v6 = strchr(text, ':') != NULL;
		inet_pton(nets[i].v6 ? AF_INET6 : AF_INET, text, nets[i].addr);
		if (nets[i].v6 && !family_first[1])
			family_first[1] = i;
	}
	family_first[2] = PLACE_CNT;
}

static const char first_commands[] =
	/* A device that shunt does not serve. */
	"link add other0 type veth peer name other1\n"
	"link set other0 up\n"
	"link set other1 up\n"
	"address add 10.0.9.1/24 dev other0\n"
	"address add fd00:9::1/64 dev other0 nodad\n"
	"neigh add 10.0.9.2 lladdr 02:00:00:00:09:02 dev other0\n"
	"neigh add fd00:9::2 lladdr 02:00:00:00:09:02 dev other0\n";

/* In each VRF, where their ids are others. */
static const char nexthops[] = "nexthop add id 1 via 10.0.2.2 dev eth2\n"
			       "nexthop add id 2 via 10.0.1.2 dev eth1\n"
			       "nexthop add id 10 via 10.0.2.3 dev eth2\n"
			       "nexthop add id 12 blackhole\n"
			       "nexthop add id 3 via fd00:2::2 dev eth2\n"
			       "nexthop add id 4 via fd00:1::2 dev eth1\n"
			       "nexthop add id 20 via fd00:2::3 dev eth2\n";

static unsigned id_of(unsigned vrf, unsigned id)
{
	return 100 * vrf + id;
}

static void print_device(FILE *out, enum parity_world world, unsigned vrf, unsigned link)
{
	const bool is_port = parity_vrf_of_port(world, link - 1) == vrf;

	fprintf(out, "%s%u", is_port ? "eth" : vrfs[vrf], link);
}

/* With the VRF's devices and next hops in the place of ethL, lo and ids. */
static void print_how(FILE *out, enum parity_world world, unsigned vrf, const char *how)
{
	while (*how) {
		const bool is_device = !strncmp(how, "eth", 3), is_id = !strncmp(how, "id ", 3);
		char *end;
		unsigned number;

		if (vrf && !strcmp(how, "lo")) {
			fputs(vrfs[vrf], out);
			return;
		}
		if (!is_device && !is_id) {
			putc(*how++, out);
			continue;
		}
		number = (unsigned)strtoul(how + 3, &end, 10);
		how = end;
		if (is_device)
			print_device(out, world, vrf, number);
		else
			fprintf(out, "id %u", id_of(vrf, number));
	}
}

static void print_nexthops(FILE *out, enum parity_world world, unsigned vrf)
{
	print_how(out, world, vrf, nexthops);
	fprintf(out, "nexthop add id %u group %u,3/%u,1\n", id_of(vrf, 11), id_of(vrf, 1),
		id_of(vrf, 2));
	fprintf(out, "nexthop add id %u group %u,3/%u,1\n", id_of(vrf, 21), id_of(vrf, 3),
		id_of(vrf, 4));
}

static void print_neighbour(FILE *out, enum parity_world world, unsigned vrf, unsigned link,
			    unsigned host, const char *addr)
{
	fprintf(out, "neigh replace %s lladdr 02:00:00:%02x:%02x:%02x dev ", addr, vrf, link, host);
	print_device(out, world, vrf, link);
	fprintf(out, " nud permanent\n");
}

static void print_neighbours(FILE *out, enum parity_world world, unsigned vrf)
{
	unsigned link, host;
	char addr[32];

	for (link = 1; link <= PARITY_PORTS; link++)
		for (host = 2; host <= 3; host++) {
			snprintf(addr, sizeof(addr), "10.0.%u.%u", link, host);
			print_neighbour(out, world, vrf, link, host, addr);
			snprintf(addr, sizeof(addr), "fd00:%u::%u", link, host);
			print_neighbour(out, world, vrf, link, host, addr);
			snprintf(addr, sizeof(addr), "fe80::%u", host);
			print_neighbour(out, world, vrf, link, host, addr);
		}
}

/* A type, as blackhole, stands before the prefix. */
static unsigned type_len(const char *how)
{
	static const char *const types[] = {"blackhole", "unreachable", "prohibit", "throw",
					    "local"};
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strncmp(how, types[i], strlen(types[i])))
			return (unsigned)strlen(types[i]);
	return 0;
}

/* The route in a VRF, by a device of `of`. */
static void print_route(FILE *out, enum parity_world world, const char *prefix, unsigned vrf,
			unsigned of, const char *how)
{
	const unsigned len = type_len(how);

	fprintf(out, "route replace %.*s%s%s", (int)len, how, len ? " " : "", prefix);
	if (vrf)
		fprintf(out, " table %u", tables[vrf]);
	if (how[len])
		fputs(len ? "" : " ", out);
	print_how(out, world, of, how + len);
	putc('\n', out);
}

static const struct exception *exception_of(enum parity_world world, const char *prefix,
					    unsigned vrf)
{
	unsigned i;

	for (i = 0; world == PARITY_VRF && i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (exceptions[i].vrf == vrf && !strcmp(exceptions[i].prefix, prefix))
			return &exceptions[i];
	return NULL;
}

/* How a place is reached: a plain network by the link that it is behind. */
static const char *how_of(unsigned place, unsigned vrf)
{
	const unsigned first = family_first[nets[place].v6];

	if (place - first < PARITY_PORTS)
		place = first + (place - first + vrf) % PARITY_PORTS;
	return places[place].how;
}

static void print_vrf(FILE *out, enum parity_world world, unsigned vrf, unsigned variant)
{
	unsigned i;

	print_nexthops(out, world, vrf);
	print_neighbours(out, world, vrf);
	for (i = 0; i < PLACE_CNT; i++) {
		const struct place *place = &places[i];
		const struct exception *other = exception_of(world, place->prefix, vrf);

		if (other && other->how)
			print_route(out, world, place->prefix, vrf, other->of, other->how);
		else if (!other && !(place->flags & (NOT_A_ROUTE | (variant & 1 ? EVEN : ODD))))
			print_route(out, world, place->prefix, vrf, vrf, how_of(i, vrf));
	}
}

void parity_world_print(FILE *out, enum parity_world world, unsigned variant)
{
	unsigned vrf;

	load();
	fputs(first_commands, out);
	for (vrf = 0; vrf < (world == PARITY_VRF ? PARITY_VRFS : 1); vrf++)
		print_vrf(out, world, vrf, variant);
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
			flags = places[i].flags;
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
	if (places[place].hosts) {
		addr[bits / 8 - 1] = (uint8_t)(1 + parity_below(rng, places[place].hosts));
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
