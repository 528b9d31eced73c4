// SPDX-License-Identifier: BSD-2-Clause
#include "base/hex.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20; /* lower case */
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void shunt_hex_write(char *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = 0;
}

size_t shunt_hex_read(uint8_t *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		const int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			break;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return i;
}
