// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's death, seen at once. The kernel takes the sockets of a killed process out of their
 * map one after the other, with a grace period for each, and until then frames go into rings that
 * nobody reads. So the gates of all its ports are closed as soon as a fatal signal is given, by the
 * task that gives it: what comes later is the kernel's, or, where a wire is to go on being a wire,
 * crosses inside the kernel (steer/handover.bpf.h).
 *
 * signal_generate fires for every signal of the machine and costs a comparison there. An end
 * without a signal, by exit_group, is seen by sched_process_exit, when the first thread ends.
 *
 * Raw tracepoints, as in shunt_fail.bpf.c. The maps of the ports are reached by an array of maps,
 * which userspace fills. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shunt_death.h"
#include "shunt_steer.h"

/* As on x86 and ARM (asm-generic/signal.h). */
#define SIGHUP	 1
#define SIGINT	 2
#define SIGKILL	 9
#define SIGPIPE	 13
#define SIGTERM	 15
#define SIGCHLD	 17
#define SIGCONT	 18
#define SIGSTOP	 19
#define SIGTSTP	 20
#define SIGTTIN	 21
#define SIGTTOU	 22
#define SIGURG	 23
#define SIGWINCH 28
#define SIG_MAX	 64

#define BIT(sig) (1ULL << ((sig)-1))

/* What ends no process, what the daemon waits for or ignores, and what its C library handles: of
 * the real-time signals, the first two. */
#define NOT_FATAL                                                                                  \
	(BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | \
	 BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGPIPE) |   \
	 BIT(32) | BIT(33))

/* The results of signal_generate with which a signal is under way: delivered, pending already. */
#define DELIVERED 0
#define PENDING	  2

struct task_struct {
	int pid;
	int tgid;
	unsigned ptrace;
} __attribute__((preserve_access_index));

struct shunt_death_state shunt_death_state SEC(".data.shunt_death");

/* The ports' configurations, as the steering programs have them. Userspace shows the kernel one of
 * them before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SHUNT_DEATH_PORTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} shunt_death_ports SEC(".maps");

/* A gate that is not open stays as it is: closed, or handed over to a successor. */
static __always_inline void end_port(__u32 port)
{
	void *map = bpf_map_lookup_elem(&shunt_death_ports, &port);
	struct shunt_steer_ctl *ctl;
	__u32 zero = 0, live;

	ctl = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!ctl)
		return;
	live = *(volatile __u32 *)&ctl->live;
	if (!SHUNT_STEER_LIVE_IS_OPEN(live))
		return;
	if (ctl->crosses) {
		ctl->handover_until_ns = ~0ULL;
		live = SHUNT_STEER_LIVE_HANDOVER(SHUNT_STEER_LIVE_HALF_OF(live));
	} else {
		live = SHUNT_STEER_LIVE_CLOSED;
	}
	*(volatile __u32 *)&ctl->live = live;
	*(volatile __u64 *)&ctl->quick = 0;
}

static __always_inline int end_all(void)
{
	__u32 cnt = shunt_death_state.cnt;

	shunt_death_state.at_ns = bpf_ktime_get_ns();
	for (__u32 i = 0; i < SHUNT_DEATH_PORTS_MAX; i++) {
		if (i >= cnt)
			break;
		end_port(i);
	}
	return 0;
}

/* Signals that end the daemon, which handles none of them. */
static __always_inline bool is_fatal(int sig)
{
	return sig >= 1 && sig <= SIG_MAX && !(NOT_FATAL & BIT(sig));
}

/* A debugger gets all signals but one, and need not hand them on. */
static __always_inline bool is_held(int sig, const struct task_struct *task)
{
	return sig != SIGKILL && BPF_CORE_READ(task, ptrace);
}

SEC("raw_tp/signal_generate")
int BPF_PROG(shunt_death_signal, int sig, const void *info, const struct task_struct *task,
	     int group, int result)
{
	__u32 tgid = shunt_death_state.tgid;

	if (!tgid || !is_fatal(sig) || (result != DELIVERED && result != PENDING))
		return 0;
	return (__u32)BPF_CORE_READ(task, tgid) == tgid && !is_held(sig, task) ? end_all() : 0;
}

/* Runs in the task that ends. */
SEC("raw_tp/sched_process_exit")
int BPF_PROG(shunt_death_exit, const struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = shunt_death_state.tgid;

	return tgid && id >> 32 == tgid && (__u32)id == tgid ? end_all() : 0;
}

/* Run by the daemon itself, once (BPF_PROG_TEST_RUN): its number in the first PID namespace, which
 * a process in another one cannot ask for. */
SEC("raw_tp/sched_process_exit")
int BPF_PROG(shunt_death_watch)
{
	shunt_death_state.tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

char _license[] SEC("license") = "GPL";
