// SPDX-License-Identifier: BSD-2-Clause
/* The network that both labs are. On link L (1 to 3) dut is 10.0.L.1, fd00:L::1, MAC
 * 02:00:00:00:0L:01; stations 2 and 3 are beyond it. Behind station 2 of link L lie
 * 198.(17+L).0.0/16 and 2001:2:0:L::/64. Link 3 has MTU 1280.
 *
 * With VRFs all of this is there three times, with the same addresses: in red, in blue and in no
 * VRF. Each has a device on every link, the port itself in one of them: eth1 in red, eth2 in blue,
 * eth3 in none. In world router the port is eth1 in none, a bond in blue, a bridge in none. Its
 * stations' MACs are 02:00:00:VRF:0L:HOST, and the networks that are behind link L in no VRF are
 * behind the next link in red, and the one after it in blue.
 */
#include <stdlib.h>
#include <string.h>

#include "places.h"

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
	static const char *const above[PARITY_PORTS] = {"eth", "bond", "bridge"};
	const char *name = vrfs[vrf];

	if (parity_vrf_of_port(world, link - 1) == vrf)
		name = world == PARITY_ROUTER ? above[link - 1] : "eth";
	fprintf(out, "%s%u", name, link);
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

	for (i = 0; parity_has_vrfs(world) && i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (exceptions[i].vrf == vrf && !strcmp(exceptions[i].prefix, prefix))
			return &exceptions[i];
	return NULL;
}

/* How a place is reached: a plain network by the link that it is behind. */
static const char *how_of(unsigned place, unsigned vrf)
{
	const unsigned first = parity_place_first(place >= parity_place_first(1));

	if (place - first < PARITY_PORTS)
		place = first + (place - first + vrf) % PARITY_PORTS;
	return parity_places[place].how;
}

static void print_vrf(FILE *out, enum parity_world world, unsigned vrf, unsigned variant)
{
	unsigned i;

	print_nexthops(out, world, vrf);
	print_neighbours(out, world, vrf);
	for (i = 0; i < parity_place_first(2); i++) {
		const struct parity_place *place = &parity_places[i];
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

	fputs(first_commands, out);
	for (vrf = 0; vrf < (parity_has_vrfs(world) ? PARITY_VRFS : 1); vrf++)
		print_vrf(out, world, vrf, variant);
}
