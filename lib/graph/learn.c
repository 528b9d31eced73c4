// SPDX-License-Identifier: BSD-2-Clause
#include "graph/learn.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int shunt_learn_init(struct shunt_learn *learn, struct shunt_err *err)
{
	memset(learn, 0, sizeof(*learn));
	learn->budget = SHUNT_LEARN_PER_MS;
	learn->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (learn->fd < 0)
		return shunt_err_set(err, errno, "bridge: eventfd: %s", strerror(errno));
	return 0;
}

void shunt_learn_fini(struct shunt_learn *learn)
{
	if (learn->fd >= 0)
		close(learn->fd);
	learn->fd = -1;
}

/* --- the worker's side ------------------------------------------------------------------------ */

/* True when this was told in the same millisecond: control had no time to act on it yet. */
static bool is_repeated(struct shunt_learn *learn, uint64_t key, unsigned port, uint64_t now_ns)
{
	uint64_t slot = key * 0x9e3779b97f4a7c15ULL >> 54;
	struct shunt_learn_recent *recent = &learn->recent[slot];

	if (recent->key == key && recent->port == port + 1 && recent->at_ns == now_ns)
		return true;
	*recent = (struct shunt_learn_recent){key, now_ns, port + 1};
	return false;
}

_Static_assert(SHUNT_LEARN_RECENT == 1u << (64 - 54), "the slot's bits");

void shunt_learn_put(struct shunt_learn *learn, uint64_t key, unsigned port, uint64_t now_ns)
{
	uint32_t tail = __atomic_load_n(&learn->tail, __ATOMIC_ACQUIRE); /* with take */

	if (learn->budget_ns != now_ns) {
		learn->budget_ns = now_ns;
		learn->budget = SHUNT_LEARN_PER_MS;
	}
	if (is_repeated(learn, key, port, now_ns))
		return;
	if (!learn->budget) {
		shunt_counter_add(&learn->stats.limited, 1);
		return;
	}
	if (learn->head - tail == SHUNT_LEARN_LEN) {
		shunt_counter_add(&learn->stats.lost, 1);
		return;
	}
	learn->budget--;
	learn->ring[learn->head % SHUNT_LEARN_LEN] = (struct shunt_told){key, port};
	/* Sequentially consistent, as is the follower's store to awake: at least one thread sees
	 * the other's. */
	__atomic_store_n(&learn->head, learn->head + 1, __ATOMIC_SEQ_CST);
	shunt_counter_add(&learn->stats.told, 1);
}

void shunt_learn_kick(struct shunt_learn *learn)
{
	uint64_t one = 1;

	if (__atomic_load_n(&learn->awake, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&learn->awake, true, __ATOMIC_SEQ_CST);
	if (write(learn->fd, &one, sizeof(one)) < 0)
		return; /* the counter is at its limit: it is being woken already */
}

/* --- the follower's side
 * --------------------------------------------------------------------------- */

void shunt_learn_hush(struct shunt_learn *learn)
{
	uint64_t drained;

	if (read(learn->fd, &drained, sizeof(drained)) < 0)
		return; /* nobody kicked */
}

static bool is_empty(const struct shunt_learn *learn)
{
	return __atomic_load_n(&learn->head, __ATOMIC_SEQ_CST) == learn->tail;
}

bool shunt_learn_take(struct shunt_learn *learn, struct shunt_told *told)
{
	if (is_empty(learn)) {
		__atomic_store_n(&learn->awake, false, __ATOMIC_SEQ_CST);
		if (is_empty(learn)) /* one may have come in between, without a kick */
			return false;
		__atomic_store_n(&learn->awake, true, __ATOMIC_SEQ_CST);
	}
	*told = learn->ring[learn->tail % SHUNT_LEARN_LEN];
	__atomic_store_n(&learn->tail, learn->tail + 1, __ATOMIC_RELEASE); /* with put */
	return true;
}
