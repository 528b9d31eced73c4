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
 * A worker owes a beat while it is awake. One that sleeps is woken by a frame, so it owes one as
 * soon as there are more frames than when it fell asleep: it leaves their number then. The timer is
 * slow until a beat is late, since each look costs a timer's interrupt. Then it is quick, and the
 * scheduler is asked what the worker's thread does:
 *
 *  - It runs, uses CPU time, and was not switched off from look to look: it loops. Or it has used
 *    STUCK_EXEC of CPU time by and by, with others in between.
 *  - It is blocked or stopped from look to look. Where nobody follows the kernel any more, one that
 *    sleeps is asked, too: all of the daemon may have been stopped.
 *  - It waits for a CPU: it is not its fault, and its frames would only be overtaken. Nevertheless
 *    the kernel has them after SHUNT_STEER_STARVED_NS.
 *
 * Where the kernel does not tell, a beat may be owed for SHUNT_STEER_DEAD_NS. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "shunt_steer.h"

#define CLOCK_MONOTONIC	   1
#define TASK_INTERRUPTIBLE 1

/* A worker that is well beats every millisecond. One that is not is found within 10: a TICK after a
 * beat that was LATE by almost nothing there is a look, and QUICK_TICKs later come those that show
 * the same. A worker stuck for less than STUCK is not hung. */
#define LATE_NS		   1200000
#define QUICK_TICK_NS	   1250000
#define STUCK_NS	   7500000
#define STUCK_EXEC_NS	   6000000
#define STUCK_LOOKS	   3
/* A hypervisor that takes the CPU away for a while must not make a worker look hung by one look:
 * what a look may add to the CPU time, and STARVED and DEAD in looks. */
#define LOOK_EXEC_NS	   3000000

struct sched_entity {
	__u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned __state;
	int on_cpu;
	unsigned long nvcsw, nivcsw;
	struct sched_entity se;
} __attribute__((preserve_access_index));

/* The steering program's own map, put in the place of this one before load. */
struct shunt_steer_slot shunt_cnt[SHUNT_STEER_QUEUES_MAX] SEC(".data.shunt_cnt");

/* Set before load. */
const volatile struct shunt_steer_watch shunt_watch_opts = {SHUNT_STEER_QUEUES_MAX, 1};

/* What the latest looks saw of a queue's worker. */
struct seen {
	__u64 task; /* address of its struct task_struct; 0: unknown */
	__u64 beat_ns;
	__u64 since_ns; /* asleep: frames wait, first seen then; 0: none do */
	__u64 switches; /* of the task, so far */
	__u64 used_ns;	/* CPU time since the first look at which this beat was late */
	__u64 exec_ns;	/* that it had at the look before */
	__u32 looks;	/* so many in a row that showed the same */
	__u32 late;	/* and at which this beat was late */
	__u32 is_running;
};

struct watch {
	struct bpf_timer timer;
	struct seen seen[SHUNT_STEER_QUEUES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch);
} shunt_watches SEC(".maps");

/* Whether a thread that does not run is blocked. One that fell asleep normally and was not woken
 * yet is not: its waker may have lost its CPU. */
static __always_inline bool is_blocked(const struct seen *s, unsigned state)
{
	return state && !(state == TASK_INTERRUPTIBLE && s->beat_ns & SHUNT_STEER_BEAT_ASLEEP);
}

/* Whether the thread of a worker that owes a beat does anything but wait for a CPU. Its address is
 * a number to the kernel's checks: where the task is gone, so is the timer, soon. */
static __always_inline bool is_stuck(struct seen *s)
{
	const struct task_struct *task = (const void *)s->task;
	bool is_running = BPF_CORE_READ(task, on_cpu);
	__u64 switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	__u64 exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	__u64 more_ns = exec_ns - s->exec_ns;
	/* A hypervisor may have taken the CPU away: then no time is counted. */
	bool is_same = s->late > 1 && switches == s->switches && is_running == s->is_running &&
		       (is_running ? more_ns || s->looks < STUCK_LOOKS - 1
				   : is_blocked(s, BPF_CORE_READ(task, __state)));

	s->used_ns =
		s->late > 1 ? s->used_ns + (more_ns < LOOK_EXEC_NS ? more_ns : LOOK_EXEC_NS) : 0;
	s->looks = is_same ? s->looks + 1 : 0;
	s->switches = switches;
	s->is_running = is_running;
	s->exec_ns = exec_ns;
	return s->looks >= STUCK_LOOKS * shunt_watch_opts.patience ||
	       s->used_ns >= STUCK_EXEC_NS * shunt_watch_opts.patience;
}

/* Whether the worker sleeps, and no frame has come to wake it. */
static __always_inline bool is_idle(const struct shunt_steer_slot *slot, __u64 beat_ns)
{
	return beat_ns & SHUNT_STEER_BEAT_ASLEEP &&
	       shunt_steer_sent(&slot->counters) == *(const volatile __u64 *)&slot->gate.sent;
}

/* Since when the worker owes a beat; 0: it owes none. */
static __always_inline __u64 owed_since(const struct seen *s, __u64 beat_ns, __u64 now_ns)
{
	if (!(beat_ns & SHUNT_STEER_BEAT_ASLEEP))
		return beat_ns;
	/* The first of the frames came up to a tick before it was seen; or just now, and whoever
	 * brought it has not woken the worker yet. */
	return s->beat_ns == beat_ns && s->since_ns ? s->since_ns
						    : now_ns - SHUNT_STEER_TICK_NS / 2;
}

/* For how long the worker has owed a beat; 0: it owes none. */
static __always_inline __s64 owed_for(struct seen *s, __u64 beat_ns, bool is_owed, __u64 now_ns)
{
	__u64 since_ns = is_owed ? owed_since(s, beat_ns, now_ns) : 0;

	if (s->beat_ns != beat_ns || !s->since_ns || !since_ns)
		s->late = 0;
	s->beat_ns = beat_ns;
	s->since_ns = since_ns;
	/* The worker may have beaten after the clock was read: that is below 0. */
	return since_ns ? (__s64)(now_ns - since_ns) : 0;
}

static __always_inline bool is_hung(struct seen *s, __s64 owed_ns, bool may_sleep)
{
	const __u64 patience = shunt_watch_opts.patience;

	s->late++;
	if (s->task && is_stuck(s) && owed_ns >= (__s64)(STUCK_NS * patience))
		return true;
	return !may_sleep && s->late > (s->task ? SHUNT_STEER_STARVED_NS : SHUNT_STEER_DEAD_NS) /
					       QUICK_TICK_NS * patience;
}

static __always_inline bool is_stale(__u64 now_ns)
{
	__u64 keeper_ns = *(volatile __u64 *)&shunt_cnt[0].gate.keeper_ns;

	return keeper_ns && (__s64)(now_ns - keeper_ns) >
				    (__s64)(SHUNT_STEER_STALE_NS * shunt_watch_opts.patience);
}

struct look {
	struct watch *watch;
	__u64 now_ns;
	__u32 is_stale;
	__u32 is_late; /* a worker is */
};

/* Called by bpf_loop, so that the verifier walks it once and not for every queue. */
static long look_at(__u32 i, struct look *l)
{
	struct shunt_steer_slot *slot;
	__u64 beat_ns;
	bool may_sleep;
	__u8 hung = 0;
	__s64 owed_ns;

	if (i >= SHUNT_STEER_QUEUES_MAX)
		return 1;
	slot = &shunt_cnt[i];
	beat_ns = *(volatile __u64 *)&slot->gate.beat_ns;
	may_sleep = is_idle(slot, beat_ns);
	owed_ns = owed_for(&l->watch->seen[i], beat_ns, beat_ns && (!may_sleep || l->is_stale),
			   l->now_ns);
	if (owed_ns > LATE_NS) {
		l->is_late = 1;
		hung = is_hung(&l->watch->seen[i], owed_ns, may_sleep);
	}
	/* The line is every frame's to read: written only when it changes. */
	if (slot->gate.is_hung != hung) {
		*(volatile __u8 *)&slot->gate.is_hung = hung;
		slot->gate.hangs += hung;
	}
	if (slot->gate.is_stale != l->is_stale)
		*(volatile __u8 *)&slot->gate.is_stale = l->is_stale;
	return 0;
}

static int look(void *map, __u32 *key, struct watch *watch)
{
	struct look l = {watch, bpf_ktime_get_ns(), 0, 0};

	l.is_stale = is_stale(l.now_ns);
	bpf_loop(shunt_watch_opts.slots, look_at, &l, 0);
	bpf_timer_start(&watch->timer, l.is_late ? QUICK_TICK_NS : SHUNT_STEER_TICK_NS, 0);
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

/* Run by a worker itself, once, for each port: mark is the first of its queues, priority the step
 * to the next. */
struct mine {
	struct watch *watch;
	__u64 task;
	__u32 first, step;
};

static long note(__u32 i, struct mine *m)
{
	__u32 slot = m->first + i * m->step;

	if (slot >= shunt_watch_opts.slots || slot >= SHUNT_STEER_QUEUES_MAX)
		return 1;
	m->watch->seen[slot].task = m->task;
	return 0;
}

SEC("tc")
int shunt_watch_worker(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct mine m = {bpf_map_lookup_elem(&shunt_watches, &key), bpf_get_current_task(),
			 skb->mark, skb->priority};

	if (!m.watch || !m.step)
		return 1;
	bpf_loop(SHUNT_STEER_QUEUES_MAX, note, &m, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
