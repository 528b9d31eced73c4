// SPDX-License-Identifier: BSD-2-Clause
#include "control/unfinished.h"

/* One valid packet in 65536 looks like one: a hundredth is far from chance. */
#define SEEN_MIN   2
#define ONE_OF_MAX 100

bool shunt_unfinished_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	uint64_t l4 = 0, unfinished = 0;
	unsigned q;

	for (q = 0; port->xdp && q < SHUNT_STEER_QUEUES_MAX; q++) {
		const struct shunt_steer_sample *s = shunt_xdp_sample(port->xdp, q);

		l4 += shunt_counter_read((const uint64_t *)&s->l4);
		unfinished += shunt_counter_read((const uint64_t *)&s->unfinished);
	}
	if (unfinished < SEEN_MIN || unfinished * ONE_OF_MAX < l4)
		return false;
	shunt_err_set(out, 0,
		      "%s: packets arrive with unfinished checksums, left to a device by their "
		      "sender: TCP and UDP come through in lane kernel only; on the other end: "
		      "ethtool -K PEER tx off",
		      port->name);
	return true;
}

unsigned shunt_unfinished_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	unsigned cnt = 0, i;

	for (i = 0; i < engine->port_cnt && cnt < max; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (port->unfinished_told || !shunt_unfinished_sentence(port, &out[cnt]))
			continue;
		port->unfinished_told = true;
		cnt++;
	}
	return cnt;
}
