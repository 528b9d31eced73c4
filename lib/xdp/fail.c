// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xdp/btf.h"
#include "xdp/private.h"
#include "shunt_fail.skel.h"

struct shunt_xdp_fail {
	struct shunt_fail *skel;
	struct shunt_fail_ports *ports; /* mapped, shared with the programs */
};

static const char *const names[] = {
#define X(name, help) #name,
	SHUNT_FAIL_REASONS(X)
#undef X
};

static const char *const helps[] = {
#define X(name, help) help,
	SHUNT_FAIL_REASONS(X)
#undef X
};

const char *shunt_xdp_fail_name(enum shunt_fail_reason reason)
{
	return (unsigned)reason < SHUNT_FAIL_CNT ? names[reason] : "?";
}

const char *shunt_xdp_fail_help(enum shunt_fail_reason reason)
{
	return (unsigned)reason < SHUNT_FAIL_CNT ? helps[reason] : "?";
}

static int load_error(int code, struct shunt_err *err)
{
	if (code == EPERM || code == EACCES)
		return shunt_err_set(err, EPERM,
				     "failed redirects cannot be counted: CAP_BPF and CAP_PERFMON "
				     "are missing; run as root, or grant both");
	return shunt_err_set(err, EOPNOTSUPP,
			     "failed redirects cannot be counted: the kernel does not take the "
			     "programs for its tracepoints xdp_redirect_err, xdp_devmap_xmit and "
			     "xdp_exception (%s); it must have BTF (/sys/kernel/btf/vmlinux)",
			     strerror(code));
}

static int start(struct shunt_xdp_fail *fail, const uint32_t *ifindexes, unsigned cnt)
{
	struct shunt_fail_ports *ports;
	struct stat netns;
	unsigned i;
	int rc;

	if (stat("/proc/thread-self/ns/net", &netns))
		return -errno;
	rc = shunt_fail__load(fail->skel);
	if (rc)
		return rc;
	ports = &fail->skel->data_shunt_fail->shunt_fail_ports;
	ports->netns = (uint32_t)netns.st_ino;
	ports->cnt = cnt;
	for (i = 0; i < cnt; i++)
		ports->ports[i].ifindex = ifindexes[i];
	fail->ports = ports;
	return shunt_fail__attach(fail->skel);
}

int shunt_xdp_fail_open(struct shunt_xdp_fail **out, const uint32_t *ifindexes, unsigned cnt,
			struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct shunt_xdp_fail *fail;
	struct shunt_xdp_log before;
	struct shunt_xdp_btf btf;
	int rc;

	if (cnt > SHUNT_FAIL_PORTS_MAX)
		return shunt_err_set(err, E2BIG, "failed redirects: %u ports, expected at most %u",
				     cnt, SHUNT_FAIL_PORTS_MAX);
	fail = calloc(1, sizeof(*fail));
	if (!fail)
		return shunt_err_set(err, ENOMEM, "failed redirects: not enough memory");
	before = shunt_xdp_log_begin();
	opts.btf_custom_path = shunt_xdp_btf_open(&btf);
	fail->skel = shunt_fail__open_opts(&opts);
	rc = fail->skel ? start(fail, ifindexes, cnt) : -errno;
	shunt_xdp_btf_close(&btf);
	shunt_xdp_log_end(before);
	if (rc) {
		shunt_xdp_fail_close(fail);
		return load_error(-rc, err);
	}
	*out = fail;
	return 0;
}

void shunt_xdp_fail_set_detour(struct shunt_xdp_fail *fail, unsigned port, uint32_t detour)
{
	__atomic_store_n(&fail->ports->ports[port].detour, detour, __ATOMIC_RELAXED);
}

uint64_t shunt_xdp_fail_read(const struct shunt_xdp_fail *fail, unsigned port,
			     enum shunt_fail_reason reason)
{
	/* The programs add to it, and order nothing by it. */
	return __atomic_load_n(&fail->ports->ports[port].packets[reason], __ATOMIC_RELAXED);
}

void shunt_xdp_fail_close(struct shunt_xdp_fail *fail)
{
	if (!fail)
		return;
	shunt_fail__destroy(fail->skel);
	free(fail);
}
