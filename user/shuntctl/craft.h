/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet from words: `udp 10.0.0.1:5 > 10.1.0.1:53`, hexadecimal digits, or FILE:N, the N-th of a
 * capture. */
#ifndef SHUNTCTL_CRAFT_H
#define SHUNTCTL_CRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CRAFT_MAX 2048u

struct craft {
	uint8_t bytes[CRAFT_MAX];
	uint32_t len;
};

struct craft_opts {
	uint8_t eth_dst[6], eth_src[6]; /* of a packet that is described */
	uint8_t ttl;
	bool is_asked; /* for any of them: a packet whose bytes are given has its own */
};

/* craft_packet makes a frame of cnt words. Protocols that are described: udp, tcp, icmp and a
 * number, over IPv4 or IPv6 by their addresses; ports where the protocol has them. Checksums are
 * right. Returns 0, or -errno with err set. */
int craft_packet(struct craft *out, char **words, int cnt, const struct craft_opts *opts,
		 struct shunt_err *err);

#endif
