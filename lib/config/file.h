/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration as the file holds it, and what the config_*.c files share.
 * Private to them. Everything optional without a zero default is a pointer, NULL
 * when the file does not have it. */
#ifndef SHUNT_CONFIG_FILE_H
#define SHUNT_CONFIG_FILE_H

#include "config/config.h"
#include "config/yaml.h"

struct config_file_port {
	char *name;
	enum shunt_port_kind kind;
	enum shunt_driver_mode driver_mode;
	enum shunt_copy_mode copy_mode;
	bool require_zerocopy;
	uint32_t queues;
	bool spread;
	char **ntuple;
	unsigned ntuple_cnt;
	uint32_t *size;
	uint32_t *flows;
	bool copy;
	char *in, *out;
	bool repeat;
};

struct config_file_forward {
	enum shunt_forward_mode mode;
	enum shunt_lane_request lane;
	bool transparent;
	char **ports;
	unsigned port_cnt;
	char **next_hop;
	unsigned next_hop_cnt;
};

struct config_file_workers {
	uint32_t *count;
	int32_t *cpus;
	unsigned cpu_cnt;
};

struct config_file {
	struct config_file_port *ports;
	unsigned port_cnt;
	struct config_file_forward *forward;
	unsigned forward_cnt;
	char **rules;
	unsigned rule_cnt;
	char **nodes;
	unsigned node_cnt;
	struct config_file_workers *workers;
	enum shunt_poll_mode *poll;
	uint32_t *batch, *idle_us, *ring_size, *frame_size, *frames, *punt_rate;
	bool replace, external, persist;
	char *control, *user;
};

extern const cyaml_schema_value_t shunt_config_schema;

/* Which kinds of port a key of ports[] is for: bit 1 << enum shunt_port_kind. */
struct config_port_key {
	const char *key;
	unsigned kinds;
};
extern const struct config_port_key shunt_config_port_keys[]; /* ends with key NULL */

/* shunt_config_check_at is shunt_config_check that also writes the place of the
 * fault, such as "ports[1].queues", to where. */
struct shunt_config_where {
	char path[64];
};
int shunt_config_check_at(const struct shunt_config *config, struct shunt_config_where *where,
			  struct shunt_err *err);

#endif
