// SPDX-License-Identifier: BSD-2-Clause
/* What the host's rules have approved: connections in flowtables. */
#include <arpa/inet.h>
#include <stdio.h>

#include "base/json.h"
#include "firewall/flows.h"
#include "show/show.h"
#include "steer/names.h"

/* Of more the number is told. */
#define SHOWN_MAX 10000u

struct rows {
	json_t *at;
	uint64_t cnt;
};

static void set_end(json_t *row, const char *key, const struct shunt_flow *flow,
		    const uint8_t *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN], end[INET6_ADDRSTRLEN + 8];

	inet_ntop(flow->family, address, text, sizeof(text));
	snprintf(end, sizeof(end), flow->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	set_text(row, key, end);
}

static void add_flow(void *arg, const struct shunt_flow *flow)
{
	struct rows *rows = arg;
	char number[8];
	const char *proto = shunt_proto_name(flow->proto);
	json_t *row;

	if (rows->cnt++ >= SHOWN_MAX)
		return;
	row = json_object();
	snprintf(number, sizeof(number), "%u", flow->proto);
	set_text(row, "proto", proto ? proto : number);
	set_end(row, "source", flow, flow->out.src, flow->out.sport);
	set_end(row, "destination", flow, flow->out.dst, flow->out.dport);
	set_end(row, "back_source", flow, flow->back.src, flow->back.sport);
	set_end(row, "back_destination", flow, flow->back.dst, flow->back.dport);
	json_object_set_new(row, "translated", json_boolean(flow->is_translated));
	set_u64(row, "mark", flow->mark);
	json_array_append_new(rows->at, row);
}

static void forget_flows(void *arg)
{
	struct rows *rows = arg;

	json_array_clear(rows->at);
	rows->cnt = 0;
}

json_t *shunt_show_flows(const struct shunt_show *show)
{
	struct rows rows = {json_array(), 0};
	json_t *result = timed("flows", rows.at);
	int ret;

	(void)show;
	ret = shunt_flows_ask(add_flow, forget_flows, &rows);
	if (ret)
		forget_flows(&rows);
	set_u64_if(result, "count", !ret, rows.cnt);
	set_u64(result, "shown", json_array_size(rows.at));
	return result;
}
