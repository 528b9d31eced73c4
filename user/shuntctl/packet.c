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
