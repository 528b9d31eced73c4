/* SPDX-License-Identifier: BSD-2-Clause */
/* mxgb1's own: how many packets come while j are served (j = 0: during a vacation),
 * g and h of equations 10 and 11, and in the part of that time which has passed at a random
 * moment (17). Also the check of the model's options. */
#ifndef SHUNT_MODEL_MXGB1_ARRIVALS_H
#define SHUNT_MODEL_MXGB1_ARRIVALS_H

#include <stddef.h>

#include "base/bytes.h"
#include "model/compound.h"
#include "model/mxgb1.h"

struct mxgb1_arrivals {
	struct shunt_compound batches;
	double lambda; /* batches a second */
	unsigned batch, ring;
	double *time; /* [j]: mean seconds of the service of j, or of a vacation; V at 0 (2), (5) */
	double *pmf;  /* (batch + 1) x ring */
	double *tail; /* the same: P(more than k come) */
};

static inline const double *mxgb1_pmf(const struct mxgb1_arrivals *a, unsigned j)
{
	return a->pmf + (size_t)j * a->ring;
}

static inline const double *mxgb1_tail(const struct mxgb1_arrivals *a, unsigned j)
{
	return a->tail + (size_t)j * a->ring;
}

/* shunt_mxgb1_arrivals_init computes the distributions; opts are sound. Returns 0 or
 * -ENOMEM. Thread: any. Cost: batch * task_cnt * ring * psi; with a task of many values
 * for each packet, batch * ring^2 / 2. */
int shunt_mxgb1_arrivals_init(struct mxgb1_arrivals *a, const struct shunt_mxgb1_opts *opts,
			      struct shunt_err *err);

void shunt_mxgb1_arrivals_fini(struct mxgb1_arrivals *a);

/* shunt_mxgb1_elapsed writes P(more than x came since the service of j began) for
 * 0 <= x < ring. Thread: any. Cost: ring * psi. */
void shunt_mxgb1_elapsed(const struct mxgb1_arrivals *a, unsigned j, double *tail);

#endif
