// SPDX-License-Identifier: BSD-2-Clause
#include "packet.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

/* What is left of a frame. */
struct rest {
	const uint8_t *at;
	uint32_t len;
};

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* n bytes off the front; NULL where there are fewer. */
static const uint8_t *take(struct rest *rest, uint32_t n)
{
	const uint8_t *at = rest->at;

	if (rest->len < n)
		return NULL;
	rest->at += n;
	rest->len -= n;
	return at;
}

static const char *proto_name(uint8_t proto, char *text, size_t size)
{
	static const struct {
		uint8_t proto;
		const char *name;
	} names[] = {{IPPROTO_TCP, "TCP"},
		     {IPPROTO_UDP, "UDP"},
		     {IPPROTO_ICMP, "ICMP"},
		     {IPPROTO_ICMPV6, "ICMPv6"},
		     {IPPROTO_GRE, "GRE"},
		     {IPPROTO_ESP, "ESP"},
		     {IPPROTO_AH, "AH"},
		     {132, "SCTP"},
		     {89, "OSPF"},
		     {112, "VRRP"},
		     {2, "IGMP"},
		     {44, "fragment"}};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(names); i++)
		if (names[i].proto == proto)
			return names[i].name;
	snprintf(text, size, "protocol %u", proto);
	return text;
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == 132;
}

/* "udp 10.0.0.1:5 > 10.1.0.1:53", as shuntctl explain takes it. */
static void print_ip(FILE *out, int family, const void *src, const void *dst, uint8_t proto,
		     bool is_first, struct rest rest)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], text[24];
	const uint8_t *ports = has_ports(proto) && is_first ? take(&rest, 4) : NULL;
	const bool is6 = family == AF_INET6;

	inet_ntop(family, src, from, sizeof(from));
	inet_ntop(family, dst, to, sizeof(to));
	if (ports)
		fprintf(out, is6 ? "%s [%s]:%u > [%s]:%u" : "%s %s:%u > %s:%u",
			proto_name(proto, text, sizeof(text)), from, be16(ports), to,
			be16(ports + 2));
	else
		fprintf(out, "%s %s > %s", proto_name(proto, text, sizeof(text)), from, to);
}

static void print_ip4(FILE *out, struct rest rest)
{
	const uint8_t *ip = rest.len >= 20 ? rest.at : NULL;
	uint16_t frag;

	if (!ip || !take(&rest, (ip[0] & 0xfu) * 4)) {
		fputs("IPv4, cut", out);
		return;
	}
	frag = be16(ip + 6);
	print_ip(out, AF_INET, ip + 12, ip + 16, ip[9], !(frag & 0x1fff), rest);
	fprintf(out, " ttl %u", ip[8]);
	if (frag & 0x3fff)
		fprintf(out, " fragment at %u%s", (frag & 0x1fff) * 8, frag & 0x2000 ? "+" : "");
}

static void print_ip6(FILE *out, struct rest rest)
{
	const uint8_t *ip = take(&rest, 40);

	if (!ip) {
		fputs("IPv6, cut", out);
		return;
	}
	print_ip(out, AF_INET6, ip + 8, ip + 24, ip[6], true, rest);
	fprintf(out, " hop limit %u", ip[7]);
}

static void print_arp(FILE *out, struct rest rest)
{
	const uint8_t *arp = take(&rest, 28);
	char from[INET_ADDRSTRLEN], to[INET_ADDRSTRLEN];

	if (!arp) {
		fputs("ARP, cut", out);
		return;
	}
	inet_ntop(AF_INET, arp + 14, from, sizeof(from));
	inet_ntop(AF_INET, arp + 24, to, sizeof(to));
	if (be16(arp + 6) == 1)
		fprintf(out, "ARP %s asks for %s", from, to);
	else
		fprintf(out, "ARP %s answers %s", from, to);
}

static void print_mac(FILE *out, const uint8_t *mac)
{
	fprintf(out, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5]);
}

void shuntctl_packet_print(FILE *out, const uint8_t *bytes, uint32_t cap_len, uint32_t len)
{
	struct rest rest = {bytes, cap_len};
	const uint8_t *eth = take(&rest, ETH_HLEN), *tag;
	uint16_t type;

	if (!eth) {
		fprintf(out, "%u bytes", len);
		return;
	}
	print_mac(out, eth + 6);
	fputs(" > ", out);
	print_mac(out, eth);
	type = be16(eth + 12);
	while ((type == ETHERTYPE_VLAN || type == 0x88a8) && (tag = take(&rest, 4))) {
		fprintf(out, " vlan %u", be16(tag) & 0xfff);
		type = be16(tag + 2);
	}
	fputs("  ", out);
	if (type == ETHERTYPE_IP)
		print_ip4(out, rest);
	else if (type == ETHERTYPE_IPV6)
		print_ip6(out, rest);
	else if (type == ETHERTYPE_ARP)
		print_arp(out, rest);
	else
		fprintf(out, "type %#06x", type);
	fprintf(out, " length %u", len);
}

/* --- what changed ----------------------------------------------------------------------------- */

struct field {
	uint32_t at, len; /* bytes from where its header begins */
	const char *name;
};

static const struct field eth_fields[] = {
	{0, 6, "destination MAC"}, {6, 6, "source MAC"}, {12, 2, "EtherType"}};
static const struct field ip4_fields[] = {{1, 1, "DSCP and ECN"},
					  {8, 1, "TTL"},
					  {10, 2, "IPv4 checksum"},
					  {12, 4, "source address"},
					  {16, 4, "destination address"}};
static const struct field ip6_fields[] = {
	{7, 1, "hop limit"}, {8, 16, "source address"}, {24, 16, "destination address"}};
static const struct field tcp_fields[] = {
	{0, 2, "source port"}, {2, 2, "destination port"}, {16, 2, "TCP checksum"}};
static const struct field udp_fields[] = {
	{0, 2, "source port"}, {2, 2, "destination port"}, {6, 2, "UDP checksum"}};
static const struct field icmp_fields[] = {{2, 2, "ICMP checksum"}};

/* Prints the field that byte i is of, and returns the byte behind it; i where it has no name. */
static uint32_t print_field(FILE *out, const struct field *fields, size_t cnt, uint32_t from,
			    uint32_t i)
{
	size_t f;

	for (f = 0; f < cnt; f++)
		if (i >= from + fields[f].at && i < from + fields[f].at + fields[f].len) {
			fputs(fields[f].name, out);
			return from + fields[f].at + fields[f].len;
		}
	return i;
}

/* The same, of a frame: by the headers that it begins with. */
static uint32_t print_field_of(FILE *out, const uint8_t *frame, uint32_t len, uint32_t i)
{
	const uint16_t type = len >= ETH_HLEN ? be16(frame + 12) : 0;
	const uint8_t *ip = frame + ETH_HLEN;
	const bool is6 = type == ETHERTYPE_IPV6;
	uint32_t l4 = ETH_HLEN + 40;

	if (i < ETH_HLEN)
		return print_field(out, eth_fields, SHUNT_ARRAY_LEN(eth_fields), 0, i);
	if ((!is6 && type != ETHERTYPE_IP) || len < ETH_HLEN + (is6 ? 40 : 20))
		return i;
	if (!is6)
		l4 = ETH_HLEN + (ip[0] & 0xfu) * 4;
	if (i < l4 && is6)
		return print_field(out, ip6_fields, SHUNT_ARRAY_LEN(ip6_fields), ETH_HLEN, i);
	if (i < l4)
		return print_field(out, ip4_fields, SHUNT_ARRAY_LEN(ip4_fields), ETH_HLEN, i);
	switch (is6 ? ip[6] : ip[9]) {
	case IPPROTO_TCP:
		return print_field(out, tcp_fields, SHUNT_ARRAY_LEN(tcp_fields), l4, i);
	case IPPROTO_UDP:
		return print_field(out, udp_fields, SHUNT_ARRAY_LEN(udp_fields), l4, i);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return print_field(out, icmp_fields, SHUNT_ARRAY_LEN(icmp_fields), l4, i);
	default:
		return i;
	}
}

void shuntctl_packet_print_changes(FILE *out, const uint8_t *before, uint32_t before_len,
				   const uint8_t *after, uint32_t after_len)
{
	const uint32_t len = SHUNT_MIN(before_len, after_len);
	const char *between = "";
	uint32_t i = 0, next;

	while (i < len) {
		if (before[i] == after[i]) {
			i++;
			continue;
		}
		fputs(between, out);
		between = ", ";
		next = print_field_of(out, before, len, i);
		if (next == i) {
			while (next < len && before[next] != after[next])
				next++;
			fprintf(out, next > i + 1 ? "bytes %u-%u" : "byte %u", i, next - 1);
		}
		i = next;
	}
	if (before_len != after_len)
		fprintf(out, "%slength %u to %u", between, before_len, after_len);
	else if (!*between)
		fputs("nothing", out);
}
