/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a NIC takes VLAN tags off the frames that it receives. XDP and sockets then see frames of
 * every VLAN without their tags. */
#ifndef SHUNT_DEVICE_TAGS_H
#define SHUNT_DEVICE_TAGS_H

#include <stdbool.h>

struct shunt_tags_taken {
	const char *feature; /* as ethtool -K names it; NULL: it takes none */
	bool can_change;     /* the driver lets it be switched */
};

/* shunt_tags_taken asks; of a device that does not answer it says that it takes none. Thread:
 * control. Cost: five syscalls. */
struct shunt_tags_taken shunt_tags_taken(const char *ifname, const char *driver);

#endif
