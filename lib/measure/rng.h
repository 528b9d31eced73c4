/* SPDX-License-Identifier: BSD-2-Clause */
/* A seeded generator for tests and experiments (SplitMix64, Steele et al. 2014): the
 * same seed gives the same numbers on every machine. Not for secrets.
 *
 *	uint64_t rng = seed;
 *	x = shunt_rng_next(&rng);
 */
#ifndef SHUNT_MEASURE_RNG_H
#define SHUNT_MEASURE_RNG_H

#include <stdint.h>

/* shunt_rng_next returns 64 random bits and moves the state on. Thread: owner of state. */
static inline uint64_t shunt_rng_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* shunt_rng_below returns a number in 0..bound-1; bound must not be 0. The bias is
 * below bound / 2^64. Thread: owner of state. */
static inline uint64_t shunt_rng_below(uint64_t *state, uint64_t bound)
{
	return (uint64_t)(((__uint128_t)shunt_rng_next(state) * bound) >> 64);
}

/* shunt_rng_unit returns a number in 0..1, 1 excluded, in steps of 2^-53. Thread:
 * owner of state. */
static inline double shunt_rng_unit(uint64_t *state)
{
	return (double)(shunt_rng_next(state) >> 11) * 0x1p-53;
}

#endif
