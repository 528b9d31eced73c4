/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration as a value: what a YAML file or a command line asks for,
 * checked, with defaults filled in. Nothing here touches the machine; see
 * engine/engine.h for that. The file's format is in shuntd.yaml(5). */
#ifndef SHUNT_CONFIG_CONFIG_H
#define SHUNT_CONFIG_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "graph/worker.h"
#include "io/xsk.h"
#include "steer/filter.h"
#include "steer/rule.h"

#define SHUNT_FRONT_MAX	   8
#define SHUNT_WORKER_MAX   64
#define SHUNT_CONTROL_PATH "/run/shunt/control" /* unless the configuration names another */

enum shunt_port_kind {
	SHUNT_PORT_XSK,	 /* a network device */
	SHUNT_PORT_MEM,	 /* replays frames from memory, swallows what is sent */
	SHUNT_PORT_PCAP, /* replays a capture, writes a capture */
};

enum shunt_driver_mode {
	SHUNT_DRIVER_NATIVE,
	SHUNT_DRIVER_GENERIC,
};

enum shunt_forward_mode {
	SHUNT_FORWARD_XCONNECT,
	SHUNT_FORWARD_MACREWRITE, /* as xconnect, with both Ethernet addresses rewritten */
	SHUNT_FORWARD_STATIC3,	  /* one next hop a port; TTL and hop limit go down */
	SHUNT_FORWARD_ROUTE,	  /* IPv4 and IPv6 by the kernel's routes, any number of ports */
	SHUNT_FORWARD_BRIDGE,	  /* by learned MAC addresses, any number of ports */
	SHUNT_FORWARD_MIX, /* what is sent to the port's own MAC address is routed, else bridged */
};

struct shunt_port_config {
	char name[64]; /* device name, or any name for mem and pcap */
	enum shunt_port_kind kind;
	/* xsk */
	enum shunt_driver_mode driver_mode;
	enum shunt_copy_mode copy_mode;
	bool require_zerocopy;
	uint32_t queues; /* served; 0: all the device has */
	bool spread;	 /* the device's RSS table is made to use the served queues only */
	bool metadata;	 /* the frames' metadata is read where the driver has any */
	unsigned filter_cnt;
	struct shunt_filter *filters; /* ntuple filters to be set on the device */
	/* mem */
	uint32_t mem_frame_bytes;
	uint32_t mem_flows;
	bool mem_copy;
	/* pcap; "" for none */
	char pcap_in[256];
	char pcap_out[256];
	bool pcap_repeat;
};

/* What lane is asked for; see lane/lane.h. */
enum shunt_lane_request {
	SHUNT_REQUEST_AUTO,
	SHUNT_REQUEST_USER,
	SHUNT_REQUEST_XDP,
	SHUNT_REQUEST_KERNEL,
};

/* Two ports that forward to each other. */
struct shunt_pair_config {
	enum shunt_forward_mode mode;
	enum shunt_lane_request lane;
	bool is_transparent;	/* xconnect: every frame crosses, the host's too */
	unsigned port[2];	/* indices into ports[] */
	uint8_t next_hop[2][6]; /* macrewrite, static3: destination MAC of what leaves port[i] */
};

/* Ports that forward to one another by what a frame says, not by pairs. */
struct shunt_group_config {
	enum shunt_forward_mode mode; /* route, bridge, mix */
	enum shunt_lane_request lane;
	unsigned port_cnt;
	unsigned port[SHUNT_PORT_MAX]; /* indices into ports[] */
};

struct shunt_config {
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
	uint32_t batch; /* 1..256 */
	enum shunt_poll_mode poll;
	uint32_t idle_us;
	uint32_t ring_size;	/* power of two, 64..16384 */
	uint32_t frame_size;	/* bytes, 2048 or 4096; 0: what the ports need */
	uint32_t frames;	/* a worker; 0: what its rings need */
	uint32_t punt_rate;	/* packets a second, by worker and reason; 0: no limit */
	bool persist;		/* the steering programs stay on the devices at stop */
	bool takeover;		/* from the daemon that runs now; of the command line only */
	bool replace;		/* another's XDP program may be replaced */
	bool external;		/* the program is attached already: only add sockets */
	char control_path[108]; /* UNIX socket; "": none */
	char user[33];		/* whom to become once everything is open; "": stay */
};

/* shunt_config_init fills in the defaults: no ports, one worker not pinned,
 * batch 64, poll adaptive, idle_us 50, ring_size 2048 ... Thread: any. */
void shunt_config_init(struct shunt_config *config);

/* shunt_config_fini frees what the configuration holds. Thread: any. */
void shunt_config_fini(struct shunt_config *config);

/* shunt_config_load reads and checks a YAML file, into a config that needs no init
 * before. Returns 0, or -errno with err naming file, line, what was found and what
 * was expected; then config is as after shunt_config_init. Thread: control. Cost:
 * setup. */
int shunt_config_load(struct shunt_config *config, const char *path, struct shunt_err *err);

/* shunt_config_check holds the values against each other: ranges, powers of two,
 * a port named twice or in no pair, a missing next hop. Needs no device and no
 * rights. Returns 0 or -EINVAL with err set. Thread: any. */
int shunt_config_check(const struct shunt_config *config, struct shunt_err *err);

/* shunt_config_add_port appends a port of that name with the defaults (xsk, native,
 * auto, every queue; a mem port's 64 bytes, 1 flow). Returns its index, or -E2BIG,
 * -EINVAL (too long a name) or -ENOMEM with err set. shunt_config_add_pair appends
 * a pair of ports by index, shunt_config_add_group a group, shunt_config_add_rule a rule by its
 * text, shunt_config_add_filter an ntuple filter of a port by its text, shunt_config_add_front a
 * front node by its name and parameters, shunt_config_set_workers makes cnt workers, cpus NULL for
 * not pinned: 0 or -errno with err set. Pointers into the arrays do not survive. Thread: any. */
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

/* shunt_config_find_port returns the index of the port of that name, or -ENOENT. */
int shunt_config_find_port(const struct shunt_config *config, const char *name);

/* shunt_forward_mode_is_pair says whether a mode takes ports two by two. Thread: any. */
static inline bool shunt_forward_mode_is_pair(enum shunt_forward_mode mode)
{
	return mode < SHUNT_FORWARD_ROUTE;
}

/* shunt_config_mode returns the mode that the port forwards by, -ENOENT without one.
 * shunt_config_uses says whether any port has the mode. Thread: any. */
int shunt_config_mode(const struct shunt_config *config, unsigned port);
bool shunt_config_uses(const struct shunt_config *config, enum shunt_forward_mode mode);

/* shunt_config_peer returns the other port of the port's pair, -ENOENT if it is in none.
 * shunt_config_next_hop returns the MAC address behind that port which what comes in here is sent
 * to, NULL where the mode has none. shunt_config_is_transparent says whether every frame of the
 * port crosses to its peer. shunt_config_are_joined says whether two ports are in one
 * group; shunt_config_reaches whether what comes in on one can leave by the other, its peer or
 * joined with it; shunt_config_lane returns the lane asked for; shunt_config_set_lane asks for one
 * everywhere. Thread: any. */
int shunt_config_peer(const struct shunt_config *config, unsigned port);
const uint8_t *shunt_config_next_hop(const struct shunt_config *config, unsigned port);
bool shunt_config_is_transparent(const struct shunt_config *config, unsigned port);
bool shunt_config_are_joined(const struct shunt_config *config, unsigned a, unsigned b);
bool shunt_config_reaches(const struct shunt_config *config, unsigned from, unsigned to);
enum shunt_lane_request shunt_config_lane(const struct shunt_config *config, unsigned port);
void shunt_config_set_lane(struct shunt_config *config, enum shunt_lane_request lane);

/* shunt_forward_mode_name, shunt_lane_request_name, shunt_copy_mode_name, shunt_driver_mode_name
 * and shunt_port_kind_name return static strings as the configuration spells them, "?" out of
 * range; _parse is the way back, -EINVAL for another word. Thread: any. */
const char *shunt_forward_mode_name(enum shunt_forward_mode mode);
const char *shunt_copy_mode_name(enum shunt_copy_mode mode);
const char *shunt_driver_mode_name(enum shunt_driver_mode mode);
const char *shunt_lane_request_name(enum shunt_lane_request lane);
const char *shunt_port_kind_name(enum shunt_port_kind kind);
int shunt_forward_mode_parse(const char *name);
int shunt_copy_mode_parse(const char *name);
int shunt_driver_mode_parse(const char *name);
int shunt_lane_request_parse(const char *name);
int shunt_port_kind_parse(const char *name);

#endif
