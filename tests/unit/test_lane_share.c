// SPDX-License-Identifier: BSD-2-Clause
/* Shares of the lanes: words, sums, and what the programs are told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "lane/share.h"

static struct shunt_err err;
static struct shunt_lane_share share;

#define WORDS(...)                          \
	(const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

#define parses(...) \
	cr_expect_eq(shunt_lane_share_parse(&share, WORDS(__VA_ARGS__), &err), 0, "%s", err.msg)

#define refuses(part, ...)                                                                       \
	do {                                                                                     \
		cr_expect_eq(shunt_lane_share_parse(&share, WORDS(__VA_ARGS__), &err), -EINVAL); \
		cr_expect(strstr(err.msg, part), "'%s' is not in '%s'", part, err.msg);          \
	} while (0)

static void expect(bool is_set, unsigned user, unsigned xdp, unsigned kernel)
{
	cr_expect_eq(share.is_set, is_set);
	cr_expect_eq(share.percent[SHUNT_LANE_USER], user);
	cr_expect_eq(share.percent[SHUNT_LANE_XDP], xdp);
	cr_expect_eq(share.percent[SHUNT_LANE_KERNEL], kernel);
}

Test(lane_share, words)
{
	parses("user=25%", "xdp=50%", "kernel=25%");
	expect(true, 25, 50, 25);
	parses("kernel=1", "user=99");
	expect(true, 99, 0, 1);
	parses("xdp");
	expect(true, 0, 100, 0);
	parses("xdp=100%");
	expect(true, 0, 100, 0);
	parses("auto");
	expect(false, 0, 0, 0);
}

Test(lane_share, refusals)
{
	refuses("add up to 90%", "user=25%", "xdp=65%");
	refuses("add up to 200%", "user=100%", "xdp=100%");
	refuses("add up to 0%", "user=0%");
	refuses("user is given twice", "user=50%", "user=50%");
	refuses("'drop=100%' names no lane", "drop=100%");
	refuses("'use=100%' names no lane", "use=100%");
	refuses("'auto' names no lane", "auto", "user=100%");
	refuses("'user' has no share", "user", "xdp=100%");
	refuses("'user=101%' has no share", "user=101%");
	refuses("'user=-1%' has no share", "user=-1%");
	refuses("'user=1%%' has no share", "user=1%%");
	refuses("'user=' has no share", "user=");
	refuses("'user= 5' has no share", "user= 5");
	refuses("'=5' names no lane", "=5");
}

Test(lane_share, bounds)
{
	struct shunt_steer_cfg cfg = {.lane = SHUNT_LANE_XDP};

	parses("auto");
	shunt_lane_share_steer(&share, true, &cfg);
	cr_expect_eq(cfg.lane, SHUNT_LANE_XDP);
	parses("user=25%", "xdp=50%", "kernel=25%");
	shunt_lane_share_steer(&share, true, &cfg);
	cr_expect_eq(cfg.lane, SHUNT_STEER_LANE_SHARED);
	cr_expect_eq(cfg.user_below, 16384);
	cr_expect_eq(cfg.xdp_below, 49152);
	parses("user=25%", "xdp=50%", "kernel=25%");
	shunt_lane_share_steer(&share, false, &cfg); /* nobody takes frames from XDP */
	cr_expect_eq(cfg.user_below, 49152);
	cr_expect_eq(cfg.xdp_below, 49152);
}

/* What is all of one lane's is not shared out: no frame is asked for its flow. */
Test(lane_share, whole)
{
	struct shunt_steer_cfg cfg = {.lane = SHUNT_LANE_XDP};

	parses("kernel");
	shunt_lane_share_steer(&share, true, &cfg);
	cr_expect_eq(cfg.lane, SHUNT_LANE_KERNEL);
	parses("user=100%", "xdp=0");
	shunt_lane_share_steer(&share, true, &cfg);
	cr_expect_eq(cfg.lane, SHUNT_LANE_USER);
	parses("xdp");
	shunt_lane_share_steer(&share, true, &cfg);
	cr_expect_eq(cfg.lane, SHUNT_LANE_XDP);
	shunt_lane_share_steer(&share, false, &cfg); /* nobody takes frames from XDP */
	cr_expect_eq(cfg.lane, SHUNT_LANE_USER);
}
