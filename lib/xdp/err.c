// SPDX-License-Identifier: BSD-2-Clause
/* What went wrong with a program on a device, as one sentence with its remedy. */
#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/kernel.h"
#include "xdp/private.h"

#define LOG_LEN 4096

/* What libbpf and libxdp say during one of our calls goes into an error sentence, not to stderr.
 * The callbacks are the process's. The text is the thread's. */
static __thread struct {
	char text[LOG_LEN];
	size_t used;
} log_of_call;

static int log_keep(const char *fmt, va_list ap)
{
	size_t room = sizeof(log_of_call.text) - log_of_call.used;
	int len = vsnprintf(log_of_call.text + log_of_call.used, room, fmt, ap);

	if (len > 0)
		log_of_call.used += (size_t)len < room ? (size_t)len : room - 1;
	return len;
}

static int log_bpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? log_keep(fmt, ap) : 0;
}

static int log_xdp(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	return level == LIBXDP_WARN ? log_keep(fmt, ap) : 0;
}

struct shunt_xdp_log shunt_xdp_log_begin(void)
{
	struct shunt_xdp_log before = {.bpf = libbpf_set_print(log_bpf),
				       .xdp = libxdp_set_print(log_xdp)};

	log_of_call.used = 0;
	log_of_call.text[0] = 0;
	shunt_xdp_fds_look(&before.fds);
	return before;
}

void shunt_xdp_log_end(struct shunt_xdp_log before)
{
	libbpf_set_print(before.bpf);
	libxdp_set_print(before.xdp);
	shunt_xdp_fds_sweep(&before.fds, NULL);
}

/* Copies the rest of the log's line behind mark; "" where mark is not there. */
static const char *log_line(const char *mark, char *buf, size_t len)
{
	const char *at = strstr(log_of_call.text, mark);

	buf[0] = 0;
	if (at) {
		at += strlen(mark);
		snprintf(buf, len, "%.*s", (int)strcspn(at, "\n"), at);
	}
	return buf;
}

/* ---- rights and kernel ---------------------------------------------------------------------- */

int shunt_xdp_err_rights(const char *ifname, struct shunt_err *err)
{
	bool has_net, has_sys;

	if (capng_get_caps_process())
		return 0; /* unknown: let the kernel decide */
	has_net = capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN);
	has_sys = capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN);
	if (has_net && has_sys)
		return 0;
	return shunt_err_set(
		err, EPERM,
		"%s: attaching the XDP program needs %s%s%s, which this process lacks; "
		"run it as root",
		ifname, has_net ? "" : "CAP_NET_ADMIN", has_net || has_sys ? "" : " and ",
		has_sys ? "" : "CAP_SYS_ADMIN");
}

int shunt_xdp_err_load(const char *ifname, int code, struct shunt_err *err)
{
	struct shunt_kernel kernel;
	char words[120];

	shunt_kernel_query(&kernel);
	if (kernel.major && !shunt_kernel_has(&kernel, SHUNT_KERNEL_load_bytes))
		return shunt_err_set(err, ENOSYS,
				     "%s: Linux %s cannot load the steering program, which needs "
				     "%s or newer",
				     ifname, kernel.release,
				     shunt_kernel_since(SHUNT_KERNEL_load_bytes));
	if (code == EPERM)
		return shunt_err_set(err, EPERM,
				     "%s: bpf(BPF_PROG_LOAD): not permitted, though this process "
				     "has the capabilities; a user namespace, a container or "
				     "kernel lockdown forbids it",
				     ifname);
	log_line("prog '" SHUNT_STEER_PROG "': ", words, sizeof(words));
	return shunt_err_set(err, code,
			     "%s: loading the steering program: %s; libbpf says: %s; `bpftool -d "
			     "prog load` of shunt_steer.bpf.o shows why",
			     ifname, strerror(code), words);
}

int shunt_xdp_err_attach(const struct shunt_xdp *x, int code, struct shunt_err *err)
{
	const char *ifname = x->ifname, *mode = shunt_xdp_mode_name(x->requested);
	char words[160];

	/* The driver's own words. libbpf takes them from the netlink answer. */
	log_line("Kernel error message: ", words, sizeof(words));
	if (code == EOPNOTSUPP && x->requested == SHUNT_XDP_NATIVE)
		return shunt_err_set(
			err, code,
			"%s: its driver has no native XDP%s%s; choose driver mode generic "
			"for it (--driver-mode generic, slower) or another NIC",
			ifname, words[0] ? ": " : "", words);
	if (strstr(words, "MTU") || strstr(words, "mtu"))
		return shunt_err_set(err, code,
				     "%s: its driver refuses %s XDP with this MTU: \"%s\"; lower "
				     "it with `ip link set dev %s mtu 1500` (a veth's peer too)",
				     ifname, mode, words, ifname);
	if (code == EBUSY || code == EEXIST)
		return shunt_err_set(err, EBUSY,
				     "%s: another XDP program was attached meanwhile; see "
				     "`bpftool net show dev %s`",
				     ifname, ifname);
	if (words[0])
		return shunt_err_set(err, code, "%s: its driver refuses %s XDP: \"%s\" (%s)",
				     ifname, mode, words, strerror(code));
	return shunt_err_set(err, code,
			     "%s: its driver refuses %s XDP: %s; the kernel's log (dmesg) may say "
			     "why",
			     ifname, mode, strerror(code));
}
