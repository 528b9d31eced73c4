// SPDX-License-Identifier: BSD-2-Clause
#include "explain/explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "engine/graph.h"
#include "engine/state.h"
#include "explain/dry.h"
#include "show/show.h"
#include "steer/rule.h"
#include "steer/steer.h"
#include "xdp/explain.h"

struct shunt_explain {
	struct shunt_engine *engine;
	struct shunt_dry *dry; /* NULL: not needed yet */
};

int shunt_explain_create(struct shunt_explain **out, struct shunt_engine *engine,
			 struct shunt_err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return shunt_err_set(err, ENOMEM, "explain: not enough memory");
	(*out)->engine = engine;
	return 0;
}

void shunt_explain_destroy(struct shunt_explain *x)
{
	if (!x)
		return;
	shunt_dry_destroy(x->dry);
	free(x);
}

/* ---- the question ---------------------------------------------------------------------------- */

static int read_bytes(const json_t *text, struct shunt_xdp_frame *frame, struct shunt_err *err)
{
	const char *hex = json_string_value(text) ?: "";
	const size_t len = strlen(hex) / 2;
	size_t read;

	if (strlen(hex) % 2 || len < SHUNT_XDP_FRAME_MIN || len > SHUNT_XDP_FRAME_MAX)
		return shunt_err_set(
			err, EINVAL,
			"explain: a frame of %zu bytes, expected %u to %u in hexadecimal "
			"digits",
			len, SHUNT_XDP_FRAME_MIN, SHUNT_XDP_FRAME_MAX);
	read = shunt_hex_read(frame->bytes, hex, len);
	if (read < len)
		return shunt_err_set(err, EINVAL, "explain: byte %zu is no hexadecimal number",
				     read);
	frame->len = (uint32_t)len;
	return 0;
}

static int read_queue(const struct shunt_port *port, const json_t *number, uint32_t *out,
		      struct shunt_err *err)
{
	const json_int_t queue = json_integer_value(number);

	if (queue < 0 || queue >= port->queue_cnt)
		return shunt_err_set(err, EINVAL, "explain: %s has no queue %lld that is served",
				     port->name, (long long)queue);
	*out = (uint32_t)queue;
	return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

json_t *shunt_explain_hex(const uint8_t *bytes, uint32_t len)
{
	char *text = malloc(2 * (size_t)len + 1);
	json_t *out;

	if (!text)
		return NULL;
	shunt_hex_write(text, bytes, len);
	out = json_stringn(text, 2 * (size_t)len);
	free(text);
	return out;
}

static void set_rule(json_t *row, const struct shunt_config *config, unsigned number)
{
	char text[SHUNT_RULE_TEXT_MAX];

	json_object_set_new(row, "rule", number ? json_integer(number) : json_null());
	if (!number || number > config->rule_cnt) {
		set_text(row, "rule_text", NULL);
		return;
	}
	shunt_rule_print(&config->rules[number - 1], text, sizeof(text));
	set_text(row, "rule_text", text);
}

static json_t *steering(const struct shunt_config *config, const struct shunt_xdp_steered *said)
{
	json_t *row = json_object();

	set_text(row, "lane", shunt_steer_lane_name(said->lane));
	set_text(row, "reason", shunt_steer_reason_name(said->reason));
	set_text(row, "why", shunt_steer_reason_help(said->reason));
	set_rule(row, config, said->rule);
	return row;
}

static bool is_routed(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const int mode = shunt_config_mode(engine->config, port->index);

	return engine->router && (mode == SHUNT_FORWARD_ROUTE || mode == SHUNT_FORWARD_MIX);
}

/* Of the destination of a frame to the port's own address. */
static json_t *route(const struct shunt_engine *engine, const struct shunt_port *port,
		     const struct shunt_xdp_frame *frame)
{
	const uint8_t *at = frame->bytes;
	char text[INET6_ADDRSTRLEN] = "";
	struct shunt_err ignored;

	if (!is_routed(engine, port) || memcmp(at, &engine->ports.macs[port->index], ETH_ALEN) != 0)
		return json_null();
	if (at[12] == 8 && at[13] == 0 && frame->len >= 34)
		inet_ntop(AF_INET, at + 30, text, sizeof(text));
	else if (at[12] == 0x86 && at[13] == 0xdd && frame->len >= 54)
		inet_ntop(AF_INET6, at + 38, text, sizeof(text));
	return *text ? shunt_show_route_in(engine, text, port->index, &ignored) ?: json_null()
		     : json_null();
}

/* Of the destination of a frame that is bridged. */
static json_t *station(const struct shunt_engine *engine, const struct shunt_port *port,
		       const struct shunt_xdp_frame *frame)
{
	if (is_routed(engine, port) &&
	    !memcmp(frame->bytes, &engine->ports.macs[port->index], ETH_ALEN))
		return json_null();
	return shunt_show_station(engine, port->index, frame->bytes);
}

static void add_output(json_t *answer, const char *port, const uint8_t *bytes, uint32_t len)
{
	json_t *row = json_object();

	set_text(row, "port", port);
	/* which of the driver's own it is, the driver decides */
	set_text(row, "queue", NULL);
	json_object_set_new(row, "bytes", shunt_explain_hex(bytes, len));
	json_array_append_new(json_object_get(answer, "outputs"), row);
}

static void set_result(json_t *answer, const char *result, const char *reason)
{
	set_text(answer, "result", result);
	set_text(answer, "reason", reason);
}

static void answer_xdp(const struct shunt_engine *engine, unsigned port,
		       const struct shunt_xdp_steered *said, json_t *answer)
{
	unsigned i;

	set_result(answer, "sent", NULL);
	for (i = 0; i < engine->ports.cnt; i++)
		if (i == said->out || (said->out == SHUNT_TAP_ALL_PORT && i != port))
			add_output(answer, engine->ports.at[i].name, said->frame.bytes,
				   said->frame.len);
}

static int answer_user(struct shunt_explain *x, const struct shunt_port *port,
		       const struct shunt_xdp_frame *frame, json_t *answer, struct shunt_err *err)
{
	int ret = x->dry ? 0 : shunt_dry_create(&x->dry, x->engine, err);

	if (ret)
		return ret;
	if (!shunt_guard_try(x->engine->ports.guard))
		return shunt_err_set(err, ETIMEDOUT, SHUNT_SHOW_UNFOLLOWED);
	ret = shunt_dry_run(x->dry, port->index, frame, answer, err);
	shunt_guard_leave(x->engine->ports.guard);
	return ret;
}

static int answer_frame(struct shunt_explain *x, struct shunt_port *port,
			const struct shunt_xdp_frame *frame, struct shunt_xdp_steered *said,
			json_t *answer, struct shunt_err *err)
{
	int ret;

	json_object_set_new(answer, "route", route(x->engine, port, frame));
	if (!shunt_guard_try(x->engine->ports.guard))
		return shunt_err_set(err, ETIMEDOUT, SHUNT_SHOW_UNFOLLOWED);
	json_object_set_new(answer, "station", station(x->engine, port, frame));
	shunt_guard_leave(x->engine->ports.guard);
	json_object_set_new(answer, "steering", json_null());
	if (!port->xdp)
		return answer_user(x, port, frame, answer, err);
	ret = shunt_xdp_explain(port->xdp, frame, said, err);
	if (ret)
		return ret;
	json_object_set_new(answer, "steering", steering(x->engine->config, said));
	switch (said->lane) {
	case SHUNT_LANE_USER:
		/* as the program has left it: a checksum may be finished */
		return answer_user(x, port, &said->frame, answer, err);
	case SHUNT_LANE_XDP:
		answer_xdp(x->engine, port->index, said, answer);
		return 0;
	default:
		set_result(answer, said->lane == SHUNT_LANE_DROP ? "dropped" : "kernel",
			   shunt_steer_reason_name(said->reason));
		return 0;
	}
}

static int answer_request(struct shunt_explain *x, const json_t *request,
			  struct shunt_xdp_frame *frame, struct shunt_xdp_steered *said,
			  json_t *answer, struct shunt_err *err)
{
	const char *name = json_string_value(json_object_get(request, "port"));
	struct shunt_port *port = name ? shunt_ports_named(&x->engine->ports, name) : NULL;
	int ret;

	if (!port)
		return shunt_err_set(err, ENOENT, "explain: there is no port '%s'",
				     name ? name : "?");
	ret = read_bytes(json_object_get(request, "bytes"), frame, err);
	ret = ret ?: read_queue(port, json_object_get(request, "queue"), &frame->queue, err);
	if (ret)
		return ret;
	set_text(answer, "port", port->name);
	set_u64(answer, "queue", frame->queue);
	json_object_set_new(answer, "bytes", shunt_explain_hex(frame->bytes, frame->len));
	return answer_frame(x, port, frame, said, answer, err);
}

json_t *shunt_explain_request(struct shunt_explain *x, const json_t *request, struct shunt_err *err)
{
	struct shunt_xdp_frame *frame = calloc(1, sizeof(*frame));
	struct shunt_xdp_steered *said = calloc(1, sizeof(*said));
	json_t *answer = json_pack("{s:[], s:[]}", "nodes", "outputs");
	int ret;

	if (!frame || !said || !answer)
		ret = shunt_err_set(err, ENOMEM, "explain: not enough memory");
	else
		ret = answer_request(x, request, frame, said, answer, err);
	free(frame);
	free(said);
	if (!ret)
		return answer;
	json_decref(answer);
	return NULL;
}
