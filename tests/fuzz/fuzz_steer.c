// SPDX-License-Identifier: BSD-2-Clause
/* Frames through the steering program in the kernel, by BPF_PROG_TEST_RUN, beside the naive
 * verdict: the same lane for the same reason, by the short way and by the long one, and no byte
 * changed. The kernel's side tells libFuzzer nothing: what it searches by is the oracle's ways.
 *
 * An input is
 * - a byte: bits 0 to 2 the mode, 3 the lane kernel, 4 and 5 how many of this host's IPv4 addresses
 *   follow, 6 and 7 how many IPv6;
 * - those addresses;
 * - rules as text, one a line, up to an empty line. What is no rule, or of lane xdp, is left out;
 * - frames, each behind its length in two bytes. */
#include <string.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "steer/steer.h"
#include "steer_naive.h"
#include "steer_rig.h"

#define RULES_MAX  16u
#define LOCALS_MAX 3u
#define LEN_MAX	   1514u
#define LEN_MIN	   14u /* the kernel runs no shorter ones */

struct input {
	const uint8_t *at, *end;
};

static struct steer_rig rig;
static uint8_t local4[LOCALS_MAX][4], local6[LOCALS_MAX][16];
static struct shunt_rule rules[RULES_MAX];

static size_t left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

/* Zeros where the input has no more. */
static void take(struct input *in, void *out, size_t len)
{
	const size_t n = SHUNT_MIN(len, left(in));

	memset(out, 0, len);
	memcpy(out, in->at, n);
	in->at += n;
}

/* --- configuration ---------------------------------------------------------------------------- */

static void forget_locals(const struct naive_world *world)
{
	const int map4 = bpf_map__fd(rig.skel->maps.shunt_local4),
		  map6 = bpf_map__fd(rig.skel->maps.shunt_local6);
	unsigned i;

	for (i = 0; i < world->local4_cnt; i++)
		bpf_map_delete_elem(map4, local4[i]);
	for (i = 0; i < world->local6_cnt; i++)
		bpf_map_delete_elem(map6, local6[i]);
	for (i = 0; i < 2; i++)
		memset(rig.ctl->half[i].filter, 0, sizeof(rig.ctl->half[i].filter));
}

static void take_locals(struct input *in, struct naive_world *world)
{
	unsigned i;

	for (i = 0; i < world->local4_cnt; i++) {
		take(in, local4[i], sizeof(local4[i]));
		steer_rig_local4(&rig, local4[i]);
	}
	for (i = 0; i < world->local6_cnt; i++) {
		take(in, local6[i], sizeof(local6[i]));
		steer_rig_local6(&rig, local6[i]);
	}
}

/* Cuts a line off, without its end; NULL for an empty one. */
static char *take_line(struct input *in)
{
	const uint8_t *end = memchr(in->at, '\n', left(in));
	const size_t len = end ? (size_t)(end - in->at) : left(in);
	char *line = len ? strndup((const char *)in->at, len) : NULL;

	in->at += len + !!end;
	return line;
}

static void take_rules(struct input *in, struct naive_world *world)
{
	char *lines[RULES_MAX], *line;
	struct shunt_rule rule;
	unsigned cnt = 0, i;

	while ((line = take_line(in))) {
		if (cnt < RULES_MAX && !shunt_rule_parse(line, &rule, NULL) &&
		    rule.lane != SHUNT_LANE_XDP)
			lines[cnt++] = line;
		else
			free(line);
	}
	steer_rig_rules(&rig, (const char *const *)lines, cnt, rules);
	world->rule_cnt = cnt;
	for (i = 0; i < cnt; i++)
		free(lines[i]);
}

static void take_settings(struct input *in, struct naive_world *world)
{
	uint64_t mac2 = 0;
	uint8_t bits;

	take(in, &bits, 1);
	world->mode = SHUNT_STEER_MODE_XCONNECT + (bits & 7) % SHUNT_STEER_MODE_BRIDGE_UNTAGGED;
	world->is_kernels = bits >> 3 & 1;
	world->local4_cnt = bits >> 4 & 3;
	world->local6_cnt = bits >> 6;
	memcpy(&mac2, world->mac2, 6);
	rig.half->mac2_word = shunt_steer_mac_word(mac2);
	rig.half->lane = world->is_kernels ? SHUNT_LANE_KERNEL : SHUNT_LANE_USER;
	steer_rig_mode(&rig, (enum shunt_steer_mode)world->mode);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void say_rules(const struct naive_world *world)
{
	char text[SHUNT_RULE_TEXT_MAX];
	unsigned i;

	for (i = 0; i < world->rule_cnt; i++) {
		shunt_rule_print(&world->rules[i], text, sizeof(text));
		fprintf(stderr, "rule %s\n", text);
	}
}

static void run_frame(const struct naive_world *world, const uint8_t *data, size_t len)
{
	const int want = naive_steer(world, data, len), got = steer_rig_run(&rig, data, len);

	if (got != want)
		say_rules(world);
	FUZZ_MUST(got == want, "mode %d, %zu bytes: expected %s/%s, got %s/%s", world->mode, len,
		  shunt_steer_lane_name(shunt_steer_reason_lane((unsigned)want)),
		  shunt_steer_reason_name((unsigned)want),
		  shunt_steer_lane_name(shunt_steer_reason_lane((unsigned)got)),
		  shunt_steer_reason_name((unsigned)got));
}

/* Each in memory of its own, so that the oracle reads no further. */
static void run_frames(struct input *in, const struct naive_world *world)
{
	uint8_t len_bytes[2], *frame;
	size_t len;

	while (left(in) >= 2 + LEN_MIN) {
		take(in, len_bytes, 2);
		len = LEN_MIN + (len_bytes[0] | len_bytes[1] << 8) % (LEN_MAX - LEN_MIN + 1);
		len = SHUNT_MIN(len, left(in));
		frame = malloc(len);
		FUZZ_MUST(frame, "no memory");
		take(in, frame, len);
		run_frame(world, frame, len);
		free(frame);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct naive_world world = {.rules = rules, .local4 = local4, .local6 = local6};

	if (!rig.skel)
		steer_rig_init(&rig);
	memcpy(world.mac2, FRAME_THIRD_MAC, 6);
	take_settings(&in, &world);
	take_locals(&in, &world);
	take_rules(&in, &world);
	run_frames(&in, &world);
	forget_locals(&world);
	return 0;
}
