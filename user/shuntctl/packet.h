/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet in one line, for people: addresses, protocol, ports. tshark shows the rest. */
#ifndef SHUNTCTL_PACKET_H
#define SHUNTCTL_PACKET_H

#include <stdint.h>
#include <stdio.h>

/* shuntctl_packet_print writes what the first cap_len bytes of a frame show, without a newline.
 * len: the frame's length. */
void shuntctl_packet_print(FILE *out, const uint8_t *bytes, uint32_t cap_len, uint32_t len);

/* shuntctl_packet_print_changes names the fields in which two frames differ, such as "destination
 * MAC, TTL"; what has no name here by its bytes, from 0 on; "nothing" where they are the same. */
void shuntctl_packet_print_changes(FILE *out, const uint8_t *before, uint32_t before_len,
				   const uint8_t *after, uint32_t after_len);

#endif
