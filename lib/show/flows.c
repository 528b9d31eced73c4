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
#include "show/show.h"
#include "steer/names.h"
#include "tap/sieve.h"
#include "xdp/flow_count.h"

/* Of more the number is told. */
#define SHOWN_MAX  10000u

/* Of a packet that filters are asked about: TCP without options, zeros but for the ports. */
#define L4_LEN	   20u
#define PACKET_MAX (14u + 40u + L4_LEN)

struct row {
	struct shunt_flow flow;
	struct shunt_count out, back; /* of its two ways */
};

/* A heap: no row has more bytes than those below it, so that the first one goes when another with
 * more comes. */
struct rows {
	const struct shunt_show *show;
	struct row *at;
	unsigned cnt;
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

static uint64_t bytes_of(const struct row *row)
{
	return row->out.bytes + row->back.bytes;
}

/* --- the rows -------------------------------------------------------------------------------- */

static void swap(struct row *a, struct row *b)
{
	const struct row before = *a;

	*a = *b;
	*b = before;
}

static void sift_down(struct rows *rows)
{
	unsigned at = 0, less;

	for (;;) {
		less = 2 * at + 1;
		if (less + 1 < rows->cnt &&
		    bytes_of(&rows->at[less + 1]) < bytes_of(&rows->at[less]))
			less++;
		if (less >= rows->cnt || bytes_of(&rows->at[less]) >= bytes_of(&rows->at[at]))
			return;
		swap(&rows->at[at], &rows->at[less]);
		at = less;
	}
}

static void sift_up(struct rows *rows, unsigned at)
{
	for (; at && bytes_of(&rows->at[at]) < bytes_of(&rows->at[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&rows->at[at], &rows->at[(at - 1) / 2]);
}

static void add_flow(void *arg, const struct shunt_flow *flow)
{
	struct rows *rows = arg;
	const struct shunt_sieve *filter = rows->show->filter;
	const struct shunt_xdp_flow_counts *counts = rows->show->engine->flow_counts;
	struct row row = {.flow = *flow};

	if (filter && !passes(filter, flow, &flow->out) && !passes(filter, flow, &flow->back))
		return;
	rows->passed++;
	if (counts) {
		row.out = count_of(counts, flow, &flow->out);
		row.back = count_of(counts, flow, &flow->back);
	}
	if (rows->cnt < SHOWN_MAX) {
		rows->at[rows->cnt] = row;
		sift_up(rows, rows->cnt++);
	} else if (bytes_of(&row) > bytes_of(rows->at)) {
		*rows->at = row;
		sift_down(rows);
	}
}

static void forget_flows(void *arg)
{
	struct rows *rows = arg;

	rows->cnt = 0;
	rows->passed = 0;
}

/* Most bytes first; then by addresses. */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (bytes_of(x) != bytes_of(y))
		return bytes_of(x) < bytes_of(y) ? 1 : -1;
	if (x->flow.family != y->flow.family)
		return x->flow.family - y->flow.family;
	return memcmp(&x->flow.out, &y->flow.out, sizeof(x->flow.out));
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

static json_t *print_row(const struct row *row, bool is_counted)
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
	struct rows rows = {.show = show, .at = malloc(SHOWN_MAX * sizeof(*rows.at))};
	json_t *shown, *result;
	unsigned i;
	int ret;

	if (!rows.at)
		return NULL;
	shown = json_array();
	result = timed("flows", shown);
	ret = shunt_flows_ask(add_flow, forget_flows, &rows);
	if (ret)
		forget_flows(&rows);
	qsort(rows.at, rows.cnt, sizeof(*rows.at), compare);
	for (i = 0; i < rows.cnt; i++)
		json_array_append_new(shown, print_row(&rows.at[i], is_counted));
	set_u64_if(result, "count", !ret, rows.passed);
	set_u64(result, "shown", rows.cnt);
	json_object_set_new(result, "counted", json_boolean(is_counted));
	json_object_set_new(result, "filtered", json_boolean(show->filter));
	free(rows.at);
	return result;
}
