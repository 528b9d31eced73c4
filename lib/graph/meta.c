// SPDX-License-Identifier: BSD-2-Clause
#include "graph/meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fib/flow.h"
#include "shunt_steer_meta.h"

#define CLOCK_SLACK_NS 100000000ULL

/* --- the data side ---------------------------------------------------------------------------- */

static uint32_t hash_of(const uint8_t *data, uint32_t len)
{
	const unsigned type = len >= 14 ? (unsigned)data[12] << 8 | data[13] : 0;

	if (type == 0x0800 && len >= 34 && (data[14] & 15u) >= 5)
		return shunt_flow4_hash(data + 14, len - 14, 0);
	if (type == 0x86dd && len >= 54)
		return shunt_flow6_hash(data + 14, len - 14, 0);
	if (len < 14)
		return 0;
	/* neither: by MAC addresses and type */
	return (uint32_t)(shunt_flow_mix(shunt_flow_load(data) ^ SHUNT_FLOW_K0,
					 shunt_flow_load(data + 6) ^ SHUNT_FLOW_K1) >>
			  7);
}

uint64_t shunt_meta_received(const struct shunt_meta *m, uint64_t device_ns, uint64_t ns)
{
	const uint64_t real = device_ns - m->real_ns, tai = device_ns - m->tai_ns;

	/* unsigned: later than ns is far away too */
	if (ns - real < CLOCK_SLACK_NS)
		return real;
	return ns - tai < CLOCK_SLACK_NS ? tai : 0;
}

static void take_flow(struct shunt_meta *m, uint32_t hash)
{
	uint64_t *flows = __atomic_load_n(&m->flows, __ATOMIC_RELAXED);
	/* a NIC's hash need not be spread over all of its bits */
	const uint32_t bit = (uint32_t)shunt_flow_mix(hash ^ SHUNT_FLOW_K0, SHUNT_FLOW_K1) &
			     (SHUNT_META_FLOW_BITS - 1);

	flows[bit / 64] |= 1ULL << bit % 64;
}

static void take_one(struct shunt_meta *m, uint8_t *data, uint32_t len)
{
	struct shunt_packet_meta meta, *at = (struct shunt_packet_meta *)(data - sizeof(meta));
	uint64_t received = 0;

	memcpy(&meta, at, sizeof(meta));
	if ((meta.mark & 0xffff0000u) != SHUNT_STEER_META_MARK) {
		m->missing++;
		meta.mark = 0;
	} else {
		at->mark = 0; /* the frame's next packet may come without */
		if (meta.mark & SHUNT_STEER_META_TIME)
			received = shunt_meta_received(m, meta.device_ns, meta.ns);
		m->time_device += !!received;
		m->time_program += !received;
		m->pending_ns[m->pending_cnt++] = received ? received : meta.ns;
	}
	if (meta.mark & SHUNT_STEER_META_HASH)
		m->hash_driver++;
	else
		m->hash_software++;
	take_flow(m, meta.mark & SHUNT_STEER_META_HASH ? meta.hash : hash_of(data, len));
}

void shunt_meta_take(struct shunt_meta *m, uint8_t *base, const struct shunt_pkt *pkts,
		     unsigned cnt)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		__builtin_prefetch(base + pkts[i].addr - sizeof(struct shunt_packet_meta));
	m->pending_cnt = 0;
	for (i = 0; i < cnt; i++)
		take_one(m, shunt_pkt_data(&pkts[i], base), pkts[i].len);
}

void shunt_meta_done(struct shunt_meta *m, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < m->pending_cnt; i++)
		shunt_hist_add(&m->latency,
			       now_ns > m->pending_ns[i] ? now_ns - m->pending_ns[i] : 0, 1);
	m->pending_cnt = 0;
}

/* --- the control side ------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SHUNT_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t flows_in(const uint64_t *bits)
{
	unsigned set = 0, i;

	for (i = 0; i < SHUNT_META_FLOW_BITS / 64; i++)
		set += (unsigned)__builtin_popcountll(bits[i]);
	if (set == SHUNT_META_FLOW_BITS)
		set--;
	return (uint64_t)llround(-SHUNT_META_FLOW_BITS *
				 log(1 - (double)set / SHUNT_META_FLOW_BITS));
}

static void compare_clocks(struct shunt_meta *m)
{
	const uint64_t now = shunt_clock_ns();

	__atomic_store_n(&m->real_ns, clock_ns(CLOCK_REALTIME) - now, __ATOMIC_RELAXED);
	__atomic_store_n(&m->tai_ns, clock_ns(CLOCK_TAI) - now, __ATOMIC_RELAXED);
}

/* What the worker still writes into the old bitmap belongs to the second after next: a batch. */
void shunt_meta_tick(struct shunt_meta *m)
{
	const bool was_second = m->flows == m->flow_bits[1];
	uint64_t *old = m->flow_bits[was_second], *fresh = m->flow_bits[!was_second];

	memset(fresh, 0, sizeof(m->flow_bits[0]));
	__atomic_store_n(&m->flows, fresh, __ATOMIC_RELEASE);
	m->flow_cnt = flows_in(old);
	compare_clocks(m);
}

struct shunt_meta *shunt_meta_create(void)
{
	struct shunt_meta *m = calloc(1, sizeof(*m));

	if (m) {
		m->flows = m->flow_bits[0];
		compare_clocks(m);
	}
	return m;
}
