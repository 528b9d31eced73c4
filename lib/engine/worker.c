// SPDX-License-Identifier: BSD-2-Clause
#include "engine/worker.h"

#include <errno.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/facts.h"
#include "engine/graph.h"
#include "firewall/firewall.h"
#include "io/mem.h"
#include "io/pcap.h"
#include "io/xsk.h"
#include "lane/facts.h"
#include "xdp/xdp.h"
#include "veth/puntdev.h"
#include "traffic/traffic.h"

/* Packets that a busy poll takes: the kernel's NAPI weight, so that one call can bring a whole
 * batch. */
#define BUSY_BUDGET 64

/* --- queues ----------------------------------------------------------------------------------- */

/* Frames that a worker needs. Each queue of a device can hold a full transmit ring, and a full fill
 * ring or receive ring, which get the same frames. A port without rings has a few batches under
 * way. */
static uint32_t frames_needed(const struct shunt_engine *engine, unsigned id)
{
	const struct shunt_config *config = engine->config;
	uint32_t frames = 0;
	unsigned i, q;

	if (config->frames)
		return config->frames;
	for (i = 0; i < engine->ports.cnt; i++)
		for (q = id; q < engine->ports.at[i].queue_cnt; q += config->worker_cnt)
			frames += engine->ports.at[i].xdp ? 2 * config->ring_size
							  : 2 * SHUNT_BATCH_MAX;
	return frames;
}

/* What the fill rings of the first worker, which has the most queues, take at once. */
static int check_frames(const struct shunt_engine *engine, struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	unsigned i, q, cnt = 0;
	uint32_t least;

	for (i = 0; i < engine->ports.cnt; i++)
		for (q = 0; engine->ports.at[i].xdp && q < engine->ports.at[i].queue_cnt;
		     q += config->worker_cnt)
			cnt++;
	least = cnt * config->ring_size;
	if (!config->frames || config->frames >= least)
		return 0;
	return shunt_err_set(err, EINVAL,
			     "frames is %u, and the fill rings of worker 0's %u queues take %u; "
			     "raise it (0: what the rings need), or lower ring_size",
			     config->frames, cnt, least);
}

int shunt_engine_check_workers(const struct shunt_engine *engine, struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	int ret = check_frames(engine, err);
	unsigned i;

	for (i = 0; i < config->worker_cnt && config->worker_cpus && !ret; i++)
		ret = shunt_worker_check_cpu(i, config->worker_cpus[i], err);
	return ret;
}

/* One mode for all sockets of a worker: they have one UMEM, and the kernel gives later sockets the
 * mode of the first. */
static enum shunt_copy_mode common_copy_mode(const struct shunt_engine *engine)
{
	enum shunt_copy_mode mode = SHUNT_COPY_AUTO;
	bool all_xdp = true;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		const struct shunt_port_config *config = engine->ports.at[i].config;

		if (config->kind != SHUNT_PORT_XSK)
			continue;
		all_xdp &= !config->require_zerocopy &&
			   shunt_config_lane(engine->config, i) == SHUNT_REQUEST_XDP;
		if (config->copy_mode == SHUNT_COPY_COPY ||
		    config->driver_mode == SHUNT_DRIVER_GENERIC)
			return SHUNT_COPY_COPY;
		if (config->copy_mode == SHUNT_COPY_ZEROCOPY)
			mode = SHUNT_COPY_ZEROCOPY;
	}
	/* From a zero-copy ring the kernel redirects a copy, for which it allocates a page. */
	return mode == SHUNT_COPY_AUTO && all_xdp ? SHUNT_COPY_COPY : mode;
}

/* Gives the doctor's reason, where there is one. */
static void refuse_copy(const char *ifname, unsigned q, struct shunt_err *err)
{
	struct doctor_device_facts facts;
	struct shunt_err unknown;
	char why[192] = "";

	if (!shunt_doctor_device_facts(ifname, &facts, &unknown)) {
		/* a kernel before 6.3 does not tell what a driver can; the bind did */
		if (!facts.xdp.is_known && *facts.netdev.driver)
			snprintf(why, sizeof(why),
				 "the driver %s has no AF_XDP zero-copy on this kernel",
				 facts.netdev.driver);
		else
			shunt_doctor_zerocopy(&facts, why, sizeof(why));
	}
	shunt_err_set(err, EOPNOTSUPP,
		      "%s queue %u: zero-copy is required and the kernel granted copy mode: "
		      "%s; shuntctl doctor %s says more",
		      ifname, q,
		      *why ? why
			   : "the driver says that it has AF_XDP zero-copy, and another port's "
			     "driver or this queue refuses it",
		      ifname);
}

static int open_xsk(struct shunt_engine *engine, struct shunt_port *port, unsigned id, unsigned q,
		    enum shunt_copy_mode copy_mode, struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	struct shunt_xsk_opts opts = {
		.ifname = port->name,
		.port = (uint16_t)port->index,
		.queue = (uint16_t)q,
		.copy_mode = copy_mode,
		.generic = port->config->driver_mode == SHUNT_DRIVER_GENERIC,
		.ring_size = config->ring_size,
		.xsks_fd = shunt_xdp_xsks_fd(port->xdp),
		.gate = port->lane.facts.has_fallback ||
					shunt_ports_crosses_alone(&engine->ports, port)
				? shunt_xdp_gate(port->xdp, q)
				: NULL,
		.busy_poll = config->poll == SHUNT_POLL_busy,
		.busy_budget = BUSY_BUDGET,
	};
	struct shunt_xsk_in_use in_use;
	int ret = shunt_xsk_open(&port->queues[q], engine->umems[id], &opts, err);

	if (ret || !port->config->require_zerocopy)
		return ret;
	shunt_xsk_in_use(port->queues[q], &in_use);
	if (in_use.zerocopy)
		return 0;
	port->queues[q]->ops->close(port->queues[q]);
	port->queues[q] = NULL;
	refuse_copy(port->name, q, err);
	return -EOPNOTSUPP;
}

static int open_mem(struct shunt_engine *engine, struct shunt_port *port, unsigned id, unsigned q,
		    struct shunt_err *err)
{
	const struct shunt_port_config *config = port->config;
	struct shunt_traffic traffic;
	struct shunt_mem_opts opts = {
		.port = (uint16_t)port->index, .queue = (uint16_t)q, .copy = config->mem_copy};
	int ret = shunt_traffic_init(&traffic, config->mem_frame_bytes, config->mem_flows);

	if (ret)
		return shunt_err_set(err, -ret, "%s: not enough memory for %u flows", config->name,
				     config->mem_flows);
	opts.frames = (const uint8_t *const *)traffic.frames;
	opts.lens = traffic.lens;
	opts.frame_cnt = traffic.frame_cnt;
	ret = shunt_mem_open(&port->queues[q], &engine->workers[id]->pool, &opts, err);
	shunt_traffic_fini(&traffic);
	return ret;
}

static int open_pcap(struct shunt_engine *engine, struct shunt_port *port, unsigned id, unsigned q,
		     struct shunt_err *err)
{
	const struct shunt_port_config *config = port->config;
	struct shunt_pcap_opts opts = {
		.port = (uint16_t)port->index,
		.queue = (uint16_t)q,
		.in = *config->pcap_in ? config->pcap_in : NULL,
		.out = *config->pcap_out ? config->pcap_out : NULL,
		.repeat = config->pcap_repeat,
	};

	if (id)
		return shunt_err_set(err, EINVAL,
				     "%s: a capture file serves one worker, and %u are configured",
				     config->name, engine->config->worker_cnt);
	return shunt_pcap_open(&port->queues[q], &engine->workers[id]->pool, &opts, err);
}

static int open_queue(struct shunt_engine *engine, struct shunt_port *port, unsigned id, unsigned q,
		      enum shunt_copy_mode copy_mode, struct shunt_err *err)
{
	int ret = -EINVAL;

	switch (port->config->kind) {
	case SHUNT_PORT_XSK:
		ret = open_xsk(engine, port, id, q, copy_mode, err);
		break;
	case SHUNT_PORT_MEM:
		ret = open_mem(engine, port, id, q, err);
		break;
	case SHUNT_PORT_PCAP:
		ret = open_pcap(engine, port, id, q, err);
		break;
	}
	if (ret)
		return ret;
	if (shunt_worker_add_queue(engine->workers[id], port->queues[q]))
		ret = shunt_err_set(err, ENOSPC, "worker %u: more than %u queues", id,
				    SHUNT_WORKER_QUEUE_MAX);
	if (!ret)
		return 0;
	port->queues[q]->ops->close(port->queues[q]);
	port->queues[q] = NULL;
	return ret;
}

static int open_queues(struct shunt_engine *engine, unsigned id, enum shunt_copy_mode copy_mode,
		       struct shunt_err *err)
{
	unsigned i, q;
	int ret = 0;

	for (i = 0; i < engine->ports.cnt && !ret; i++)
		for (q = id; q < engine->ports.at[i].queue_cnt && !ret;
		     q += engine->config->worker_cnt)
			ret = open_queue(engine, &engine->ports.at[i], id, q, copy_mode, err);
	return ret;
}

/* --- worker ----------------------------------------------------------------------------------- */

static int build(struct shunt_engine *engine, unsigned id, enum shunt_copy_mode copy_mode,
		 struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	const struct shunt_worker_opts opts = {
		.id = id,
		.cpu = config->worker_cpus ? config->worker_cpus[id] : -1,
		.batch = config->batch,
		.poll = config->poll,
		.idle_us = config->idle_us,
	};
	struct shunt_worker *worker =
		aligned_alloc(SHUNT_CACHELINE, (sizeof(*worker) + 63) & ~63UL);
	int ret;

	if (!worker)
		return shunt_err_set(err, ENOMEM, "worker %u: not enough memory", id);
	memset(worker, 0, sizeof(*worker));
	engine->workers[id] = worker;
	ret = shunt_worker_init(worker, &opts, err);
	if (!ret)
		ret = shunt_pool_init(&worker->pool, frames_needed(engine, id), engine->frame_size,
				      err);
	if (!ret && engine->multi_buffer)
		ret = shunt_pool_link(&worker->pool, err);
	if (!ret && shunt_ports_any_device(&engine->ports))
		ret = shunt_xsk_umem_create(&engine->umems[id], &worker->pool, err);
	if (!ret)
		ret = open_queues(engine, id, copy_mode, err);
	if (!ret)
		ret = shunt_engine_build_graph(engine, worker, err);
	if (ret)
		shunt_engine_unbuild_worker(engine, id);
	return ret;
}

int shunt_engine_build_worker(struct shunt_engine *engine, unsigned id, struct shunt_err *err)
{
	enum shunt_copy_mode copy_mode = common_copy_mode(engine);
	int ret = build(engine, id, copy_mode, err);

	/* Where one driver has zero-copy and another has not, the kernel refuses the second socket.
	 * Then all of them copy, and show ports says so. */
	if ((ret == -EOPNOTSUPP || ret == -EINVAL) && copy_mode == SHUNT_COPY_AUTO)
		ret = build(engine, id, SHUNT_COPY_COPY, err);
	if (!ret)
		engine->worker_cnt++;
	return ret;
}

void shunt_engine_unbuild_worker(struct shunt_engine *engine, unsigned id)
{
	struct shunt_worker *worker = engine->workers[id];
	unsigned i, q;

	if (!worker)
		return;
	for (i = 0; i < engine->ports.cnt; i++)
		for (q = id; engine->ports.at[i].queues && q < engine->ports.at[i].queue_cnt;
		     q += engine->config->worker_cnt)
			engine->ports.at[i].queues[q] = NULL;
	shunt_worker_fini(worker);
	if (engine->punts) {
		shunt_puntdev_queue_destroy(engine->punts[id]);
		engine->punts[id] = NULL;
	}
	shunt_xsk_umem_destroy(engine->umems[id]);
	engine->umems[id] = NULL;
	free(worker);
	engine->workers[id] = NULL;
}

void shunt_engine_work(const struct shunt_engine *engine, struct shunt_work_counts *out)
{
	unsigned i;

	*out = (struct shunt_work_counts){0};
	for (i = 0; i < engine->worker_cnt; i++) {
		const struct shunt_worker_stats *s = &engine->workers[i]->stats;

		out->packets += shunt_counter_read(&s->packets);
		out->turns += shunt_counter_read(&s->turns) - shunt_counter_read(&s->empty_turns);
		out->cycles += shunt_counter_read(&s->work_cycles);
	}
}
