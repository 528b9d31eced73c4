/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's part of a queue: what the steering program gave to the kernel of all that arrived
 * there. Some of it is always the kernel's (ARP, its own traffic). A queue of which most goes there
 * is served in vain, or not at all. */
#ifndef SHUNT_PORT_KERNEL_PART_H
#define SHUNT_PORT_KERNEL_PART_H

#include "port/port.h"

struct shunt_kernel_part {
	uint64_t forwarded, kernel; /* frames since the program was attached */
	int reason; /* enum of shunt_steer.h: the most frequent of the kernel's; -1 */
};

/* shunt_kernel_part_read reads a queue's counters. Thread: control. Cost: a few cache lines. */
void shunt_kernel_part_read(const struct shunt_port *port, unsigned queue,
			    struct shunt_kernel_part *out);

/* shunt_port_queues_now returns how many queues a port's device has now, as far as that is known.
 * shunt_port_queues_counted returns how many queues of a port are counted apart, served or not:
 * now_cnt of them are there now. Thread: control. Cost: the former an ioctl. */
unsigned shunt_port_queues_now(const struct shunt_port *port);
unsigned shunt_port_queues_counted(const struct shunt_port *port, unsigned now_cnt);

#endif
