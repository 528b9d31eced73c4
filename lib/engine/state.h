/* SPDX-License-Identifier: BSD-2-Clause */
/* What an engine is made of. The files of this folder change it; show and notice read it. engine.h
 * has what is done with it as a whole. */
#ifndef SHUNT_ENGINE_STATE_H
#define SHUNT_ENGINE_STATE_H

#include "config/config.h"
#include "graph/worker.h"
#include "lane/lanes.h"
#include "port/port.h"

/* What a worker's thread does before its first turn. */
struct shunt_engine_entry {
	const struct shunt_engine *engine;
	unsigned id;
	int (*enter)(void *arg, struct shunt_err *err);
	void *arg;
};

struct shunt_engine {
	struct shunt_config *config; /* the caller's; unchanged while the engine lives */
	struct shunt_ports ports;
	struct shunt_lanes lanes;
	struct shunt_worker **workers;
	struct shunt_xsk_umem **umems;	    /* one a worker */
	struct shunt_engine_entry *entries; /* one a worker */
	unsigned worker_cnt;
	uint32_t frame_size;			   /* bytes, in use */
	bool multi_buffer;			   /* packets of some port take several frames */
	struct shunt_router *router;		   /* NULL when no port routes */
	struct shunt_bridge *bridge;		   /* NULL when no port bridges */
	struct shunt_firewall *firewall;	   /* NULL when no port routes or bridges */
	bool can_manage;			   /* the kernel takes a table of shunt's own */
	struct shunt_xdp_flow_counts *flow_counts; /* by connection; NULL: not counted */
	struct shunt_puntdev_queue **punts;	   /* one a worker; NULL when nothing punts */
	struct shunt_follower *follower; /* NULL when nothing of the kernel's is followed */
	int links_fd;			 /* what the kernel tells of devices; -1 before open */
	int events_fd;			 /* epoll of that and of the follower's news; the same */
	struct shunt_guard guard;	 /* ports.guard */
	struct shunt_locals locals;	 /* as the steering programs know them */
	struct shunt_xdp_death *death;	 /* closes the gates at a kill; NULL: it cannot, */
	struct shunt_err death_err;	 /* for this reason */
	uint64_t started_ns;		 /* CLOCK_MONOTONIC; 0 before start */
	bool hands_over;		 /* at its end, to a successor */
	struct json_t *stations;	 /* `show macs` of the daemon before; NULL */
};

/* shunt_engine_work sums what all workers did. Thread: control. */
void shunt_engine_work(const struct shunt_engine *engine, struct shunt_work_counts *out);

#endif
