// SPDX-License-Identifier: BSD-2-Clause
#include "graph/tap.h"

#include <stdlib.h>

#include "base/clock.h"
#include "io/chain.h"

struct shunt_tap *shunt_tap_create(const struct sock_filter *filter, unsigned cnt)
{
	struct shunt_tap *tap = calloc(1, sizeof(*tap));

	if (!tap || !filter)
		return tap;
	tap->sieve = shunt_sieve_create(filter, cnt);
	if (!tap->sieve) {
		free(tap);
		return NULL;
	}
	return tap;
}

void shunt_tap_destroy(struct shunt_tap *tap)
{
	shunt_tap_ring_close(&tap->ring);
	shunt_sieve_destroy(tap->sieve);
	free(tap);
}

void shunt_tap_add(struct shunt_tap **list, struct shunt_tap *tap)
{
	tap->next = *list;
	rcu_assign_pointer(*list, tap); /* pairs with shunt_tap_show */
}

static void destroy_rcu(struct rcu_head *head)
{
	shunt_tap_destroy(caa_container_of(head, struct shunt_tap, rcu));
}

void shunt_tap_retire(struct shunt_tap **list, struct shunt_tap *tap)
{
	struct shunt_tap **at = list;

	while (*at && *at != tap)
		at = &(*at)->next;
	if (!*at)
		return;
	rcu_assign_pointer(*at, tap->next);
	urcu_qsbr_call_rcu(&tap->rcu, destroy_rcu);
}

/* The bytes of a packet of several frames that a filter can read: those of the first. */
static uint32_t first_len(const struct shunt_pool *pool, const struct shunt_pkt *pkt)
{
	if (!shunt_chain_is(pool, pkt))
		return pkt->len;
	return SHUNT_MIN(pkt->len, shunt_chain_link(pool, pkt->addr)->len);
}

static bool wants(const struct shunt_tap *tap, const struct shunt_pool *pool,
		  const struct shunt_pkt *pkt)
{
	return !tap->sieve || shunt_sieve_passes(tap->sieve, shunt_pkt_data(pkt, pool->mem),
						 pkt->len, first_len(pool, pkt));
}

static void copy(const struct shunt_pool *pool, const struct shunt_pkt *pkt, uint32_t cap_len,
		 uint8_t *out)
{
	struct shunt_pkt head = *pkt;

	head.len = cap_len;
	shunt_chain_copy(pool, &head, out);
}

static void put(struct shunt_tap *tap, const struct shunt_pool *pool,
		const struct shunt_tap_batch *batch, unsigned port, uint64_t now_ns,
		const struct shunt_pkt *pkt)
{
	const uint32_t cap_len = SHUNT_MIN(pkt->len, tap->snap_len);
	struct shunt_tap_record *record = shunt_tap_ring_reserve(&tap->ring, cap_len, port);

	if (!record)
		return;
	*record = (struct shunt_tap_record){
		.time_ns = now_ns,
		.len = pkt->len,
		.cap_len = cap_len,
		.queue = batch->queue,
		.port = (uint8_t)port,
		.place = (uint8_t)batch->place,
		.reason = pkt->reason,
		.out = SHUNT_TAP_NO_PORT,
	};
	copy(pool, pkt, cap_len, shunt_tap_bytes(record));
}

static void show(struct shunt_tap *tap, const struct shunt_pool *pool,
		 const struct shunt_tap_batch *batch, const struct shunt_pkt *pkts, unsigned cnt)
{
	const bool is_sent = batch->place == SHUNT_TAP_SENT;
	uint64_t now_ns = 0;
	unsigned i;

	for (i = 0; i < cnt; i++) {
		const unsigned port = is_sent ? batch->port : pkts[i].port;

		if (!(tap->ports >> port & 1) || !wants(tap, pool, &pkts[i]))
			continue;
		if (!now_ns)
			now_ns = shunt_clock_ns();
		put(tap, pool, batch, port, now_ns, &pkts[i]);
	}
	shunt_tap_ring_commit(&tap->ring);
}

void shunt_tap_show(struct shunt_tap *const *list, const struct shunt_pool *pool,
		    const struct shunt_tap_batch *batch, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct shunt_tap *tap;

	/* pairs with shunt_tap_add */
	for (tap = rcu_dereference(*list); tap; tap = rcu_dereference(tap->next))
		show(tap, pool, batch, pkts, cnt);
}
