// SPDX-License-Identifier: BSD-2-Clause
/* Taps: a port's steering program exchanged in place for one that shows its frames to a ring
 * (bpf/steer/tap.bpf.h), and back. Both use the same maps, so nothing is lost meanwhile, and
 * without a tap nothing is paid for it. Where libxdp's dispatcher runs the program, and no other,
 * the tapped one stands in for the dispatcher: a program that runs under one cannot be exchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "tap/cbpf.h"
#include "xdp/private.h"
#include "xdp/tap_opts.h"

/* ---- the filter ------------------------------------------------------------------------------ */

/* Where the filter's place begins in an object's bytes; NULL: nowhere. */
static struct bpf_insn *find_place(uint8_t *elf, size_t len)
{
	const struct bpf_insn mark = {.code = BPF_ALU64 | BPF_MOV | BPF_K,
				      .imm = SHUNT_TAP_FILTER_MARK};
	uint8_t *at = memmem(elf, len, &mark, sizeof(mark));

	if (!at || len - (size_t)(at - elf) < SHUNT_TAP_FILTER_ROOM * sizeof(mark))
		return NULL;
	return (struct bpf_insn *)at;
}

/* What is left of the place is jumped to, so that there is a way to it, by a jump that is never
 * taken, so that the verifier takes it out. */
static int put_filter(struct bpf_insn *place, const struct shunt_xdp_tap_opts *opts,
		      struct shunt_err *err)
{
	static const struct sock_filter all[] = {{.code = BPF_RET | BPF_K, .k = 1}};
	const struct sock_filter *filter = opts->filter_cnt ? opts->filter : all;
	const unsigned cnt = opts->filter_cnt ? opts->filter_cnt : 1;
	const int made = shunt_cbpf_convert(filter, cnt, place + 2, SHUNT_TAP_FILTER_ROOM - 2, err);

	if (made < 0)
		return made;
	place[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K};
	place[1] = (struct bpf_insn){.code = BPF_JMP | BPF_JNE | BPF_K, .off = (int16_t)made};
	return 0;
}

struct bpf_object *shunt_xdp_tapped_open(const struct shunt_xdp *x, bool is_bound,
					 const struct shunt_xdp_tap_opts *opts,
					 struct shunt_err *err)
{
	struct bpf_object *obj = NULL;
	size_t len;
	const void *plain = shunt_xdp_program_tapped_elf(x, is_bound, &len);
	uint8_t *elf = malloc(len);
	struct bpf_insn *place = NULL;

	shunt_err_set(err, ENOMEM, "%s: not enough memory", x->ifname);
	if (elf) {
		memcpy(elf, plain, len);
		place = find_place(elf, len);
		shunt_err_set(err, ENOEXEC, "%s: the program has no place for a filter", x->ifname);
	}
	if (place && !put_filter(place, opts, err)) {
		obj = shunt_xdp_program_open_tapped(x, elf, len, is_bound, opts);
		if (!obj)
			shunt_err_set(err, ENOEXEC, "%s: libbpf does not open the program",
				      x->ifname);
	}
	free(elf);
	return obj;
}

/* ---- exchange -------------------------------------------------------------------------------- */

/* In the place of the program fd, if that is on the device. */
static int exchange(struct shunt_xdp *x, int fd, struct shunt_err *err)
{
	return x->is_attached ? shunt_xdp_attach_alone(x, fd, err) : 0;
}

static struct shunt_xdp_plain take_plain(struct shunt_xdp *x)
{
	const struct shunt_xdp_plain plain = {x->obj, x->prog, x->prog_fd, x->is_bound, 0};

	x->obj = NULL;
	x->prog = NULL;
	x->prog_fd = -1;
	x->is_bound = false;
	return plain;
}

static void put_plain(struct shunt_xdp *x, struct shunt_xdp_plain plain)
{
	shunt_xdp_program_drop(x);
	x->obj = plain.obj;
	x->prog = plain.prog;
	x->prog_fd = plain.prog_fd;
	x->is_bound = plain.is_bound;
}

static int load(struct shunt_xdp *x, bool is_bound, const struct shunt_xdp_tap_opts *opts,
		struct shunt_err *err)
{
	struct bpf_object *obj = shunt_xdp_tapped_open(x, is_bound, opts, err);

	return obj ? shunt_xdp_program_load_tapped(x, obj, is_bound, err) : -EINVAL;
}

static int check(const struct shunt_xdp *x, struct shunt_err *err)
{
	if (x->is_tapped)
		return shunt_err_set(err, EBUSY, "%s: its frames are captured already", x->ifname);
	if (x->is_external)
		return shunt_err_set(err, EOPNOTSUPP,
				     "%s: its program was attached by hand, and is not exchanged "
				     "for one with a tap; start shuntd without --attach external",
				     x->ifname);
	if (x->is_under && x->is_suspended)
		return shunt_err_set(
			err, EAGAIN,
			"%s: its program, which runs under libxdp's dispatcher, is off "
			"the device for a while",
			x->ifname);
	return 0;
}

static int ring_of(const struct shunt_xdp *x)
{
	const int fd = bpf_map__fd(bpf_object__find_map_by_name(x->obj, "shunt_tap_ring"));
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

/* *id: the dispatcher's that runs the program; 0: none does. */
static int find_dispatcher(const struct shunt_xdp *x, uint32_t *id, struct shunt_err *err)
{
	struct xdp_multiprog *mp = x->is_attached ? shunt_xdp_device_get(x->ifindex) : NULL;
	const bool is_shared = mp && shunt_xdp_device_is_shared(mp);

	*id = mp && !xdp_multiprog__is_legacy(mp) ? xdp_program__id(xdp_multiprog__main_prog(mp))
						  : 0;
	xdp_multiprog__close(mp);
	return is_shared
		       ? shunt_err_set(err, EOPNOTSUPP,
				       "%s: libxdp's dispatcher runs others' programs there, too, "
				       "so shunt's cannot be exchanged for one with a tap; "
				       "xdpdump can be used there",
				       x->ifname)
		       : 0;
}

/* x's program in the place of the dispatcher's. */
static int stand_in(struct shunt_xdp *x, uint32_t dispatcher_id, struct shunt_err *err)
{
	const int fd = bpf_prog_get_fd_by_id(dispatcher_id);
	int rc;

	if (fd < 0)
		return shunt_xdp_err_attach(x, errno, err);
	rc = exchange(x, fd, err);
	close(fd);
	return rc;
}

/* And back. The links that libxdp pinned have kept it. */
static int stand_back(struct shunt_xdp *x, uint32_t dispatcher_id, struct shunt_err *err)
{
	const int tapped_fd = x->prog_fd;
	int rc;

	x->prog_fd = bpf_prog_get_fd_by_id(dispatcher_id);
	rc = x->prog_fd < 0 ? shunt_xdp_err_attach(x, errno, err) : exchange(x, tapped_fd, err);
	if (x->prog_fd >= 0)
		close(x->prog_fd);
	x->prog_fd = tapped_fd;
	return rc;
}

static int tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts, struct shunt_err *err)
{
	struct shunt_xdp_plain plain;
	uint32_t dispatcher_id;
	int rc = find_dispatcher(x, &dispatcher_id, err);

	if (rc)
		return rc;
	plain = take_plain(x);
	plain.dispatcher_id = dispatcher_id;
	rc = load(x, plain.is_bound, opts, err);
	if (!rc)
		rc = dispatcher_id ? stand_in(x, dispatcher_id, err)
				   : exchange(x, plain.prog_fd, err);
	if (rc) {
		put_plain(x, plain);
		return rc;
	}
	x->plain = plain;
	x->is_tapped = true;
	x->prog_id = shunt_xdp_program_id(x->prog_fd);
	x->looked_id = 0;
	rc = ring_of(x);
	return rc < 0 ? shunt_err_set(err, -rc, "%s: no descriptor for a ring", x->ifname) : rc;
}

static int untap(struct shunt_xdp *x, struct shunt_err *err)
{
	const int tapped_fd = x->prog_fd;
	int rc;

	if (x->plain.dispatcher_id) {
		rc = stand_back(x, x->plain.dispatcher_id, err);
	} else {
		x->prog_fd = x->plain.prog_fd;
		rc = exchange(x, tapped_fd, err);
		x->prog_fd = tapped_fd;
	}
	if (rc)
		return rc;
	put_plain(x, x->plain);
	x->is_tapped = false;
	x->prog_id = shunt_xdp_program_id(x->prog_fd);
	x->looked_id = 0;
	return 0;
}

int shunt_xdp_tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	int rc = check(x, err);

	if (rc)
		return rc;
	if (x->delegate)
		return shunt_xdp_delegate_tap(x, opts, err);
	before = shunt_xdp_log_begin();
	rc = tap(x, opts, err);
	shunt_xdp_log_end(before);
	return rc;
}

int shunt_xdp_untap(struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	int rc;

	if (!x->is_tapped)
		return 0;
	if (x->delegate)
		return shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_UNTAP, err);
	before = shunt_xdp_log_begin();
	rc = untap(x, err);
	shunt_xdp_log_end(before);
	return rc;
}

uint64_t shunt_xdp_tap_lost(const struct shunt_xdp *x)
{
	uint64_t lost = 0;
	unsigned i;

	for (i = 0; x->slots && i < SHUNT_STEER_QUEUES_MAX; i++)
		lost += __atomic_load_n(&x->slots[i].sample.tap_lost, __ATOMIC_RELAXED);
	return lost;
}

uint64_t shunt_xdp_tap_lost_out(const struct shunt_xdp *x, unsigned port)
{
	if (!x->slots || port >= SHUNT_STEER_QUEUES_MAX)
		return 0;
	return __atomic_load_n(&x->slots[port].sample.tap_lost_out, __ATOMIC_RELAXED);
}
