/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's constants from measurements: the cycles a packet takes with batches of
 * b are C_io + C_call / b (equation 18), so a line through the points (1 / b, cycles)
 * has C_io where it starts and C_call as its slope. */
#ifndef SHUNT_MODEL_FIT_H
#define SHUNT_MODEL_FIT_H

#include "base/err.h"

struct shunt_fit_point {
	double batch;  /* mean packets in a batch, 1 to 1e12 */
	double cycles; /* a packet, C_task not included, > 0 to 1e12 */
};

struct shunt_fit {
	double c_io, c_call;
	double rms;   /* cycles: root of the mean square of what is left over */
	double worst; /* the largest deviation, as a share of its measurement */
};

/* shunt_fit_line finds c_io and c_call, neither negative, with the least sum of
 * squared relative errors: batches of one and of 256 differ so much in cost that
 * absolute ones would fit the small batches only. Returns 0 or -EINVAL: fewer
 * than two different batches, or impossible values. Thread: any. Cost: cnt. */
int shunt_fit_line(const struct shunt_fit_point *points, unsigned cnt, struct shunt_fit *fit,
		   struct shunt_err *err);

#endif
