// SPDX-License-Identifier: GPL-2.0-only
/* The watch: a timer in the kernel that looks at the workers' signs of life and
 * shuts the lane user of a queue whose worker gives none. So the steering program
 * pays one load and one branch a frame and reads no clock; and the watch works
 * when the daemon does not, because it is not in the daemon.
 *
 * An object of its own, on the map of a steering program that is on a device
 * already: however that was attached. A kernel without timers (before 5.17) still
 * loads the steering program. The timer is started by one test run of
 * shunt_watch, and lives until the daemon's last descriptor of the map is closed:
 * after a SIGKILL the sockets are gone and nothing is left to watch.
 *
 * A worker that is awake is judged by the age of its beat. One that sleeps is woken by a frame, so
 * it is judged by the frames that were sent to it since it fell asleep: it leaves their number
 * then. If there are more and it goes on sleeping, it hangs. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "shunt_steer.h"

#define CLOCK_MONOTONIC 1

/* The steering program's own map, put in the place of this one before load. */
struct shunt_steer_slot shunt_cnt[SHUNT_STEER_QUEUES_MAX] SEC(".data.shunt_cnt");

/* Slots to look at: as many as the device can have receive queues, set before load. */
const volatile __u32 shunt_watch_slots = SHUNT_STEER_QUEUES_MAX;

/* What the latest look saw of a sleeper. */
struct sleeper {
	__u64 beat_ns;
	__u64 since_ns; /* frames wait, first seen then; 0: none do */
};

struct watch {
	struct bpf_timer timer;
	struct sleeper sleepers[SHUNT_STEER_QUEUES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch);
} shunt_watches SEC(".maps");

static __always_inline bool sleeps_through(struct sleeper *s, const struct shunt_steer_slot *slot,
					   __u64 beat_ns, __u64 now_ns)
{
	bool are_waiting =
		shunt_steer_sent(&slot->counters) != *(const volatile __u64 *)&slot->gate.sent;

	if (s->beat_ns != beat_ns || !are_waiting) {
		s->beat_ns = beat_ns;
		s->since_ns = 0;
	}
	if (are_waiting && !s->since_ns)
		s->since_ns = now_ns;
	/* The first of them came up to a tick before it was seen. */
	return s->since_ns && now_ns - s->since_ns > SHUNT_STEER_DEAD_NS - SHUNT_STEER_TICK_NS;
}

static __always_inline bool is_hung(const struct shunt_steer_slot *slot, struct sleeper *s,
				    __u64 now_ns)
{
	__u64 beat_ns = *(volatile __u64 *)&slot->gate.beat_ns;

	if (!beat_ns)
		return false;
	if (beat_ns & SHUNT_STEER_BEAT_ASLEEP)
		return sleeps_through(s, slot, beat_ns, now_ns);
	/* Signed: the worker may have beaten after the clock was read. */
	return (__s64)(now_ns - beat_ns) > (__s64)SHUNT_STEER_DEAD_NS;
}

static __always_inline bool is_stale(__u64 now_ns)
{
	__u64 keeper_ns = *(volatile __u64 *)&shunt_cnt[0].gate.keeper_ns;

	return keeper_ns && (__s64)(now_ns - keeper_ns) > (__s64)SHUNT_STEER_STALE_NS;
}

struct look {
	struct watch *watch;
	__u64 now_ns;
	__u64 is_stale;
};

/* Called by bpf_loop, so that the verifier walks it once and not for every queue. */
static long look_at(__u32 i, struct look *l)
{
	struct shunt_steer_slot *slot;
	__u8 hung;

	if (i >= SHUNT_STEER_QUEUES_MAX)
		return 1;
	slot = &shunt_cnt[i];
	hung = is_hung(slot, &l->watch->sleepers[i], l->now_ns);
	/* The line is every frame's to read: written only when it changes. */
	if (slot->gate.is_hung != hung)
		*(volatile __u8 *)&slot->gate.is_hung = hung;
	if (slot->gate.is_stale != l->is_stale)
		*(volatile __u8 *)&slot->gate.is_stale = l->is_stale;
	return 0;
}

static int look(void *map, __u32 *key, struct watch *watch)
{
	struct look l = {watch, bpf_ktime_get_ns(), 0};

	l.is_stale = is_stale(l.now_ns);
	bpf_loop(shunt_watch_slots, look_at, &l, 0);
	bpf_timer_start(&watch->timer, SHUNT_STEER_TICK_NS, 0);
	return 0;
}

SEC("tc")
int shunt_watch(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct watch *watch = bpf_map_lookup_elem(&shunt_watches, &key);

	if (!watch || bpf_timer_init(&watch->timer, &shunt_watches, CLOCK_MONOTONIC) ||
	    bpf_timer_set_callback(&watch->timer, look) ||
	    bpf_timer_start(&watch->timer, SHUNT_STEER_TICK_NS, 0))
		return 1;
	return 0;
}

char _license[] SEC("license") = "GPL";
