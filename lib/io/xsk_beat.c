// SPDX-License-Identifier: BSD-2-Clause
/* A queue and the watch over workers: signs of life, what a hang has given away meanwhile, and
 * destinations left to the kernel. Nothing here is done for each packet. */
#include <stddef.h>

#include "io/xsk_private.h"

static struct shunt_steer_slot *slot_of(struct shunt_steer_gate *gate)
{
	return (void *)((char *)gate - offsetof(struct shunt_steer_slot, gate));
}

bool shunt_xsk_leave(struct shunt_queue *queue, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
	struct xsk_queue *xsk = xsk_of(queue);

	return xsk->gate && shunt_pass_leave(&xsk->pass, slot_of(xsk->gate), data, len, now_ns);
}

/* Frames that went another way because the worker was taken for hung. */
static uint64_t overtakers(struct shunt_steer_gate *gate)
{
	const struct shunt_steer_counters *counters = &slot_of(gate)->counters;

	return __atomic_load_n(&counters->packets[SHUNT_STEER_HUNG], __ATOMIC_RELAXED) +
	       __atomic_load_n(&counters->packets[SHUNT_STEER_XDP_BRIDGED], __ATOMIC_RELAXED);
}

bool shunt_xsk_is_overtaken(const struct shunt_queue *queue)
{
	const struct xsk_queue *xsk = xsk_of_const(queue);

	return overtakers(xsk->gate) != xsk->overtakers;
}

unsigned shunt_xsk_late(const struct shunt_queue *queue)
{
	const struct xsk_queue *xsk = xsk_of_const(queue);
	int32_t cnt = (int32_t)(xsk->late_end - xsk->rx.cached_cons);

	return (unsigned)SHUNT_MAX(cnt, 0);
}

/* While the worker is taken for hung no frame comes, and the watch forgets it at the next beat:
 * what lies in the ring now is what was overtaken, and what comes later is not. */
static void mark_late(struct xsk_queue *xsk)
{
	const uint32_t end = __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE);

	/* else it has forgotten it at the beat before, and frames may have come */
	if (shunt_queue_is_hung(&xsk->queue) && shunt_xsk_is_overtaken(&xsk->queue)) {
		xsk->late_end = end;
		xsk->queue.is_late = true;
	}
}

void shunt_xsk_beat(struct shunt_queue *queue, uint64_t now_ns, bool is_asleep)
{
	struct xsk_queue *xsk = xsk_of(queue);
	struct shunt_steer_gate *gate = xsk->gate;
	struct shunt_steer_slot *slot;

	if (!gate)
		return;
	if (unlikely(shunt_queue_is_hung(queue)))
		mark_late(xsk);
	else
		xsk->overtakers = overtakers(gate);
	slot = slot_of(gate);
	shunt_pass_tick(&xsk->pass, slot, now_ns);
	if (is_asleep) {
		/* what comes from now on wakes the worker */
		__atomic_store_n(&gate->sent, shunt_steer_sent(&slot->counters), __ATOMIC_RELAXED);
	}
	/* read by the watch, then the number above */
	__atomic_store_n(&gate->beat_ns,
			 is_asleep ? now_ns | SHUNT_STEER_BEAT_ASLEEP
				   : now_ns & ~SHUNT_STEER_BEAT_ASLEEP,
			 __ATOMIC_RELEASE);
}
