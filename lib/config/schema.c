// SPDX-License-Identifier: BSD-2-Clause
/* The file's keys, types and words: the one place where they are listed. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "config/file.h"
#include "shunt_steer.h"

#define PTR	 CYAML_FLAG_POINTER
#define OPT	 CYAML_FLAG_OPTIONAL
#define STRICT	 CYAML_FLAG_STRICT
#define PATH_LEN 255

#define KIND(k)	 (1u << SHUNT_PORT_##k)

static const cyaml_strval_t kinds[] = {
	{"xsk", SHUNT_PORT_XSK}, {"mem", SHUNT_PORT_MEM}, {"pcap", SHUNT_PORT_PCAP}};
static const cyaml_strval_t driver_modes[] = {{"native", SHUNT_DRIVER_NATIVE},
					      {"generic", SHUNT_DRIVER_GENERIC}};
static const cyaml_strval_t copy_modes[] = {
	{"auto", SHUNT_COPY_AUTO}, {"zerocopy", SHUNT_COPY_ZEROCOPY}, {"copy", SHUNT_COPY_COPY}};
static const cyaml_strval_t forward_modes[] = {
	{"xconnect", SHUNT_FORWARD_XCONNECT}, {"macrewrite", SHUNT_FORWARD_MACREWRITE},
	{"static3", SHUNT_FORWARD_STATIC3},   {"route", SHUNT_FORWARD_ROUTE},
	{"bridge", SHUNT_FORWARD_BRIDGE},     {"mix", SHUNT_FORWARD_MIX}};
static const cyaml_strval_t lanes[] = {{"auto", SHUNT_REQUEST_AUTO},
				       {"user", SHUNT_REQUEST_USER},
				       {"xdp", SHUNT_REQUEST_XDP},
				       {"kernel", SHUNT_REQUEST_KERNEL}};
static const cyaml_strval_t poll_modes[] = {
#define X(name, help) {#name, SHUNT_POLL_##name},
	SHUNT_POLL_MODES(X)
#undef X
};

const struct config_port_key shunt_config_port_keys[] = {
	{"driver_mode", KIND(XSK)},
	{"copy_mode", KIND(XSK)},
	{"require_zerocopy", KIND(XSK)},
	{"queues", KIND(XSK)},
	{"spread", KIND(XSK)},
	{"size", KIND(MEM)},
	{"ntuple", KIND(XSK)},
	{"flows", KIND(MEM)},
	{"copy", KIND(MEM)},
	{"in", KIND(PCAP)},
	{"out", KIND(PCAP)},
	{"repeat", KIND(PCAP)},
	{NULL, 0},
};

static const cyaml_schema_value_t rule_text = {
	CYAML_VALUE_STRING(PTR, char, 1, SHUNT_RULE_TEXT_MAX - 1)};

#define P struct config_file_port
static const cyaml_schema_field_t port_fields[] = {
	CYAML_FIELD_STRING_PTR("name", PTR, P, name, 1, 63),
	CYAML_FIELD_ENUM("kind", OPT | STRICT, P, kind, kinds, SHUNT_ARRAY_LEN(kinds)),
	CYAML_FIELD_ENUM("driver_mode", OPT | STRICT, P, driver_mode, driver_modes,
			 SHUNT_ARRAY_LEN(driver_modes)),
	CYAML_FIELD_ENUM("copy_mode", OPT | STRICT, P, copy_mode, copy_modes,
			 SHUNT_ARRAY_LEN(copy_modes)),
	CYAML_FIELD_BOOL("require_zerocopy", OPT, P, require_zerocopy),
	CYAML_FIELD_UINT("queues", OPT, P, queues),
	CYAML_FIELD_BOOL("spread", OPT, P, spread),
	CYAML_FIELD_SEQUENCE_COUNT("ntuple", PTR | OPT, P, ntuple, ntuple_cnt, &rule_text, 0,
				   SHUNT_FILTER_MAX),
	CYAML_FIELD_UINT_PTR("size", OPT | PTR, P, size),
	CYAML_FIELD_UINT_PTR("flows", OPT | PTR, P, flows),
	CYAML_FIELD_BOOL("copy", OPT, P, copy),
	CYAML_FIELD_STRING_PTR("in", OPT | PTR, P, in, 1, PATH_LEN),
	CYAML_FIELD_STRING_PTR("out", OPT | PTR, P, out, 1, PATH_LEN),
	CYAML_FIELD_BOOL("repeat", OPT, P, repeat),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, P, port_fields)};
#undef P

static const cyaml_schema_value_t word = {CYAML_VALUE_STRING(PTR, char, 1, 63)};
static const cyaml_schema_value_t cpu = {CYAML_VALUE_INT(CYAML_FLAG_DEFAULT, int32_t)};

#define F struct config_file_forward
static const cyaml_schema_field_t forward_fields[] = {
	CYAML_FIELD_ENUM("mode", STRICT, F, mode, forward_modes, SHUNT_ARRAY_LEN(forward_modes)),
	CYAML_FIELD_ENUM("lane", OPT | STRICT, F, lane, lanes, SHUNT_ARRAY_LEN(lanes)),
	CYAML_FIELD_BOOL("transparent", OPT, F, transparent),
	CYAML_FIELD_SEQUENCE_COUNT("ports", PTR, F, ports, port_cnt, &word, 1, SHUNT_PORT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("next_hop", PTR | OPT, F, next_hop, next_hop_cnt, &word, 2, 2),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t forward_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, F, forward_fields)};
#undef F

#define W struct config_file_workers
static const cyaml_schema_field_t workers_fields[] = {
	CYAML_FIELD_UINT_PTR("count", OPT | PTR, W, count),
	CYAML_FIELD_SEQUENCE_COUNT("cpus", PTR | OPT, W, cpus, cpu_cnt, &cpu, 1, SHUNT_WORKER_MAX),
	CYAML_FIELD_END,
};
#undef W

#define C struct config_file
static const cyaml_schema_field_t fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("ports", PTR, C, ports, port_cnt, &port_value, 1,
				   SHUNT_PORT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("forward", PTR, C, forward, forward_cnt, &forward_value, 1,
				   SHUNT_PORT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("rules", PTR | OPT, C, rules, rule_cnt, &rule_text, 0,
				   SHUNT_STEER_RULES_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("nodes", PTR | OPT, C, nodes, node_cnt, &word, 0,
				   SHUNT_FRONT_MAX),
	CYAML_FIELD_MAPPING_PTR("workers", PTR | OPT, C, workers, workers_fields),
	CYAML_FIELD_ENUM_PTR("poll", PTR | OPT | STRICT, C, poll, poll_modes,
			     SHUNT_ARRAY_LEN(poll_modes)),
	CYAML_FIELD_UINT_PTR("batch", PTR | OPT, C, batch),
	CYAML_FIELD_UINT_PTR("idle_us", PTR | OPT, C, idle_us),
	CYAML_FIELD_UINT_PTR("ring_size", PTR | OPT, C, ring_size),
	CYAML_FIELD_UINT_PTR("frame_size", PTR | OPT, C, frame_size),
	CYAML_FIELD_UINT_PTR("frames", PTR | OPT, C, frames),
	CYAML_FIELD_UINT_PTR("punt_rate", PTR | OPT, C, punt_rate),
	CYAML_FIELD_BOOL("replace", OPT, C, replace),
	CYAML_FIELD_BOOL("persist", OPT, C, persist),
	CYAML_FIELD_BOOL("external", OPT, C, external),
	CYAML_FIELD_STRING_PTR("control", PTR | OPT, C, control, 1, PATH_LEN),
	CYAML_FIELD_STRING_PTR("user", PTR | OPT, C, user, 1, 32),
	CYAML_FIELD_END,
};

const cyaml_schema_value_t shunt_config_schema = {CYAML_VALUE_MAPPING(PTR, C, fields)};
#undef C

#define NAMER(noun, table, type)                             \
	const char *shunt_##noun##_name(type value)          \
	{                                                    \
		unsigned i;                                  \
                                                             \
		for (i = 0; i < SHUNT_ARRAY_LEN(table); i++) \
			if (table[i].val == (int64_t)value)  \
				return table[i].str;         \
		return "?";                                  \
	}                                                    \
	int shunt_##noun##_parse(const char *name)           \
	{                                                    \
		unsigned i;                                  \
                                                             \
		for (i = 0; i < SHUNT_ARRAY_LEN(table); i++) \
			if (!strcmp(table[i].str, name))     \
				return (int)table[i].val;    \
		return -EINVAL;                              \
	}

NAMER(port_kind, kinds, enum shunt_port_kind)
NAMER(driver_mode, driver_modes, enum shunt_driver_mode)
NAMER(copy_mode, copy_modes, enum shunt_copy_mode)
NAMER(lane_request, lanes, enum shunt_lane_request)
NAMER(forward_mode, forward_modes, enum shunt_forward_mode)
