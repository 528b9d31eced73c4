/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as hexadecimal digits, two for each, the upper half first. */
#ifndef SHUNT_BASE_HEX_H
#define SHUNT_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* shunt_hex_write writes the digits of len bytes, lower case, and a zero: 2 * len + 1 characters.
 * Thread: any. */
void shunt_hex_write(char *out, const uint8_t *bytes, size_t len);

/* shunt_hex_read reads up to len bytes of digits of either case. Returns how many it read: the
 * number of the first that is none where that is below len. Thread: any. */
size_t shunt_hex_read(uint8_t *out, const char *text, size_t len);

#endif
