/* SPDX-License-Identifier: BSD-2-Clause */
/* The naive oracle that says what the steering program must decide about a frame. It shares no code
 * with the program: it reads byte by byte and works from the rules as text gives them. The unit
 * tests and the fuzz target steer ask it.
 *
 * Limits: the lanes user and kernel; no rule of lane xdp. test_steer_lane.c and test_steer_route.c
 * have the others. */
#ifndef SHUNT_TESTS_STEER_NAIVE_H
#define SHUNT_TESTS_STEER_NAIVE_H

#include <stddef.h>
#include <stdint.h>

#include "shunt_steer.h"
#include "steer/rule.h"
#include "steer_frame.h"

/* A port with FRAME_OWN_MAC. */
struct naive_world {
	int mode;	 /* enum shunt_steer_mode */
	bool is_kernels; /* the port's lane is kernel, else user */
	uint8_t mac2[6]; /* of the kernel's bridge: mode bridge */
	const struct shunt_rule *rules;
	unsigned rule_cnt;
	const uint8_t (*local4)[4];
	unsigned local4_cnt;
	const uint8_t (*local6)[16];
	unsigned local6_cnt;
};

/* naive_steer returns the reason (enum shunt_steer_reason) that the program must
 * find for a frame of 14 bytes or more. */
int naive_steer(const struct naive_world *w, const uint8_t *data, size_t len);

#endif
