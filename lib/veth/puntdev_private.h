/* SPDX-License-Identifier: BSD-2-Clause */
/* The device, for puntdev.c and puntdev_queue.c. */
#ifndef SHUNT_VETH_PUNTDEV_PRIVATE_H
#define SHUNT_VETH_PUNTDEV_PRIVATE_H

#include <net/if.h>

struct shunt_puntdev {
	char name[IFNAMSIZ];
	int ifindex;
};

#endif
