// SPDX-License-Identifier: BSD-2-Clause
#include "notice/tags.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/features.h"

struct taken {
	const char *feature; /* NULL: none */
	bool can_change;
};

static void look(const char *name, bool is_on, bool can_change, void *data)
{
	struct taken *t = data;

	if (is_on && !strcmp(name, SHUNT_FEATURE_RX_VLAN))
		*t = (struct taken){"rxvlan", can_change};
	else if (is_on && !strcmp(name, SHUNT_FEATURE_RX_STAG) && !t->feature)
		*t = (struct taken){SHUNT_FEATURE_RX_STAG, can_change};
}

/* veth says so and parses nothing. */
static struct taken find(const struct shunt_port *port)
{
	struct taken t = {NULL, false};
	int fd = port->xdp && strcmp(port->netdev.driver, "veth") != 0
			 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
			 : -1;

	if (fd < 0)
		return t;
	shunt_features_each(fd, port->name, look, &t);
	close(fd);
	return t;
}

bool shunt_tags_are_taken(const struct shunt_port *port)
{
	return find(port).feature;
}

bool shunt_tags_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	const struct taken t = find(port);

	if (t.feature && t.can_change)
		shunt_err_set(out, 0,
			      "%s: its NIC takes VLAN tags off before XDP sees a frame (%s was "
			      "switched on, or the driver refused): tagged frames are forwarded as "
			      "if they had none; ethtool -K %s %s off",
			      port->name, t.feature, port->name, t.feature);
	else if (t.feature)
		shunt_err_set(out, 0,
			      "%s: its NIC takes VLAN tags off before XDP sees a frame (%s), which "
			      "the driver %s does not let be switched off: tagged frames are "
			      "forwarded as if they had none; keep them off this port",
			      port->name, t.feature,
			      *port->netdev.driver ? port->netdev.driver : "unknown");
	return t.feature;
}

unsigned shunt_tags_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	unsigned cnt = 0, i;

	for (i = 0; i < engine->port_cnt && cnt < max; i++) {
		struct shunt_port *port = &engine->ports[i];
		const bool are_taken = shunt_tags_sentence(port, &out[cnt]);

		cnt += are_taken && !port->tags_told;
		port->tags_told = are_taken;
	}
	return cnt;
}
