// SPDX-License-Identifier: BSD-2-Clause
/* A steering program apart, run on a frame by BPF_PROG_TEST_RUN. It is a tapped one, whose ring
 * says lane, reason, rule and port. It shares the port's tables, addresses, ports and sockets, and
 * has copies of the configuration and of what the queue's worker says, and counters of its own: so
 * nothing that the port counts or remembers is touched. */
#include "xdp/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "tap/kernel_ring.h"
#include "xdp/private.h"
#include "xdp/tap_opts.h"

#define RING_BYTES 65536u
#define SLOTS_LEN  (SHUNT_STEER_QUEUES_MAX * sizeof(struct shunt_steer_slot))

struct shunt_xdp_explainer {
	struct bpf_object *obj;
	int prog_fd;
	struct shunt_steer_ctl *ctl; /* the program's own, as are these */
	struct shunt_steer_slot *slots;
	struct shunt_kernel_ring ring;
};

/* A loaded object's global, shared with its program; NULL: it has none of that size. */
static void *map_global(const struct bpf_object *obj, const char *name, size_t len)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	void *at;

	if (!map || bpf_map__value_size(map) < len)
		return NULL;
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return at == MAP_FAILED ? NULL : at;
}

static int load(struct shunt_xdp *x, struct shunt_xdp_explainer *e, struct shunt_err *err)
{
	struct shunt_xdp_tap_opts *opts = calloc(1, sizeof(*opts));
	int rc;

	if (!opts)
		return shunt_err_set(err, ENOMEM, "%s: not enough memory", x->ifname);
	opts->ring_bytes = RING_BYTES;
	opts->opts = (struct shunt_tap_opts){.ports = ~0ull,
					     .snap_len = SHUNT_XDP_FRAME_MAX,
					     .is_own = 1,
					     .is_asked = 1,
					     .is_sg = x->is_sg};
	e->obj = shunt_xdp_tapped_open(x, false, opts, err);
	rc = e->obj ? shunt_xdp_share_maps(x->maps, e->obj, false) : -errno;
	rc = rc ?: bpf_object__load(e->obj);
	free(opts);
	if (rc)
		return shunt_xdp_err_load(x->ifname, -rc, err);
	e->prog_fd = bpf_program__fd(bpf_object__find_program_by_name(
		e->obj, x->is_sg ? SHUNT_STEER_PROG_SG : SHUNT_STEER_PROG));
	e->ctl = map_global(e->obj, ".data.shunt_cfg", sizeof(*e->ctl));
	e->slots = map_global(e->obj, ".data.shunt_cnt", SLOTS_LEN);
	if (!e->ctl || !e->slots)
		return shunt_err_set(err, ENOEXEC, "%s: the program has no globals", x->ifname);
	return shunt_kernel_ring_open(
		&e->ring, bpf_map__fd(bpf_object__find_map_by_name(e->obj, "shunt_tap_ring")),
		RING_BYTES, err);
}

static int make(struct shunt_xdp *x, struct shunt_err *err)
{
	int rc;

	if (x->explainer)
		return 0;
	if (!x->maps)
		return shunt_err_set(
			err, EOPNOTSUPP,
			"%s: its program was attached by hand, and cannot be explained", x->ifname);
	x->explainer = calloc(1, sizeof(*x->explainer));
	if (!x->explainer)
		return shunt_err_set(err, ENOMEM, "%s: not enough memory", x->ifname);
	rc = load(x, x->explainer, err);
	if (rc)
		shunt_xdp_explainer_close(x);
	return rc;
}

void shunt_xdp_explainer_close(struct shunt_xdp *x)
{
	if (!x->explainer)
		return;
	shunt_kernel_ring_close(&x->explainer->ring);
	if (x->explainer->ctl)
		munmap(x->explainer->ctl, sizeof(*x->explainer->ctl));
	if (x->explainer->slots)
		munmap(x->explainer->slots, SLOTS_LEN);
	bpf_object__close(x->explainer->obj);
	free(x->explainer);
	x->explainer = NULL;
}

static int run(const struct shunt_xdp *x, struct shunt_xdp_explainer *e,
	       const struct shunt_xdp_frame *frame, struct shunt_xdp_steered *out,
	       struct shunt_err *err)
{
	struct xdp_md md = {.data_end = frame->len,
			    .ingress_ifindex = x->ifindex,
			    .rx_queue_index = frame->queue};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->len,
		    .data_out = out->frame.bytes, .data_size_out = sizeof(out->frame.bytes),
		    .ctx_in = &md, .ctx_size_in = sizeof(md), .repeat = 1);

	if (bpf_prog_test_run_opts(e->prog_fd, &opts))
		return shunt_err_set(err, errno, "%s: the kernel runs no test of the program: %s",
				     x->ifname, strerror(errno));
	out->frame.len = opts.data_size_out;
	out->frame.queue = frame->queue;
	return 0;
}

/* What the program told its ring: the frame's arrival, then its end. */
static int take(const struct shunt_xdp *x, struct shunt_kernel_ring *ring,
		struct shunt_xdp_steered *out, struct shunt_err *err)
{
	const struct shunt_tap_record *r;
	bool is_told = false;

	while ((r = shunt_kernel_ring_peek(ring))) {
		if (r->place == SHUNT_TAP_STEERED) {
			out->lane = r->lane;
			out->reason = r->reason;
			out->out = r->out;
			out->rule = r->rule;
			is_told = true;
		}
		shunt_kernel_ring_release(ring);
	}
	return is_told ? 0
		       : shunt_err_set(err, EPROTO, "%s: the program said nothing of the frame",
				       x->ifname);
}

int shunt_xdp_explain(struct shunt_xdp *x, const struct shunt_xdp_frame *frame,
		      struct shunt_xdp_steered *out, struct shunt_err *err)
{
	struct shunt_xdp_explainer *e;
	struct shunt_steer_slot *slot;
	struct shunt_xdp_log before;
	int rc;

	memset(out, 0, sizeof(*out));
	if (x->delegate)
		return x->delegate->explain(x->delegate->ctx, x->ifindex, frame, out, err);
	before = shunt_xdp_log_begin();
	rc = make(x, err);
	shunt_xdp_log_end(before);
	if (rc)
		return rc;
	e = x->explainer;
	*e->ctl = *x->ctl;
	e->ctl->tables.writer_cnt = 0; /* neighbours and routes are not counted */
	slot = &e->slots[frame->queue < SHUNT_STEER_QUEUES_MAX ? frame->queue
							       : SHUNT_STEER_QUEUES_MAX - 1];
	*slot = x->slots[slot - e->slots];
	/* it is not timed, and its checksum is looked at where the next frame's would be */
	slot->sample = (struct shunt_steer_sample){.csum_due = slot->sample.csum_due};
	rc = run(x, e, frame, out, err);
	return rc ? rc : take(x, &e->ring, out, err);
}
