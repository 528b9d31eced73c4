// SPDX-License-Identifier: BSD-2-Clause
#include "control/tags.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/features.h"

static void look(const char *name, bool is_on, bool can_change, void *data)
{
	bool *are_taken = data;

	(void)can_change;
	if (!strcmp(name, "rx-vlan-hw-parse"))
		*are_taken = is_on;
}

/* veth says so and parses nothing. */
bool shunt_tags_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	bool are_taken = false;
	int fd;

	if (!port->xdp || !strcmp(port->netdev.driver, "veth"))
		return false;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	shunt_features_each(fd, port->name, look, &are_taken);
	close(fd);
	if (are_taken)
		shunt_err_set(out, 0,
			      "%s: its NIC takes VLAN tags off before XDP sees a frame (rxvlan): "
			      "tagged frames are forwarded as if they had none; ethtool -K %s "
			      "rxvlan off",
			      port->name, port->name);
	return are_taken;
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
