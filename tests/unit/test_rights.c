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

static int do_bpf_create(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY};
	int code = result(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));

	return code == EINVAL ? 0 : code;
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
	bool control, worker, helper; /* allowed */
} calls[] = {
	{"execve", do_execve, false, false, false},
	{"open for writing", do_open_write, false, false, false},
	{"create a file", do_open_create, false, false, false},
	{"ptrace", do_ptrace, false, false, false},
	{"mount", do_mount, false, false, false},
	{"fork", do_fork, false, false, false},
	{"kill another process", do_kill, false, false, false},
	{"setuid", do_setuid, false, false, false},
	{"unshare", do_unshare, false, false, false},
	{"chmod", do_chmod, false, false, false},
	{"executable memory", do_exec_memory, false, false, false},
	{"memory made executable", do_make_exec, false, false, false},
	{"AF_INET socket", do_inet, false, false, false},
	{"AF_PACKET socket", do_packet, false, false, false},
	{"load a BPF program", do_bpf_load, false, false, false},
	{"make a BPF map", do_bpf_create, false, false, false},
	{"set a limit", do_limit, false, false, false},
	{"load a module", do_module, false, false, false},
	{"read another process", do_read_other, false, false, false},
	{"open for reading", do_open_read, true, false, true},
	{"AF_UNIX socket", do_unix, true, false, true},
	{"netlink socket", do_netlink, true, false, true},
	{"look into a BPF map", do_bpf_lookup, true, false, true},
	{"start a thread", do_thread, true, false, false},
	{"ask whether a process lives", do_ask_alive, true, false, false},
	{"read a limit", do_read_limit, true, false, false},
	{"memory", do_memory, true, true, true},
	{"write", do_write, true, true, true},
	{"sleep", do_sleep, true, true, true},
};

/* Runs fn in a child under the filter of opts. Returns its errno, 200 when the filter did not go
 * in, 255 when a signal ended it. */
static int try_in(enum shunt_rights_side side, const struct shunt_rights_opts *opts,
		  int (*fn)(void))
{
	struct shunt_err err;
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (opts && shunt_rights_filter(side, opts, &err))
			_exit(200);
		_exit(fn());
	}
	cr_assert(pid > 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int try_filtered(enum shunt_rights_side side, bool is_filtered, int (*fn)(void))
{
	const struct shunt_rights_opts plain = {0};

	return try_in(side, is_filtered ? &plain : NULL, fn);
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
		got = try_filtered(SHUNT_RIGHTS_HELPER, true, calls[i].fn);
		cr_expect_eq(got, calls[i].helper ? 0 : EPERM, "helper, %s: %d (%s)", calls[i].name,
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

/* What the helper may do besides depends on what it is asked to do. */
Test(rights, the_helper_makes_only_what_its_verbs_need)
{
	const struct shunt_rights_opts tables = {.has_tables = true},
				       dispatcher = {.loads_later = true};

	skip_under_sanitizers();
	cr_expect_eq(try_in(SHUNT_RIGHTS_HELPER, &tables, do_bpf_create), 0);
	cr_expect_eq(try_in(SHUNT_RIGHTS_HELPER, &tables, do_bpf_load), EPERM);
	cr_expect_eq(try_in(SHUNT_RIGHTS_HELPER, &dispatcher, do_bpf_create), 0);
	cr_expect_neq(try_in(SHUNT_RIGHTS_HELPER, &dispatcher, do_bpf_load), EPERM);
	cr_expect_eq(try_in(SHUNT_RIGHTS_HELPER, &dispatcher, do_open_write), EPERM);
	cr_expect_eq(try_in(SHUNT_RIGHTS_HELPER, &dispatcher, do_execve), EPERM);
	/* the daemon's filter knows no such exceptions */
	cr_expect_eq(try_in(SHUNT_RIGHTS_CONTROL, &tables, do_bpf_create), EPERM);
	cr_expect_eq(try_in(SHUNT_RIGHTS_CONTROL, &dispatcher, do_bpf_load), EPERM);
}

#define NONE	   0ULL
#define NET_ADMIN  (1ULL << 12)
#define SYS_ADMIN  (1ULL << 21)
#define PERFMON	   (1ULL << 38)
#define BPF	   (1ULL << 39)
#define DAC	   (1ULL << 1)
#define DISPATCHER (NET_ADMIN | SYS_ADMIN | PERFMON | BPF)

struct drop {
	enum shunt_rights_side side;
	struct shunt_rights_opts opts;
	unsigned long long caps; /* that are left */
};

/* In a child: 0, or the number of what is wrong. */
static int drop_and_look(const struct drop *drop)
{
	const struct shunt_rights_opts *opts = &drop->opts;
	char status[4096], effective[64], permitted[64];
	struct shunt_err err = {""};

	if (drop->side == SHUNT_RIGHTS_HELPER ? shunt_rights_drop_helper(opts, &err)
					      : shunt_rights_drop(opts, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 10;
	}
	read_status("/proc/thread-self/status", status, sizeof(status));
	snprintf(effective, sizeof(effective), "\nCapEff:\t%016llx\n", drop->caps);
	snprintf(permitted, sizeof(permitted), "\nCapPrm:\t%016llx\n", drop->caps);
	if (!has_line(status, effective) || !has_line(status, permitted))
		return 11;
	if (!has_line(status, "\nCapBnd:\t0000000000000000\n"))
		return 12;
	if (!has_line(status, "\nNoNewPrivs:\t1\n") || !has_line(status, "\nSeccomp:\t2\n"))
		return 13;
	if (opts->user && !has_line(status, "\nUid:\t65534\t65534\t65534\t65534\n"))
		return 14;
	if (drop->side == SHUNT_RIGHTS_HELPER)
		return 0;
	if (shunt_rights_enter_worker((void *)opts, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 15;
	}
	/* a worker can open nothing any more */
	return open("/proc/self/status", O_RDONLY) >= 0 ? 16 : 0;
}

static int in_child(const struct drop *drop)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(drop_and_look(drop));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* As the manual says (RIGHTS). */
Test(rights, what_is_left_of_root)
{
	static const struct drop drops[] = {
		{SHUNT_RIGHTS_CONTROL, {0}, NONE},
		{SHUNT_RIGHTS_CONTROL, {.user = "nobody"}, NONE},
		{SHUNT_RIGHTS_CONTROL, {.has_tables = true, .loads_later = true}, NONE},
		{SHUNT_RIGHTS_CONTROL, {.has_network = true}, NET_ADMIN},
		{SHUNT_RIGHTS_CONTROL, {.has_punt = true, .user = "nobody"}, NET_ADMIN},
		{SHUNT_RIGHTS_HELPER, {0}, NET_ADMIN},
		{SHUNT_RIGHTS_HELPER, {.user = "nobody"}, NET_ADMIN},
		{SHUNT_RIGHTS_HELPER, {.has_tables = true}, NET_ADMIN | BPF},
		{SHUNT_RIGHTS_HELPER, {.has_taps = true}, NET_ADMIN | BPF | PERFMON},
		{SHUNT_RIGHTS_HELPER, {.loads_later = true}, DISPATCHER},
		{SHUNT_RIGHTS_HELPER, {.loads_later = true, .user = "nobody"}, DISPATCHER | DAC},
	};
	const struct drop nobody = {.opts = {.user = "no-such-user"}};
	unsigned i;

	skip_under_sanitizers();
	if (geteuid())
		cr_skip_test("needs root: capabilities to drop");
	for (i = 0; i < SHUNT_ARRAY_LEN(drops); i++)
		cr_expect_eq(in_child(&drops[i]), 0, "row %u", i);
	cr_expect_eq(in_child(&nobody), 10);
}
