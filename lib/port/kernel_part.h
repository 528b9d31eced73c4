/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's part of a queue: the frames that the steering program gave to the kernel, of all
 * that arrived there. Some are always the kernel's (ARP, its own traffic). Where most are, the
 * queue is served in vain, or not at all. */
#ifndef SHUNT_PORT_KERNEL_PART_H
#define SHUNT_PORT_KERNEL_PART_H

#include "port/port.h"

struct shunt_kernel_part {
	uint64_t forwarded, kernel; /* frames since the program was attached, while it was open */
	int reason; /* the most frequent of the kernel's (shunt_steer.h); -1: none */
};

/* shunt_kernel_part_read reads a queue's counters. Thread: control. Cost: a few cache lines. */
void shunt_kernel_part_read(const struct shunt_port *port, unsigned queue,
			    struct shunt_kernel_part *out);

/* shunt_port_queues_now returns how many queues a port's device has now, or had at start where the
 * device does not tell. It costs an ioctl. shunt_port_queues_counted returns how many queues of a
 * port the steering program counts apart, served or not. now_cnt: queues now. Thread: control. */
unsigned shunt_port_queues_now(const struct shunt_port *port);
unsigned shunt_port_queues_counted(const struct shunt_port *port, unsigned now_cnt);

#endif
