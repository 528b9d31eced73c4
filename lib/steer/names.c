// SPDX-License-Identifier: BSD-2-Clause
#include "steer/names.h"

#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

struct named_number {
	const char *name;
	uint16_t number;
};

static const struct named_number protos[] = {
	{"tcp", IPPROTO_TCP},	{"udp", IPPROTO_UDP},	    {"sctp", IPPROTO_SCTP},
	{"icmp", IPPROTO_ICMP}, {"icmpv6", IPPROTO_ICMPV6}, {"igmp", IPPROTO_IGMP},
	{"gre", IPPROTO_GRE},	{"esp", IPPROTO_ESP},	    {"ah", IPPROTO_AH},
	{"ospf", 89},		{"pim", IPPROTO_PIM},	    {"vrrp", 112},
};

static const struct named_number ethertypes[] = {
	{"arp", ETHERTYPE_ARP}, {"lldp", 0x88cc}, {"eapol", 0x888e},
	{"slow", 0x8809},	{"mpls", 0x8847}, {"pppoe-discovery", 0x8863},
	{"pppoe", 0x8864},	{"ptp", 0x88f7},
};

int shunt_number_parse(const char *text, unsigned max, unsigned *out)
{
	char *end;
	unsigned long n;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	if (*end || errno || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

static int named_parse(const struct named_number *table, size_t cnt, const char *text, unsigned max,
		       unsigned *out)
{
	for (size_t i = 0; i < cnt; i++) {
		if (strcmp(table[i].name, text) == 0) {
			*out = table[i].number;
			return 0;
		}
	}
	return shunt_number_parse(text, max, out);
}

int shunt_proto_parse(const char *text, unsigned *out)
{
	return named_parse(protos, SHUNT_ARRAY_LEN(protos), text, UINT8_MAX, out);
}

const char *shunt_proto_name(unsigned proto)
{
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(protos); i++) {
		if (protos[i].number == proto)
			return protos[i].name;
	}
	return NULL;
}

int shunt_ethertype_parse(const char *text, unsigned *out)
{
	return named_parse(ethertypes, SHUNT_ARRAY_LEN(ethertypes), text, UINT16_MAX, out);
}
