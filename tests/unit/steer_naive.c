// SPDX-License-Identifier: BSD-2-Clause
#include "steer_naive.h"

#include <stdbool.h>
#include <string.h>

/* What the oracle knows of a frame, as a person would note it down. */
struct naive_view {
	int type; /* behind the tags; -1: cannot be read, nor all that follows */
	const uint8_t *src, *dst;
	int addr_len;	  /* 0: no addresses */
	int proto;	  /* -1: none, or cannot be read */
	int sport, dport; /* -1: none, or cannot be read */
};

static int naive_16(const uint8_t *p)
{
	return p[0] * 256 + p[1];
}

static void naive_ports(struct naive_view *v, const uint8_t *data, size_t at, size_t len)
{
	if (v->proto != 6 && v->proto != 17 && v->proto != 132)
		return;
	if (at + 4 > len)
		return;
	v->sport = naive_16(data + at);
	v->dport = naive_16(data + at + 2);
}

static void naive_view4(struct naive_view *v, const uint8_t *data, size_t at, size_t len)
{
	const uint8_t *ip = data + at;

	if (len < at + 20 || ip[0] / 16 != 4 || ip[0] % 16 < 5)
		return;
	v->src = ip + 12;
	v->dst = ip + 16;
	v->addr_len = 4;
	v->proto = ip[9];
	if (naive_16(ip + 6) % 16384 == 0)
		naive_ports(v, data, at + ip[0] % 16 * 4, len);
}

static bool naive_is_extension(int nexthdr)
{
	return nexthdr == 0 || nexthdr == 43 || nexthdr == 44 || nexthdr == 60;
}

static void naive_view6(struct naive_view *v, const uint8_t *data, size_t at, size_t len)
{
	int nexthdr, seen = 0;

	if (len < at + 40 || data[at] / 16 != 6)
		return;
	v->src = data + at + 8;
	v->dst = data + at + 24;
	v->addr_len = 16;
	nexthdr = data[at + 6];
	at += 40;
	while (naive_is_extension(nexthdr)) {
		if (at + 8 > len || ++seen > 7)
			return;
		if (nexthdr == 44 && (naive_16(data + at + 2) / 8 || data[at + 3] % 2)) {
			v->proto = naive_is_extension(data[at]) ? -1 : data[at];
			return;
		}
		size_t size = nexthdr == 44 ? 8 : 8 * (data[at + 1] + 1u);

		nexthdr = data[at];
		at += size;
		if (seen > 6)
			return;
	}
	v->proto = nexthdr;
	naive_ports(v, data, at, len);
}

static struct naive_view naive_look(const uint8_t *data, size_t len)
{
	struct naive_view v = {.proto = -1, .sport = -1, .dport = -1};
	size_t at = 14;

	v.type = naive_16(data + 12);
	for (int tags = 0; tags < 2 && (v.type == 0x8100 || v.type == 0x88a8); tags++) {
		if (at + 4 > len)
			break;
		v.type = naive_16(data + at + 2);
		at += 4;
	}
	if (v.type == 0x8100 || v.type == 0x88a8)
		v.type = -1;
	if (v.type == 0x0800)
		naive_view4(&v, data, at, len);
	if (v.type == 0x86dd)
		naive_view6(&v, data, at, len);
	return v;
}

static bool naive_in_prefix(const struct shunt_rule_prefix *prefix, const uint8_t *addr)
{
	for (int bit = 0; bit < prefix->len; bit++) {
		int want = prefix->addr[bit / 8] >> (7 - bit % 8) & 1;

		if ((addr[bit / 8] >> (7 - bit % 8) & 1) != want)
			return false;
	}
	return true;
}

static bool naive_in_range(const struct shunt_rule_ports *range, int port)
{
	if (range->min == 0 && range->max == 65535)
		return true;
	return port >= range->min && port <= range->max;
}

enum naive_answer { NO, YES, UNKNOWN };

/* Of all that a rule asks for: one no is a no, else one unknown is that. */
static enum naive_answer naive_matches(const struct shunt_rule *rule, const struct naive_view *v)
{
	const bool is_ip = v->type == 0x0800 || v->type == 0x86dd;
	const bool asks_ports = rule->sport.min > 0 || rule->sport.max < 65535 ||
				rule->dport.min > 0 || rule->dport.max < 65535;
	const bool asks_addrs = rule->src.len || rule->dst.len;
	bool is_unknown = false;

	if (v->type < 0)
		return rule->family || rule->has_ethertype || rule->has_proto || asks_addrs ||
				       asks_ports
			       ? UNKNOWN
			       : YES;
	if (rule->family == 4 && v->type != 0x0800)
		return NO;
	if (rule->family == 6 && v->type != 0x86dd)
		return NO;
	if (rule->has_ethertype && rule->ethertype != v->type)
		return NO;
	if (!is_ip && (asks_addrs || rule->has_proto))
		return NO;
	if (asks_addrs && !v->addr_len)
		is_unknown = true;
	else if (asks_addrs &&
		 (!naive_in_prefix(&rule->src, v->src) || !naive_in_prefix(&rule->dst, v->dst)))
		return NO;
	if (rule->has_proto && v->proto < 0)
		is_unknown = true;
	else if (rule->has_proto && rule->proto != v->proto)
		return NO;
	/* the protocol is one with ports, or unknown */
	if (asks_ports && v->sport < 0)
		is_unknown = true;
	else if (asks_ports && (!naive_in_range(&rule->sport, v->sport) ||
				!naive_in_range(&rule->dport, v->dport)))
		return NO;
	return is_unknown ? UNKNOWN : YES;
}

static bool naive_is_local(const struct naive_world *w, const uint8_t *addr, int addr_len)
{
	for (unsigned i = 0; addr_len == 4 && i < w->local4_cnt; i++) {
		if (memcmp(w->local4[i], addr, 4) == 0)
			return true;
	}
	for (unsigned i = 0; addr_len == 16 && i < w->local6_cnt; i++) {
		if (memcmp(w->local6[i], addr, 16) == 0)
			return true;
	}
	return false;
}

static bool naive_is_control(const uint8_t *mac)
{
	return memcmp(mac, "\x01\x80\xc2\0\0", 5) == 0 && mac[5] < 16;
}

static int naive_ipv4(const struct naive_world *w, const uint8_t *ip, int len)
{
	int ihl, total;
	const uint8_t *src = ip + 12, *dst = ip + 16;

	if (len < 20)
		return SHUNT_STEER_TRUNCATED;
	ihl = ip[0] % 16 * 4;
	total = naive_16(ip + 2);
	if (ip[0] / 16 != 4 || ihl < 20 || total < ihl || total > len)
		return SHUNT_STEER_BAD_HEADER;
	if (ihl > 20)
		return SHUNT_STEER_IP_OPTIONS;
	if (ip[8] < 2)
		return SHUNT_STEER_TTL;
	if ((dst[0] >= 224 && dst[0] < 240) || memcmp(dst, "\xff\xff\xff\xff", 4) == 0)
		return SHUNT_STEER_MULTICAST;
	if ((dst[0] == 169 && dst[1] == 254) || (src[0] == 169 && src[1] == 254))
		return SHUNT_STEER_LINK_LOCAL;
	if (dst[0] == 0 || src[0] == 0 || dst[0] == 127 || src[0] == 127 || dst[0] >= 240 ||
	    src[0] >= 224)
		return SHUNT_STEER_MARTIAN;
	return naive_is_local(w, dst, 4) ? SHUNT_STEER_LOCAL_ADDRESS : SHUNT_STEER_FORWARD4;
}

static int naive_ipv6(const struct naive_world *w, const uint8_t *ip, int len)
{
	static const uint8_t zeros[8];
	const uint8_t *src = ip + 8, *dst = ip + 24;

	if (len < 40)
		return SHUNT_STEER_TRUNCATED;
	if (ip[0] / 16 != 6 || naive_16(ip + 4) > len - 40)
		return SHUNT_STEER_BAD_HEADER;
	if (ip[6] == 0)
		return SHUNT_STEER_HOPBYHOP;
	if (ip[7] < 2)
		return SHUNT_STEER_HOP_LIMIT;
	if (dst[0] == 0xff)
		return SHUNT_STEER_MULTICAST;
	if ((dst[0] == 0xfe && dst[1] / 64 == 2) || (src[0] == 0xfe && src[1] / 64 == 2))
		return SHUNT_STEER_LINK_LOCAL;
	if (src[0] == 0xff || memcmp(src, zeros, 8) == 0 || memcmp(dst, zeros, 8) == 0)
		return SHUNT_STEER_MARTIAN;
	return naive_is_local(w, dst, 16) ? SHUNT_STEER_LOCAL_ADDRESS : SHUNT_STEER_FORWARD6;
}

static int naive_layer3(const struct naive_world *w, const uint8_t *data, size_t len)
{
	int type = naive_16(data + 12);

	if (memcmp(data, FRAME_OWN_MAC, 6) != 0) {
		if (naive_is_control(data))
			return SHUNT_STEER_LINK_LOCAL_CONTROL;
		if (type == 0x0806)
			return SHUNT_STEER_ARP;
		return data[0] % 2 ? SHUNT_STEER_MULTICAST : SHUNT_STEER_OTHER_MAC;
	}
	if (type == 0x0800)
		return naive_ipv4(w, data + 14, len - 14);
	if (type == 0x86dd)
		return naive_ipv6(w, data + 14, len - 14);
	if (type == 0x0806)
		return SHUNT_STEER_ARP;
	return type == 0x8100 || type == 0x88a8 ? SHUNT_STEER_VLAN : SHUNT_STEER_ETHERTYPE;
}

static int naive_xconnect(const struct naive_world *w, const uint8_t *data, size_t len)
{
	int type = naive_16(data + 12);

	if (memcmp(data, FRAME_OWN_MAC, 6) == 0)
		return SHUNT_STEER_OWN_MAC;
	if (data[0] % 2 == 0)
		return SHUNT_STEER_BRIDGED;
	if (naive_is_control(data))
		return SHUNT_STEER_LINK_LOCAL_CONTROL;
	if (type == 0x0806 && len >= 42 && naive_is_local(w, data + 38, 4))
		return SHUNT_STEER_ARP;
	if (type == 0x86dd && len >= 78 && data[20] == 58 && data[54] == 135 &&
	    naive_is_local(w, data + 62, 16))
		return SHUNT_STEER_ND;
	return SHUNT_STEER_BRIDGED;
}

static int naive_bridge(const struct naive_world *w, const uint8_t *data)
{
	if (memcmp(data, FRAME_OWN_MAC, 6) == 0 || memcmp(data, w->mac2, 6) == 0)
		return SHUNT_STEER_OWN_MAC;
	if (data[0] % 2 == 0)
		return SHUNT_STEER_BRIDGED;
	return naive_is_control(data) ? SHUNT_STEER_LINK_LOCAL_CONTROL : SHUNT_STEER_MULTICAST;
}

static int naive_mode(const struct naive_world *w, const uint8_t *data, size_t len)
{
	const bool is_own = memcmp(data, FRAME_OWN_MAC, 6) == 0;

	switch (w->mode) {
	case SHUNT_STEER_MODE_LAYER3:
		return naive_layer3(w, data, len);
	case SHUNT_STEER_MODE_XCONNECT:
		return naive_xconnect(w, data, len);
	case SHUNT_STEER_MODE_BRIDGE:
		return naive_bridge(w, data);
	case SHUNT_STEER_MODE_MIX:
		return is_own ? naive_layer3(w, data, len) : naive_xconnect(w, data, len);
	case SHUNT_STEER_MODE_BRIDGE_UNTAGGED:
		return naive_16(data + 12) == 0x8100 || naive_16(data + 12) == 0x88a8
			       ? SHUNT_STEER_VLAN
			       : naive_bridge(w, data);
	case SHUNT_STEER_MODE_TRANSPARENT:
		return SHUNT_STEER_BRIDGED;
	default:
		return SHUNT_STEER_OFF;
	}
}

/* What forwarding can finish has the port's lane. */
static int naive_lane(const struct naive_world *w, int reason)
{
	return w->is_kernels && reason < SHUNT_STEER_USER_REASON_CNT ? SHUNT_STEER_LANE_KERNEL
								     : reason;
}

int naive_steer(const struct naive_world *w, const uint8_t *data, size_t len)
{
	struct naive_view v = naive_look(data, len);

	if (w->is_kernels && !w->rule_cnt)
		return SHUNT_STEER_LANE_KERNEL;
	for (unsigned i = 0; i < w->rule_cnt; i++) {
		enum naive_answer answer = naive_matches(&w->rules[i], &v);

		if (answer == NO)
			continue;
		if (answer == UNKNOWN)
			return SHUNT_STEER_RULE_UNDECIDED;
		if (w->rules[i].lane == SHUNT_RULE_AUTO)
			break;
		if (w->rules[i].lane == SHUNT_LANE_USER)
			return SHUNT_STEER_RULE_USER;
		return w->rules[i].lane == SHUNT_LANE_DROP ? SHUNT_STEER_RULE_DROP
							   : SHUNT_STEER_RULE_KERNEL;
	}
	return naive_lane(w, naive_mode(w, data, len));
}
