// SPDX-License-Identifier: BSD-2-Clause
#include "tap/cbpf_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tap/cbpf.h"

#define DIGITS_AN_INSN 16

static int read_insn(const char *digits, struct sock_filter *out)
{
	char text[DIGITS_AN_INSN + 1] = "";
	unsigned long long word;
	char *end;

	memcpy(text, digits, DIGITS_AN_INSN);
	word = strtoull(text, &end, 16);
	if (*end || end != text + DIGITS_AN_INSN ||
	    strspn(text, "0123456789abcdef") != DIGITS_AN_INSN)
		return -EINVAL;
	*out = (struct sock_filter){.code = (uint16_t)(word >> 48),
				    .jt = (uint8_t)(word >> 40),
				    .jf = (uint8_t)(word >> 32),
				    .k = (uint32_t)word};
	return 0;
}

/* A filter is valid where it can be made a program of the kernel's. */
static int check(const struct sock_filter *filter, unsigned cnt, const char *what,
		 struct shunt_err *err)
{
	const unsigned room = cnt * SHUNT_CBPF_GROWTH + SHUNT_CBPF_AROUND;
	struct bpf_insn *insns = calloc(room, sizeof(*insns));
	int ret = insns ? shunt_cbpf_convert(filter, cnt, insns, room, err)
			: shunt_err_set(err, ENOMEM, "%s: not enough memory", what);

	free(insns);
	return SHUNT_MIN(ret, 0);
}

static int read_all(const char *text, const char *what, struct sock_filter *out, unsigned cnt,
		    struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		if (read_insn(text + (size_t)i * DIGITS_AN_INSN, &out[i]))
			return shunt_err_set(
				err, EINVAL,
				"%s: instruction %u of the filter is no hexadecimal number", what,
				i);
	return check(out, cnt, what, err);
}

int shunt_cbpf_read(const char *text, const char *what, struct sock_filter **out, unsigned *cnt,
		    struct shunt_err *err)
{
	const size_t len = text ? strlen(text) : 0;
	int ret;

	*out = NULL;
	*cnt = 0;
	if (!len)
		return 0;
	if (len % DIGITS_AN_INSN || len / DIGITS_AN_INSN > SHUNT_CBPF_MAX)
		return shunt_err_set(err, EINVAL,
				     "%s: a filter of %zu instructions, expected at most %u", what,
				     len / DIGITS_AN_INSN, SHUNT_CBPF_MAX);
	*out = calloc(len / DIGITS_AN_INSN, sizeof(**out));
	if (!*out)
		return shunt_err_set(err, ENOMEM, "%s: not enough memory", what);
	*cnt = (unsigned)(len / DIGITS_AN_INSN);
	ret = read_all(text, what, *out, *cnt, err);
	if (!ret)
		return 0;
	free(*out);
	*out = NULL;
	*cnt = 0;
	return ret;
}
