// SPDX-License-Identifier: BSD-2-Clause
#include "notice/share.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "steer/steer.h"

/* Fewer frames than that say nothing: a host's own traffic comes first after a start. */
#define ENOUGH 1000

unsigned shunt_share_queues(const struct shunt_port *port)
{
	const unsigned had = SHUNT_MAX(port->netdev.queue_cnt, port->queue_cnt);

	return SHUNT_MIN(SHUNT_MAX(had, port->queues_told), (unsigned)SHUNT_STEER_QUEUES_MAX);
}

void shunt_share_read(const struct shunt_port *port, unsigned queue, struct shunt_share *out)
{
	struct shunt_steer_counters counters;
	uint64_t most = 0;
	int reason;

	*out = (struct shunt_share){.reason = -1};
	if (!port->xdp || shunt_xdp_read_counters(port->xdp, queue, &counters))
		return;
	out->forwarded = shunt_steer_counters_lane(&counters, SHUNT_LANE_USER) +
			 shunt_steer_counters_lane(&counters, SHUNT_LANE_XDP);
	out->kernel = shunt_steer_counters_lane(&counters, SHUNT_LANE_KERNEL);
	for (reason = 0; reason < SHUNT_STEER_REASON_CNT; reason++) {
		if (shunt_steer_reason_lane(reason) != SHUNT_LANE_KERNEL ||
		    counters.packets[reason] <= most)
			continue;
		most = counters.packets[reason];
		out->reason = reason;
	}
	out->is_large = out->kernel >= ENOUGH && out->kernel >= out->forwarded &&
			out->reason != SHUNT_STEER_LANE_KERNEL;
}

static const char *remedy(int reason)
{
	switch (reason) {
	case SHUNT_STEER_NO_SOCKET:
		return "serve every queue (leave out queues), or have the device spread over those "
		       "that are (spread: true, or ethtool -X)";
	case SHUNT_STEER_HUNG:
		return "give the worker a CPU of his own (--cpu)";
	case SHUNT_STEER_DRY:
		return "raise frames";
	case SHUNT_STEER_RULE_KERNEL:
		return "a rule wants it so";
	default:
		return "it is not for forwarding; shuntctl show drops has the reasons";
	}
}

void shunt_share_sentence(const struct shunt_port *port, unsigned queue,
			  const struct shunt_share *share, struct shunt_err *out)
{
	shunt_err_set(out, 0,
		      "%s queue %u: %" PRIu64 " %% of %" PRIu64 " frames went to the kernel, most "
		      "because of '%s'; %s",
		      port->name, queue, share->kernel * 100 / (share->kernel + share->forwarded),
		      share->kernel + share->forwarded, shunt_steer_reason_name(share->reason),
		      remedy(share->reason));
}

unsigned shunt_share_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	struct shunt_share share;
	unsigned cnt = 0, i, q;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];

		for (q = 0; q < shunt_share_queues(port) && cnt < max; q++) {
			if (!port->xdp || port->share_told & 1ULL << q)
				continue;
			shunt_share_read(port, q, &share);
			if (!share.is_large)
				continue;
			port->share_told |= 1ULL << q;
			shunt_share_sentence(port, q, &share, &out[cnt++]);
		}
	}
	return cnt;
}
