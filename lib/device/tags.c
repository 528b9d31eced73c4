// SPDX-License-Identifier: BSD-2-Clause
#include "device/tags.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/driver.h"
#include "device/features.h"
#include "device/link.h"

static void look(const char *name, bool is_on, bool can_change, void *data)
{
	struct shunt_tags_taken *t = data;

	if (is_on && !strcmp(name, SHUNT_FEATURE_RX_VLAN))
		*t = (struct shunt_tags_taken){"rxvlan", can_change};
	else if (is_on && !strcmp(name, SHUNT_FEATURE_RX_STAG) && !t->feature)
		*t = (struct shunt_tags_taken){SHUNT_FEATURE_RX_STAG, can_change};
}

/* A pair's driver says that it has the features, and parses nothing. */
struct shunt_tags_taken shunt_tags_taken(const char *ifname, const char *driver)
{
	struct shunt_tags_taken t = {NULL, false};
	int fd = shunt_driver_of(driver)->is_pair ? -1
						  : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return t;
	shunt_features_each(fd, ifname, look, &t);
	close(fd);
	return t;
}

static void look_beside(const char *name, bool is_on, bool can_change, void *data)
{
	(void)can_change;
	if (is_on && (!strcmp(name, SHUNT_FEATURE_TX_VLAN) || !strcmp(name, SHUNT_FEATURE_TX_STAG)))
		*(bool *)data = true;
}

struct shunt_tags_beside shunt_tags_beside(unsigned ifindex, const char *driver)
{
	struct shunt_tags_beside t = {.may_come = shunt_driver_of(driver)->is_pair};
	const unsigned peer = t.may_come ? shunt_link_peer(ifindex) : 0;
	int fd;

	if (!peer || !if_indextoname(peer, t.peer))
		return t;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return t;
	t.may_come = false;
	shunt_features_each(fd, t.peer, look_beside, &t.may_come);
	close(fd);
	return t;
}
