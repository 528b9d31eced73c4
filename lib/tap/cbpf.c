// SPDX-License-Identifier: BSD-2-Clause
#include "tap/cbpf_private.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"

/* Registers: the accumulator, the function's arguments, the index, scratch. None is saved over a
 * call, since there is none. */
enum { A = BPF_REG_0, DATA = BPF_REG_1, END = BPF_REG_2, LEN = BPF_REG_3, X = BPF_REG_4, TMP = 5 };

/* Bytes of a packet that can be read: an offset in an instruction has 15 bits. */
#define REACH	  0x7ff0u
#define MEMORY_AT (-4 * BPF_MEMWORDS) /* from the frame's end */
#define REJECT	  UINT32_MAX	      /* a jump's target */
#define UNREACHED UINT32_MAX	      /* in at[].checked */

struct made {
	struct bpf_insn *out;
	unsigned cnt, room;
	const struct sock_filter *in;
	unsigned in_cnt;
	struct {
		uint32_t start;	  /* its first instruction in out */
		uint32_t checked; /* bytes of the packet that are there on every way to it */
	} at[BPF_MAXINSNS];
	uint32_t target[BPF_MAXINSNS * SHUNT_CBPF_GROWTH]; /* of a jump in out: an index of in, plus
							      one, or REJECT; 0: none */
	bool is_full, has_rejects;
};

/* ---- instructions ---------------------------------------------------------------------------- */

static void emit(struct made *m, uint8_t code, uint8_t dst, uint8_t src, int16_t off, uint32_t imm)
{
	if (m->cnt >= m->room || m->cnt >= SHUNT_ARRAY_LEN(m->target)) {
		m->is_full = true;
		return;
	}
	m->out[m->cnt++] = (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = (int32_t)imm};
}

/* A jump to an instruction of in, or REJECT. */
static void jump(struct made *m, uint8_t code, uint8_t dst, uint8_t src, uint32_t imm, uint32_t to)
{
	emit(m, code, dst, src, 0, imm);
	m->has_rejects |= to == REJECT;
	if (!m->is_full)
		m->target[m->cnt - 1] = to == REJECT ? REJECT : to + 1;
}

static void go(struct made *m, uint32_t to)
{
	jump(m, BPF_JMP | BPF_JA, 0, 0, 0, to);
}

static void move_imm(struct made *m, uint8_t dst, uint32_t imm)
{
	emit(m, BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void move(struct made *m, uint8_t dst, uint8_t src)
{
	emit(m, BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0);
}

/* In 64 bits: addresses. */
static void move_pointer(struct made *m, uint8_t dst, uint8_t src, uint32_t add)
{
	emit(m, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
	if (add)
		emit(m, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, add);
}

/* ---- the packet ------------------------------------------------------------------------------ */

static void load(struct made *m, const struct sock_filter *f, uint8_t dst, uint8_t base,
		 uint32_t at)
{
	emit(m, BPF_LDX | BPF_MEM | BPF_SIZE(f->code), dst, base, (int16_t)at, 0);
	if (shunt_cbpf_width(f) > 1)
		emit(m, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, shunt_cbpf_width(f) * 8);
}

/* At a fixed offset. *checked rises. Returns whether the way goes on. */
static bool load_abs(struct made *m, const struct sock_filter *f, uint8_t dst, uint32_t *checked)
{
	const uint32_t end = f->k + shunt_cbpf_width(f);

	if (f->k > REACH || end > REACH) {
		go(m, REJECT);
		return false;
	}
	if (end > *checked) {
		move_pointer(m, TMP, DATA, end);
		jump(m, BPF_JMP | BPF_JGT | BPF_X, TMP, END, 0, REJECT);
		*checked = end;
	}
	load(m, f, dst, DATA, f->k);
	return true;
}

/* Behind X. */
static bool load_ind(struct made *m, const struct sock_filter *f)
{
	if (f->k > REACH || f->k + shunt_cbpf_width(f) > REACH) {
		go(m, REJECT);
		return false;
	}
	jump(m, BPF_JMP | BPF_JGT | BPF_K, X, 0, REACH, REJECT);
	move_pointer(m, TMP, DATA, 0);
	emit(m, BPF_ALU64 | BPF_ADD | BPF_X, TMP, X, 0, 0);
	move_pointer(m, A, TMP, f->k + shunt_cbpf_width(f));
	jump(m, BPF_JMP | BPF_JGT | BPF_X, A, END, 0, REJECT);
	load(m, f, A, TMP, f->k);
	return true;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Returns whether the way goes on to the next one. */
static bool put_load(struct made *m, const struct sock_filter *f, uint8_t dst, uint32_t *checked)
{
	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		return load_abs(m, f, dst, checked);
	case BPF_IND:
		return load_ind(m, f);
	case BPF_MSH:
		if (!load_abs(m, f, dst, checked))
			return false;
		emit(m, BPF_ALU | BPF_AND | BPF_K, dst, 0, 0, 0xf);
		emit(m, BPF_ALU | BPF_LSH | BPF_K, dst, 0, 0, 2);
		return true;
	case BPF_IMM:
		move_imm(m, dst, f->k);
		return true;
	case BPF_LEN:
		move(m, dst, LEN);
		return true;
	default: /* BPF_MEM */
		emit(m, BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_10,
		     (int16_t)(MEMORY_AT + 4 * (int)f->k), 0);
		return true;
	}
}

static void put_store(struct made *m, const struct sock_filter *f, uint8_t src)
{
	emit(m, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, src, (int16_t)(MEMORY_AT + 4 * (int)f->k),
	     0);
}

/* By more than 31 bits nothing is left. */
static void put_shift(struct made *m, const struct sock_filter *f)
{
	const uint8_t code = BPF_ALU | BPF_OP(f->code);

	if (BPF_SRC(f->code) == BPF_K) {
		emit(m, code | BPF_K, A, 0, 0, f->k);
		return;
	}
	emit(m, BPF_JMP | BPF_JGT | BPF_K, X, 0, 2, 31);
	emit(m, code | BPF_X, A, X, 0, 0);
	emit(m, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	move_imm(m, A, 0);
}

static void put_alu(struct made *m, const struct sock_filter *f)
{
	const uint8_t op = BPF_OP(f->code);
	const bool by_x = BPF_SRC(f->code) == BPF_X;

	if (op == BPF_NEG) {
		emit(m, BPF_ALU | BPF_NEG, A, 0, 0, 0);
		return;
	}
	if (op == BPF_LSH || op == BPF_RSH) {
		put_shift(m, f);
		return;
	}
	if (by_x && (op == BPF_DIV || op == BPF_MOD))
		jump(m, BPF_JMP | BPF_JEQ | BPF_K, X, 0, 0, REJECT);
	emit(m, BPF_ALU | op | BPF_SRC(f->code), A, by_x ? X : 0, 0, by_x ? 0 : f->k);
}

/* The jump that is taken where the other one is not; 0: there is none. */
static uint8_t inverse(uint8_t op)
{
	return op == BPF_JEQ ? BPF_JNE : op == BPF_JGT ? BPF_JLE : op == BPF_JGE ? BPF_JLT : 0;
}

static void put_branch(struct made *m, const struct sock_filter *f, uint32_t i)
{
	const uint8_t op = BPF_OP(f->code), src = BPF_SRC(f->code) == BPF_X ? X : 0;
	const uint8_t class = BPF_JMP32 | BPF_SRC(f->code);
	const uint32_t imm = src ? 0 : f->k, yes = i + 1 + f->jt, no = i + 1 + f->jf;

	if (f->jt == f->jf) {
		if (f->jt)
			go(m, yes);
		return;
	}
	if (!f->jt && inverse(op)) {
		jump(m, class | inverse(op), A, src, imm, no);
		return;
	}
	jump(m, class | op, A, src, imm, yes);
	if (f->jf)
		go(m, no);
}

static void put_return(struct made *m, const struct sock_filter *f)
{
	if (BPF_RVAL(f->code) == BPF_A) {
		emit(m, BPF_JMP32 | BPF_JEQ | BPF_K, A, 0, 1, 0);
		move_imm(m, A, 1);
	} else {
		move_imm(m, A, !!f->k);
	}
	emit(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* ---- a program ------------------------------------------------------------------------------- */

static void reach(struct made *m, uint32_t to, uint32_t checked)
{
	m->at[to].checked = SHUNT_MIN(m->at[to].checked, checked);
}

static void put_jump(struct made *m, const struct sock_filter *f, uint32_t i, uint32_t checked)
{
	if (BPF_OP(f->code) == BPF_JA) {
		reach(m, i + 1 + f->k, checked);
		if (f->k)
			go(m, i + 1 + f->k);
		return;
	}
	reach(m, i + 1 + f->jt, checked);
	reach(m, i + 1 + f->jf, checked);
	put_branch(m, f, i);
}

/* What no way leads to is left out: the verifier refuses it. */
static void put(struct made *m, uint32_t i)
{
	const struct sock_filter *f = &m->in[i];
	uint32_t checked = m->at[i].checked;
	bool goes_on = true;

	m->at[i].start = m->cnt;
	if (checked == UNREACHED)
		return;
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		goes_on = put_load(m, f, BPF_CLASS(f->code) == BPF_LD ? A : X, &checked);
		break;
	case BPF_ST:
	case BPF_STX:
		put_store(m, f, BPF_CLASS(f->code) == BPF_ST ? A : X);
		break;
	case BPF_ALU:
		put_alu(m, f);
		break;
	case BPF_JMP:
		put_jump(m, f, i, checked);
		return;
	case BPF_RET:
		put_return(m, f);
		return;
	default:
		move(m, BPF_MISCOP(f->code) == BPF_TAX ? X : A,
		     BPF_MISCOP(f->code) == BPF_TAX ? A : X);
	}
	if (goes_on)
		reach(m, i + 1, checked);
}

/* ---- what begins as 0 ------------------------------------------------------------------------ */

/* What an instruction reads and writes, of A, X and, in bits 2 and up, the memory. */
struct use {
	uint32_t reads, writes;
};

#define USE_A	   1u
#define USE_X	   2u
#define USE_MEM(k) (4u << (k))

static struct use use_of(const struct sock_filter *f)
{
	const uint32_t by_x = BPF_SRC(f->code) == BPF_X ? USE_X : 0;

	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return (struct use){BPF_MODE(f->code) == BPF_IND   ? USE_X
				    : BPF_MODE(f->code) == BPF_MEM ? USE_MEM(f->k)
								   : 0,
				    BPF_CLASS(f->code) == BPF_LD ? USE_A : USE_X};
	case BPF_ST:
		return (struct use){USE_A, USE_MEM(f->k)};
	case BPF_STX:
		return (struct use){USE_X, USE_MEM(f->k)};
	case BPF_ALU:
		return (struct use){USE_A | (BPF_OP(f->code) == BPF_NEG ? 0 : by_x), USE_A};
	case BPF_JMP:
		return (struct use){BPF_OP(f->code) == BPF_JA ? 0 : USE_A | by_x, 0};
	case BPF_RET:
		return (struct use){BPF_RVAL(f->code) == BPF_A ? USE_A : 0, 0};
	default:
		return BPF_MISCOP(f->code) == BPF_TAX ? (struct use){USE_A, USE_X}
						      : (struct use){USE_X, USE_A};
	}
}

/* What some way reads before it is written. unset: of each instruction, what is not written on some
 * way to it. */
static uint32_t begins_as_0(const struct made *m)
{
	uint32_t unset[BPF_MAXINSNS] = {UINT32_MAX}, found = 0, i;

	for (i = 0; i < m->in_cnt; i++) {
		const struct sock_filter *f = &m->in[i];
		const struct use use = use_of(f);
		const uint32_t left = unset[i] & ~use.writes;

		found |= unset[i] & use.reads;
		if (BPF_CLASS(f->code) == BPF_RET)
			continue;
		if (BPF_CLASS(f->code) != BPF_JMP) {
			unset[i + 1] |= left;
		} else if (BPF_OP(f->code) == BPF_JA) {
			unset[i + 1 + f->k] |= left;
		} else {
			unset[i + 1 + f->jt] |= left;
			unset[i + 1 + f->jf] |= left;
		}
	}
	return found;
}

static void put_head(struct made *m)
{
	const uint32_t zeros = begins_as_0(m);
	uint32_t i;

	if (zeros & USE_A)
		move_imm(m, A, 0);
	if (zeros & USE_X)
		move_imm(m, X, 0);
	for (i = 0; i < BPF_MEMWORDS; i++)
		if (zeros & USE_MEM(i))
			emit(m, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0,
			     (int16_t)(MEMORY_AT + 4 * (int)i), 0);
}

static int set_targets(struct made *m, uint32_t reject)
{
	uint32_t i, to;

	for (i = 0; i < m->cnt; i++) {
		if (!m->target[i])
			continue;
		to = m->target[i] == REJECT ? reject : m->at[m->target[i] - 1].start;
		if (to - i - 1 > INT16_MAX)
			return -EINVAL;
		m->out[i].off = (int16_t)(to - i - 1);
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int shunt_cbpf_convert(const struct sock_filter *in, unsigned cnt, struct bpf_insn *out,
		       unsigned room, struct shunt_err *err)
{
	int ret = shunt_cbpf_check(in, cnt, err);
	struct made *m;
	unsigned i;

	if (ret)
		return ret;
	m = calloc(1, sizeof(*m));
	if (!m)
		return shunt_err_set(err, ENOMEM, "filter: not enough memory");
	m->out = out;
	m->room = room;
	m->in = in;
	m->in_cnt = cnt;
	for (i = 1; i < cnt; i++)
		m->at[i].checked = UNREACHED;
	put_head(m);
	for (i = 0; i < cnt; i++)
		put(m, i);
	i = m->cnt;
	if (m->has_rejects) {
		move_imm(m, A, 0);
		emit(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	}
	ret = m->is_full || set_targets(m, i)
		      ? shunt_err_set(err, EINVAL, "filter: too long, %u instructions", cnt)
		      : (int)m->cnt;
	free(m);
	return ret;
}
