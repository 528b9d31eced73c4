// SPDX-License-Identifier: BSD-2-Clause
/* Rules for both labs, and the connections that they judge. Clients of network L are in groups: one
 * is translated to an address, one to that of the device (masquerade), one from prefix to prefix,
 * one not. Some services are addresses of dut's that are translated to a server. Ports are kept,
 * and no two connections have one source port, so each end's view is known before anything is sent.
 */
#include <arpa/inet.h>
#include <string.h>

#include "talk.h"

#define FIRST_PORT    1024u
#define ALLOWED_FIRST 5000u
#define ALLOWED_CNT   100u
#define SERVED	      5050u /* dport that is translated to SERVED + 1 */
#define LIMITED	      5100u
#define DENIED	      6000u

enum group {
	PLAIN,
	TO_ADDRESS,
	TO_DEVICE,
	TO_PREFIX,
	GROUP_CNT,
};

enum service {
	SERVER, /* its own address */
	SERVICE,
	SERVICE_PORT, /* of TCP: address and port */
	SERVICE_CNT,
};

static void parse(const struct parity_ends *ends, uint8_t *addr, const char *pattern, unsigned a,
		  unsigned b)
{
	char text[64];

	snprintf(text, sizeof(text), pattern, a, b);
	inet_pton(ends->v6 ? AF_INET6 : AF_INET, text, addr);
}

/* --- the rules --- */

static const char filter[] =
	"flush ruleset\n"
	"table inet fw {\n"
	"	flowtable ft { hook ingress priority filter; devices = { %s }; }\n"
	"	chain forward {\n"
	"		type filter hook forward priority filter; policy drop\n"
	"		meta l4proto { tcp, udp } flow add @ft\n"
	"		ct state established,related accept\n"
	"		udp sport 9 udp dport 9 accept comment \"sentinels\"\n"
	"		tcp dport 5000-5099 accept\n"
	"		udp dport 5000-5099 accept\n";

static const char limit[] =
	"		iifname %s udp dport 5100 limit rate 1/day burst 100 packets accept\n";

/* Of no VRF, by which what is limited comes in. */
static const char *const devices[2][PARITY_PORTS] = {
	{"eth1", "eth2", "eth3"},
	{"eth1", "main2", "bridge3"},
};

static void print_nat(FILE *out, unsigned link)
{
	fprintf(out,
		"		ip saddr 198.%u.65.0/24 snat ip to 203.0.113.7\n"
		"		ip saddr 198.%u.66.0/24 masquerade\n"
		"		ip saddr 198.%u.67.0/24 snat ip prefix to 203.0.%u.0/24\n",
		17 + link, 17 + link, 17 + link, 100 + link);
	fprintf(out,
		"		ip6 saddr 2001:2:0:%u:1001::/80 snat ip6 to 2001:db8:ffff::7\n"
		"		ip6 saddr 2001:2:0:%u:1002::/80 masquerade\n"
		"		ip6 saddr 2001:2:0:%u:1003::/80 snat ip6 prefix to 2001:db8:eeee:%u::/80\n",
		link, link, link, link);
}

static void print_services(FILE *out, unsigned link)
{
	fprintf(out,
		"		ip daddr 192.0.2.%u dnat ip to 198.%u.140.9\n"
		"		ip daddr 192.0.2.%u tcp dport 5050 dnat ip to 198.%u.140.8:5051\n",
		link, 17 + link, 10 + link, 17 + link);
	fprintf(out,
		"		ip6 daddr 2001:db8:aaaa::%u dnat ip6 to 2001:2:0:%u:9000::9\n"
		"		ip6 daddr 2001:db8:aaaa::1%u tcp dport 5050 "
		"dnat ip6 to [2001:2:0:%u:9000::8]:5051\n",
		link, link, link, link);
}

void parity_rules_print(FILE *out, enum parity_rules rules, enum parity_world world)
{
	const bool is_router = world == PARITY_ROUTER;
	unsigned link;

	fprintf(out, filter, is_router ? "eth1, bond2, eth3, eth6" : "eth1, eth2, eth3");
	for (link = 1; link <= PARITY_PORTS; link++)
		fprintf(out, limit, devices[is_router][link - 1]);
	fputs("	}\n", out);
	if (rules == PARITY_NAT) {
		fputs("	chain pre {\n		type nat hook prerouting priority dstnat\n", out);
		for (link = 1; link <= PARITY_PORTS; link++)
			print_services(out, link);
		fputs("	}\n	chain post {\n		type nat hook postrouting priority srcnat\n",
		      out);
		for (link = 1; link <= PARITY_PORTS; link++)
			print_nat(out, link);
		fputs("	}\n", out);
	}
	fputs("}\n", out);
}

/* --- both ends' views of a connection --- */

/* The client, and what a server sees of it. */
static void pick_client(struct parity_rng *rng, bool is_nat, struct parity_ends *ends)
{
	const unsigned group = parity_below(rng, GROUP_CNT), host = 1 + parity_below(rng, 250),
		       from = parity_net_of(ends->vrf, ends->from) + 1u, to = ends->to + 1u;

	if (ends->v6) {
		inet_pton(AF_INET6, "2001:2::", ends->client);
		ends->client[7] = (uint8_t)from;
		ends->client[8] = 0x10;
		ends->client[9] = (uint8_t)group;
		ends->client[15] = (uint8_t)host;
	} else {
		parse(ends, ends->client, "198.%u.0.%u", 17 + from, host);
		ends->client[2] = (uint8_t)(64 + group);
	}
	memcpy(ends->seen, ends->client, sizeof(ends->seen));
	ends->is_masked = is_nat && group == TO_DEVICE;
	if (!is_nat || group == PLAIN)
		return;
	if (ends->v6 && group == TO_ADDRESS)
		parse(ends, ends->seen, "2001:db8:ffff::7", 0, 0);
	else if (ends->v6 && group == TO_DEVICE)
		parse(ends, ends->seen, "fd00:%u::1", to, 0);
	else if (ends->v6)
		parse(ends, ends->seen, "2001:db8:eeee:%u::%x", from, host);
	else if (group == TO_ADDRESS)
		parse(ends, ends->seen, "203.0.113.7", 0, 0);
	else if (group == TO_DEVICE)
		parse(ends, ends->seen, "10.0.%u.1", to, 0);
	else
		parse(ends, ends->seen, "203.0.%u.%u", 100 + from, host);
}

/* The server, and what the client takes for it. */
static void pick_server(struct parity_rng *rng, bool is_nat, struct parity_ends *ends)
{
	const unsigned roll = parity_below(rng, 100), to = parity_net_of(ends->vrf, ends->to) + 1u;
	enum service service = roll < 15 ? SERVICE : roll < 25 ? SERVICE_PORT : SERVER;

	if (!is_nat || (service == SERVICE_PORT && ends->proto != 6))
		service = SERVER;
	if (ends->v6)
		parse(ends, ends->server, "2001:2:0:%u:8000::%x", to,
		      1 + parity_below(rng, 0xffff));
	else
		parse(ends, ends->server, "198.%u.130.%u", 17 + to, 1 + parity_below(rng, 250));
	memcpy(ends->service, ends->server, sizeof(ends->service));
	if (service == SERVER)
		return;
	if (ends->v6) {
		parse(ends, ends->server, "2001:2:0:%u:9000::%x", to, service == SERVICE ? 9 : 8);
		parse(ends, ends->service,
		      service == SERVICE ? "2001:db8:aaaa::%x" : "2001:db8:aaaa::1%x", to, 0);
	} else {
		parse(ends, ends->server, "198.%u.140.%u", 17 + to, service == SERVICE ? 9 : 8);
		parse(ends, ends->service, "192.0.2.%u", service == SERVICE ? to : 10 + to, 0);
	}
	if (service == SERVICE_PORT) {
		ends->dport = SERVED;
		ends->server_port = SERVED + 1;
	}
}

/* Half of a router's are between its port and its bridge, outside of VRFs: others are the kernel's
 * while rules judge. */
static void pick_links(struct parity_rng *rng, enum parity_world world, struct parity_ends *ends)
{
	const bool is_router = world == PARITY_ROUTER;

	ends->from = (uint8_t)parity_below(rng, PARITY_PORTS);
	ends->to = (uint8_t)((ends->from + 1 + parity_below(rng, PARITY_PORTS - 1)) % PARITY_PORTS);
	ends->vrf = (uint8_t)(is_router ? parity_below(rng, PARITY_VRFS) : 0);
	if (!is_router || parity_chance(rng, 50))
		return;
	ends->vrf = 0;
	ends->from = (uint8_t)(2 * parity_below(rng, 2));
	ends->to = 2 - ends->from;
}

/* How many come in by a device counts in the order of one wire: a bond has two, a VRF more. */
static bool may_be_limited(const struct parity_ends *ends, enum parity_world world)
{
	return ends->proto == 17 && (world != PARITY_ROUTER || (!ends->vrf && ends->from != 1));
}

void parity_pick_ends(struct parity_rng *rng, const struct parity_source *src, uint64_t number,
		      struct parity_ends *ends)
{
	const unsigned roll = parity_below(rng, 100);

	ends->v6 = parity_chance(rng, 35);
	pick_links(rng, src->world, ends);
	ends->sport = (uint16_t)(FIRST_PORT + number % PARITY_TALKS_MAX);
	ends->dport = (uint16_t)(ALLOWED_FIRST + parity_below(rng, ALLOWED_CNT));
	if (roll < 8)
		ends->dport = DENIED;
	else if (roll < 14 && may_be_limited(ends, src->world))
		ends->dport = LIMITED;
	ends->server_port = ends->dport;
	pick_client(rng, src->rules == PARITY_NAT, ends);
	pick_server(rng, src->rules == PARITY_NAT, ends);
}
