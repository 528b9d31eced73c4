// SPDX-License-Identifier: BSD-2-Clause
/* Sending through AF_XDP, by a thread that watches the clock: frames leave within a
 * microsecond of when they are due, one call for those that are due together. Through a pause of a
 * millisecond it sleeps. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "gen.h"
#include "device/netdev_xdp.h"
#include "io/pool.h"
#include "tools/shunt_gen.skel.h"

#define RING	 2048
/* The fill ring takes twice the ring's frames, which never come back. */
#define FRAMES	 (4 * RING)
/* Frames a turn: a copying driver takes some 600 ns for each, so that the clock is
 * looked at often enough. */
#define BATCH	 32
/* A pause as long is slept through, but for its last part. */
#define LONG_NS	 1000000
#define EARLY_NS 100000
/* How long the device may take for the last frames. */
#define DRAIN_NS (2 * SHUNT_NS_PER_SEC)

struct gen_xsk {
	struct shunt_gen *pass; /* the first thread's: its program beside the sockets */
	int pass_fd;		/* where it is attached, -1: nowhere */
	struct shunt_pool pool;
	struct shunt_xsk_umem *umem;
	struct shunt_queue *queue;
	bool has_offload; /* checksums are left to others */
};

/* Where a program is already, or none can be, the socket's mode shows it. */
static void attach_pass(const struct gen_sender *s, struct gen_xsk *x)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	struct bpf_program *p;

	x->pass = shunt_gen__open();
	if (!x->pass)
		return;
	bpf_object__for_each_program(p, x->pass->obj)
		bpf_program__set_autoload(p, p == x->pass->progs.shunt_gen_pass);
	if (!shunt_gen__load(x->pass))
		x->pass_fd = bpf_link_create(bpf_program__fd(x->pass->progs.shunt_gen_pass),
					     s->plan->dev.ifindex, BPF_XDP, &opts);
}

/* A veth has no zero-copy, and no need of it. */
static bool may_be_zerocopy(const struct gen_plan *plan)
{
	return plan->opts->copy_mode != SHUNT_COPY_COPY && strcmp(plan->dev.driver, "veth") != 0;
}

static bool driver_has_checksum(const struct gen_plan *plan)
{
	struct shunt_netdev_xdp offers;

	return !shunt_netdev_xdp_query((unsigned)plan->dev.ifindex, &offers, NULL) &&
	       offers.xsk_features & SHUNT_NETDEV_XSK_tx_checksum;
}

/* A veth hands over what the kernel has not finished; any other device finishes it or has the
 * kernel do so before. */
static int make_umem(struct gen_sender *s, struct gen_xsk *x)
{
	const enum gen_checksum wanted = s->plan->opts->checksum;

	s->checksum = "software";
	if (wanted == GEN_CSUM_SOFTWARE || s->plan->capture.cnt ||
	    (wanted == GEN_CSUM_AUTO && !driver_has_checksum(s->plan)))
		return shunt_xsk_umem_create(&x->umem, &x->pool, &s->err);
	x->has_offload = true;
	return shunt_xsk_umem_create_tx(&x->umem, &x->pool, !strcmp(s->plan->dev.driver, "veth"),
					&s->err);
}

static int settle_checksum(struct gen_sender *s, struct gen_xsk *x)
{
	const struct gen_send_opts *o = s->plan->opts;
	const bool can = !s->zerocopy || driver_has_checksum(s->plan);

	if (!x->has_offload)
		return 0;
	if (o->checksum == GEN_CSUM_OFFLOAD && !can)
		return shunt_err_set(&s->err, EOPNOTSUPP,
				     "%s: the driver %s computes no checksums for AF_XDP without a "
				     "copy; --copy-mode copy has the kernel do it, --checksum "
				     "software shunt-gen",
				     o->dev, s->plan->dev.driver);
	/* auto is for the driver's sake alone */
	x->has_offload = can && (s->zerocopy || o->checksum == GEN_CSUM_OFFLOAD);
	if (x->has_offload)
		s->checksum = s->zerocopy ? "driver" : "kernel";
	return 0;
}

static int set_up(struct gen_sender *s, struct gen_xsk *x)
{
	const struct gen_send_opts *o = s->plan->opts;
	const struct shunt_xsk_opts opts = {.ifname = o->dev,
					    .queue = (uint16_t)(o->queue + s->number),
					    .copy_mode = o->copy_mode,
					    .ring_size = RING,
					    .xsks_fd = -1};
	struct shunt_xsk_in_use in_use = {};
	int rc = shunt_pool_init(&x->pool, FRAMES, SHUNT_FRAME_SIZE_MIN, &s->err);

	x->pass_fd = -1;
	if (!s->number && may_be_zerocopy(s->plan))
		attach_pass(s, x);
	if (!rc)
		rc = make_umem(s, x);
	if (!rc)
		rc = shunt_xsk_open(&x->queue, x->umem, &opts, &s->err);
	if (rc)
		return rc;
	shunt_xsk_in_use(x->queue, &in_use);
	s->zerocopy = in_use.zerocopy;
	return settle_checksum(s, x);
}

int gen_send_xsk_open(struct gen_sender *s)
{
	int rc;

	s->xsk = calloc(1, sizeof(*s->xsk));
	if (!s->xsk)
		return shunt_err_set(&s->err, ENOMEM, "no memory for a socket");
	rc = set_up(s, s->xsk);
	if (rc)
		gen_send_xsk_close(s);
	return rc;
}

void gen_send_xsk_close(struct gen_sender *s)
{
	struct gen_xsk *x = s->xsk;

	if (!x)
		return;
	if (x->queue)
		x->queue->ops->close(x->queue);
	shunt_xsk_umem_destroy(x->umem);
	shunt_pool_fini(&x->pool);
	if (x->pass_fd >= 0)
		close(x->pass_fd);
	shunt_gen__destroy(x->pass);
	free(x);
	s->xsk = NULL;
}

/* Writes what is due, into as many frames as there are. */
static unsigned prepare(struct gen_sender *s, struct shunt_pkt *pkts, unsigned room)
{
	struct shunt_pool *pool = &s->xsk->pool;
	unsigned n = 0;

	while (n < room && pool->free_cnt && !gen_next_is_over(s)) {
		const uint64_t now = shunt_clock_ns();
		uint64_t addr = 0;

		if (!gen_next_due(s, now))
			break;
		shunt_pool_alloc(pool, &addr, 1);
		pkts[n] = (struct shunt_pkt){.addr = addr + SHUNT_FRAME_OVERHEAD};
		pkts[n].len = gen_next_write(s, pool->mem + pkts[n].addr, now);
		if (s->xsk->has_offload)
			gen_frame_offload(&pkts[n], pool->mem, s->plan->opts->v6,
					  s->plan->opts->tcp);
		n++;
	}
	return n;
}

static void turn(struct gen_sender *s, struct shunt_pkt *pkts, unsigned *held, unsigned room)
{
	struct shunt_queue *q = s->xsk->queue;
	unsigned sent;

	q->ops->reclaim(q);
	*held += prepare(s, pkts + *held, room - *held);
	sent = *held ? q->ops->tx(q, pkts, *held) : 0;
	if (sent && sent < *held)
		memmove(pkts, pkts + sent, (*held - sent) * sizeof(*pkts));
	*held -= sent;
	q->ops->flush(q);
}

static bool is_drained(const struct shunt_queue *q)
{
	return q->stats.tx_completed >= q->stats.tx_packets;
}

int gen_send_xsk(struct gen_sender *s)
{
	struct shunt_queue *q = s->xsk->queue;
	/* a burst by one call */
	const unsigned room = s->plan->opts->arrival == SHUNT_ARRIVAL_BURST ? RING : BATCH;
	struct shunt_pkt pkts[RING];
	unsigned held = 0;
	uint64_t until;

	/* Of the capture's frames, longer ones before may have left bytes: each is
	 * written whole. The others are zero behind their headers. */
	while (!gen_next_is_over(s)) {
		turn(s, pkts, &held, room);
		if (!held && is_drained(q) && gen_next_ns(s) > shunt_clock_ns() + LONG_NS)
			gen_next_sleep(s, EARLY_NS);
	}
	until = shunt_clock_ns() + DRAIN_NS;
	while ((held || !is_drained(q)) && shunt_clock_ns() < until) {
		unsigned sent = held ? q->ops->tx(q, pkts, held) : 0;

		memmove(pkts, pkts + sent, (held - sent) * sizeof(*pkts));
		held -= sent;
		q->ops->flush(q);
		q->ops->reclaim(q);
	}
	return 0;
}
