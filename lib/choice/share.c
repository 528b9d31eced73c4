// SPDX-License-Identifier: BSD-2-Clause
#include "choice/share.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "steer/steer.h"

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
