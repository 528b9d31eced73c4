// SPDX-License-Identifier: BSD-2-Clause
#include "port/counters.h"

#include <string.h>

#include "steer/steer.h"

void shunt_port_counters(const struct shunt_port *port, struct shunt_steer_counters *sum)
{
	struct shunt_steer_counters one;
	unsigned q;

	memset(sum, 0, sizeof(*sum));
	/* All slots: the device may have had more queues when frames came. */
	for (q = 0; port->xdp && q < SHUNT_STEER_QUEUES_MAX; q++)
		if (!shunt_xdp_read_counters(port->xdp, q, &one))
			shunt_steer_counters_add(sum, &one);
}
