// SPDX-License-Identifier: BSD-2-Clause
#include "tap/sieve.h"

#include <sys/types.h> /* u_int, for */

#include <arpa/inet.h>
#include <pcap/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* A shorter packet is the interpreter's: so each step can read four bytes. */
#define THERE_MIN 14u
#define FIELD_MAX 0xffffu /* a field that lies behind it is the interpreter's */

/* What is compared. */
enum source { NONE, PACKET, BEHIND_X, LENGTH };

/* Where a step leads to, beside the steps. */
enum { REJECT = 0xfffd, PASS = 0xfffe, ASK = 0xffff };

/* A field of up to four bytes is what a word, whose last byte the field's is, has under the mask.
 */
struct step {
	uint32_t mask, value;
	uint16_t at;   /* of the word; behind X: from there */
	uint16_t need; /* the field's end */
	uint16_t yes, no;
	uint16_t x_at; /* BEHIND_X: X is four times this byte's lower half */
	uint8_t source, op;
	bool is_plain;
};

/* What is known when an instruction is reached; source NONE: nothing. */
struct known {
	uint32_t mask, at, x_at;
	uint8_t source, width;
	bool is_there, has_x;
};

struct shunt_sieve {
	struct bpf_insn *filter;
	unsigned cnt;
	uint16_t first;
	struct step steps[]; /* by the jump's number in the filter */
};

/* ---- made of a filter ------------------------------------------------------------------------ */

static bool is_test(const struct bpf_insn *f)
{
	return BPF_CLASS(f->code) == BPF_JMP && BPF_OP(f->code) != BPF_JA &&
	       BPF_SRC(f->code) == BPF_K;
}

static bool is_mask(const struct bpf_insn *f)
{
	return f->code == (BPF_ALU | BPF_AND | BPF_K);
}

/* A load whose value is looked at next: a packet that is too short ends there either way. */
static bool is_looked_at(const struct bpf_insn *f, unsigned left)
{
	do {
		f++;
		left--;
	} while (left && is_mask(f));
	return left && is_test(f);
}

static bool is_field(const struct bpf_insn *f, unsigned left)
{
	if (BPF_CLASS(f->code) != BPF_LD || !is_looked_at(f, left))
		return false;
	if (BPF_MODE(f->code) == BPF_LEN)
		return true;
	return (BPF_MODE(f->code) == BPF_ABS || BPF_MODE(f->code) == BPF_IND) &&
	       f->k <= FIELD_MAX - 4;
}

/* ldx 4*([k]&0xf), whose value the next one adds to an address. */
static bool is_x(const struct bpf_insn *f, unsigned left)
{
	return BPF_CLASS(f->code) == BPF_LDX && BPF_MODE(f->code) == BPF_MSH && left > 1 &&
	       f->k <= FIELD_MAX - 1 && is_field(f + 1, left - 1) && BPF_MODE(f[1].code) == BPF_IND;
}

static uint8_t width(const struct bpf_insn *f)
{
	return BPF_SIZE(f->code) == BPF_W ? 4 : BPF_SIZE(f->code) == BPF_H ? 2 : 1;
}

static void take_field(struct known *k, const struct bpf_insn *f)
{
	const uint16_t mode = BPF_MODE(f->code);

	k->source = mode == BPF_LEN   ? LENGTH
		    : mode == BPF_ABS ? PACKET
		    : k->has_x	      ? BEHIND_X
				      : NONE;
	k->at = mode == BPF_LEN ? 0 : f->k;
	k->width = mode == BPF_LEN ? 4 : width(f);
	k->mask = k->width == 4 ? UINT32_MAX : (1u << 8 * k->width) - 1;
	/* a word before the packet's */
	if (k->source == BEHIND_X && k->at + k->width < 4)
		k->source = NONE;
}

/* Ways meet: what is not the same on both is not known. */
static void meet(struct known *at, const struct known *k)
{
	if (!at->is_there) {
		*at = *k;
		at->is_there = true;
		return;
	}
	if (at->source != k->source || at->mask != k->mask || at->at != k->at ||
	    at->width != k->width || (k->source == BEHIND_X && at->x_at != k->x_at))
		at->source = NONE;
	at->has_x &= k->has_x && at->x_at == k->x_at;
}

/* What is known before each instruction. Jumps lead forward only. */
static void learn(const struct bpf_insn *f, unsigned cnt, struct known *known)
{
	unsigned i;

	known[0].is_there = true;
	for (i = 0; i < cnt; i++) {
		struct known k = known[i];

		if (!k.is_there || BPF_CLASS(f[i].code) == BPF_RET)
			continue;
		if (BPF_CLASS(f[i].code) == BPF_JMP) {
			if (BPF_OP(f[i].code) == BPF_JA) {
				meet(&known[i + 1 + f[i].k], &k);
				continue;
			}
			meet(&known[i + 1 + f[i].jt], &k);
			meet(&known[i + 1 + f[i].jf], &k);
			continue;
		}
		if (is_field(&f[i], cnt - i)) {
			take_field(&k, &f[i]);
		} else if (is_mask(&f[i])) {
			k.mask &= f[i].k;
		} else if (is_x(&f[i], cnt - i)) {
			k.has_x = true;
			k.x_at = f[i].k;
		} else {
			k.source = NONE;
			k.has_x = false;
		}
		meet(&known[i + 1], &k);
	}
}

/* Where a way through instruction i leads to. */
static uint16_t lead(const struct bpf_insn *f, unsigned cnt, const struct known *known, unsigned i)
{
	for (;;) {
		if (f[i].code == (BPF_JMP | BPF_JA))
			i += f[i].k;
		else if (is_test(&f[i]))
			return known[i].source == NONE ? ASK : (uint16_t)i;
		else if (f[i].code == (BPF_RET | BPF_K))
			return f[i].k ? PASS : REJECT;
		else if (!is_field(&f[i], cnt - i) && !is_mask(&f[i]) && !is_x(&f[i], cnt - i))
			return ASK;
		i++;
	}
}

static struct step make_step(const struct shunt_sieve *s, const struct known *known, unsigned i)
{
	const struct bpf_insn *f = &s->filter[i];
	const struct known *k = &known[i];
	const uint32_t end = k->at + k->width, at = end < 4 ? 0 : end - 4;
	const unsigned shift = 8 * (at + 4 - end);
	const bool is_plain = k->source == PACKET && BPF_OP(f->code) == BPF_JEQ;
	const uint32_t mask = k->mask << shift, value = f->k << shift;

	return (struct step){
		.mask = is_plain ? htonl(mask) : mask,
		.value = is_plain ? htonl(value) : value,
		.at = (uint16_t)at,
		.need = (uint16_t)end,
		.yes = lead(s->filter, s->cnt, known, i + 1 + f->jt),
		.no = lead(s->filter, s->cnt, known, i + 1 + f->jf),
		.x_at = (uint16_t)k->x_at,
		.source = k->source,
		.op = BPF_OP(f->code),
		.is_plain = is_plain,
	};
}

/* A value that no such field has would be cut by a shift. */
static bool is_fit(const struct shunt_sieve *s, const struct known *k, unsigned i)
{
	return k->width == 4 || !(s->filter[i].k >> 8 * k->width);
}

struct shunt_sieve *shunt_sieve_create(const struct sock_filter *filter, unsigned cnt)
{
	struct shunt_sieve *s = calloc(1, sizeof(*s) + cnt * sizeof(s->steps[0]));
	struct known *known = calloc(cnt, sizeof(*known));
	unsigned i;

	if (s)
		s->filter = malloc(cnt * sizeof(*s->filter));
	if (!s || !known || !s->filter) {
		free(known);
		shunt_sieve_destroy(s);
		return NULL;
	}
	memcpy(s->filter, filter, cnt * sizeof(*s->filter));
	s->cnt = cnt;
	learn(s->filter, cnt, known);
	for (i = 0; i < cnt; i++)
		if (known[i].source != NONE && is_test(&s->filter[i]) && !is_fit(s, &known[i], i))
			known[i].source = NONE;
	for (i = 0; i < cnt; i++)
		if (known[i].source != NONE && is_test(&s->filter[i]))
			s->steps[i] = make_step(s, known, i);
	s->first = lead(s->filter, cnt, known, 0);
	free(known);
	return s;
}

void shunt_sieve_destroy(struct shunt_sieve *s)
{
	if (!s)
		return;
	free(s->filter);
	free(s);
}

/* ---- asked ----------------------------------------------------------------------------------- */

static bool is_so(const struct step *step, uint32_t value)
{
	switch (step->op) {
	case BPF_JEQ:
		return value == step->value;
	case BPF_JGT:
		return value > step->value;
	case BPF_JGE:
		return value >= step->value;
	default: /* BPF_JSET */
		return value & step->value;
	}
}

/* *value: what a step compares. Returns false where the packet ends before. */
static bool look(const struct step *step, const uint8_t *bytes, uint32_t len, uint32_t there,
		 uint32_t *value)
{
	uint32_t x = 0, word;

	if (step->source == LENGTH) {
		*value = len & step->mask;
		return true;
	}
	if (step->source == BEHIND_X) {
		if (step->x_at >= there)
			return false;
		x = (bytes[step->x_at] & 0xfu) << 2;
	}
	if (x + step->need > there)
		return false;
	memcpy(&word, bytes + x + step->at, sizeof(word));
	*value = ntohl(word) & step->mask;
	return true;
}

bool shunt_sieve_passes(const struct shunt_sieve *s, const uint8_t *bytes, uint32_t len,
			uint32_t there)
{
	unsigned at = there < THERE_MIN ? ASK : s->first;
	uint32_t value;

	while (at < REJECT) {
		const struct step *step = &s->steps[at];

		if (likely(step->is_plain)) {
			if (unlikely(step->need > there))
				return false;
			memcpy(&value, bytes + step->at, sizeof(value));
			at = (value & step->mask) == step->value ? step->yes : step->no;
			continue;
		}
		if (!look(step, bytes, len, there, &value))
			return false;
		at = is_so(step, value) ? step->yes : step->no;
	}
	if (likely(at != ASK))
		return at == PASS;
	return bpf_filter(s->filter, bytes, len, there);
}
