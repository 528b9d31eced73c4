// SPDX-License-Identifier: BSD-2-Clause
/* What the host's rules have approved: connections in flowtables. */
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "firewall/flows.h"
#include "show/flow_rows.h"
#include "show/show.h"
#include "steer/names.h"
#include "tap/sieve.h"
#include "xdp/flow_count.h"

/* Of more the number is told. */
#define SHOWN_MAX  10000u

/* Of a packet that filters are asked about: TCP without options, zeros but for the ports. */
#define L4_LEN	   20u
#define PACKET_MAX (14u + 40u + L4_LEN)

struct rows {
	const struct shunt_show *show;
	struct shunt_flow_rows top;
	uint64_t passed; /* the filter, shown or not */
};

/* --- which ----------------------------------------------------------------------------------- */

/* A packet that goes this way, with what filters ask for: returns its length. */
static unsigned craft(const struct shunt_flow *flow, const struct shunt_flow_way *way,
		      uint8_t out[PACKET_MAX])
{
	const bool is_ip6 = flow->family == AF_INET6;
	const uint16_t ports[] = {htons(way->sport), htons(way->dport)};
	struct ether_header *eth = (struct ether_header *)out;
	struct ip6_hdr ip6 = {.ip6_nxt = flow->proto, .ip6_plen = htons(L4_LEN), .ip6_hops = 64};
	struct iphdr ip4 = {.version = 4, .ihl = 5, .protocol = flow->proto, .ttl = 64};
	const unsigned l3_len = is_ip6 ? sizeof(ip6) : sizeof(ip4);

	memset(out, 0, PACKET_MAX);
	eth->ether_type = htons(is_ip6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	ip4.tot_len = htons((uint16_t)(l3_len + L4_LEN));
	memcpy(&ip4.saddr, way->src, sizeof(ip4.saddr));
	memcpy(&ip4.daddr, way->dst, sizeof(ip4.daddr));
	ip6.ip6_vfc = 6 << 4;
	memcpy(&ip6.ip6_src, way->src, sizeof(ip6.ip6_src));
	memcpy(&ip6.ip6_dst, way->dst, sizeof(ip6.ip6_dst));
	memcpy(out + sizeof(*eth), is_ip6 ? (const void *)&ip6 : &ip4, l3_len);
	memcpy(out + sizeof(*eth) + l3_len, ports, sizeof(ports));
	return (unsigned)sizeof(*eth) + l3_len + L4_LEN;
}

static bool passes(const struct shunt_sieve *filter, const struct shunt_flow *flow,
		   const struct shunt_flow_way *way)
{
	uint8_t packet[PACKET_MAX];
	const unsigned len = craft(flow, way, packet);

	return shunt_sieve_passes(filter, packet, len, len);
}

/* --- what they carried ----------------------------------------------------------------------- */

static struct shunt_count count_of(const struct shunt_xdp_flow_counts *counts,
				   const struct shunt_flow *flow, const struct shunt_flow_way *way)
{
	struct shunt_flow_key key = {.sport_be = htons(way->sport),
				     .dport_be = htons(way->dport),
				     .proto = flow->proto,
				     .is_ip6 = flow->family == AF_INET6};

	memcpy(key.src, way->src, sizeof(way->src));
	memcpy(key.dst, way->dst, sizeof(way->dst));
	return shunt_xdp_flow_counts_read(counts, &key);
}

static void add_flow(void *arg, const struct shunt_flow *flow)
{
	struct rows *rows = arg;
	const struct shunt_sieve *filter = rows->show->filter;
	const struct shunt_xdp_flow_counts *counts = rows->show->engine->flow_counts;
	struct shunt_flow_row row = {.flow = *flow};

	if (filter && !passes(filter, flow, &flow->out) && !passes(filter, flow, &flow->back))
		return;
	rows->passed++;
	if (counts) {
		row.out = count_of(counts, flow, &flow->out);
		row.back = count_of(counts, flow, &flow->back);
	}
	shunt_flow_rows_add(&rows->top, &row);
}

static void forget_flows(void *arg)
{
	struct rows *rows = arg;

	rows->top.cnt = 0;
	rows->passed = 0;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void set_end(json_t *row, const char *key, const struct shunt_flow *flow,
		    const uint8_t *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN], end[INET6_ADDRSTRLEN + 8];

	inet_ntop(flow->family, address, text, sizeof(text));
	snprintf(end, sizeof(end), flow->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	set_text(row, key, end);
}

static json_t *print_row(const struct shunt_flow_row *row, bool is_counted)
{
	const struct shunt_flow *flow = &row->flow;
	const char *proto = shunt_proto_name(flow->proto);
	json_t *result = json_object();
	char number[8];

	snprintf(number, sizeof(number), "%u", flow->proto);
	set_text(result, "proto", proto ? proto : number);
	set_end(result, "source", flow, flow->out.src, flow->out.sport);
	set_end(result, "destination", flow, flow->out.dst, flow->out.dport);
	set_end(result, "back_source", flow, flow->back.src, flow->back.sport);
	set_end(result, "back_destination", flow, flow->back.dst, flow->back.dport);
	json_object_set_new(result, "translated", json_boolean(flow->is_translated));
	set_u64(result, "mark", flow->mark);
	set_u64_if(result, "packets", is_counted, row->out.packets);
	set_u64_if(result, "bytes", is_counted, row->out.bytes);
	set_u64_if(result, "back_packets", is_counted, row->back.packets);
	set_u64_if(result, "back_bytes", is_counted, row->back.bytes);
	return result;
}

json_t *shunt_show_flows(const struct shunt_show *show)
{
	const bool is_counted = show->engine->flow_counts;
	struct rows rows = {
		.show = show,
		.top = {.at = malloc(SHOWN_MAX * sizeof(*rows.top.at)), .max = SHOWN_MAX}};
	json_t *shown, *result;
	unsigned i;
	int ret;

	if (!rows.top.at)
		return NULL;
	shown = json_array();
	result = timed("flows", shown);
	ret = shunt_flows_ask(add_flow, forget_flows, &rows);
	if (ret)
		forget_flows(&rows);
	shunt_flow_rows_sort(&rows.top);
	for (i = 0; i < rows.top.cnt; i++)
		json_array_append_new(shown, print_row(&rows.top.at[i], is_counted));
	set_u64_if(result, "count", !ret, rows.passed);
	set_u64(result, "shown", rows.top.cnt);
	json_object_set_new(result, "counted", json_boolean(is_counted));
	json_object_set_new(result, "filtered", json_boolean(show->filter));
	free(rows.top.at);
	return result;
}
