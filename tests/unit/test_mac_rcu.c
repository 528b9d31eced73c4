// SPDX-License-Identifier: BSD-2-Clause
/* Workers look up, refresh and tell of stations while the control thread learns, moves, removes and
 * ages them. A station's port is always one that its address names, so a worker can tell of any
 * answer whether it belongs to the question: half an entry, or a slot used again, would not.
 * `make tsan` runs this under ThreadSanitizer. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "fib/mac.h"
#include "graph/learn.h"
#include "measure/rng.h"

#define WORKER_CNT    2
#define STATION_CNT   6400u /* of 6656: the table is tight, entries get pushed about */
#define LOOKUP_CNT    400000u
#define FIXED_STATION 3u

struct worker {
	struct shunt_mac_table *macs;
	struct shunt_learn learn;
	pthread_t thread;
	uint64_t seed, bad_cnt, found_cnt;
	bool done;
};

static uint64_t key_of(uint64_t station)
{
	return station * 0x10000003b5ULL;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t rng = w->seed, i;

	for (i = 0; i < LOOKUP_CNT; i++) {
		uint64_t station = shunt_rng_below(&rng, STATION_CNT);
		uint64_t hash = shunt_mac_hash(w->macs, key_of(station));
		unsigned port = shunt_mac_lookup(w->macs, hash);

		w->bad_cnt += port != SHUNT_MAC_NONE && port % 8 != station % 8;
		w->bad_cnt += station == FIXED_STATION && port != FIXED_STATION;
		w->found_cnt += port != SHUNT_MAC_NONE;
		port = (unsigned)(station % 8 + 8 * shunt_rng_below(&rng, 8));
		if (!shunt_mac_heard(w->macs, hash, port)) {
			shunt_learn_put(&w->learn, key_of(station), port, i / 512);
			shunt_learn_kick(&w->learn);
		}
	}
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Returns whether somebody still works. */
static bool control(struct shunt_mac_table *macs, struct worker *workers, uint64_t *rng)
{
	struct shunt_told told;
	bool busy = false;
	unsigned i, n;

	for (i = 0; i < WORKER_CNT; i++) {
		busy |= !__atomic_load_n(&workers[i].done, __ATOMIC_ACQUIRE);
		shunt_learn_hush(&workers[i].learn);
		for (n = 0; n < 64 && shunt_learn_take(&workers[i].learn, &told); n++)
			shunt_mac_learn(macs, told.key, told.port);
	}
	n = (unsigned)shunt_rng_below(rng, STATION_CNT);
	if (n != FIXED_STATION && n % 8 == 0)
		shunt_mac_del(macs, key_of(n));
	if (shunt_rng_below(rng, 512) == 0)
		shunt_mac_age(macs, NULL, NULL);
	return busy;
}

Test(mac_rcu, lookups_while_stations_move, .timeout = 120)
{
	struct worker *workers = calloc(WORKER_CNT, sizeof(*workers));
	struct shunt_mac_table *macs;
	struct shunt_err err;
	uint64_t rng = 99;
	unsigned i;

	cr_assert_eq(shunt_mac_create(&macs, 6656, 5, &err), 0);
	shunt_mac_set(macs, key_of(FIXED_STATION), FIXED_STATION, true);
	for (i = 0; i < WORKER_CNT; i++) {
		workers[i].macs = macs;
		workers[i].seed = i + 1;
		cr_assert_eq(shunt_learn_init(&workers[i].learn, &err), 0);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	while (control(macs, workers, &rng))
		;
	for (i = 0; i < WORKER_CNT; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_assert_eq(workers[i].bad_cnt, 0);
		cr_assert_eq(workers[i].found_cnt > 0, true);
		shunt_learn_fini(&workers[i].learn);
	}
	shunt_mac_destroy(macs);
	free(workers);
}
