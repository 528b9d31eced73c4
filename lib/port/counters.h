/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program's counters of a whole port. */
#ifndef SHUNT_PORT_COUNTERS_H
#define SHUNT_PORT_COUNTERS_H

#include "port/port.h"

/* shunt_port_counters sums the counters of the device's queues, served or not. A port without a
 * program has zeros. Thread: control. Cost: no syscall. */
void shunt_port_counters(const struct shunt_port *port, struct shunt_steer_counters *sum);

#endif
