// SPDX-License-Identifier: BSD-2-Clause
#include "io/pass.h"

#define NS_PER_MS	    1000000ULL
/* With more evictions than this in a window, the table cannot hold what there is. */
#define EVICTED_MAX	    (SHUNT_STEER_PASSES / 2)
#define WINDOW_NS	    (100 * NS_PER_MS)
#define ALL_NS		    (100 * NS_PER_MS)
/* An entry lives on while it is probed. */
#define PROBES_MS	    (SHUNT_STEER_PROBES * SHUNT_STEER_PROBE_MS)
#define LIFE_NS		    ((SHUNT_STEER_PASS_MS + PROBES_MS) * NS_PER_MS)

/* The program reads these, and orders nothing by them. */
#define WRITE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define READ(place)	    __atomic_load_n(&(place), __ATOMIC_RELAXED)

static bool is_over(const struct shunt_steer_pass *entry, uint32_t now_ms)
{
	return !READ(entry->tag) || (int32_t)(now_ms - READ(entry->until_ms)) > PROBES_MS;
}

static void write_entry(struct shunt_steer_pass *entry, uint32_t tag, uint32_t now_ms)
{
	WRITE(entry->probes, 0);
	WRITE(entry->until_ms, now_ms + SHUNT_STEER_PASS_MS);
	WRITE(entry->tag, tag);
}

/* The entry with the tag, else one that is over, else the older one, which is driven out. */
static struct shunt_steer_pass *find(struct shunt_steer_pass pair[2], uint32_t tag, uint32_t now_ms,
				     bool *evicts)
{
	const bool is_first_older = (int32_t)(READ(pair[0].until_ms) - READ(pair[1].until_ms)) < 0;
	unsigned i;

	*evicts = false;
	for (i = 0; i < 2; i++)
		if (READ(pair[i].tag) == tag)
			return &pair[i];
	for (i = 0; i < 2; i++)
		if (is_over(&pair[i], now_ms))
			return &pair[i];
	*evicts = true;
	return &pair[!is_first_older];
}

static void count_eviction(struct shunt_pass *pass, struct shunt_steer_slot *slot, uint64_t now_ns)
{
	if (now_ns - pass->since_ns > WINDOW_NS) {
		pass->since_ns = now_ns;
		pass->evicted_cnt = 0;
	}
	if (++pass->evicted_cnt <= EVICTED_MAX)
		return;
	pass->evicted_cnt = 0;
	pass->all_until_ns = now_ns + ALL_NS;
	WRITE(slot->gate.passing, SHUNT_STEER_PASSES_ALL);
}

bool shunt_pass_leave(struct shunt_pass *pass, struct shunt_steer_slot *slot, const uint8_t *data,
		      uint32_t len, uint64_t now_ns)
{
	const uint32_t now_ms = (uint32_t)(now_ns / NS_PER_MS);
	uint32_t tag;
	bool evicts;

	if (len < 14)
		return false;
	tag = shunt_steer_pass_tag(data, data + len);
	write_entry(find(&slot->passes[shunt_steer_pass_at(tag)], tag, now_ms, &evicts), tag,
		    now_ms);
	pass->until_ns = now_ns + LIFE_NS;
	if (evicts)
		count_eviction(pass, slot, now_ns);
	if (!pass->all_until_ns && READ(slot->gate.passing) != SHUNT_STEER_PASSES_SOME)
		WRITE(slot->gate.passing, SHUNT_STEER_PASSES_SOME);
	return true;
}

void shunt_pass_tick(struct shunt_pass *pass, struct shunt_steer_slot *slot, uint64_t now_ns)
{
	if (!pass->until_ns)
		return;
	if (pass->all_until_ns && now_ns >= pass->all_until_ns) {
		pass->all_until_ns = 0;
		WRITE(slot->gate.passing, SHUNT_STEER_PASSES_SOME);
	}
	if (now_ns < pass->until_ns)
		return;
	pass->until_ns = pass->all_until_ns = 0;
	WRITE(slot->gate.passing, SHUNT_STEER_PASSES_NONE);
}
