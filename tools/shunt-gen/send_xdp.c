// SPDX-License-Identifier: BSD-2-Clause
/* Sending by BPF_PROG_TEST_RUN with live frames. The kernel runs the program for
 * frame after frame within one call, in batches of 64 that it flushes. A call has
 * 25 ms of set-up before the first frame, so there is one call for a hundred
 * seconds, ended by a signal, instead of many short ones with silence between. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/bytes.h"
#include "device/kernel.h"
#include "gen.h"
#include "tools/shunt_gen.skel.h"

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

static struct bpf_program *program(const struct gen_sender *s)
{
	const struct gen_send_opts *o = s->plan->opts;

	if (o->tcp)
		return o->v6 ? s->skel->progs.shunt_gen_tcp6 : s->skel->progs.shunt_gen_tcp4;
	return o->v6 ? s->skel->progs.shunt_gen_udp6 : s->skel->progs.shunt_gen_udp4;
}

static int load(struct gen_sender *s, struct shunt_gen *skel)
{
	const struct gen_plan *plan = s->plan;
	struct bpf_program *p;
	int rc;

	skel->rodata->paced = plan->rate_pps > 0;
	skel->rodata->stamped = plan->opts->stamped;
	skel->rodata->varied = plan->len_min != plan->len_max;
	skel->rodata->slot_cnt = s->slot_cnt;
	skel->rodata->flow_cnt = plan->flow_cnt;
	skel->rodata->full_len = plan->len_max;
	bpf_map__set_max_entries(skel->maps.flows, plan->flow_cnt);
	bpf_map__set_max_entries(skel->maps.slots, SHUNT_MAX(s->slot_cnt, 1U));
	bpf_object__for_each_program(p, skel->obj) bpf_program__set_autoload(p, p == program(s));
	rc = shunt_gen__load(skel);
	return rc ? load_failed(rc, &s->err) : 0;
}

static int fill_map(struct gen_sender *s, const struct bpf_map *map, const void *data, size_t len)
{
	void *mem;

	if (!len)
		return 0;
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (mem == MAP_FAILED)
		return shunt_err_set(&s->err, errno, "mapping the generator's %s: %s",
				     bpf_map__name(map), strerror(errno));
	memcpy(mem, data, len);
	munmap(mem, len);
	return 0;
}

static int set_up(struct gen_sender *s, struct shunt_gen *skel)
{
	const uint32_t key = 0, ifindex = (uint32_t)s->plan->dev.ifindex;
	int rc = load(s, skel);

	if (rc)
		return rc;
	rc = bpf_map_update_elem(bpf_map__fd(skel->maps.port), &key, &ifindex, BPF_ANY);
	if (rc)
		return shunt_err_set(&s->err, -rc, "bpf_map_update_elem(devmap, %s): %s",
				     s->plan->opts->dev, strerror(-rc));
	rc = fill_map(s, skel->maps.flows, s->plan->flows,
		      s->plan->flow_cnt * sizeof(*s->plan->flows));
	if (!rc)
		rc = fill_map(s, skel->maps.slots, s->slots, s->slot_cnt * sizeof(*s->slots));
	if (rc)
		return rc;
	skel->bss->frame = s->frame;
	skel->bss->limit = s->limit;
	skel->bss->pace = s->pace;
	skel->bss->state = *s->state;
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
				     "BPF_PROG_TEST_RUN with live frames: %s: that needs %s; use "
				     "--way xsk or packet",
				     strerror(-rc), shunt_kernel_since(SHUNT_KERNEL_live_frames));
	return shunt_err_set(err, -rc, "BPF_PROG_TEST_RUN with live frames: %s", strerror(-rc));
}

int gen_send_xdp(struct gen_sender *s)
{
	static uint8_t zeros[GEN_SIZE_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = zeros, .data_size_in = s->plan->len_max,
		    .repeat = REPEAT, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	const int fd = bpf_program__fd(program(s));

	while (!s->stop && !__atomic_load_n(&s->state->done_ns, __ATOMIC_ACQUIRE)) {
		int rc = bpf_prog_test_run_opts(fd, &opts);

		if (rc && rc != -EINTR && rc != -EAGAIN)
			return run_failed(rc, &s->err);
	}
	return 0;
}

void gen_send_xdp_close(struct gen_sender *s)
{
	if (!s->skel)
		return;
	s->own_state = *s->state;
	s->state = &s->own_state;
	shunt_gen__destroy(s->skel);
	s->skel = NULL;
}
