// SPDX-License-Identifier: BSD-2-Clause
/* Sending by BPF_PROG_TEST_RUN with live frames. The kernel runs the program for
 * frame after frame within one call, in batches of 64 that it flushes. A call has
 * 25 ms of set-up before the first frame, so there is one call for a hundred
 * seconds, ended by a signal, instead of many short ones with silence between. */
#include "gen.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "shunt_gen.skel.h"

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1U << 1)
#endif

/* At 10 Mpps, 107 s. The kernel adds a batch to a 32-bit count before it compares,
 * so this has to stay well below 2^32. */
#define REPEAT (1U << 30)

static int load_failed(int rc, struct shunt_err *err)
{
	if (rc == -EPERM || rc == -EACCES)
		return shunt_err_set(err, -rc,
				     "loading the generator: %s: CAP_BPF and CAP_NET_ADMIN (or "
				     "root) are needed",
				     strerror(-rc));
	return shunt_err_set(err, -rc, "loading the generator: %s", strerror(-rc));
}

static int set_up(struct gen_sender *s, struct shunt_gen *skel)
{
	const uint32_t key = 0, ifindex = (uint32_t)s->ifindex;
	int rc;

	skel->rodata->paced = s->opts->rate_pps > 0;
	rc = shunt_gen__load(skel);
	if (rc)
		return load_failed(rc, &s->err);
	rc = bpf_map_update_elem(bpf_map__fd(skel->maps.port), &key, &ifindex, BPF_ANY);
	if (rc)
		return shunt_err_set(&s->err, -rc, "bpf_map_update_elem(devmap, %s): %s",
				     s->opts->dev, strerror(-rc));
	skel->bss->frame = *s->frame;
	skel->bss->flows = s->opts->flows;
	skel->bss->limit = s->limit;
	if (s->opts->rate_pps > 0)
		skel->bss->pace = gen_pace(s->opts->rate_pps);
	s->state = &skel->bss->state;
	return 0;
}

int gen_send_xdp_open(struct gen_sender *s)
{
	int rc;

	s->skel = shunt_gen__open();
	if (!s->skel)
		return shunt_err_set(&s->err, errno, "opening the generator: %s", strerror(errno));
	rc = set_up(s, s->skel);
	if (rc)
		gen_send_xdp_close(s);
	return rc;
}

static int run_failed(int rc, struct shunt_err *err)
{
	if (rc == -EINVAL || rc == -EOPNOTSUPP)
		return shunt_err_set(err, -rc,
				     "BPF_PROG_TEST_RUN with live frames: %s: that needs kernel "
				     "5.18; use --way packet",
				     strerror(-rc));
	return shunt_err_set(err, -rc, "BPF_PROG_TEST_RUN with live frames: %s", strerror(-rc));
}

int gen_send_xdp(struct gen_sender *s)
{
	static uint8_t zeros[GEN_SIZE_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = zeros, .data_size_in = s->opts->size,
		    .repeat = REPEAT, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	const int fd = bpf_program__fd(s->opts->v6 ? s->skel->progs.shunt_gen6
						   : s->skel->progs.shunt_gen4);

	while (!s->stop && !__atomic_load_n(&s->state->done_ns, __ATOMIC_ACQUIRE)) {
		int rc = bpf_prog_test_run_opts(fd, &opts);

		if (rc && rc != -EINTR && rc != -EAGAIN)
			return run_failed(rc, &s->err);
	}
	return 0;
}

void gen_send_xdp_close(struct gen_sender *s)
{
	shunt_gen__destroy(s->skel);
	s->skel = NULL;
	s->state = NULL;
}
