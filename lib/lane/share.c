// SPDX-License-Identifier: BSD-2-Clause
#include "lane/share.h"

#include <errno.h>
#include <string.h>

#include "lane/tell.h"
#include "router/router.h"

bool shunt_lanes_share_has_xdp(const struct shunt_lanes *lanes, const struct shunt_port *port)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++)
		if (shunt_config_reaches(lanes->ports->config, port->index, i) &&
		    shunt_lanes_far_ifindex(port, &lanes->ports->at[i]))
			return true;
	return false;
}

bool shunt_lanes_share_is_in_force(const struct shunt_port *port)
{
	return port->share.is_set && !shunt_lane_is_overruled(port->lane.choice.reason);
}

static struct shunt_port *find(const struct shunt_ports *ports, const char *name,
			       struct shunt_err *err)
{
	struct shunt_port *port = shunt_ports_named(ports, name);

	if (port && port->xdp)
		return port;
	if (port)
		shunt_err_set(err, EOPNOTSUPP,
			      "lane: %s is no network device, and has no lane but user", name);
	else
		shunt_err_set(err, ENODEV,
			      "lane: no port is called '%.40s'; see shuntctl show ports", name);
	return NULL;
}

static int check_xdp(const struct shunt_lanes *lanes, const struct shunt_port *port,
		     struct shunt_err *err)
{
	if (shunt_config_mode(lanes->ports->config, port->index) == SHUNT_FORWARD_ROUTE &&
	    !lanes->router->has_routes)
		return shunt_err_set(
			err, EOPNOTSUPP,
			"lane: %s: the routing tables were made for lane user alone; XDP "
			"programs cannot read them; start shuntd with lane auto, or with "
			"lane xdp where the drivers have zero-copy",
			port->name);
	if (shunt_lanes_share_has_xdp(lanes, port))
		return 0;
	return shunt_err_set(err, EOPNOTSUPP,
			     "lane: %s: none of the other ports takes frames from XDP; shuntctl "
			     "show lanes says why",
			     port->name);
}

static int check(const struct shunt_lanes *lanes, const struct shunt_port *port,
		 const struct shunt_lane_share *share, struct shunt_err *err)
{
	if (share->is_set && shunt_lane_share_whole(share, true) < 0 &&
	    shunt_config_is_transparent(lanes->ports->config, port->index))
		return shunt_err_set(err, EOPNOTSUPP,
				     "lane: %s is connected transparently: no frame's flow "
				     "is read, so all frames take one lane; give user, xdp or "
				     "auto",
				     port->name);
	if (share->percent[SHUNT_LANE_KERNEL] && !port->lane.facts.has_fallback)
		return shunt_err_set(err, EOPNOTSUPP,
				     "lane: %s: the kernel forwards nothing between these ports: "
				     "its share would be lost; leave out kernel",
				     port->name);
	return share->percent[SHUNT_LANE_XDP] ? check_xdp(lanes, port, err) : 0;
}

int shunt_lanes_share_set(struct shunt_lanes *lanes, const char *name, const char *const *words,
			  unsigned cnt, struct shunt_err *err)
{
	struct shunt_port *port = find(lanes->ports, name, err);
	struct shunt_lane_share share, before;
	int ret;

	if (!port)
		return -ENODEV;
	ret = shunt_lane_share_parse(&share, words, cnt, err);
	if (!ret)
		ret = check(lanes, port, &share, err);
	if (ret)
		return ret;
	before = port->share;
	port->share = share;
	ret = shunt_lanes_tell(lanes, port, err);
	if (!ret)
		ret = shunt_lanes_follow(lanes, false, err);
	if (ret) {
		port->share = before;
		shunt_lanes_tell(lanes, port, NULL);
	}
	return ret;
}
