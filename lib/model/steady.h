/* SPDX-License-Identifier: BSD-2-Clause */
/* The stationary distribution of a Markov chain that in one step falls by at most
 * `fall` states and rises by at most `rise`. States are removed from the top, a block
 * at a time, by LAPACK; a block that goes changes only what is within `rise` rows and
 * `fall` columns of it, so where one of them is small the cost is states^2 times that,
 * not states^3. Diagonals are sums of what leaves a state (Grassmann, Taksar and
 * Heyman 1985): nothing is ever subtracted from one, so no probability comes out
 * negative. Limits: the matrix is dense, 134 MB for 4097 states; a state that is left
 * downwards with a probability near the smallest double is taken for one that is not
 * (number the states so that the likely ones are low).
 */
#ifndef SHUNT_MODEL_STEADY_H
#define SHUNT_MODEL_STEADY_H

#include "base/err.h"

/* shunt_steady_solve writes the stationary probabilities of p (cnt x cnt, row by
 * row, rows sum to 1; overwritten) into pi[cnt]. p(i, j) must be 0 for j < i - fall
 * and for j > i + rise; cnt stands for no limit. The chain must be able to go from
 * every state to state 0. Returns 0 or -EINVAL (it cannot, or p is not a number).
 * Thread: any. Cost: cnt * min(cnt, fall) * min(cnt, rise) multiplications. */
int shunt_steady_solve(double *p, unsigned cnt, unsigned fall, unsigned rise, double *pi,
		       struct shunt_err *err);

#endif
