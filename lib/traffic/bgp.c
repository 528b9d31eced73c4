// SPDX-License-Identifier: BSD-2-Clause
#include "traffic/bgp.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "measure/rng.h"

/* Both families are generated as 64-bit keys with the prefix at the top: no IPv6 route
 * of the synthetic table is longer than 64 bits but a few /128s, whose low half is random. */
struct portion {
	uint8_t len;
	uint32_t per_100k;
};

/* Portions of prefix lengths as public collectors show them in 2024, in 1/100000. */
static const struct portion portions4[] = {
	{8, 2},	    {9, 2},	{10, 4},     {11, 11},	  {12, 31},    {13, 62},
	{14, 125},  {15, 210},	{16, 1400},  {17, 850},	  {18, 1430},  {19, 2600},
	{20, 4500}, {21, 5300}, {22, 11500}, {23, 10300}, {24, 61173}, {25, 100},
	{26, 80},   {27, 60},	{28, 50},    {29, 80},	  {30, 60},    {32, 70},
};
static const struct portion portions6[] = {
	{19, 5},   {20, 15},	{24, 30},   {28, 500},	{29, 3300}, {30, 700},
	{31, 300}, {32, 12500}, {33, 1500}, {34, 1200}, {35, 700},  {36, 4300},
	{37, 600}, {38, 1100},	{39, 800},  {40, 8200}, {41, 700},  {42, 1700},
	{43, 700}, {44, 9300},	{45, 1200}, {46, 2600}, {47, 2400}, {48, 44850},
	{52, 100}, {56, 250},	{60, 50},   {64, 350},	{128, 50},
};

/* Where IPv6 prefixes that lie in no other are found: the registries' blocks. */
static const struct {
	uint64_t hi;
	uint8_t len;
} blocks6[] = {
	{0x2001000000000000, 17}, {0x2400000000000000, 12}, {0x2600000000000000, 12},
	{0x2800000000000000, 12}, {0x2a00000000000000, 12}, {0x2c00000000000000, 12},
};

struct gen {
	uint64_t rng;
	uint64_t *keys; /* prefixes so far, in order of length */
	uint8_t *lens;
	uint32_t cnt;
	uint64_t *seen; /* open-addressed set of (key, len) hashes */
	uint32_t seen_mask;
	uint64_t (*fresh)(uint64_t *rng);
};

static uint64_t mask64(unsigned len)
{
	return len ? ~0ULL << (64 - SHUNT_MIN(len, 64u)) : 0;
}

static uint64_t fresh4(uint64_t *rng)
{
	uint64_t a;

	do {
		a = shunt_rng_next(rng) & 0xffffffff00000000;
	} while (a >> 56 == 0 || a >> 56 == 10 || a >> 56 == 127 || a >> 56 > 223);
	return a;
}

static uint64_t fresh6(uint64_t *rng)
{
	uint64_t i = shunt_rng_below(rng, SHUNT_ARRAY_LEN(blocks6));
	uint64_t wide = mask64(blocks6[i].len), bits = shunt_rng_next(rng);

	/* Registries hand their blocks out from the start: the first bits are mostly zero. */
	if (bits & 7)
		bits &= ~(0xfULL << (60 - blocks6[i].len));
	return blocks6[i].hi | (bits & ~wide);
}

/* 1 if (key, len) was new and is now in the set. */
static int remember(struct gen *g, uint64_t key, unsigned len)
{
	uint64_t h = key ^ (uint64_t)len * 0x9e3779b97f4a7c15ULL, tag;
	uint32_t i;

	tag = shunt_rng_next(&h) | 1;
	for (i = (uint32_t)(tag >> 32) & g->seen_mask; g->seen[i]; i = (i + 1) & g->seen_mask)
		if (g->seen[i] == tag)
			return 0;
	g->seen[i] = tag;
	return 1;
}

static uint64_t pick(struct gen *g, unsigned len, uint32_t shorter_cnt)
{
	uint64_t dice = shunt_rng_below(&g->rng, 100), key, i;

	if (dice < 35 && g->cnt > shorter_cnt) { /* beside another of its length */
		key = g->keys[g->cnt - 1];
		if (len && len <= 64)
			return key + (1ULL << (64 - len));
	}
	if (dice < 85 && shorter_cnt) { /* inside a shorter one */
		i = shunt_rng_below(&g->rng, shorter_cnt);
		return g->keys[i] | (shunt_rng_next(&g->rng) & ~mask64(g->lens[i]));
	}
	return g->fresh(&g->rng);
}

static void fill_length(struct gen *g, unsigned len, uint32_t want)
{
	uint32_t shorter_cnt = g->cnt, tries = 0;
	uint64_t key;

	while (want && tries++ < 64 * (want + 64)) {
		key = pick(g, len, shorter_cnt) & mask64(len);
		if (!remember(g, key, len))
			continue;
		g->keys[g->cnt] = key;
		g->lens[g->cnt++] = (uint8_t)len;
		want--;
	}
}

static void generate(struct gen *g, const struct portion *portions, unsigned portion_cnt,
		     uint32_t cnt)
{
	uint32_t left = cnt, want;
	unsigned i, most = 0;

	for (i = 0; i < portion_cnt; i++) {
		want = (uint32_t)((uint64_t)cnt * portions[i].per_100k / 100000);
		left -= SHUNT_MIN(want, left);
		if (portions[i].per_100k > portions[most].per_100k)
			most = i;
	}
	for (i = 0; i < portion_cnt; i++) {
		want = (uint32_t)((uint64_t)cnt * portions[i].per_100k / 100000);
		want = SHUNT_MIN(i == most ? want + left : want, cnt - g->cnt);
		fill_length(g, portions[i].len, want);
	}
	while (g->cnt < cnt)
		fill_length(g, portions[most].len, cnt - g->cnt);
}

static void gen_fini(struct gen *g)
{
	free(g->keys);
	free(g->lens);
	free(g->seen);
}

static int gen_init(struct gen *g, uint32_t cnt, uint64_t seed)
{
	uint32_t size = 1024;

	while (size < 2 * cnt)
		size *= 2;
	memset(g, 0, sizeof(*g));
	g->rng = seed;
	g->seen_mask = size - 1;
	g->keys = calloc(cnt + 1, sizeof(*g->keys));
	g->lens = calloc(cnt + 1, sizeof(*g->lens));
	g->seen = calloc(size, sizeof(*g->seen));
	if (g->keys && g->lens && g->seen)
		return 0;
	gen_fini(g);
	return -ENOMEM;
}

int shunt_bgp4_generate(struct shunt_bgp4 *out, uint32_t cnt, uint32_t nh_cnt, uint64_t seed)
{
	struct gen g;
	uint32_t i, j;
	int err = gen_init(&g, cnt, seed);

	if (err)
		return err;
	g.fresh = fresh4;
	generate(&g, portions4, SHUNT_ARRAY_LEN(portions4), cnt);
	for (i = 0; i < cnt; i++) { /* inside-out Fisher-Yates */
		j = (uint32_t)shunt_rng_below(&g.rng, i + 1);
		out[i] = out[j];
		out[j].addr = (uint32_t)(g.keys[i] >> 32);
		out[j].len = g.lens[i];
		out[j].nh = 1 + (uint32_t)shunt_rng_below(&g.rng, nh_cnt);
	}
	gen_fini(&g);
	return 0;
}

int shunt_bgp6_generate(struct shunt_bgp6 *out, uint32_t cnt, uint32_t nh_cnt, uint64_t seed)
{
	struct gen g;
	uint32_t i, j;
	int err = gen_init(&g, cnt, seed);

	if (err)
		return err;
	g.fresh = fresh6;
	generate(&g, portions6, SHUNT_ARRAY_LEN(portions6), cnt);
	for (i = 0; i < cnt; i++) {
		j = (uint32_t)shunt_rng_below(&g.rng, i + 1);
		out[i] = out[j];
		out[j].hi = g.keys[i];
		out[j].lo = g.lens[i] > 64 ? shunt_rng_next(&g.rng) : 0;
		out[j].len = g.lens[i];
		out[j].nh = 1 + (uint32_t)shunt_rng_below(&g.rng, nh_cnt);
	}
	gen_fini(&g);
	return 0;
}

void shunt_bgp4_dests(const struct shunt_bgp4 *routes, uint32_t route_cnt, uint32_t *out_be,
		      uint32_t cnt, uint64_t seed)
{
	const struct shunt_bgp4 *r;
	uint32_t i, host;

	for (i = 0; i < cnt; i++) {
		r = &routes[shunt_rng_below(&seed, route_cnt)];
		host = (uint32_t)shunt_rng_next(&seed);
		host &= (uint32_t)(~mask64(r->len) >> 32);
		out_be[i] = htonl(r->addr | host);
	}
}

void shunt_bgp6_dests(const struct shunt_bgp6 *routes, uint32_t route_cnt, uint8_t (*out)[16],
		      uint32_t cnt, uint64_t seed)
{
	const struct shunt_bgp6 *r;
	uint64_t part[2];
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		r = &routes[shunt_rng_below(&seed, route_cnt)];
		part[0] = htobe64(r->hi | (shunt_rng_next(&seed) & ~mask64(r->len)));
		part[1] = htobe64(r->len > 64 ? r->lo : shunt_rng_next(&seed));
		memcpy(out[i], part, sizeof(part));
	}
}
