/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port's steering program would do with a frame, without sending it (shunt_xdp_explain in
 * xdp.h). */
#ifndef SHUNT_XDP_EXPLAIN_H
#define SHUNT_XDP_EXPLAIN_H

#include <stdint.h>

#define SHUNT_XDP_FRAME_MIN 14 /* bytes, of a test run of the kernel's */
#define SHUNT_XDP_FRAME_MAX 2048

struct shunt_xdp_frame {
	uint32_t len;
	uint32_t queue; /* that it arrives on */
	uint8_t bytes[SHUNT_XDP_FRAME_MAX];
};

struct shunt_xdp_steered {
	uint8_t lane;	/* enum shunt_lane */
	uint8_t reason; /* enum shunt_steer_reason */
	uint8_t out;	/* lane xdp: the port that it leaves by, or SHUNT_TAP_ALL_PORT */
	uint8_t rule;	/* which rule matched, from 1; 0: none */
	struct shunt_xdp_frame frame; /* as it is behind the program */
};

#endif
