// SPDX-License-Identifier: BSD-2-Clause
#include "args_override.h"

#include <errno.h>
#include <stdlib.h>

int shuntd_args_usage(struct shunt_err *err, const char *option, const char *found,
		      const char *expected)
{
	return shunt_err_set(err, EINVAL, "%s is '%s', expected %s", option, found, expected);
}

int shuntd_args_u32(const char *option, const char *text, uint32_t *out, struct shunt_err *err)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v > UINT32_MAX)
		return shuntd_args_usage(err, option, text, "a whole number");
	*out = (uint32_t)v;
	return 0;
}

static int override_port(struct shunt_port_config *port, const struct shuntd_overrides *o,
			 struct shunt_err *err)
{
	int mode;

	if (port->kind != SHUNT_PORT_XSK)
		return 0;
	if (o->queues && shuntd_args_u32("--queues", o->queues, &port->queues, err))
		return -EINVAL;
	if (o->driver_mode) {
		mode = shunt_driver_mode_parse(o->driver_mode);
		if (mode < 0)
			return shuntd_args_usage(err, "--driver-mode", o->driver_mode,
						 "native or generic");
		port->driver_mode = (enum shunt_driver_mode)mode;
	}
	if (o->copy_mode) {
		mode = shunt_copy_mode_parse(o->copy_mode);
		if (mode < 0)
			return shuntd_args_usage(err, "--copy-mode", o->copy_mode,
						 "auto, zerocopy or copy");
		port->copy_mode = (enum shunt_copy_mode)mode;
	}
	port->require_zerocopy |= o->require_zerocopy;
	return 0;
}

static int override_lane(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int lane = shunt_lane_request_parse(text);

	if (lane < 0)
		return shuntd_args_usage(err, "--lane", text, "auto, user, xdp or kernel");
	shunt_config_set_lane(config, (enum shunt_lane_request)lane);
	return 0;
}

static int override_transparent(struct shunt_config *config, struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++) {
		int mode = shunt_config_mode(config, i);

		if (mode > SHUNT_FORWARD_XCONNECT)
			return shunt_err_set(
				err, EINVAL,
				"--transparent is given for mode %s, expected with "
				"xconnect only: every other mode reads the frame",
				shunt_forward_mode_name((enum shunt_forward_mode)mode));
	}
	for (i = 0; i < config->pair_cnt; i++)
		config->pairs[i].is_transparent = true;
	return 0;
}

int shuntd_args_override(struct shunt_config *config, const struct shuntd_overrides *o,
			 struct shunt_err *err)
{
	unsigned i;
	int ret = o->lane ? override_lane(config, o->lane, err) : 0;

	if (!ret && o->transparent)
		ret = override_transparent(config, err);
	for (i = 0; !ret && i < config->port_cnt; i++)
		ret = override_port(&config->ports[i], o, err);
	return ret;
}
