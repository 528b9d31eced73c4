/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrivals as Li, Ren and Yang (2021) see them: batches come as a Poisson process,
 * their sizes follow Zipf's law cut off at psi, P(X = j) ~ 1 / j^nu (equation 1).
 * What comes within a time then is compound Poisson. psi = 1 is plain Poisson.
 *
 *	struct shunt_compound arrivals;
 *	shunt_compound_init(&arrivals, 20, 0.701, &err);
 *	shunt_compound_pmf(&arrivals, 3.5, pmf, 513);
 *	shunt_compound_fini(&arrivals);
 */
#ifndef SHUNT_MODEL_COMPOUND_H
#define SHUNT_MODEL_COMPOUND_H

#include "base/err.h"

#define SHUNT_PSI_MAX 4096

struct shunt_compound {
	unsigned psi;
	double nu;
	double mean;   /* E(X), packets a batch */
	double square; /* E(X^2) */
	double *size;  /* size[j], 1 <= j <= psi: P(X = j) */
	double *tail;  /* tail[j], 0 <= j <= psi: P(X > j) */
};

/* shunt_compound_init computes the sizes' distribution; psi is 1 to SHUNT_PSI_MAX,
 * nu 0 to 100. Returns 0, -EINVAL or -ENOMEM. Thread: any. Cost: psi. */
int shunt_compound_init(struct shunt_compound *arrivals, unsigned psi, double nu,
			struct shunt_err *err);

/* shunt_compound_fini frees them; legal on a zeroed struct. Thread: any. */
void shunt_compound_fini(struct shunt_compound *arrivals);

/* shunt_compound_pmf writes P(j packets come) for 0 <= j < cnt, batches being the
 * mean number of batches that come, >= 0 (Panjer's recursion: only sums of what is
 * not negative, rescaled where exp(-batches) would be zero). Thread: any. Cost:
 * cnt * psi. */
void shunt_compound_pmf(const struct shunt_compound *arrivals, double batches, double *pmf,
			unsigned cnt);

#endif
