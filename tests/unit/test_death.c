// SPDX-License-Identifier: BSD-2-Clause
/* Which signals are the end of a daemon, seen when they are given: to a process that is stopped,
 * so that most of them do nothing yet. The oracle is what each does to a process that handles and
 * blocks none, but for what shuntd and its C library do with some. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "shunt_death.h"
#include "shunt_death.skel.h"
#include "shunt_steer.h"

static struct shunt_death *skel;

/* In the place of a port's map. */
static int make_port(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "port", sizeof(uint32_t),
			      sizeof(struct shunt_steer_ctl), 1, &opts);
}

static void start(void)
{
	const int port = make_port();

	skel = shunt_death__open();
	cr_assert_not_null(skel);
	cr_assert_eq(bpf_map__set_inner_map_fd(skel->maps.shunt_death_ports, port), 0);
	bpf_program__set_autoattach(skel->progs.shunt_death_watch, false);
	bpf_program__set_autoattach(skel->progs.shunt_death_exit, false);
	cr_assert_eq(shunt_death__load(skel), 0, "%s", strerror(errno));
	close(port);
	if (shunt_death__attach(skel))
		cr_skip_test("the program cannot be put on its tracepoint here: %s",
			     strerror(errno));
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* As a daemon has them: a sanitizer handles some, a shell ignores some for what it runs in the
 * background. */
static void have_defaults(void)
{
	int sig;

	for (sig = 1; sig <= SIGRTMAX; sig++)
		signal(sig, SIG_DFL);
}

/* A child that is stopped. By its parent's trace, or as anybody. */
static pid_t make_stopped(bool is_traced)
{
	const pid_t pid = fork();

	if (!pid) {
		have_defaults();
		if (is_traced)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	cr_assert_eq(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static bool is_seen(int sig, bool is_traced)
{
	const pid_t pid = make_stopped(is_traced);
	bool is;

	skel->data_shunt_death->shunt_death_state.at_ns = 0;
	skel->data_shunt_death->shunt_death_state.tgid = (uint32_t)pid;
	cr_assert_eq(kill(pid, sig), 0);
	is = *(volatile __u64 *)&skel->data_shunt_death->shunt_death_state.at_ns;
	skel->data_shunt_death->shunt_death_state.tgid = 0;
	end(pid);
	return is;
}

static bool naive_is_fatal(int sig)
{
	const pid_t pid = fork();
	int status;

	if (!pid) {
		have_defaults();
		kill(getpid(), sig);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	if (WIFSTOPPED(status))
		end(pid);
	return WIFSIGNALED(status);
}

/* Waited for by a descriptor, ignored, or handled by the C library. */
static bool is_for_the_daemon(int sig)
{
	return sig == SIGHUP || sig == SIGINT || sig == SIGTERM || sig == SIGPIPE ||
	       (sig > SIGSYS && sig < SIGRTMIN);
}

Test(death, of_every_signal_that_is_fatal)
{
	int sig;

	start();
	for (sig = 1; sig <= SIGRTMAX; sig++) {
		const bool is_fatal = naive_is_fatal(sig) && !is_for_the_daemon(sig);

		cr_expect_eq(is_seen(sig, false), is_fatal, "signal %d, %s", sig, strsignal(sig));
	}
	shunt_death__destroy(skel);
}

/* A debugger gets it, and need not hand it on. */
Test(death, not_of_one_that_a_debugger_gets)
{
	start();
	cr_expect_not(is_seen(SIGTRAP, true));
	cr_expect_not(is_seen(SIGSEGV, true));
	cr_expect(is_seen(SIGKILL, true));
	shunt_death__destroy(skel);
}
