// SPDX-License-Identifier: BSD-2-Clause
#include "model/steady.h"

#include <errno.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"

/* States removed at a time. Work of LAPACK grows with it, calls of it shrink; 16 to
 * 64 took the same time within a tenth at 513 states and at 4097. */
#define BLOCK	   32u
/* What a visit less likely than this adds cannot be seen in a result; leaving it out keeps a chain
 * that rarely rises far a narrow band, and denormal numbers out of the loops. */
#define NEGLIGIBLE 1e-60

struct chain {
	double *p;
	size_t cnt;
	size_t fall, rise;
};

static double *row(const struct chain *c, size_t i)
{
	return c->p + i * c->cnt;
}

static size_t below(size_t at, size_t by)
{
	return at > by ? at - by : 0;
}

/* I - T for the states at..at+n-1; each diagonal is what leaves the state for lower ones or for
 * others of the block. */
static int block_matrix(const struct chain *c, size_t at, unsigned n, double *m)
{
	size_t j;
	unsigned i, k;

	for (i = 0; i < n; i++) {
		const double *p = row(c, at + i);
		double leaving = 0;

		for (j = below(at, c->fall); j < at; j++)
			leaving += p[j];
		for (k = 0; k < n; k++) {
			m[i * n + k] = -p[at + k];
			if (k != i)
				leaving += p[at + k];
		}
		m[i * n + i] = leaving;
		if (!(leaving > 0) || !isfinite(leaving))
			return -EINVAL;
	}
	return 0;
}

static bool is_above(const double *p, unsigned n, double limit)
{
	unsigned k;

	for (k = 0; k < n; k++)
		if (p[k] > limit)
			return true;
	return false;
}

/* visits[k][l]: how often a walk that enters the block at its state k is at l before it leaves for
 * a lower state, (I - T)^-1. */
static int block_visits(const struct chain *c, size_t at, unsigned n, double *visits)
{
	lapack_int pivots[BLOCK];
	double m[BLOCK * BLOCK];
	unsigned i;

	if (block_matrix(c, at, n, m))
		return -EINVAL;
	memset(visits, 0, n * n * sizeof(*visits));
	for (i = 0; i < n; i++)
		visits[i * n + i] = 1;
	/* Row by row N (I - T) = I is (I - T)' N' = I column by column: the same memory. A diagonal
	 * that dominates its column is never exchanged, so all stays sums of one sign. */
	return LAPACKE_dgesv_work(LAPACK_COL_MAJOR, (lapack_int)n, (lapack_int)n, m, (lapack_int)n,
				  pivots, visits, (lapack_int)n)
		       ? -EINVAL
		       : 0;
}

/* A walk that enters the block must leave it with probability 1: true if the visits say so. */
static bool is_left(const struct chain *c, size_t at, unsigned n, const double *visits)
{
	double leave[BLOCK], sum;
	unsigned k, l;
	size_t j;

	for (k = 0; k < n; k++) {
		leave[k] = 0;
		for (j = below(at, c->fall); j < at; j++)
			leave[k] += row(c, at + k)[j];
	}
	for (k = 0; k < n; k++) {
		sum = 0;
		for (l = 0; l < n; l++)
			sum += visits[k * n + l] * leave[l];
		if (!(fabs(sum - 1) < 1e-12) || !is_above(visits + k * n, n, 0))
			return false;
	}
	return true;
}

/* p[i][at..at+n-1] becomes how often the block's states are visited on an excursion from i above
 * `at`. The rest becomes the chain over the states below: an excursion counts as one step. */
static void remove_with(const struct chain *c, size_t at, unsigned n, const double *visits)
{
	const size_t column = below(at, c->fall);
	double enter[BLOCK];
	size_t i, j;
	unsigned k, l;

	for (i = below(at, c->rise); i < at; i++) {
		double *to = row(c, i), *visited = to + at;
		bool is_reached = is_above(visited, n, NEGLIGIBLE);

		memcpy(enter, visited, n * sizeof(*enter));
		memset(visited, 0, n * sizeof(*visited));
		for (k = 0; is_reached && k < n; k++)
			for (l = 0; l < n; l++)
				visited[l] += enter[k] * visits[k * n + l];
		for (k = 0; is_reached && k < n; k++)
			for (j = column; j < at; j++)
				to[j] += visited[k] * row(c, at + k)[j];
	}
	/* Within the block nothing is left to go back to (go_back). */
	for (k = 0; k < n; k++)
		memset(row(c, at + k) + at, 0, n * sizeof(double));
}

static int remove_block(const struct chain *c, size_t at, unsigned n)
{
	double visits[BLOCK * BLOCK];
	int ret = block_visits(c, at, n, visits);

	if (!ret && n > 1 && !is_left(c, at, n, visits))
		ret = -EINVAL;
	if (!ret)
		remove_with(c, at, n, visits);
	if (!ret || n == 1)
		return ret;
	/* A block that is hardly ever left: in the sums of its diagonals what leaves it is rounded
	 * away. One state at a time it is not. */
	for (ret = 0; n && !ret; n--)
		ret = remove_block(c, at + n - 1, 1);
	return ret;
}

/* Each state's probability from those of lower ones that lead to it. */
static void go_back(const struct chain *c, double *pi)
{
	double sum = 0;
	size_t i, j;

	memset(pi, 0, c->cnt * sizeof(*pi));
	pi[0] = 1;
	for (i = 0; i < c->cnt; i++) {
		for (j = i + 1; j < c->cnt; j++)
			pi[j] += pi[i] * row(c, i)[j];
		sum += pi[i];
	}
	for (i = 0; i < c->cnt; i++)
		pi[i] /= sum;
}

/* Blocks are 1..BLOCK, BLOCK+1..2*BLOCK, ...; the last may be shorter. */
int shunt_steady_solve(double *p, unsigned cnt, unsigned fall, unsigned rise, double *pi,
		       struct shunt_err *err)
{
	const struct chain c = {.p = p, .cnt = cnt, .fall = fall, .rise = rise};
	size_t at;

	for (at = cnt > 1 ? (cnt - 2) / BLOCK * BLOCK + 1 : 0; at; at = below(at, BLOCK)) {
		if (remove_block(&c, at, SHUNT_MIN(BLOCK, cnt - (unsigned)at)))
			return shunt_err_set(
				err, EINVAL,
				"state %zu of %u cannot be left: there is no steady state", at,
				cnt);
	}
	go_back(&c, pi);
	return 0;
}
