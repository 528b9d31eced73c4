// SPDX-License-Identifier: BSD-2-Clause
#include "model/tmax.h"

#include <errno.h>
#include <math.h>

#include "base/bytes.h"

#define OVERHEAD_BYTES 24 /* FCS 4, preamble 8, gap 12: IEEE 802.3 */

double shunt_tmax_line_rate(double bps, double frame_bytes)
{
	return bps / (8 * (frame_bytes + OVERHEAD_BYTES));
}

static int check(const struct shunt_tmax_opts *opts, struct shunt_err *err)
{
	if (!(opts->freq_hz > 0) || !isfinite(opts->freq_hz))
		return shunt_err_set(err, EINVAL, "the frequency F is %g Hz: it must be above 0",
				     opts->freq_hz);
	if (!(opts->link_bps >= 0) || !isfinite(opts->link_bps))
		return shunt_err_set(err, EINVAL, "the link is %g bit/s: it must be above 0",
				     opts->link_bps);
	if (!(opts->frame_bytes >= 60 && opts->frame_bytes <= 65535))
		return shunt_err_set(err, EINVAL,
				     "the frame is %g bytes: it must be 60 to 65535, without FCS",
				     opts->frame_bytes);
	if (!(opts->c_io >= 0 && opts->c_task >= 0 && opts->c_io + opts->c_task > 0) ||
	    !isfinite(opts->c_io + opts->c_task))
		return shunt_err_set(
			err, EINVAL,
			"c_io is %g and c_task %g cycles: neither may be negative, nor both 0",
			opts->c_io, opts->c_task);
	return 0;
}

int shunt_tmax_solve(const struct shunt_tmax_opts *opts, struct shunt_tmax *result,
		     struct shunt_err *err)
{
	const double cost = opts->c_io + opts->c_task;
	int ret = check(opts, err);

	if (ret)
		return ret;
	result->r_max_pps = opts->link_bps > 0
				    ? shunt_tmax_line_rate(opts->link_bps, opts->frame_bytes)
				    : INFINITY;
	result->c_max_pps = opts->freq_hz / cost;
	result->t_max_pps = SHUNT_MIN(result->r_max_pps, result->c_max_pps);
	result->c_equal = opts->freq_hz / result->r_max_pps;
	result->c_busy = SHUNT_MAX(opts->freq_hz / result->t_max_pps - cost, 0.0);
	return 0;
}
