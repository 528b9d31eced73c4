/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration as a value: what a YAML file or a command line asks for, checked, with defaults
 * filled in. Nothing here touches the machine; engine/engine.h does. keys.h has the keys, and says
 * how to add one. shuntd.yaml(5) has the file's format. */
#ifndef SHUNT_CONFIG_CONFIG_H
#define SHUNT_CONFIG_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"
#include "config/keys.h"
#include "steer/filter.h"
#include "steer/rule.h"

#define SHUNT_FRONT_MAX	   8
#define SHUNT_WORKER_MAX   64
#define SHUNT_CONTROL_PATH "/run/shunt/control" /* unless the configuration names another */

enum shunt_port_kind {
#define X(name, word) SHUNT_PORT_##name,
	SHUNT_PORT_KINDS(X)
#undef X
};

enum shunt_driver_mode {
#define X(name, word) SHUNT_DRIVER_##name,
	SHUNT_DRIVER_MODES(X)
#undef X
};

enum shunt_forward_mode {
#define X(name, word) SHUNT_FORWARD_##name,
	SHUNT_FORWARD_MODES(X)
#undef X
};

/* The lane that is asked for; see choice/choice.h. */
enum shunt_lane_request {
#define X(name, word) SHUNT_REQUEST_##name,
	SHUNT_LANE_REQUESTS(X)
#undef X
};

enum shunt_firewall_mode {
#define X(name, word) SHUNT_FIREWALL_##name,
	SHUNT_FIREWALL_MODES(X)
#undef X
};

enum shunt_policy_routing {
#define X(name, word) SHUNT_POLICY_ROUTING_##name,
	SHUNT_POLICY_ROUTINGS(X)
#undef X
};

enum shunt_capture_right {
#define X(NAME, word) SHUNT_CAPTURE_##NAME,
	SHUNT_CAPTURES(X)
#undef X
};

enum shunt_on_death {
#define X(name, word) SHUNT_ON_DEATH_##name,
	SHUNT_ON_DEATHS(X)
#undef X
};

/* The members that a list of keys makes. */
#define SHUNT_NUMBER_MEMBER(key, member, ...)	  uint32_t member;
#define SHUNT_FLAG_MEMBER(key, member, ...)	  bool member;
#define SHUNT_WORD_MEMBER(key, member, noun, ...) enum shunt_##noun member;
#define SHUNT_TEXT_MEMBER(key, member, size, ...) char member[size];
#define SHUNT_LIST_MEMBER(key, ...)
#define SHUNT_MEMBERS(keys)                                                                \
	keys(SHUNT_NUMBER_MEMBER, SHUNT_FLAG_MEMBER, SHUNT_WORD_MEMBER, SHUNT_TEXT_MEMBER, \
	     SHUNT_LIST_MEMBER)

struct shunt_port_config {
	SHUNT_MEMBERS(SHUNT_PORT_KEYS)
	unsigned filter_cnt;
	struct shunt_filter *filters; /* ntuple filters to be set on the device */
	char master[IF_NAMESIZE]; /* bond or bridge whose name stood in the configuration for its
				   * members' */
	bool is_bridged;	  /* mode route: that is a bridge */
};

/* Two ports that forward to each other. */
struct shunt_pair_config {
	SHUNT_MEMBERS(SHUNT_FORWARD_KEYS)
	unsigned entry;		/* its place under forward in the file */
	unsigned port[2];	/* indices into ports[] */
	uint8_t next_hop[2][6]; /* macrewrite, static3: destination MAC of what leaves port[i] */
};

/* Ports that forward to one another by the addresses of a frame. */
struct shunt_group_config {
	SHUNT_MEMBERS(SHUNT_FORWARD_KEYS)
	unsigned entry; /* its place under forward in the file */
	unsigned port_cnt;
	unsigned port[SHUNT_PORT_MAX]; /* indices into ports[] */
};

/* Both begin with the members of the keys, at the same offsets. */
_Static_assert(offsetof(struct shunt_pair_config, entry) ==
		       offsetof(struct shunt_group_config, entry),
	       "pairs and groups have the same keys");

/* workers as in the file. struct shunt_config has a CPU for each worker. */
struct shunt_workers_config {
	SHUNT_MEMBERS(SHUNT_WORKERS_KEYS)
};

struct shunt_config {
	SHUNT_MEMBERS(SHUNT_CONFIG_KEYS)
	struct shunt_port_config *ports;
	unsigned port_cnt;
	struct shunt_pair_config *pairs;
	unsigned pair_cnt;
	struct shunt_group_config *groups;
	unsigned group_cnt;
	struct shunt_rule *rules; /* of steer/rule.h, first match wins */
	unsigned rule_cnt;
	/* front nodes, "NAME" or "NAME,PARAMETERS", in order, before every port's mode */
	char fronts[SHUNT_FRONT_MAX][SHUNT_NODE_TEXT_MAX];
	unsigned front_cnt;
	int *worker_cpus; /* one a worker, -1 for not pinned */
	unsigned worker_cnt;
	bool takeover; /* from the running daemon; on the command line only */
};

/* shunt_config_init fills in the defaults of keys.h: no ports, one worker not pinned ...
 * Thread: any. */
void shunt_config_init(struct shunt_config *config);

/* shunt_config_fini frees what the configuration holds. Thread: any. */
void shunt_config_fini(struct shunt_config *config);

/* shunt_config_load reads and checks a YAML file. config needs no init before. Returns 0 or -errno.
 * On failure err names file, line, what was found and what was expected, and config is as after
 * shunt_config_init. Thread: control. Cost: setup. */
int shunt_config_load(struct shunt_config *config, const char *path, struct shunt_err *err);

/* shunt_config_check checks ranges, powers of two, ports named twice or in no pair, missing next
 * hops. It needs no device and no rights. Returns 0 or -EINVAL with err set. Thread: any. */
int shunt_config_check(const struct shunt_config *config, struct shunt_err *err);

/* shunt_config_add_port appends a port of that name with the defaults of keys.h. Returns its index,
 * or -E2BIG, -EINVAL (the name is empty or too long) or -ENOMEM with err set. The others return 0
 * or -errno with err set. _add_pair appends a pair of ports by index, _add_group a group, _add_rule
 * a rule by its text, _add_filter an ntuple filter of a port by its text, _add_front a front node
 * by its name and parameters. _set_workers makes cnt workers; cpus NULL: not pinned. Pointers into
 * the arrays do not survive. Thread: any. */
int shunt_config_add_port(struct shunt_config *config, const char *name, struct shunt_err *err);
int shunt_config_add_pair(struct shunt_config *config, const struct shunt_pair_config *pair,
			  struct shunt_err *err);
int shunt_config_add_group(struct shunt_config *config, const struct shunt_group_config *group,
			   struct shunt_err *err);
int shunt_config_add_rule(struct shunt_config *config, const char *text, struct shunt_err *err);
int shunt_config_add_filter(struct shunt_port_config *port, const char *text,
			    struct shunt_err *err);
int shunt_config_add_front(struct shunt_config *config, const char *text, struct shunt_err *err);
int shunt_config_set_workers(struct shunt_config *config, const int *cpus, unsigned cnt,
			     struct shunt_err *err);

/* shunt_config_find_port returns the index of the port of that name, or -ENOENT. Thread: any. */
int shunt_config_find_port(const struct shunt_config *config, const char *name);

/* shunt_forward_mode_is_pair says whether a mode takes ports two by two. Thread: any. */
static inline bool shunt_forward_mode_is_pair(enum shunt_forward_mode mode)
{
	return mode < SHUNT_FORWARD_ROUTE;
}

/* shunt_config_mode returns the mode that the port forwards by, or -ENOENT.
 * shunt_config_uses says whether any port has the mode. Thread: any. */
int shunt_config_mode(const struct shunt_config *config, unsigned port);
bool shunt_config_uses(const struct shunt_config *config, enum shunt_forward_mode mode);

/* shunt_config_peer returns the other port of the port's pair, -ENOENT if it is in none.
 * shunt_config_next_hop returns the MAC address that the port's frames are sent to, behind its
 * peer; NULL where the mode has none. shunt_config_is_transparent says whether every frame of the
 * port crosses to its peer. shunt_config_reaches says whether frames of one port can leave by the
 * other: its peer, or a port of its group; all routing ports are of one. shunt_config_lane returns
 * the lane asked for. shunt_config_crosses_alone says whether what the port sends from port to port
 * is to go on without a worker (on_death). Thread: any. */
int shunt_config_peer(const struct shunt_config *config, unsigned port);
const uint8_t *shunt_config_next_hop(const struct shunt_config *config, unsigned port);
bool shunt_config_is_transparent(const struct shunt_config *config, unsigned port);
bool shunt_config_reaches(const struct shunt_config *config, unsigned from, unsigned to);
enum shunt_lane_request shunt_config_lane(const struct shunt_config *config, unsigned port);
bool shunt_config_crosses_alone(const struct shunt_config *config, unsigned port);

/* shunt_forward_mode_name, shunt_lane_request_name, shunt_copy_mode_name, shunt_driver_mode_name
 * and shunt_port_kind_name return static strings as the configuration spells them, "?" out of
 * range. shunt_forward_mode_parse returns the mode of that word, -EINVAL for another word.
 * Thread: any. */
const char *shunt_forward_mode_name(enum shunt_forward_mode mode);
const char *shunt_copy_mode_name(enum shunt_copy_mode mode);
const char *shunt_driver_mode_name(enum shunt_driver_mode mode);
const char *shunt_lane_request_name(enum shunt_lane_request lane);
const char *shunt_firewall_mode_name(enum shunt_firewall_mode mode);
const char *shunt_policy_routing_name(enum shunt_policy_routing how);
const char *shunt_on_death_name(enum shunt_on_death what);
const char *shunt_capture_right_name(enum shunt_capture_right who);
const char *shunt_port_kind_name(enum shunt_port_kind kind);
int shunt_forward_mode_parse(const char *name);

#endif
