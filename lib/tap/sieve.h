/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter of classic BPF in the form in which a worker asks it for each packet. Most of what
 * pcap-filter(7) compiles to are tests of a field: a load, perhaps a mask, a comparison. Each
 * becomes one step here, so a packet passes a few of them instead of each instruction.
 *
 * Limits: where the program does anything else (arithmetic, scratch memory, two fields compared),
 * the packets that get there are given to libpcap's interpreter, at three times the cost.
 *
 *	sieve = shunt_sieve_create(filter, cnt);
 *	if (shunt_sieve_passes(sieve, bytes, len, there))
 *	shunt_sieve_destroy(sieve);
 */
#ifndef SHUNT_TAP_SIEVE_H
#define SHUNT_TAP_SIEVE_H

#include <stdbool.h>
#include <stdint.h>

struct sock_filter;
struct shunt_sieve;

/* shunt_sieve_create makes a sieve of a valid filter, of 1 to 4096 instructions. Returns NULL
 * without memory. shunt_sieve_destroy(NULL) is legal. Thread: any. */
struct shunt_sieve *shunt_sieve_create(const struct sock_filter *filter, unsigned cnt);
void shunt_sieve_destroy(struct shunt_sieve *sieve);

/* shunt_sieve_passes tells whether the filter passes a packet of len bytes, of which the first
 * `there` lie at bytes. Thread: any. Cost: packet, some cycles a field. */
bool shunt_sieve_passes(const struct shunt_sieve *sieve, const uint8_t *bytes, uint32_t len,
			uint32_t there);

#endif
