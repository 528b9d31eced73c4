// SPDX-License-Identifier: BSD-2-Clause
#include "model/fit.h"

#include <errno.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"

/* As much as the queue's model takes. Its square has to be a number yet. */
#define CYCLES_MAX 1e12

static int check(const struct shunt_fit_point *points, unsigned cnt, struct shunt_err *err)
{
	unsigned i, different = 0;

	for (i = 0; i < cnt; i++) {
		if (!(points[i].batch >= 1 && points[i].batch <= CYCLES_MAX))
			return shunt_err_set(err, EINVAL, "a batch of %g: it must be 1 or more",
					     points[i].batch);
		if (!(points[i].cycles > 0 && points[i].cycles <= CYCLES_MAX))
			return shunt_err_set(err, EINVAL,
					     "%g cycles a packet with batches of %g: it must be "
					     "above 0 and at most %g",
					     points[i].cycles, points[i].batch, CYCLES_MAX);
		different += points[i].batch != points[0].batch;
	}
	if (!different)
		return shunt_err_set(err, EINVAL,
				     "measurements with at least two different batches are needed");
	return 0;
}

/* One unknown alone: the other one would be negative. */
static void one_column(const struct shunt_fit_point *points, unsigned cnt, struct shunt_fit *fit)
{
	double sum[2] = {0}, square[2] = {0}, row[2];
	unsigned i, k, kept = fit->c_io < 0 ? 1 : 0;

	for (i = 0; i < cnt; i++) {
		row[0] = 1 / points[i].cycles;
		row[1] = row[0] / points[i].batch;
		for (k = 0; k < 2; k++) {
			sum[k] += row[k];
			square[k] += row[k] * row[k];
		}
	}
	fit->c_io = kept == 0 ? sum[0] / square[0] : 0;
	fit->c_call = kept == 1 ? sum[1] / square[1] : 0;
}

static void judge(const struct shunt_fit_point *points, unsigned cnt, struct shunt_fit *fit)
{
	double square = 0;
	unsigned i;

	fit->worst = 0;
	for (i = 0; i < cnt; i++) {
		double off = fit->c_io + fit->c_call / points[i].batch - points[i].cycles;

		square += off * off;
		fit->worst = SHUNT_MAX(fit->worst, fabs(off) / points[i].cycles);
	}
	fit->rms = sqrt(square / cnt);
}

int shunt_fit_line(const struct shunt_fit_point *points, unsigned cnt, struct shunt_fit *fit,
		   struct shunt_err *err)
{
	double *rows, *ones;
	unsigned i;
	int ret = check(points, cnt, err);

	if (ret)
		return ret;
	rows = calloc(2 * cnt, sizeof(*rows));
	ones = calloc(cnt, sizeof(*ones));
	ret = rows && ones ? 0 : -ENOMEM;
	for (i = 0; i < cnt && !ret; i++) {
		rows[i] = 1 / points[i].cycles;
		rows[cnt + i] = rows[i] / points[i].batch;
		ones[i] = 1;
	}
	if (!ret && LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', (lapack_int)cnt, 2, 1, rows,
				  (lapack_int)cnt, ones, (lapack_int)cnt))
		ret = -EINVAL;
	if (!ret) {
		fit->c_io = ones[0];
		fit->c_call = ones[1];
		if (fit->c_io < 0 || fit->c_call < 0)
			one_column(points, cnt, fit);
		judge(points, cnt, fit);
	}
	free(rows);
	free(ones);
	return ret ? shunt_err_set(err, -ret, "no line goes through the %u measurements", cnt) : 0;
}
