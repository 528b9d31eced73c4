// SPDX-License-Identifier: BSD-2-Clause
#include "port/kernel_part.h"

#include "base/bytes.h"
#include "steer/steer.h"

unsigned shunt_port_queues_now(const struct shunt_port *port)
{
	const unsigned now = port->xdp ? shunt_netdev_queues(port->name) : 0;

	return now ? now : port->netdev.queue_cnt;
}

unsigned shunt_port_queues_counted(const struct shunt_port *port, unsigned now_cnt)
{
	const unsigned had = SHUNT_MAX(port->netdev.queue_cnt, port->queue_cnt);

	return SHUNT_MIN(SHUNT_MAX(had, now_cnt), (unsigned)SHUNT_STEER_QUEUES_MAX);
}

void shunt_kernel_part_read(const struct shunt_port *port, unsigned queue,
			    struct shunt_kernel_part *out)
{
	struct shunt_steer_counters counters;
	uint64_t most = 0;
	int reason;

	*out = (struct shunt_kernel_part){.reason = -1};
	if (!port->xdp || shunt_xdp_read_counters(port->xdp, queue, &counters))
		return;
	out->forwarded = shunt_steer_counters_lane(&counters, SHUNT_LANE_USER) +
			 shunt_steer_counters_lane(&counters, SHUNT_LANE_XDP);
	/* Before the start and between two daemons everything is. */
	counters.packets[SHUNT_STEER_OFF] = counters.packets[SHUNT_STEER_CLOSED] = 0;
	out->kernel = shunt_steer_counters_lane(&counters, SHUNT_LANE_KERNEL);
	for (reason = 0; reason < SHUNT_STEER_REASON_CNT; reason++) {
		if (shunt_steer_reason_lane(reason) != SHUNT_LANE_KERNEL ||
		    counters.packets[reason] <= most)
			continue;
		most = counters.packets[reason];
		out->reason = reason;
	}
}
