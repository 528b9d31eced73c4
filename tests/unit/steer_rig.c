// SPDX-License-Identifier: BSD-2-Clause
#include "steer_rig.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "fib/mac.h"
#include "steer/steer.h"
#include "xdp/macs.h"

/* The last of what libbpf said: a verifier's verdict stands at the end. */
static char loader_words[2000];

static int loader_listen(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	static char line[1 << 16];
	size_t used = strlen(loader_words), len, drop;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	len = SHUNT_MIN(strlen(line), sizeof(loader_words) - 1);
	drop = used + len < sizeof(loader_words) ? 0 : used + len + 1 - sizeof(loader_words);
	memmove(loader_words, loader_words + drop, used - drop + 1);
	strcat(loader_words, line + strlen(line) - len);
	return 0;
}

/* Whether any XDP program loads here: a refusal of ours is then ours. */
static bool can_load_bpf(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "probe", "GPL", insns, 2, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void steer_rig_init(struct steer_rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	libbpf_set_print(loader_listen);
	if (!can_load_bpf())
		cr_skip_test("no XDP program can be loaded here: %s", strerror(errno));
	rig->skel = shunt_steer__open_and_load();
	cr_assert_not_null(rig->skel, "the program does not load: %s; %s", strerror(errno),
			   loader_words);
	rig->prog_fd = bpf_program__fd(rig->skel->progs.shunt_steer);
	rig->ctl = &rig->skel->data_shunt_cfg->shunt_ctl;
	rig->half = &rig->ctl->half[0];
	rig->slots = rig->skel->data_shunt_cnt->shunt_cnt;
	rig->xsk_fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
}

void steer_rig_fini(struct steer_rig *rig)
{
	if (rig->xsk_fd >= 0)
		close(rig->xsk_fd);
	shunt_steer__destroy(rig->skel);
}

void steer_rig_mode(struct steer_rig *rig, enum shunt_steer_mode mode)
{
	uint64_t mac = 0;

	memcpy(&mac, FRAME_OWN_MAC, 6);
	rig->half->mode = mode;
	rig->half->mac_word = shunt_steer_mac_word(mac);
	rig->ctl->live = SHUNT_STEER_LIVE_HALF(rig->half - rig->ctl->half);
}

static void filter_add(struct steer_rig *rig, uint32_t bit)
{
	for (int h = 0; h < 2; h++)
		rig->ctl->half[h].filter[bit / 64] |= 1ULL << bit % 64;
}

void steer_rig_local4(struct steer_rig *rig, const uint8_t addr[4])
{
	uint32_t addr_be;
	uint8_t one = 1;

	memcpy(&addr_be, addr, 4);
	filter_add(rig, shunt_steer_hash4(addr_be));
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.shunt_local4), addr, &one, 0),
		     0);
}

void steer_rig_local6(struct steer_rig *rig, const uint8_t addr[16])
{
	uint64_t words[2];
	uint8_t one = 1;

	memcpy(words, addr, 16);
	filter_add(rig, shunt_steer_hash6(words[0], words[1]));
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.shunt_local6), addr, &one, 0),
		     0);
}

void steer_rig_rules(struct steer_rig *rig, const char *const *texts, unsigned cnt,
		     struct shunt_rule *parsed)
{
	struct shunt_err err = {0};
	struct shunt_rule rule;

	for (unsigned i = 0; i < cnt; i++) {
		cr_assert_eq(shunt_rule_parse(texts[i], &rule, &err), 0, "%s", err.msg);
		shunt_rule_compile(&rule, &rig->half->rules[i]);
		if (parsed)
			parsed[i] = rule;
	}
	rig->half->rule_cnt = cnt;
}

void steer_rig_count(struct steer_rig *rig, struct shunt_count *out)
{
	const struct shunt_steer_rule_counts *counts;
	const size_t bytes = sizeof(*counts) * SHUNT_STEER_QUEUES_MAX;
	const int fd = bpf_map__fd(rig->skel->maps.shunt_rule_cnt);

	counts = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert(counts != MAP_FAILED, "%s", strerror(errno));
	memset(out, 0, SHUNT_STEER_RULE_COUNTS * sizeof(*out));
	for (unsigned q = 0; q < SHUNT_STEER_QUEUES_MAX; q++) {
		for (unsigned i = 0; i < SHUNT_STEER_RULE_COUNTS; i++) {
			out[i].packets += counts[q].of[i].packets;
			out[i].bytes += counts[q].of[i].bytes;
		}
	}
	munmap((void *)counts, bytes);
}

/* The sum over queues: the test run's queue is the kernel's to choose. */
static void counters_sum(const struct steer_rig *rig, struct shunt_steer_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++)
		shunt_steer_counters_add(sum, &rig->slots[i].counters);
}

/* The one counter of cnt that went up by one; -1 if none did. */
static int one_more(const __u64 *before, const __u64 *after, int cnt)
{
	int found = -1;

	for (int i = 0; i < cnt; i++) {
		if (before[i] == after[i])
			continue;
		cr_assert(found < 0 && after[i] == before[i] + 1, "counters %d and %d moved", found,
			  i);
		found = i;
	}
	return found;
}

static uint32_t verdict_of(int reason, bool is_served)
{
	switch (shunt_steer_reason_lane(reason)) {
	case SHUNT_LANE_USER:
		return is_served ? XDP_REDIRECT : XDP_PASS;
	case SHUNT_LANE_XDP:
		return XDP_REDIRECT;
	case SHUNT_LANE_DROP:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

static int run_once(struct steer_rig *rig, const void *data, size_t len)
{
	struct shunt_steer_counters before, after;
	uint8_t out[4096];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	int reason, wanted;

	counters_sum(rig, &before);
	cr_assert_eq(bpf_prog_test_run_opts(rig->prog_fd, &opts), 0, "test run of %zu bytes: %s",
		     len, strerror(errno));
	counters_sum(rig, &after);
	cr_assert(opts.data_size_out == len && memcmp(out, data, len) == 0, "bytes changed");
	reason = one_more(before.packets, after.packets, SHUNT_STEER_REASON_MAX);
	cr_assert(reason >= 0, "nothing was counted");
	cr_assert_eq(after.bytes[shunt_steer_reason_lane(reason)] -
			     before.bytes[shunt_steer_reason_lane(reason)],
		     len, "bytes of the lane");
	wanted = one_more(before.unserved, after.unserved, SHUNT_STEER_USER_REASON_CNT);
	cr_assert_eq(wanted >= 0, reason == SHUNT_STEER_NO_SOCKET, "unserved");
	rig->verdict = opts.retval;
	cr_assert_eq(opts.retval, verdict_of(reason, wanted < 0), "reason %s, verdict %u",
		     shunt_steer_reason_name(reason), opts.retval);
	return wanted >= 0 ? wanted : reason;
}

/* The short way comes to the same, with a socket and without, and then is forgotten. */
static void run_plain(struct steer_rig *rig, uint64_t word, const void *data, size_t len, int want)
{
	static struct shunt_steer_slot saved[SHUNT_STEER_QUEUES_MAX];
	const uint32_t verdict = rig->verdict, queue = 0;
	int fd = bpf_map__fd(rig->skel->maps.shunt_xsks), got;

	memcpy(saved, rig->slots, sizeof(saved));
	rig->ctl->quick = word;
	got = run_once(rig, data, len);
	cr_assert(got == want && rig->verdict == verdict, "plain: %s, else %s",
		  shunt_steer_reason_name(got), shunt_steer_reason_name(want));
	if (rig->xsk_fd >= 0 && want < SHUNT_STEER_USER_REASON_CNT && verdict == XDP_PASS) {
		cr_assert_eq(bpf_map_update_elem(fd, &queue, &rig->xsk_fd, 0), 0);
		cr_assert_eq(run_once(rig, data, len), want);
		cr_assert_eq(rig->verdict, XDP_REDIRECT);
		bpf_map_delete_elem(fd, &queue);
	}
	rig->ctl->quick = 0;
	rig->verdict = verdict;
	memcpy(rig->slots, saved, sizeof(saved));
}

int steer_rig_run(struct steer_rig *rig, const void *data, size_t len)
{
	const uint32_t half = rig->ctl->live - SHUNT_STEER_LIVE_HALF(0);
	const bool is_user = half < 2 && rig->ctl->half[half].lane == SHUNT_LANE_USER;
	uint64_t word = is_user ? shunt_steer_quick_of(&rig->ctl->half[half], half) : 0;
	int reason = run_once(rig, data, len);

	if (word && !rig->ctl->quick)
		run_plain(rig, word, data, len, reason);
	return reason;
}

const uint8_t steer_local4[STEER_LOCAL4_CNT][4] = {{192, 0, 2, 1}, {10, 0, 0, 255}};
const uint8_t steer_local6[STEER_LOCAL6_CNT][16] = {
	{0x20, 0x01, 0x0d, 0xb8, [15] = 1},
	{0xfe, 0x80, [15] = 1},
};

void steer_rig_start(struct steer_rig *rig, enum shunt_steer_mode mode)
{
	steer_rig_init(rig);
	for (size_t i = 0; i < STEER_LOCAL4_CNT; i++)
		steer_rig_local4(rig, steer_local4[i]);
	for (size_t i = 0; i < STEER_LOCAL6_CNT; i++)
		steer_rig_local6(rig, steer_local6[i]);
	steer_rig_mode(rig, mode);
}

void steer_expect(struct steer_rig *rig, const char *file, int where, const struct frame *f,
		  int want)
{
	int got = steer_rig_run(rig, f->data, f->len);

	cr_expect_eq(
		got, want, "%s: line or case %d: expected %s/%s, got %s/%s", file, where,
		shunt_steer_lane_name(shunt_steer_reason_lane(want)), shunt_steer_reason_name(want),
		shunt_steer_lane_name(shunt_steer_reason_lane(got)), shunt_steer_reason_name(got));
}

void steer_rig_slot(struct bpf_map *map, unsigned slot, unsigned value)
{
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(map), &slot, &value, 0), 0);
}

void steer_rig_forget(void *rig)
{
	((struct steer_rig *)rig)->ctl->station_epoch++;
}

#define MAC_SEED 0x73746174ULL

void steer_rig_macs_open(struct steer_rig *rig, struct steer_rig_macs *macs, unsigned port)
{
	struct shunt_err err;

	cr_assert_eq(shunt_xdp_macs_open(&macs->shared, &err), 0, "%s", err.msg);
	steer_rig_slot(rig->skel->maps.shunt_macs, 0, (unsigned)macs->shared->fd);
	cr_assert_eq(shunt_mac_create_in(&macs->table, macs->shared->buckets, SHUNT_XDP_MACS_BYTES,
					 SHUNT_MAC_MAX_DEFAULT, MAC_SEED, &err),
		     0, "%s", err.msg);
	macs->shared->bridge->factor = macs->table->factor;
	shunt_mac_watch(macs->table, steer_rig_forget, rig);
	macs->shared->bridge->forwarding = macs->shared->bridge->learning = 1u << port;
}

void steer_rig_macs_close(struct steer_rig_macs *macs)
{
	shunt_mac_destroy(macs->table);
	shunt_xdp_macs_close(macs->shared);
}

/* ---- frames that change -----------------------------------------------------------------------
 */

static int send_by(struct steer_rig *rig, uint64_t quick, const struct frame *f, struct frame *out)
{
	struct shunt_steer_counters before = rig->slots[0].counters;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->data, .data_size_in = (uint32_t)f->len,
		    .data_out = out->data, .data_size_out = sizeof(out->data), .repeat = 1);
	int reason = -1;

	rig->ctl->quick = quick;
	cr_assert_eq(bpf_prog_test_run_opts(rig->prog_fd, &opts), 0);
	rig->ctl->quick = 0;
	rig->verdict = opts.retval;
	out->len = opts.data_size_out;
	for (int i = 0; i < SHUNT_STEER_REASON_CNT; i++) {
		const uint64_t cnt = rig->slots[0].counters.packets[i] - before.packets[i];

		cr_assert(cnt <= 1 && !(cnt && reason >= 0), "counted more than once");
		if (cnt)
			reason = i;
	}
	return reason;
}

int steer_rig_send(struct steer_rig *rig, const struct frame *f, struct frame *out)
{
	const uint64_t quick = shunt_steer_quick_of(rig->half, 0);
	const int reason = send_by(rig, 0, f, out);
	const uint32_t verdict = rig->verdict;
	struct frame again;
	int other;

	if (!quick)
		return reason;
	other = send_by(rig, quick, f, &again);
	cr_expect_eq(other, reason, "quickly %s, else %s", shunt_steer_reason_name((unsigned)other),
		     shunt_steer_reason_name((unsigned)reason));
	cr_expect_eq(rig->verdict, verdict);
	cr_expect_eq(again.len, out->len);
	cr_expect_eq(memcmp(again.data, out->data, out->len), 0, "other bytes by the short way");
	return reason;
}
