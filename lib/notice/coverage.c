// SPDX-License-Identifier: BSD-2-Clause
#include "notice/coverage.h"

unsigned shunt_coverage_queues(const struct shunt_port *port)
{
	const unsigned now = port->xdp ? shunt_netdev_queues(port->name) : 0;

	return now ? now : port->netdev.queue_cnt;
}

static void write_sentence(const struct shunt_port *port, unsigned now, struct shunt_err *out)
{
	char command[64];

	shunt_netdev_channels_print(&port->netdev, port->name, port->netdev.queue_cnt, command,
				    sizeof(command));
	shunt_err_set(out, 0,
		      "%s: it has %u queues now, and shuntd serves %u of the %u that it had: what "
		      "arrives on the others is the kernel's; start it again (--takeover), or: %s",
		      port->name, now, port->queue_cnt, port->netdev.queue_cnt, command);
}

bool shunt_coverage_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	const unsigned now = shunt_coverage_queues(port);

	if (now > port->netdev.queue_cnt)
		write_sentence(port, now, out);
	return now > port->netdev.queue_cnt;
}

unsigned shunt_coverage_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	unsigned cnt = 0, i;

	for (i = 0; i < engine->port_cnt && cnt < max; i++) {
		struct shunt_port *port = &engine->ports[i];
		const unsigned now = shunt_coverage_queues(port);

		if (now > port->netdev.queue_cnt && now != port->queues_told)
			write_sentence(port, now, &out[cnt++]);
		port->queues_told = now;
	}
	return cnt;
}
