// SPDX-License-Identifier: BSD-2-Clause
#include "device/tags.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/driver.h"
#include "device/features.h"

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
