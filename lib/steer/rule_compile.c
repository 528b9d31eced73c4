// SPDX-License-Identifier: BSD-2-Clause
/* A rule into the words that the XDP program compares. */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <string.h>

#include "steer/rule.h"

static bool is_any(const struct shunt_rule_ports *ports)
{
	return ports->min == 0 && ports->max == UINT16_MAX;
}

static void prefix_compile(const struct shunt_rule_prefix *prefix, __u64 value[2], __u64 mask[2])
{
	uint8_t *mask_bytes = (uint8_t *)mask;

	memcpy(value, prefix->addr, sizeof(prefix->addr));
	for (unsigned i = 0; i < prefix->len; i++)
		mask_bytes[i / 8] |= 0x80 >> i % 8;
}

void shunt_rule_compile(const struct shunt_rule *rule, struct shunt_steer_rule *out)
{
	struct shunt_steer_key *value = &out->value, *mask = &out->mask;

	memset(out, 0, sizeof(*out));
	if (rule->family || rule->has_ethertype) {
		mask->ethertype_be = 0xffff;
		value->ethertype_be = htons(rule->family == 4	? ETHERTYPE_IP
					    : rule->family == 6 ? ETHERTYPE_IPV6
								: rule->ethertype);
	}
	if (rule->src.len || rule->dst.len)
		value->is_ip = mask->is_ip = 1;
	if (rule->has_proto) {
		value->has_proto = mask->has_proto = 1;
		value->proto = rule->proto;
		mask->proto = 0xff;
	}
	if (!is_any(&rule->sport) || !is_any(&rule->dport))
		value->has_ports = mask->has_ports = 1;
	prefix_compile(&rule->src, value->src, mask->src);
	prefix_compile(&rule->dst, value->dst, mask->dst);
	out->sport_min = rule->sport.min;
	out->sport_max = rule->sport.max;
	out->dport_min = rule->dport.min;
	out->dport_max = rule->dport.max;
	out->lane = rule->lane;
}
