// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/death.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "xdp/btf.h"
#include "xdp/private.h"
#include "shunt_death.h"
#include "shunt_death.skel.h"

struct shunt_xdp_death {
	struct shunt_death *skel;
};

static int load_error(int code, struct shunt_err *err)
{
	if (code == EPERM || code == EACCES)
		return shunt_err_set(
			err, EPERM,
			"the daemon's death cannot be watched: CAP_BPF and CAP_PERFMON "
			"are missing; run as root, or grant both");
	return shunt_err_set(err, EOPNOTSUPP,
			     "the daemon's death cannot be watched: the kernel does not take the "
			     "programs for its tracepoints signal_generate and sched_process_exit "
			     "(%s); it must have BTF (/sys/kernel/btf/vmlinux)",
			     strerror(code));
}

/* The program is run by this process, and notes whose death is meant. */
static int note_self(struct shunt_death *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	const int rc =
		bpf_prog_test_run_opts(bpf_program__fd(skel->progs.shunt_death_watch), &opts);

	return rc ? rc : skel->data_shunt_death->shunt_death_state.tgid ? 0 : -EIO;
}

static int start(struct shunt_death *skel, struct shunt_xdp *const *ports, unsigned cnt)
{
	const int outer = bpf_map__fd(skel->maps.shunt_death_ports);
	uint32_t i;
	int rc = 0;

	for (i = 0; i < cnt && !rc; i++)
		rc = bpf_map_update_elem(outer, &i, &ports[i]->ctl_fd, BPF_ANY);
	if (rc)
		return rc;
	skel->data_shunt_death->shunt_death_state.cnt = cnt;
	rc = note_self(skel);
	return rc ? rc : shunt_death__attach(skel);
}

int shunt_xdp_death_open(struct shunt_xdp_death **out, struct shunt_xdp *const *ports, unsigned cnt,
			 struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct shunt_xdp_death *death;
	struct shunt_xdp_log before;
	struct shunt_xdp_btf btf;
	int rc;

	if (cnt > SHUNT_DEATH_PORTS_MAX)
		return shunt_err_set(err, E2BIG,
				     "the daemon's death: %u ports, expected at most %u", cnt,
				     SHUNT_DEATH_PORTS_MAX);
	death = calloc(1, sizeof(*death));
	if (!death)
		return shunt_err_set(err, ENOMEM, "the daemon's death: not enough memory");
	before = shunt_xdp_log_begin();
	opts.btf_custom_path = shunt_xdp_btf_open(&btf);
	death->skel = shunt_death__open_opts(&opts);
	rc = death->skel ? 0 : -errno;
	if (death->skel) {
		/* run by this process alone */
		bpf_program__set_autoattach(death->skel->progs.shunt_death_watch, false);
		/* Which kind of map it holds, a port's own shows: for Linux 6.1 types of BTF are
		 * part of the kind. */
		rc = bpf_map__set_inner_map_fd(death->skel->maps.shunt_death_ports,
					       ports[0]->ctl_fd);
		rc = rc ? rc : shunt_death__load(death->skel);
		rc = rc ? rc : start(death->skel, ports, cnt);
	}
	shunt_xdp_btf_close(&btf);
	shunt_xdp_log_end(before);
	if (rc) {
		shunt_xdp_death_close(death);
		return load_error(-rc, err);
	}
	*out = death;
	return 0;
}

void shunt_xdp_death_close(struct shunt_xdp_death *death)
{
	if (!death)
		return;
	shunt_death__destroy(death->skel);
	free(death);
}
