// SPDX-License-Identifier: BSD-2-Clause
/* The seccomp filters: what is not listed is refused with EPERM and logged. The
 * lists were found by strace of cross-connect with busy polling, route and bridge
 * with every show command, and hold what glibc may use in the place of those calls. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "serve/rights.h"

#define SYSCALL(name) SCMP_SYS(name)

/* Both sides: time, memory that is not executable, descriptors that are open. */
static const int common[] = {
	SYSCALL(read),
	SYSCALL(write),
	SYSCALL(readv),
	SYSCALL(writev),
	SYSCALL(lseek),
	SYSCALL(close),
	SYSCALL(fstat),
	SYSCALL(recvfrom),
	SYSCALL(recvmsg),
	SYSCALL(recvmmsg),
	SYSCALL(sendto),
	SYSCALL(sendmsg),
	SYSCALL(sendmmsg),
	SYSCALL(poll),
	SYSCALL(ppoll),
	SYSCALL(futex),
	SYSCALL(munmap),
	SYSCALL(madvise),
	SYSCALL(mremap),
	SYSCALL(brk),
	SYSCALL(clock_gettime),
	SYSCALL(clock_nanosleep),
	SYSCALL(nanosleep),
	SYSCALL(gettimeofday),
	SYSCALL(restart_syscall),
	SYSCALL(sched_yield),
	SYSCALL(sched_getaffinity),
	SYSCALL(getcpu),
	SYSCALL(gettid),
	SYSCALL(getpid),
	SYSCALL(getrandom),
	SYSCALL(rt_sigreturn),
	SYSCALL(rt_sigprocmask),
	SYSCALL(membarrier),
	SYSCALL(exit),
	SYSCALL(exit_group),
	SYSCALL(rseq),
	SYSCALL(set_robust_list),
};

static const int control_only[] = {
	SYSCALL(accept4),     SYSCALL(bind),
	SYSCALL(connect),     SYSCALL(shutdown),
	SYSCALL(getsockname), SYSCALL(getpeername),
	SYSCALL(getsockopt),  SYSCALL(setsockopt),
	SYSCALL(epoll_wait),  SYSCALL(epoll_pwait),
	SYSCALL(epoll_ctl),   SYSCALL(timerfd_settime),
	SYSCALL(eventfd2),    SYSCALL(fcntl),
	SYSCALL(dup),	      SYSCALL(dup2),
	SYSCALL(dup3),	      SYSCALL(newfstatat),
	SYSCALL(statx),	      SYSCALL(access),
	SYSCALL(faccessat),   SYSCALL(faccessat2),
	SYSCALL(readlink),    SYSCALL(readlinkat),
	SYSCALL(getdents64),  SYSCALL(unlink),
	SYSCALL(uname),	      SYSCALL(getuid),
	SYSCALL(geteuid),     SYSCALL(getgid),
	SYSCALL(getegid),     SYSCALL(rt_sigaction),
	SYSCALL(sigaltstack), SYSCALL(sched_setaffinity),
	SYSCALL(capget),      SYSCALL(capset),
	SYSCALL(seccomp),     SYSCALL(unlinkat),
};

/* libxdp puts a new dispatcher in the place of ours: it loads it from its file, which libelf reads
 * with pread, and pins it. */
static const int dispatcher_only[] = {
	SYSCALL(bpf),	SYSCALL(openat), SYSCALL(open),	    SYSCALL(mkdir),	SYSCALL(mkdirat),
	SYSCALL(rmdir), SYSCALL(rename), SYSCALL(renameat), SYSCALL(renameat2), SYSCALL(statfs),
	SYSCALL(flock), SYSCALL(getcwd), SYSCALL(pread64),
};

static int allow(scmp_filter_ctx ctx, const int *calls, unsigned cnt)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	return ret;
}

/* The low 32 bits of argument arg, masked, are value: int arguments come with
 * anything above them. */
static int allow_if(scmp_filter_ctx ctx, int call, unsigned arg, uint32_t mask, uint32_t value)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, value));
}

static int allow_values(scmp_filter_ctx ctx, int call, unsigned arg, const uint32_t *values,
			unsigned cnt)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++)
		ret = allow_if(ctx, call, arg, UINT32_MAX, values[i]);
	return ret;
}

static int allow_memory(scmp_filter_ctx ctx)
{
	int ret = allow_if(ctx, SYSCALL(mmap), 2, PROT_EXEC, 0);

	return ret ? ret : allow_if(ctx, SYSCALL(mprotect), 2, PROT_EXEC, 0);
}

/* raise() and abort() of this process, no other. */
static int allow_abort(scmp_filter_ctx ctx)
{
	return allow_if(ctx, SYSCALL(tgkill), 0, UINT32_MAX, (uint32_t)getpid());
}

/* Maps that are open, and what is attached; nothing is loaded. The tables of lane xdp are maps
 * that are made as they grow. */
static int allow_bpf(scmp_filter_ctx ctx, bool has_tables)
{
	static const uint32_t commands[] = {
		BPF_MAP_LOOKUP_ELEM,	BPF_MAP_UPDATE_ELEM,   BPF_MAP_DELETE_ELEM,
		BPF_MAP_GET_NEXT_KEY,	BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID,
		BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_QUERY,	       BPF_PROG_TEST_RUN,
		BPF_LINK_DETACH,
	};
	int ret = has_tables ? allow_if(ctx, SYSCALL(bpf), 0, UINT32_MAX, BPF_MAP_CREATE) : 0;

	return ret ? ret : allow_values(ctx, SYSCALL(bpf), 0, commands, SHUNT_ARRAY_LEN(commands));
}

static int allow_sockets(scmp_filter_ctx ctx)
{
	static const uint32_t families[] = {AF_UNIX, AF_NETLINK};
	static const uint32_t requests[] = {SIOCETHTOOL,   SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFFLAGS,
					    SIOCGIFHWADDR, SIOCGIFMTU,	 TCGETS,      FIONREAD};
	int ret = allow_values(ctx, SYSCALL(socket), 0, families, SHUNT_ARRAY_LEN(families));

	return ret ? ret
		   : allow_values(ctx, SYSCALL(ioctl), 1, requests, SHUNT_ARRAY_LEN(requests));
}

/* Reading /proc and /sys; nothing is created or written. */
static int allow_reading(scmp_filter_ctx ctx)
{
	const uint32_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | (uint32_t)(O_TMPFILE & ~O_DIRECTORY);
	int ret = allow_if(ctx, SYSCALL(openat), 2, writing, O_RDONLY);

	return ret ? ret : allow_if(ctx, SYSCALL(open), 1, writing, O_RDONLY);
}

/* Threads, not processes. clone3 hides its flags from a filter: glibc falls back. */
static int allow_threads(scmp_filter_ctx ctx)
{
	static const uint32_t options[] = {
		PR_SET_NAME,	   PR_GET_NAME,	    PR_SET_NO_NEW_PRIVS,
		PR_SET_SECCOMP,	   PR_CAPBSET_READ, PR_CAP_AMBIENT,
		PR_GET_SECUREBITS, PR_GET_DUMPABLE, PR_GET_SECCOMP,
	};
	int ret = allow_if(ctx, SYSCALL(clone), 0, CLONE_THREAD, CLONE_THREAD);

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SYSCALL(clone3), 0);
	if (!ret)
		ret = allow_values(ctx, SYSCALL(prctl), 0, options, SHUNT_ARRAY_LEN(options));
	/* reading limits, and asking whether a process lives */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SYSCALL(prlimit64), 1,
				       SCMP_CMP(2, SCMP_CMP_EQ, 0));
	return ret ? ret : allow_if(ctx, SYSCALL(kill), 1, UINT32_MAX, 0);
}

static int add_control(scmp_filter_ctx ctx, bool has_dispatcher, bool has_tables)
{
	int ret = allow(ctx, control_only, SHUNT_ARRAY_LEN(control_only));

	if (!ret)
		ret = allow_sockets(ctx);
	if (!ret)
		ret = allow_threads(ctx);
	if (!ret && has_dispatcher)
		return allow(ctx, dispatcher_only, SHUNT_ARRAY_LEN(dispatcher_only));
	if (!ret)
		ret = allow_bpf(ctx, has_tables);
	return ret ? ret : allow_reading(ctx);
}

static int fill(scmp_filter_ctx ctx, enum shunt_rights_side side, bool has_dispatcher,
		bool has_tables)
{
	int ret = allow(ctx, common, SHUNT_ARRAY_LEN(common));

	if (!ret)
		ret = allow_memory(ctx);
	if (!ret)
		ret = allow_abort(ctx);
	if (!ret && side == SHUNT_RIGHTS_CONTROL)
		ret = add_control(ctx, has_dispatcher, has_tables);
	return ret;
}

int shunt_rights_filter(enum shunt_rights_side side, bool has_dispatcher, bool has_tables,
			struct shunt_err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret;

	if (!ctx)
		return shunt_err_set(err, ENOMEM, "seccomp: not enough memory");
	/* A binary search instead of a list: syscalls are the workers' cost. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
	ret = fill(ctx, side, has_dispatcher, has_tables);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	if (ret)
		return shunt_err_set(err, -ret,
				     "cannot put the seccomp filter in force: %s; the kernel needs "
				     "CONFIG_SECCOMP_FILTER, or start with --no-seccomp",
				     strerror(-ret));
	return 0;
}
