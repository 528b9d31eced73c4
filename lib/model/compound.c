// SPDX-License-Identifier: BSD-2-Clause
#include "model/compound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"

/* Far from the end of the range of a double on either side; its logarithm. */
#define BIG	1e150
#define LOG_BIG 345.38776394910684

int shunt_compound_init(struct shunt_compound *arrivals, unsigned psi, double nu,
			struct shunt_err *err)
{
	double sum = 0;
	unsigned j;

	*arrivals = (struct shunt_compound){.psi = psi, .nu = nu};
	if (psi < 1 || psi > SHUNT_PSI_MAX)
		return shunt_err_set(err, EINVAL, "psi is %u: it must be 1 to %d", psi,
				     SHUNT_PSI_MAX);
	if (!(nu >= 0 && nu <= 100))
		return shunt_err_set(err, EINVAL, "nu is %g: it must be 0 to 100", nu);
	arrivals->size = calloc(psi + 1, sizeof(double));
	arrivals->tail = calloc(psi + 1, sizeof(double));
	if (!arrivals->size || !arrivals->tail) {
		shunt_compound_fini(arrivals);
		return shunt_err_set(err, ENOMEM, "no memory for %u batch sizes", psi);
	}
	for (j = psi; j; j--)
		sum += arrivals->size[j] = pow(j, -nu);
	for (j = psi; j; j--) {
		arrivals->size[j] /= sum;
		arrivals->tail[j - 1] = arrivals->tail[j] + arrivals->size[j];
		arrivals->mean += j * arrivals->size[j];
		arrivals->square += (double)j * j * arrivals->size[j];
	}
	return 0;
}

void shunt_compound_fini(struct shunt_compound *arrivals)
{
	free(arrivals->size);
	free(arrivals->tail);
	arrivals->size = arrivals->tail = NULL;
}

void shunt_compound_pmf(const struct shunt_compound *arrivals, double batches, double *pmf,
			unsigned cnt)
{
	double log_scale = -batches, half;
	unsigned i, k, last;

	pmf[0] = 1;
	for (i = 1; i < cnt; i++) {
		double sum = 0;

		last = SHUNT_MIN(i, arrivals->psi);
		for (k = 1; k <= last; k++)
			sum += k * arrivals->size[k] * pmf[i - k];
		pmf[i] = sum * batches / i;
		if (pmf[i] <= BIG)
			continue;
		for (k = 0; k <= i; k++)
			pmf[k] /= BIG;
		log_scale += LOG_BIG;
	}
	/* In two steps: what is left of the scale may be smaller than any double. */
	half = exp(log_scale / 2);
	for (i = 0; i < cnt; i++)
		pmf[i] = pmf[i] * half * half;
}
