// SPDX-License-Identifier: BSD-2-Clause
/* What the filters refuse and allow, tried in a child each, and what is left of a
 * process's rights. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "serve/rights.h"

TestSuite(rights, .timeout = 120);

/* --- what is tried: 0, or the errno ----------------------------------------------------------- */

static int result(long ret)
{
	return ret < 0 ? errno : 0;
}

static int do_execve(void)
{
	char *argv[] = {"true", NULL};

	return result(execve("/bin/true", argv, NULL));
}

static int do_open_write(void)
{
	return result(open("/dev/null", O_WRONLY));
}

static int do_open_create(void)
{
	return result(open("/tmp/shunt-rights-test", O_RDONLY | O_CREAT | O_TRUNC, 0600));
}

static int do_open_read(void)
{
	return result(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
}

static int do_ptrace(void)
{
	return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int do_mount(void)
{
	return result(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int do_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return result(pid);
}

static int do_kill(void)
{
	return result(kill(getppid(), SIGWINCH));
}

static int do_ask_alive(void)
{
	return result(kill(getpid(), 0));
}

static int do_setuid(void)
{
	return result(syscall(SYS_setuid, 0));
}

static int do_unshare(void)
{
	return result(unshare(CLONE_NEWNET));
}

static int do_chmod(void)
{
	return result(chmod("/dev/null", 0666));
}

static int do_exec_memory(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static int do_memory(void)
{
	void *at = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return errno;
	*(char *)at = 1;
	return result(munmap(at, 1 << 22));
}

static int do_make_exec(void)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int do_inet(void)
{
	return result(socket(AF_INET, SOCK_DGRAM, 0));
}

static int do_packet(void)
{
	return result(socket(AF_PACKET, SOCK_RAW, 0));
}

static int do_unix(void)
{
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int do_netlink(void)
{
	return result(socket(AF_NETLINK, SOCK_RAW, 0));
}

/* The kernel's own refusal would be another than EPERM: an empty program. */
static int do_bpf_load(void)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_XDP};

	return result(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
}

static int do_bpf_lookup(void)
{
	union bpf_attr attr = {.map_fd = (uint32_t)-1};
	int code = result(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)));

	return code == EBADF ? 0 : code;
}

static void *in_thread(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static int do_thread(void)
{
	pthread_t thread;
	int ran = 0, ret = pthread_create(&thread, NULL, in_thread, &ran);

	if (ret)
		return ret;
	pthread_join(thread, NULL);
	return ran ? 0 : EPERM;
}

static int do_write(void)
{
	char byte = 0;

	return result(write(STDERR_FILENO, &byte, 0));
}

static int do_sleep(void)
{
	const struct timespec short_time = {.tv_nsec = 1000};

	return result(nanosleep(&short_time, NULL));
}

static int do_limit(void)
{
	const struct rlimit limit = {16, 16};

	return result(setrlimit(RLIMIT_NOFILE, &limit));
}

static int do_read_limit(void)
{
	struct rlimit limit;

	return result(getrlimit(RLIMIT_NOFILE, &limit));
}

static int do_module(void)
{
	return result(syscall(SYS_init_module, "", 0, ""));
}

static int do_read_other(void)
{
	return result(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static const struct {
	const char *name;
	int (*fn)(void);
	bool control, worker; /* allowed */
} calls[] = {
	{"execve", do_execve, false, false},
	{"open for writing", do_open_write, false, false},
	{"create a file", do_open_create, false, false},
	{"ptrace", do_ptrace, false, false},
	{"mount", do_mount, false, false},
	{"fork", do_fork, false, false},
	{"kill another process", do_kill, false, false},
	{"setuid", do_setuid, false, false},
	{"unshare", do_unshare, false, false},
	{"chmod", do_chmod, false, false},
	{"executable memory", do_exec_memory, false, false},
	{"memory made executable", do_make_exec, false, false},
	{"AF_INET socket", do_inet, false, false},
	{"AF_PACKET socket", do_packet, false, false},
	{"load a BPF program", do_bpf_load, false, false},
	{"set a limit", do_limit, false, false},
	{"load a module", do_module, false, false},
	{"read another process", do_read_other, false, false},
	{"open for reading", do_open_read, true, false},
	{"AF_UNIX socket", do_unix, true, false},
	{"netlink socket", do_netlink, true, false},
	{"look into a BPF map", do_bpf_lookup, true, false},
	{"start a thread", do_thread, true, false},
	{"ask whether a process lives", do_ask_alive, true, false},
	{"read a limit", do_read_limit, true, false},
	{"memory", do_memory, true, true},
	{"write", do_write, true, true},
	{"sleep", do_sleep, true, true},
};

/* Runs fn in a child under the filter. Returns its errno, 200 when the filter did
 * not go in, 255 when a signal ended it. */
static int try_filtered(enum shunt_rights_side side, bool is_filtered, int (*fn)(void))
{
	struct shunt_err err;
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (is_filtered && shunt_rights_filter(side, false, false, &err))
			_exit(200);
		_exit(fn());
	}
	cr_assert(pid > 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The sanitizers' runtime makes calls of its own (of threads' stacks, at exit), which the
 * filters rightly refuse. */
static void skip_under_sanitizers(void)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the sanitizers' own calls are not the daemon's: the filters refuse them");
#endif
}

Test(rights, filters_refuse_what_the_daemon_never_does)
{
	unsigned i;
	int got;

	skip_under_sanitizers();
	for (i = 0; i < SHUNT_ARRAY_LEN(calls); i++) {
		got = try_filtered(SHUNT_RIGHTS_CONTROL, true, calls[i].fn);
		cr_expect_eq(got, calls[i].control ? 0 : EPERM, "control, %s: %d (%s)",
			     calls[i].name, got, strerror(got));
		got = try_filtered(SHUNT_RIGHTS_WORKER, true, calls[i].fn);
		cr_expect_eq(got, calls[i].worker ? 0 : EPERM, "worker, %s: %d (%s)", calls[i].name,
			     got, strerror(got));
	}
}

/* The refusals above are the filter's, not this machine's. */
Test(rights, without_a_filter_they_work)
{
	static int (*const fns[])(void) = {do_open_write, do_fork,	  do_kill,  do_inet,
					   do_make_exec,  do_exec_memory, do_limit, do_execve};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(fns); i++)
		cr_expect_eq(try_filtered(SHUNT_RIGHTS_CONTROL, false, fns[i]), 0, "case %u", i);
}

/* --- a process after the drop ----------------------------------------------------------------- */

static void read_status(const char *task, char *buf, size_t len)
{
	FILE *file = fopen(task, "re");
	size_t n = file ? fread(buf, 1, len - 1, file) : 0;

	buf[n] = 0;
	if (file)
		fclose(file);
}

static bool has_line(const char *status, const char *line)
{
	return strstr(status, line) != NULL;
}

/* In a child: 0, or the number of what is wrong. */
static int drop_and_look(const struct shunt_rights_opts *opts)
{
	struct shunt_err err = {""};
	char status[4096];

	if (shunt_rights_drop(opts, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 10;
	}
	read_status("/proc/thread-self/status", status, sizeof(status));
	if (!has_line(status, "\nCapEff:\t0000000000001000\n") ||
	    !has_line(status, "\nCapPrm:\t0000000000001000\n"))
		return 11;
	if (!has_line(status, "\nCapBnd:\t0000000000000000\n"))
		return 12;
	if (!has_line(status, "\nNoNewPrivs:\t1\n") || !has_line(status, "\nSeccomp:\t2\n"))
		return 13;
	if (opts->user && !has_line(status, "\nUid:\t65534\t65534\t65534\t65534\n"))
		return 14;
	if (shunt_rights_enter_worker((void *)opts, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 15;
	}
	/* a worker can open nothing any more */
	return open("/proc/self/status", O_RDONLY) >= 0 ? 16 : 0;
}

static int in_child(const struct shunt_rights_opts *opts)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(drop_and_look(opts));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

Test(rights, what_is_left_of_root)
{
	const struct shunt_rights_opts stay = {0}, become = {.user = "nobody"},
				       nobody = {.user = "no-such-user"};

	skip_under_sanitizers();
	if (geteuid())
		cr_skip_test("needs root: capabilities to drop");
	cr_expect_eq(in_child(&stay), 0);
	cr_expect_eq(in_child(&become), 0);
	cr_expect_eq(in_child(&nobody), 10);
}
