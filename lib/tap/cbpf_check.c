// SPDX-License-Identifier: BSD-2-Clause
/* What a filter is, before it is converted. */
#include "tap/cbpf_private.h"

#include <errno.h>

/* ---- what is valid --------------------------------------------------------------------------- */

static bool is_valid_load(const struct sock_filter *f)
{
	const uint16_t mode = BPF_MODE(f->code), size = BPF_SIZE(f->code);
	const bool is_x = BPF_CLASS(f->code) == BPF_LDX;

	if (mode == BPF_MEM)
		return size == BPF_W && f->k < BPF_MEMWORDS;
	if (mode == BPF_IMM || mode == BPF_LEN)
		return size == BPF_W;
	if (mode == BPF_MSH)
		return is_x && size == BPF_B;
	return !is_x && (mode == BPF_ABS || mode == BPF_IND) &&
	       (size == BPF_W || size == BPF_H || size == BPF_B);
}

/* As the kernel wants it (bpf_check_classic). */
static bool is_valid_alu(const struct sock_filter *f)
{
	const uint16_t op = BPF_OP(f->code);
	const bool by_k = BPF_SRC(f->code) == BPF_K;

	if (by_k && (op == BPF_DIV || op == BPF_MOD))
		return f->k;
	if (by_k && (op == BPF_LSH || op == BPF_RSH))
		return f->k < 32;
	return op <= BPF_XOR;
}

static bool is_valid_jump(const struct sock_filter *f, uint32_t left)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k < left;
	case BPF_JEQ:
	case BPF_JGT:
	case BPF_JGE:
	case BPF_JSET:
		return f->jt < left && f->jf < left;
	default:
		return false;
	}
}

/* left: instructions behind it. */
static bool is_valid(const struct sock_filter *f, uint32_t left)
{
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return left && is_valid_load(f);
	case BPF_ST:
	case BPF_STX:
		return left && f->k < BPF_MEMWORDS;
	case BPF_ALU:
		return left && is_valid_alu(f);
	case BPF_JMP:
		return is_valid_jump(f, left);
	case BPF_RET:
		return BPF_RVAL(f->code) == BPF_K || BPF_RVAL(f->code) == BPF_A;
	default:
		return left && (BPF_MISCOP(f->code) == BPF_TAX || BPF_MISCOP(f->code) == BPF_TXA);
	}
}

int shunt_cbpf_check(const struct sock_filter *in, unsigned cnt, struct shunt_err *err)
{
	unsigned i;

	if (!cnt || cnt > BPF_MAXINSNS)
		return shunt_err_set(err, EINVAL, "filter: %u instructions, expected 1 to %u", cnt,
				     BPF_MAXINSNS);
	for (i = 0; i < cnt; i++) {
		if (!is_valid(&in[i], cnt - 1 - i))
			return shunt_err_set(err, EINVAL,
					     "filter: instruction %u (code %#x) is none of "
					     "classic BPF, or leads back (protochain does), or out "
					     "of the program",
					     i, in[i].code);
		if (BPF_CLASS(in[i].code) == BPF_LD && BPF_MODE(in[i].code) == BPF_ABS &&
		    in[i].k >= (uint32_t)SKF_AD_OFF)
			return shunt_err_set(err, EOPNOTSUPP,
					     "filter: it asks for what only a socket of the "
					     "kernel's knows (instruction %u)",
					     i);
	}
	return 0;
}

/* ---- what forwarding changes ----------------------------------------------------------------- */

static bool overlaps(uint32_t at, uint32_t len, uint32_t from, uint32_t to)
{
	return at < to && at + len > from;
}

bool shunt_cbpf_reads_changes(const struct sock_filter *in, unsigned cnt)
{
	unsigned i;

	for (i = 0; i < cnt; i++) {
		const struct sock_filter *f = &in[i];
		const uint16_t class = BPF_CLASS(f->code), mode = BPF_MODE(f->code);

		if (class != BPF_LD && class != BPF_LDX)
			continue;
		if (mode == BPF_LEN)
			return true;
		/* Ethernet addresses; hop limit and TTL, but for IPv4's fragment field, whose
		 * second byte is where IPv6's hop limit is; IPv4's checksum */
		if (mode == BPF_ABS && (f->k != 20 || shunt_cbpf_width(f) != 2) &&
		    (f->k < 12 || overlaps(f->k, shunt_cbpf_width(f), 21, 23) ||
		     overlaps(f->k, shunt_cbpf_width(f), 24, 26)))
			return true;
		/* Of TCP and UDP the ports do not change, the checksums do. */
		if (mode == BPF_IND && f->k + shunt_cbpf_width(f) > 18)
			return true;
		/* IPv4 without options; 38: ARP's target. Behind IPv6's ports. */
		if (mode == BPF_ABS && f->k != 38 &&
		    (overlaps(f->k, shunt_cbpf_width(f), 40, 42) ||
		     overlaps(f->k, shunt_cbpf_width(f), 50, 52)))
			return true;
		if (mode == BPF_ABS && f->k + shunt_cbpf_width(f) > 58)
			return true;
	}
	return false;
}
