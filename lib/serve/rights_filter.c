// SPDX-License-Identifier: BSD-2-Clause
/* The seccomp filters: what is not listed is refused with EPERM and logged. The lists hold the
 * calls of cross-connect with busy polling, of route and bridge with every show command, and what
 * glibc may use in their place. */
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

/* Both sides: time, memory that is not executable, descriptors that are open. */
static const int common[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(futex),
	SCMP_SYS(munmap),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getcpu),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(membarrier),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rseq),
	SCMP_SYS(set_robust_list),
};

static const int control_only[] = {
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(eventfd2),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(unlink),
	SCMP_SYS(uname),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(unlinkat),
	SCMP_SYS(pread64),
	SCMP_SYS(wait4), /* for the helper's end */
	/* the rings of a capture */
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(pwrite64),
};

/* Netlink and ethtool for programs and detours, /proc and /sys, the journal's pins. */
static const int helper_only[] = {
	SCMP_SYS(bind),	      SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	SCMP_SYS(connect),    SCMP_SYS(fcntl),	     SCMP_SYS(dup),	   SCMP_SYS(dup2),
	SCMP_SYS(dup3),	      SCMP_SYS(newfstatat),  SCMP_SYS(statx),	   SCMP_SYS(access),
	SCMP_SYS(faccessat),  SCMP_SYS(faccessat2),  SCMP_SYS(readlink),   SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64), SCMP_SYS(uname),	     SCMP_SYS(getuid),	   SCMP_SYS(geteuid),
	SCMP_SYS(getegid),    SCMP_SYS(getgid),	     SCMP_SYS(getppid),	   SCMP_SYS(capget),
	SCMP_SYS(pread64),    SCMP_SYS(unlinkat),
};

/* libxdp replaces the dispatcher: it loads another one from its file, which libelf reads with
 * pread, and pins it. */
static const int dispatcher_only[] = {
	SCMP_SYS(bpf),	  SCMP_SYS(mkdir),  SCMP_SYS(mkdirat),	SCMP_SYS(rmdir),
	SCMP_SYS(unlink), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(statfs), SCMP_SYS(flock),  SCMP_SYS(getcwd),
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
	int ret = allow_if(ctx, SCMP_SYS(mmap), 2, PROT_EXEC, 0);

	return ret ? ret : allow_if(ctx, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
}

/* raise() and abort() of this process, no other. */
static int allow_abort(scmp_filter_ctx ctx)
{
	return allow_if(ctx, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid());
}

/* Maps that are open, and what is attached. Nothing is loaded. */
static int allow_bpf(scmp_filter_ctx ctx)
{
	static const uint32_t commands[] = {
		BPF_MAP_LOOKUP_ELEM,	BPF_MAP_UPDATE_ELEM,   BPF_MAP_DELETE_ELEM,
		BPF_MAP_GET_NEXT_KEY,	BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID,
		BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_QUERY,	       BPF_PROG_TEST_RUN,
		BPF_LINK_DETACH,
	};

	return allow_values(ctx, SCMP_SYS(bpf), 0, commands, SHUNT_ARRAY_LEN(commands));
}

/* The tables of lane xdp grow by new maps. Tapped programs are loaded, with maps of their own. */
static int allow_making(scmp_filter_ctx ctx, const struct shunt_rights_opts *opts)
{
	static const uint32_t loading[] = {BPF_PROG_LOAD, BPF_BTF_LOAD, BPF_MAP_FREEZE,
					   BPF_BTF_GET_FD_BY_ID, BPF_PROG_BIND_MAP};
	int ret = allow_bpf(ctx);

	if (!ret && (opts->has_tables || opts->has_taps))
		ret = allow_if(ctx, SCMP_SYS(bpf), 0, UINT32_MAX, BPF_MAP_CREATE);
	if (!ret && opts->has_taps)
		ret = allow_values(ctx, SCMP_SYS(bpf), 0, loading, SHUNT_ARRAY_LEN(loading));
	return ret;
}

static int allow_sockets(scmp_filter_ctx ctx)
{
	static const uint32_t families[] = {AF_UNIX, AF_NETLINK};
	static const uint32_t requests[] = {SIOCETHTOOL,   SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFFLAGS,
					    SIOCGIFHWADDR, SIOCGIFMTU,	 TCGETS,      FIONREAD};
	int ret = allow_values(ctx, SCMP_SYS(socket), 0, families, SHUNT_ARRAY_LEN(families));

	return ret ? ret
		   : allow_values(ctx, SCMP_SYS(ioctl), 1, requests, SHUNT_ARRAY_LEN(requests));
}

/* Reading /proc and /sys; nothing is created or written. */
static int allow_reading(scmp_filter_ctx ctx)
{
	const uint32_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | (uint32_t)(O_TMPFILE & ~O_DIRECTORY);
	int ret = allow_if(ctx, SCMP_SYS(openat), 2, writing, O_RDONLY);

	return ret ? ret : allow_if(ctx, SCMP_SYS(open), 1, writing, O_RDONLY);
}

/* Threads, not processes. clone3 hides its flags from a filter: glibc falls back. */
static int allow_threads(scmp_filter_ctx ctx)
{
	static const uint32_t options[] = {
		PR_SET_NAME,	   PR_GET_NAME,	    PR_SET_NO_NEW_PRIVS,
		PR_SET_SECCOMP,	   PR_CAPBSET_READ, PR_CAP_AMBIENT,
		PR_GET_SECUREBITS, PR_GET_DUMPABLE, PR_GET_SECCOMP,
	};
	int ret = allow_if(ctx, SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD);

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!ret)
		ret = allow_values(ctx, SCMP_SYS(prctl), 0, options, SHUNT_ARRAY_LEN(options));
	/* reading limits, and asking whether a process lives */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				       SCMP_CMP(2, SCMP_CMP_EQ, 0));
	return ret ? ret : allow_if(ctx, SCMP_SYS(kill), 1, UINT32_MAX, 0);
}

static int add_control(scmp_filter_ctx ctx)
{
	int ret = allow(ctx, control_only, SHUNT_ARRAY_LEN(control_only));

	if (!ret)
		ret = allow_sockets(ctx);
	if (!ret)
		ret = allow_threads(ctx);
	if (!ret)
		ret = allow_bpf(ctx);
	return ret ? ret : allow_reading(ctx);
}

static int add_helper(scmp_filter_ctx ctx, const struct shunt_rights_opts *opts)
{
	int ret = allow(ctx, helper_only, SHUNT_ARRAY_LEN(helper_only));

	if (!ret)
		ret = allow_sockets(ctx);
	if (!ret)
		ret = allow_reading(ctx);
	if (!ret)
		ret = allow_if(ctx, SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_PDEATHSIG);
	if (!ret) /* a wire's device is promiscuous no more */
		ret = allow_if(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX, SIOCSIFFLAGS);
	if (ret)
		return ret;
	return opts->loads_later ? allow(ctx, dispatcher_only, SHUNT_ARRAY_LEN(dispatcher_only))
				 : allow_making(ctx, opts);
}

static int fill(scmp_filter_ctx ctx, enum shunt_rights_side side,
		const struct shunt_rights_opts *opts)
{
	int ret = allow(ctx, common, SHUNT_ARRAY_LEN(common));

	if (!ret)
		ret = allow_memory(ctx);
	if (!ret)
		ret = allow_abort(ctx);
	if (!ret && side == SHUNT_RIGHTS_CONTROL)
		ret = add_control(ctx);
	if (!ret && side == SHUNT_RIGHTS_HELPER)
		ret = add_helper(ctx, opts);
	return ret;
}

int shunt_rights_filter(enum shunt_rights_side side, const struct shunt_rights_opts *opts,
			struct shunt_err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret;

	if (!ctx)
		return shunt_err_set(err, ENOMEM, "seccomp: not enough memory");
	/* A binary search instead of a list makes each system call of a worker cheaper. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
	ret = fill(ctx, side, opts);
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
