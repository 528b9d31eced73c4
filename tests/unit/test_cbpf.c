// SPDX-License-Identifier: BSD-2-Clause
/* Filters as programs of the kernel's, and as workers ask them, beside libpcap's own evaluation:
 * the same packets pass. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../user/shuntctl/filter.h"
#include "base/bytes.h"
#include "effort.h"
#include "measure/rng.h"
#include "naive_cbpf.h"
#include "tap/cbpf.h"
#include "tap/sieve.h"

#define INSN_MAX  (BPF_MAXINSNS * SHUNT_CBPF_GROWTH + SHUNT_CBPF_AROUND)
#define FRAME_MAX 160

static struct shunt_err err;

/* An XDP program that returns what the filter does. */
static int load(const struct sock_filter *filter, unsigned cnt)
{
	static struct bpf_insn insns[INSN_MAX + 5];
	static char log[65536];
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .log_buf = log, .log_size = sizeof(log),
		    .log_level = 1);
	const struct bpf_insn head[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = 4},
		{.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 1, .src_reg = 1, .off = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 2},
		{.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 3, .src_reg = 1},
	};
	int made, fd;

	memcpy(insns, head, sizeof(head));
	made = shunt_cbpf_convert(filter, cnt, insns + SHUNT_ARRAY_LEN(head),
				  cnt * SHUNT_CBPF_GROWTH + SHUNT_CBPF_AROUND, &err);
	cr_assert_gt(made, 0, "%s", err.msg);
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "filter", "GPL", insns,
			   SHUNT_ARRAY_LEN(head) + (size_t)made, &opts);
	if (fd < 0 && errno == EPERM)
		cr_skip_test("no right to load a program");
	cr_assert_geq(fd, 0, "%s\n%.3000s", strerror(errno), log);
	return fd;
}

static unsigned run(int fd, const uint8_t *frame, unsigned len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len, .repeat = 1);

	cr_assert_eq(bpf_prog_test_run_opts(fd, &opts), 0, "%s", strerror(errno));
	return opts.retval;
}

/* In memory of just that length, so that a sanitizer sees who reads behind it. */
static unsigned ask(const struct shunt_sieve *sieve, const uint8_t *frame, unsigned len)
{
	uint8_t *exact = malloc(len);
	unsigned passes;

	cr_assert(exact);
	memcpy(exact, frame, len);
	passes = shunt_sieve_passes(sieve, exact, len, len);
	free(exact);
	return passes;
}

/* --- filters that people write ---------------------------------------------------------------- */

static const char *const texts[] = {
	"ip",
	"ip6",
	"arp",
	"udp",
	"tcp port 80",
	"udp port 53",
	"port 53",
	"host 10.0.1.2",
	"src host 10.0.1.2 and dst port 53",
	"net 10.0.0.0/8 and not host 10.0.1.2",
	"ether host 02:00:00:00:01:02",
	"ether multicast",
	"ip6 host fd00:1::2",
	"vlan 5",
	"vlan and udp",
	"greater 100",
	"less 64",
	"len > 70 and len < 90",
	"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
	"ip[8] < 5",
	"ip[2:2] % 7 == 3",
	"ip[2:2] * 3 / 5 > 40",
	"ip[8] << 3 > 100 or ip[9] >> 2 = 4",
	"udp[4:2] - 8 > ip[8]",
	"ip[0] & 0xf != 5",
	"(ip[6:2] & 0x1fff) = 0",
	"icmp or icmp6",
	"ip proto 132",
	"portrange 50-60",
	"ether[14:4] & 0xff = ether[18:1]",
	"ether[ether[14:1] & 0x3f : 2] > 500",
	"ip[ip[8]] = 17",
	"mpls",
	"pppoes and ip",
	"ether proto 0x88cc",
	"not (ip or ip6)",
};

static void write_frame(uint8_t *frame, uint64_t *rng)
{
	static const uint8_t types[][2] = {{8, 0}, {8, 0},    {0x86, 0xdd},
					   {8, 6}, {0x81, 0}, {0x88, 0x47}};
	static const uint8_t protos[] = {6, 17, 17, 1, 132, 58};
	unsigned i, at = 12;

	for (i = 0; i < FRAME_MAX; i++)
		frame[i] = (uint8_t)shunt_rng_next(rng);
	if (shunt_rng_below(rng, 2))
		memcpy(frame, "\2\0\0\0\1\2", 6);
	memcpy(frame + at, types[shunt_rng_below(rng, SHUNT_ARRAY_LEN(types))], 2);
	if (frame[12] == 0x81) {
		memcpy(frame + 14, "\0\5", 2);
		at = 16;
		memcpy(frame + at, types[shunt_rng_below(rng, 3)], 2);
	}
	at += 2;
	frame[at] = shunt_rng_below(rng, 4) ? 0x45 : (uint8_t)(0x40 | shunt_rng_below(rng, 16));
	frame[at + 9] = protos[shunt_rng_below(rng, SHUNT_ARRAY_LEN(protos))];
	if (shunt_rng_below(rng, 4))
		memset(frame + at + 6, 0, 2);
	if (shunt_rng_below(rng, 2))
		memcpy(frame + at + 12, "\12\0\1\2", 4);
	if (shunt_rng_below(rng, 2))
		memcpy(frame + at + 20, shunt_rng_below(rng, 2) ? "\0\120\0\65" : "\0\65\0\65", 4);
}

static void compare(const struct sock_filter *filter, unsigned cnt, unsigned frames, uint64_t *rng,
		    const char *name)
{
	uint8_t frame[FRAME_MAX];
	struct shunt_sieve *sieve = shunt_sieve_create(filter, cnt);
	const int fd = load(filter, cnt);
	unsigned i;

	cr_assert(sieve);

	for (i = 0; i < frames; i++) {
		const unsigned len = 14 + (unsigned)shunt_rng_below(rng, FRAME_MAX - 13);
		unsigned got, want;

		write_frame(frame, rng);
		got = run(fd, frame, len);
		want = naive_cbpf(filter, frame, len);
		cr_assert_eq(got, want, "%s: frame %u of %u bytes: %u, libpcap says %u", name, i,
			     len, got, want);
		got = ask(sieve, frame, len);
		cr_assert_eq(got, want, "%s: frame %u of %u bytes: a sieve says %u, libpcap %u",
			     name, i, len, got, want);
	}
	shunt_sieve_destroy(sieve);
	close(fd);
}

Test(cbpf, passes_what_libpcap_passes)
{
	uint64_t rng = 20261125;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(texts); i++) {
		struct shuntctl_filter filter;

		cr_assert_eq(shuntctl_filter_compile(&filter, texts[i], 65536, &err), 0, "%s",
			     err.msg);
		compare(filter.insns, filter.cnt, EFFORT(400), &rng, texts[i]);
		shuntctl_filter_fini(&filter);
	}
}

/* --- programs that nobody writes -------------------------------------------------------------- */

static struct sock_filter random_insn(uint64_t *rng, unsigned left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS,
		BPF_LD | BPF_W | BPF_IND,
		BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM,
		BPF_LDX | BPF_B | BPF_MSH,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_ALU | BPF_ADD | BPF_X,
		BPF_ALU | BPF_SUB | BPF_K,
		BPF_ALU | BPF_MUL | BPF_X,
		BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_MOD | BPF_X,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_OR | BPF_X,
		BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_X,
		BPF_ALU | BPF_RSH | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_NEG,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
		BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JA,
		BPF_RET | BPF_K,
		BPF_RET | BPF_A,
	};
	struct sock_filter f = {.code = codes[shunt_rng_below(rng, SHUNT_ARRAY_LEN(codes))]};

	f.k = (uint32_t)shunt_rng_below(rng, shunt_rng_below(rng, 4) ? 64 : 1ull << 32);
	if (BPF_CLASS(f.code) == BPF_JMP) {
		f.jt = (uint8_t)shunt_rng_below(rng, SHUNT_MIN(left, 200u));
		f.jf = (uint8_t)shunt_rng_below(rng, SHUNT_MIN(left, 200u));
		if (BPF_OP(f.code) == BPF_JA)
			f.k = f.jt;
	}
	if (BPF_CLASS(f.code) == BPF_ST || BPF_CLASS(f.code) == BPF_STX ||
	    (BPF_CLASS(f.code) <= BPF_LDX && BPF_MODE(f.code) == BPF_MEM))
		f.k %= BPF_MEMWORDS;
	if (f.code == (BPF_ALU | BPF_LSH | BPF_K))
		f.k %= 32;
	/* what only a socket of the kernel's knows */
	if (BPF_CLASS(f.code) == BPF_LD && BPF_MODE(f.code) == BPF_ABS &&
	    f.k >= (uint32_t)SKF_AD_OFF)
		f.k &= 0xff;
	return f;
}

Test(cbpf, random_programs)
{
	uint64_t rng = 4711;
	unsigned round, i;

	for (round = 0; round < EFFORT(400); round++) {
		struct sock_filter filter[BPF_MEMWORDS + 40];
		const unsigned cnt = BPF_MEMWORDS + 2 + (unsigned)shunt_rng_below(&rng, 38);
		char name[32];

		/* libpcap's memory holds anything at first */
		for (i = 0; i < BPF_MEMWORDS; i++)
			filter[i] = (struct sock_filter){.code = BPF_ST, .k = i};
		for (; i < cnt - 1; i++)
			filter[i] = random_insn(&rng, cnt - 1 - i);
		filter[cnt - 1] = (struct sock_filter){.code = BPF_RET | BPF_A};
		snprintf(name, sizeof(name), "program %u", round);
		compare(filter, cnt, 20, &rng, name);
	}
}

/* What a sieve takes for a field or a test, in any order and with jumps to anywhere: without the
 * kernel, so many more of them. */
static struct sock_filter random_test(uint64_t *rng, unsigned left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,  BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS,  BPF_LD | BPF_W | BPF_IND,
		BPF_LD | BPF_H | BPF_IND,  BPF_LD | BPF_B | BPF_IND,
		BPF_LDX | BPF_B | BPF_MSH, BPF_LDX | BPF_B | BPF_MSH,
		BPF_LD | BPF_W | BPF_LEN,  BPF_ALU | BPF_AND | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JGT | BPF_K,
		BPF_JMP | BPF_JGE | BPF_K, BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JA,
		BPF_RET | BPF_K,	   BPF_RET | BPF_A,
		BPF_MISC | BPF_TAX,
	};
	struct sock_filter f = {
		.code = codes[shunt_rng_below(rng, SHUNT_ARRAY_LEN(codes) -
							   2 * !!shunt_rng_below(rng, 4))]};

	f.k = (uint32_t)shunt_rng_below(rng, shunt_rng_below(rng, 2) ? 40 : FRAME_MAX);
	if (f.code == (BPF_ALU | BPF_AND | BPF_K))
		f.k = (uint32_t)shunt_rng_next(rng);
	if (BPF_CLASS(f.code) == BPF_RET)
		f.k &= 1;
	if (BPF_CLASS(f.code) == BPF_JMP) {
		f.jt = (uint8_t)shunt_rng_below(rng, SHUNT_MIN(left, 5u));
		f.jf = (uint8_t)shunt_rng_below(rng, SHUNT_MIN(left, 5u));
		f.k = BPF_OP(f.code) == BPF_JA
			      ? f.jt
			      : (uint32_t)shunt_rng_next(rng) >> shunt_rng_below(rng, 32);
	}
	return f;
}

Test(cbpf, random_tests_by_a_sieve)
{
	uint64_t rng = 20261126;
	unsigned round, i, passed = 0;

	for (round = 0; round < EFFORT(40000); round++) {
		struct sock_filter filter[20];
		const unsigned cnt = 2 + (unsigned)shunt_rng_below(&rng, 18);
		struct shunt_sieve *sieve;

		for (i = 0; i < cnt - 1; i++)
			filter[i] = random_test(&rng, cnt - 1 - i);
		filter[cnt - 1] = (struct sock_filter){.code = BPF_RET | BPF_K,
						       .k = (uint32_t)shunt_rng_below(&rng, 2)};
		sieve = shunt_sieve_create(filter, cnt);
		cr_assert(sieve);
		for (i = 0; i < 10; i++) {
			const unsigned len = 1 + (unsigned)shunt_rng_below(&rng, FRAME_MAX);
			uint8_t frame[FRAME_MAX];
			unsigned want;

			write_frame(frame, &rng);
			want = naive_cbpf(filter, frame, len);
			passed += want;
			cr_assert_eq(ask(sieve, frame, len), want,
				     "program %u, frame %u of %u bytes: libpcap says %u", round, i,
				     len, want);
		}
		shunt_sieve_destroy(sieve);
	}
	cr_assert_gt(passed, round, "nearly nothing passed");
}

/* --- what is refused -------------------------------------------------------------------------- */

Test(cbpf, refuses_what_is_no_program)
{
	static const struct {
		struct sock_filter filter[2];
		unsigned cnt;
		int ret;
	} rows[] = {
		{{{0}}, 0, -EINVAL},
		{{{BPF_LD | BPF_IMM, 0, 0, 0}}, 1, -EINVAL}, /* no end */
		{{{BPF_JMP | BPF_JA, 0, 0, 1}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{BPF_ST, 0, 0, BPF_MEMWORDS}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{BPF_ALU | BPF_LSH | BPF_K, 0, 0, 32}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{0xffff, 0, 0, 0}, {BPF_RET | BPF_K, 0, 0, 1}}, 2, -EINVAL},
		{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)SKF_AD_OFF},
		  {BPF_RET | BPF_A, 0, 0, 0}},
		 2,
		 -EOPNOTSUPP},
	};
	struct bpf_insn out[64];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++)
		cr_expect_eq(shunt_cbpf_convert(rows[i].filter, rows[i].cnt, out, 64, &err),
			     rows[i].ret, "row %u", i);
	cr_expect_eq(shunt_cbpf_convert(rows[8].filter + 1, 1, out, 3, &err), -EINVAL, "no room");
}

Test(cbpf, knows_what_forwarding_changes)
{
	static const struct {
		const char *text;
		bool is_changed;
	} rows[] = {
		{"udp port 53", false},
		{"host 10.0.1.2", false},
		{"tcp", false},
		{"net 10.0.0.0/8", false},
		{"arp", false},
		{"portrange 1-9", false},
		{"ether host 02:00:00:00:01:02", true},
		{"ip[8] = 64", true},
		{"greater 100", true},
		{"ip6[7] = 64", true},
		{"ip[10:2] = 0", true},
		{"udp[6:2] = 0", true},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		struct shuntctl_filter filter;

		cr_assert_eq(shuntctl_filter_compile(&filter, rows[i].text, 65536, &err), 0);
		cr_expect_eq(shunt_cbpf_reads_changes(filter.insns, filter.cnt), rows[i].is_changed,
			     "%s", rows[i].text);
		shuntctl_filter_fini(&filter);
	}
}
