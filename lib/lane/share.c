// SPDX-License-Identifier: BSD-2-Clause
#include "lane/share.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/worker.h"
#include "lane/lane.h"
#include "router/router.h"
#include "show/show.h"
#include "lane/suspend.h"
#include "steer/steer.h"

#define WORDS_MAX 8

/* --- words ------------------------------------------------------------------------------------ */

static const enum shunt_lane lanes[] = {SHUNT_LANE_USER, SHUNT_LANE_XDP, SHUNT_LANE_KERNEL};

static int lane_named(const char *word, size_t len)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(lanes); i++) {
		const char *name = shunt_steer_lane_name(lanes[i]);

		if (strlen(name) == len && !strncmp(name, word, len))
			return (int)lanes[i];
	}
	return -1;
}

/* A number of 0 to 100, with or without a %; -1 for anything else. */
static int percent_of(const char *text)
{
	char *end;
	long value;

	if (!isdigit((unsigned char)*text))
		return -1;
	value = strtol(text, &end, 10);
	end += *end == '%';
	return *end || value > 100 ? -1 : (int)value;
}

static int parse_word(struct shunt_lane_share *out, bool seen[static SHUNT_LANE_CNT],
		      const char *word, struct shunt_err *err)
{
	const char *is = strchr(word, '=');
	int lane = lane_named(word, is ? (size_t)(is - word) : strlen(word));
	int percent = is ? percent_of(is + 1) : -1;

	if (lane < 0)
		return shunt_err_set(err, EINVAL,
				     "lane: '%.40s' names no lane that can be shared out, expected "
				     "user=N%%, xdp=N%% and kernel=N%%, or auto",
				     word);
	if (percent < 0)
		return shunt_err_set(err, EINVAL,
				     "lane: '%.40s' has no share, expected %s=N%% with N from 0 to "
				     "100",
				     word, shunt_steer_lane_name((enum shunt_lane)lane));
	if (seen[lane])
		return shunt_err_set(err, EINVAL,
				     "lane: %s is given twice, expected each lane once",
				     shunt_steer_lane_name((enum shunt_lane)lane));
	seen[lane] = true;
	out->percent[lane] = (uint8_t)percent;
	return 0;
}

int shunt_lane_share_parse(struct shunt_lane_share *out, const char *const *words, unsigned cnt,
			   struct shunt_err *err)
{
	bool seen[SHUNT_LANE_CNT] = {false};
	unsigned i, sum = 0;
	int ret = 0, lane;

	memset(out, 0, sizeof(*out));
	if (cnt == 1 && !strcmp(words[0], "auto"))
		return 0;
	out->is_set = true;
	lane = cnt == 1 ? lane_named(words[0], strlen(words[0])) : -1;
	if (lane >= 0) {
		out->percent[lane] = 100;
		return 0;
	}
	for (i = 0; i < cnt && !ret; i++)
		ret = parse_word(out, seen, words[i], err);
	for (i = 0; i < SHUNT_ARRAY_LEN(lanes); i++)
		sum += out->percent[lanes[i]];
	if (!ret && sum != 100)
		ret = shunt_err_set(err, EINVAL,
				    "lane: the shares add up to %u%%, expected 100%%; give all of "
				    "user=N%% xdp=N%% kernel=N%% that are not 0, or auto",
				    sum);
	return ret;
}

/* --- what the programs are told --------------------------------------------------------------- */

int shunt_lane_share_whole(const struct shunt_lane_share *share, bool has_xdp)
{
	unsigned i;

	if (share->percent[SHUNT_LANE_XDP] == 100 && !has_xdp)
		return SHUNT_LANE_USER;
	for (i = 0; i < SHUNT_ARRAY_LEN(lanes); i++)
		if (share->percent[lanes[i]] == 100)
			return (int)lanes[i];
	return -1;
}

/* Sixteen bits of a flow's hash are compared with the bounds. */
static uint32_t bound(unsigned percent)
{
	return (percent * 65536 + 50) / 100;
}

void shunt_lane_share_steer(const struct shunt_lane_share *share, bool has_xdp,
			    struct shunt_steer_cfg *cfg)
{
	const int whole = shunt_lane_share_whole(share, has_xdp);

	if (!share->is_set)
		return;
	if (whole >= 0) {
		cfg->lane = (uint32_t)whole;
		return;
	}
	cfg->lane = SHUNT_STEER_LANE_SHARED;
	cfg->xdp_below = bound(share->percent[SHUNT_LANE_USER] + share->percent[SHUNT_LANE_XDP]);
	cfg->user_below = has_xdp ? bound(share->percent[SHUNT_LANE_USER]) : cfg->xdp_below;
}

/* One of the ports that the port's frames can leave by takes frames from XDP. */
bool shunt_lane_share_has_xdp(const struct shunt_engine *engine, const struct shunt_port *port)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (shunt_config_reaches(engine->config, port->index, i) &&
		    shunt_lane_far_ifindex(port, &engine->ports[i]))
			return true;
	return false;
}

/* --- in force --------------------------------------------------------------------------------- */

bool shunt_lane_share_is_in_force(const struct shunt_port *port)
{
	const struct shunt_lane_choice *lane = &port->lane;

	return port->share.is_set && !lane->is_gone && !lane->is_taken_off && !lane->is_left &&
	       !lane->is_blocked && !lane->is_refused;
}

/* By the name of now; the one that the configuration has serves where none is called so now. */
static struct shunt_port *named(struct shunt_engine *engine, const char *name)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (!strcmp(engine->ports[i].name, name))
			return &engine->ports[i];
	for (i = 0; i < engine->port_cnt; i++)
		if (!strcmp(engine->ports[i].config->name, name))
			return &engine->ports[i];
	return NULL;
}

static struct shunt_port *find(struct shunt_engine *engine, const char *name, struct shunt_err *err)
{
	struct shunt_port *port = named(engine, name);

	if (port && port->xdp)
		return port;
	if (port)
		shunt_err_set(err, EOPNOTSUPP,
			      "lane: %s is no network device, and has no lane but user", name);
	else
		shunt_err_set(err, ENODEV,
			      "lane: no port is called '%.40s'; see shuntctl show ports", name);
	return NULL;
}

static int check_xdp(const struct shunt_engine *engine, const struct shunt_port *port,
		     struct shunt_err *err)
{
	if (shunt_config_mode(engine->config, port->index) == SHUNT_FORWARD_ROUTE &&
	    !engine->router->tables)
		return shunt_err_set(
			err, EOPNOTSUPP,
			"lane: %s: the routing tables were made for lane user alone, "
			"no XDP program can read them; start shuntd with lane auto, or "
			"xdp where the drivers have zero-copy",
			port->name);
	if (shunt_lane_share_has_xdp(engine, port))
		return 0;
	return shunt_err_set(err, EOPNOTSUPP,
			     "lane: %s: none of the other ports takes frames from XDP; shuntctl "
			     "show lanes says why",
			     port->name);
}

static int check(const struct shunt_engine *engine, const struct shunt_port *port,
		 const struct shunt_lane_share *share, struct shunt_err *err)
{
	if (share->is_set && shunt_lane_share_whole(share, true) < 0 &&
	    shunt_config_is_transparent(engine->config, port->index))
		return shunt_err_set(err, EOPNOTSUPP,
				     "lane: %s is connected transparently: no frame is looked at "
				     "for its flow, so all of them take one lane; give user, xdp "
				     "or auto",
				     port->name);
	if (share->percent[SHUNT_LANE_KERNEL] && !port->has_fallback)
		return shunt_err_set(err, EOPNOTSUPP,
				     "lane: %s: the kernel forwards nothing between these ports, "
				     "its share would be lost; leave out kernel",
				     port->name);
	return share->percent[SHUNT_LANE_XDP] ? check_xdp(engine, port, err) : 0;
}

int shunt_lane_share_set(struct shunt_engine *engine, const char *name, const char *const *words,
			 unsigned cnt, struct shunt_err *err)
{
	struct shunt_port *port = find(engine, name, err);
	struct shunt_lane_share share, before;
	int ret;

	if (!port)
		return -ENODEV;
	ret = shunt_lane_share_parse(&share, words, cnt, err);
	if (!ret)
		ret = check(engine, port, &share, err);
	if (ret)
		return ret;
	before = port->share;
	port->share = share;
	ret = shunt_engine_steer(engine, port, err);
	if (!ret)
		ret = shunt_suspend_follow(engine, err);
	if (ret)
		port->share = before;
	return ret;
}

json_t *shunt_lane_share_request(struct shunt_engine *engine, const json_t *request,
				 struct shunt_err *err)
{
	const char *port = json_string_value(json_object_get(request, "port"));
	const json_t *share = json_object_get(request, "share");
	const char *words[WORDS_MAX];
	size_t cnt = json_array_size(share), i;

	if (!port || !cnt || cnt > WORDS_MAX) {
		shunt_err_set(err, EINVAL, "lane wants a port and one to %d words of share",
			      WORDS_MAX);
		return NULL;
	}
	for (i = 0; i < cnt; i++) {
		words[i] = json_string_value(json_array_get(share, i));
		if (!words[i]) {
			shunt_err_set(err, EINVAL, "lane: word %zu of the share is no text", i + 1);
			return NULL;
		}
	}
	if (shunt_lane_share_set(engine, port, words, (unsigned)cnt, err))
		return NULL;
	return shunt_show_lanes(engine);
}
