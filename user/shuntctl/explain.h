/* SPDX-License-Identifier: BSD-2-Clause */
/* shuntctl explain and trace: why a packet goes where it goes. */
#ifndef SHUNTCTL_EXPLAIN_H
#define SHUNTCTL_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define SHUNTCTL_TTL 64 /* of a packet that is described, unless another is asked for */

struct shuntctl_explain_opts {
	const char *socket;
	const char *eth_dst,
		*eth_src; /* of a packet that is described; NULL: the port's, 02:00:00:00:00:01 */
	unsigned ttl, queue;
	/* of trace */
	uint64_t packet_max; /* 0: no end */
	bool is_json;
	const char *filter;
};

/* shuntctl_explain asks what would become of a packet that arrives on a port. Returns the daemon's
 * answer (lib/explain/explain.h), a new reference, or NULL with err set. */
json_t *shuntctl_explain(const struct shuntctl_explain_opts *opts, const char *port, char **words,
			 int cnt, struct shunt_err *err);

/* shuntctl_explain_print writes an answer for people. */
void shuntctl_explain_print(FILE *out, const json_t *answer);

/* shuntctl_trace shows the way of packets as they come, until Ctrl-C, the daemon's end or
 * packet_max. Returns 0, or -errno with err set. */
int shuntctl_trace(const struct shuntctl_explain_opts *opts, struct shunt_err *err);

#endif
