/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes there are. Adding one is a file node_NAME.c that defines
 * shunt_node_NAME, and one line here. */
#ifndef SHUNT_GRAPH_NODES_H
#define SHUNT_GRAPH_NODES_H

#include <errno.h>

#include "fib/device.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "fib/mac.h"
#include "fib/nexthop.h"
#include "graph/graph.h"
#include "graph/learn.h"
#include "graph/local4.h"
#include "veth/puntdev.h"

#define SHUNT_BRIDGE_MAX 32 /* half as many as ports */

#define SHUNT_NODES(X) \
	X(discard)     \
	X(emulate)     \
	X(xconnect)    \
	X(macrewrite)  \
	X(static3)     \
	X(eth_input)   \
	X(tag_input)   \
	X(ip4_input)   \
	X(ip6_input)   \
	X(ip4_rpf)     \
	X(ip4_lookup)  \
	X(ip6_lookup)  \
	X(ip4_rewrite) \
	X(ip6_rewrite) \
	X(tag_output)  \
	X(punt)        \
	X(bridge)      \
	X(tx)          \
	X(drop)

#define X(name) extern const struct shunt_node_type shunt_node_##name;
SHUNT_NODES(X)
#undef X

/* shunt_node_find_front returns the front node that text names, "NAME" or "NAME,PARAMETERS", or
 * NULL; shunt_node_front_text what stands behind the comma, or NULL; shunt_node_fronts writes
 * the names of all there are, comma-separated. Thread: any. */
const struct shunt_node_type *shunt_node_find_front(const char *text);
const char *shunt_node_front_text(const char *text);
void shunt_node_fronts(char *text, size_t len);

/* Parameters of xconnect, macrewrite and static3: for each input port its output
 * port and, for the latter two, the Ethernet addresses to write. */
struct shunt_pair_params {
	uint16_t out_port[SHUNT_PORT_MAX];  /* SHUNT_NEXT_NONE: no output */
	uint8_t dst_mac[SHUNT_PORT_MAX][6]; /* by input port: the next hop's */
	const uint64_t *macs;		    /* by output port: its own; as in shunt_eth_params */
};

/* How IPv4 sources are looked up, of a port. */
enum shunt_source_check {
	SHUNT_SOURCE_ANY = 0,
	SHUNT_SOURCE_RPF,	/* rp_filter: the route back must leave by that port */
	SHUNT_SOURCE_NOT_LOCAL, /* not one of this host's by any route of type local */
};

/* Whether what comes in by a port are packets of connections that the host's rules have approved,
 * alone. The kernel has looked at their sources, and the steering program has translated them where
 * rules say so: a source may be this host's own. */
enum shunt_approved {
	SHUNT_APPROVED_NEVER = 0,
	SHUNT_APPROVED_NOW,
	SHUNT_APPROVED_BEFORE, /* no more, but some may be under way; or soon */
};

/* shunt_approved_is_known says whether a packet is what it was when it arrived, by what came of
 * making it that (firewall/origin.h): where not all are approved, one of no connection was not
 * translated. Thread: any. */
static inline bool shunt_approved_is_known(uint8_t approved, int restored)
{
	return restored >= 0 || (restored == -ENOENT && approved == SHUNT_APPROVED_BEFORE);
}

/* What control may change of an input port while workers run: each read and written whole. */
struct shunt_port_live {
	uint8_t ip4;	  /* IPv4 is forwarded */
	uint8_t ip6;	  /* IPv6 is forwarded */
	uint8_t rpf4;	  /* enum shunt_source_check, */
	uint8_t is_far4;  /* by the space of what a packet leaves by, not by its own */
	uint8_t approved; /* enum shunt_approved */
	uint16_t own;	  /* the exit that leads back to where its packets come from */
	uint32_t vlan;	  /* as in struct shunt_tables_cfg; for the programs */
	uint8_t space4;	  /* by whose routes IPv4 goes (fib/fib4.h) */
	uint8_t space6;
};

/* Parameters of eth_input: by input port. A frame to its MAC address goes to the IP nodes where
 * live says so; every other frame is punted. */
struct shunt_eth_params {
	/* six bytes as in memory, then two of 0; outlives the graph; control may change a word */
	const uint64_t *macs;
	const struct shunt_port_live *live; /* by input port; outlives the graph */
	bool bridges[SHUNT_PORT_MAX];	    /* frames to another address go to the bridge node */
};

#define SHUNT_NODE_ABOVE "_above"

/* Parameters of tag_input, tag_output and all ip4_ and ip6_ nodes. The tables have another writer;
 * workers read them between quiescent states. *local4 is published by liburcu. */
struct shunt_counts;
struct shunt_ip_params {
	const struct shunt_fib4 *fib4;
	const struct shunt_fib6 *fib6;
	const struct shunt_nexthops *nexthops;
	struct shunt_local4 *const *local4; /* this host's IPv4 addresses; NULL: none */
	const struct shunt_port_live *live; /* by input port; outlives the graph */
	const struct shunt_counts *counts;  /* of neighbours and routes; NULL: none */
	uint32_t writer;		    /* of counts: the worker's */
	uint64_t flow_seed;		    /* of the hash over groups */
	/* NULL: there are none. The nodes for packets that came in by one are nodes of their own,
	 * which have is_above; their names are the others' with SHUNT_NODE_ABOVE behind. */
	const struct shunt_devices *devices;
	bool is_above;
	uint32_t min_len; /* shorter frames are padded with zeros: 60 where a driver does not */
};

/* Parameters of punt. */
struct shunt_punt_params {
	struct shunt_puntdev_queue *queue; /* the worker's; NULL: all frames are dropped */
	uint32_t ifindex[SHUNT_PORT_MAX];  /* by input port */
	/* Packets a second and reason; 0: no limit. What is more, and cannot be left to the kernel
	 * by the queue that it came from, is dropped. */
	uint32_t rate;
	struct shunt_queue *const *queues; /* that the worker serves; NULL: none can */
	const unsigned *queue_cnt;
	/* By input port; outlives the graph; NULL: no port's are approved. */
	const struct shunt_port_live *live;
	/* Makes an approved packet what it was when it arrived. len: bytes of the frame in its
	 * first buffer. Returns -errno where that is not known. */
	int (*restore)(void *arg, uint8_t *frame, uint32_t len);
	void *restore_arg;
	bool is_above; /* tags are put back first (graph/tag.h) */
};

/* Which ports the kernel's bridge lets do what, a bit a port: control writes, workers read. */
struct shunt_bridge_masks {
	uint64_t forwarding; /* all that a bridge does */
	uint64_t learning;   /* these learn */
	uint64_t flooding;   /* unknown stations are looked for on these */
	uint64_t foreign;    /* bridges, a bit each, that have ports of the kernel's alone */
	uint64_t kernels;    /* ports whose frames only the kernel forwards correctly */
	uint64_t untagged;   /* on these, whatever kernels says, what carries a VLAN tag */
	uint64_t filters;    /* ports of bridges that keep VLANs apart */
};

struct shunt_steer_vlans;

/* Parameters of bridge. */
struct shunt_bridge_params {
	const struct shunt_mac_table *macs; /* of all bridges and workers */
	const struct shunt_bridge_masks *masks;
	const struct shunt_steer_vlans *vlans; /* NULL: no bridge keeps any apart */
	struct shunt_learn *learn;	       /* the worker's own */
	uint8_t bridge[SHUNT_PORT_MAX];	       /* by input port: number of its bridge */
	uint64_t members[SHUNT_BRIDGE_MAX];    /* by bridge: its ports, a bit each */
	uint64_t over; /* bridges, a bit each, with one of the kernel's beneath, which can flood */
	uint32_t min_len; /* as in struct shunt_ip_params */
};

#endif
