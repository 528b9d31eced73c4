// SPDX-License-Identifier: BSD-2-Clause
#include "dir24.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_CNT  (1u << 24)
#define GROUP	   (1u << 31)
#define HUGE_BYTES (2UL << 20)

static uint32_t *allocate(size_t bytes)
{
	void *p = aligned_alloc(HUGE_BYTES, (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));

	if (!p)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	return p;
}

static int by_len(const void *a, const void *b)
{
	return ((const struct shunt_bgp4 *)a)->len - ((const struct shunt_bgp4 *)b)->len;
}

static uint32_t count_groups(const struct shunt_bgp4 *routes, uint32_t cnt)
{
	uint32_t i, n = 0;

	for (i = 0; i < cnt; i++)
		n += routes[i].len > 24;
	return n;
}

static void add_long(struct dir24 *dir, const struct shunt_bgp4 *r)
{
	uint32_t *first = &dir->first[r->addr >> 8], *group, i;

	if (!(*first & GROUP)) {
		group = dir->second + (size_t)dir->group_cnt * 256;
		for (i = 0; i < 256; i++)
			group[i] = *first;
		*first = GROUP | dir->group_cnt++;
	}
	group = dir->second + (size_t)(*first & ~GROUP) * 256;
	for (i = 0; i < 1u << (32 - r->len); i++)
		group[(r->addr & 255) + i] = r->nh;
}

int dir24_init(struct dir24 *dir, struct shunt_bgp4 *routes, uint32_t cnt)
{
	uint32_t i, j;

	memset(dir, 0, sizeof(*dir));
	qsort(routes, cnt, sizeof(*routes), by_len);
	dir->first = allocate(FIRST_CNT * sizeof(*dir->first));
	dir->second = allocate(((size_t)count_groups(routes, cnt) + 1) * 256 * sizeof(uint32_t));
	if (!dir->first || !dir->second)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		if (routes[i].len > 24) {
			add_long(dir, &routes[i]);
			continue;
		}
		for (j = 0; j < 1u << (24 - routes[i].len); j++)
			dir->first[(routes[i].addr >> 8) + j] = routes[i].nh;
	}
	return 0;
}

void dir24_fini(struct dir24 *dir)
{
	free(dir->first);
	free(dir->second);
}

size_t dir24_bytes(const struct dir24 *dir)
{
	return ((size_t)FIRST_CNT + (size_t)dir->group_cnt * 256) * sizeof(uint32_t);
}

static inline uint32_t lookup(const struct dir24 *dir, uint32_t dst_be)
{
	uint32_t addr = ntohl(dst_be), nh = dir->first[addr >> 8];

	if (__builtin_expect(nh & GROUP, 0))
		nh = dir->second[(size_t)(nh & ~GROUP) * 256 + (addr & 255)];
	return nh;
}

uint32_t dir24_lookup(const struct dir24 *dir, uint32_t dst_be)
{
	return lookup(dir, dst_be);
}

void dir24_lookup_bulk(const struct dir24 *dir, const uint32_t *dst_be, uint32_t *nh, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		__builtin_prefetch(&dir->first[ntohl(dst_be[i]) >> 8]);
	for (i = 0; i < n; i++)
		nh[i] = lookup(dir, dst_be[i]);
}
