// SPDX-License-Identifier: BSD-2-Clause
#include "traffic/zipf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/rng.h"

int shunt_zipf_init(struct shunt_zipf *zipf, uint32_t n, double s)
{
	double sum = 0, weighted = 0;
	uint32_t k;

	memset(zipf, 0, sizeof(*zipf));
	if (!n || n > SHUNT_ZIPF_MAX || !(s >= 0) || !isfinite(s))
		return -EINVAL;
	zipf->cdf = calloc(n, sizeof(*zipf->cdf));
	if (!zipf->cdf)
		return -ENOMEM;
	for (k = 1; k <= n; k++) {
		const double p = pow(k, -s);

		sum += p;
		weighted += k * p;
		zipf->cdf[k - 1] = sum;
	}
	for (k = 0; k < n; k++)
		zipf->cdf[k] /= sum;
	zipf->cdf[n - 1] = 1;
	zipf->mean = weighted / sum;
	zipf->n = n;
	return 0;
}

void shunt_zipf_fini(struct shunt_zipf *zipf)
{
	free(zipf->cdf);
	memset(zipf, 0, sizeof(*zipf));
}

uint32_t shunt_zipf_draw(const struct shunt_zipf *zipf, uint64_t *rng)
{
	const double u = shunt_rng_unit(rng);
	uint32_t low = 0, high = zipf->n - 1;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (zipf->cdf[mid] > u)
			high = mid;
		else
			low = mid + 1;
	}
	return low + 1;
}
