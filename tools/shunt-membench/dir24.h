/* SPDX-License-Identifier: BSD-2-Clause */
/* DIR-24-8 (Gupta, Lin, McKeown 1998), the flat table that others use, in its plainest form:
 * 4 bytes for each of the 2^24 /24s, 256 more for each /24 with longer prefixes. Only what the
 * comparison needs: built once from a list, looked up. */
#ifndef SHUNT_BENCH_DIR24_H
#define SHUNT_BENCH_DIR24_H

#include <stddef.h>
#include <stdint.h>

#include "traffic/bgp.h"

struct dir24 {
	uint32_t *first;  /* next hop, or GROUP | index of a group in second */
	uint32_t *second; /* groups of 256 */
	uint32_t group_cnt;
};

/* dir24_init builds the table; routes[] is sorted by length. Returns 0 or -ENOMEM. */
int dir24_init(struct dir24 *dir, struct shunt_bgp4 *routes, uint32_t cnt);
void dir24_fini(struct dir24 *dir);
size_t dir24_bytes(const struct dir24 *dir);
uint32_t dir24_lookup(const struct dir24 *dir, uint32_t dst_be);
void dir24_lookup_bulk(const struct dir24 *dir, const uint32_t *dst_be, uint32_t *nh, unsigned n);

#endif
