// SPDX-License-Identifier: BSD-2-Clause
#include "fake_port.h"

#include <criterion/criterion.h>
#include <string.h>

#define HEADROOM 256

static struct fake_port *fake_of(const struct shunt_queue *queue)
{
	return (struct fake_port *)shunt_container_of(queue, struct fake_port, queue);
}

static void fake_reclaim(struct shunt_queue *queue)
{
	fake_of(queue)->reclaims++;
}

static unsigned fake_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct fake_port *fake = fake_of(queue);
	unsigned n = SHUNT_MIN(max, fake->arriving), i;
	uint64_t addr;

	for (i = 0; i < n && shunt_pool_alloc(queue->pool, &addr, 1); i++) {
		/* what rx leaves undefined is filled with rubbish */
		memset(&pkts[i], 0xa5, sizeof(pkts[i]));
		pkts[i].addr = addr + HEADROOM;
		pkts[i].len = FAKE_FRAME;
		pkts[i].port = queue->port;
		memset(queue->pool->mem + pkts[i].addr, 0, FAKE_FRAME);
		memcpy(queue->pool->mem + pkts[i].addr, &fake->serial, 4);
		fake->serial++;
	}
	fake->arriving -= i;
	fake->late -= SHUNT_MIN(fake->late, i);
	return i;
}

static unsigned fake_late(const struct shunt_queue *queue)
{
	return fake_of(queue)->late;
}

static unsigned fake_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct fake_port *fake = fake_of(queue);
	unsigned i;

	cnt = SHUNT_MIN(cnt, fake->room);
	fake->room -= cnt;
	for (i = 0; i < cnt; i++) {
		struct fake_sent *sent = &fake->sent[fake->sent_cnt++];

		cr_assert_leq(fake->sent_cnt, FAKE_SENT_MAX);
		*sent = (struct fake_sent){pkts[i].addr, pkts[i].len, pkts[i].user, {0}};
		memcpy(sent->bytes, queue->pool->mem + pkts[i].addr,
		       SHUNT_MIN(pkts[i].len, (uint32_t)FAKE_FRAME));
		if (fake->holds)
			fake->held[fake->held_cnt++] = pkts[i].addr;
	}
	if (!fake->holds)
		shunt_pool_free_pkts(queue->pool, pkts, cnt);
	return cnt;
}

static void fake_flush(struct shunt_queue *queue)
{
	fake_of(queue)->flushes++;
	fake_of(queue)->waits += queue->has_more;
}

static void fake_busy_poll(struct shunt_queue *queue)
{
	fake_of(queue)->busy_polls++;
}

static void fake_ledger(const struct shunt_queue *queue, struct shunt_ledger *ledger)
{
	const struct fake_port *fake = fake_of(queue);

	*(fake->in_driver ? &ledger->driver_tx : &ledger->tx) += fake->held_cnt;
}

static void fake_audit(const struct shunt_queue *queue, uint8_t *seen)
{
	struct fake_port *fake = fake_of(queue);
	unsigned i;

	for (i = 0; i < fake->held_cnt && !fake->in_driver; i++)
		seen[fake->held[i] / queue->pool->frame_size]++;
	if (fake->completes_in_audit)
		fake_port_complete(fake, fake->held_cnt);
	fake->completes_in_audit = false;
}

static void fake_close(struct shunt_queue *queue)
{
	fake_of(queue)->closes++;
}

static const struct shunt_queue_ops fake_ops = {
	.kind = "fake",
	.reclaim = fake_reclaim,
	.rx = fake_rx,
	.tx = fake_tx,
	.flush = fake_flush,
	.busy_poll = fake_busy_poll,
	.late = fake_late,
	.ledger = fake_ledger,
	.audit = fake_audit,
	.close = fake_close,
};

void fake_port_init(struct fake_port *fake, struct shunt_pool *pool, uint16_t port)
{
	memset(fake, 0, sizeof(*fake));
	fake->queue.ops = &fake_ops;
	fake->queue.pool = pool;
	fake->queue.port = port;
	fake->queue.fd = -1;
	fake->room = UINT32_MAX;
}

void fake_ports_init(struct fake_port *fakes, struct shunt_queue **queues, unsigned cnt,
		     struct shunt_pool *pool)
{
	unsigned i;

	for (i = 0; i < cnt; i++) {
		fake_port_init(&fakes[i], pool, (uint16_t)i);
		queues[i] = &fakes[i].queue;
	}
}

void fake_port_complete(struct fake_port *fake, unsigned cnt)
{
	cr_assert_leq(cnt, fake->held_cnt);
	fake->held_cnt -= cnt;
	shunt_pool_free(fake->queue.pool, fake->held + fake->held_cnt, cnt);
}
