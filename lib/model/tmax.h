/* SPDX-License-Identifier: BSD-2-Clause */
/* The throughput of a forwarder by Gallenmüller et al. (Comparison of Frameworks for
 * High-Performance Packet IO, ANCS 2015): T_max = min(r_max, c_max), what the link
 * carries and what the core can pay for, and where the core's cycles go,
 * f = n (c_io + c_task + c_busy). Limits: one core, costs the same for every packet.
 */
#ifndef SHUNT_MODEL_TMAX_H
#define SHUNT_MODEL_TMAX_H

#include "base/err.h"

struct shunt_tmax_opts {
	double link_bps;    /* 0: no link, the core alone is the limit */
	double frame_bytes; /* without FCS, 60 or more */
	double freq_hz;
	double c_io, c_task; /* cycles a packet */
};

struct shunt_tmax {
	double r_max_pps; /* equation 1 of the paper; infinite without a link */
	double c_max_pps; /* f / (c_io + c_task) */
	double t_max_pps; /* the smaller one */
	double c_equal;	  /* cycles a packet at which both are the same; 0 without a link */
	double c_busy;	  /* cycles a packet left over at t_max_pps (equation 7) */
};

/* shunt_tmax_line_rate returns the packets a second that a link of bps carries, each
 * with FCS, preamble and gap (24 bytes more). Thread: any. */
double shunt_tmax_line_rate(double bps, double frame_bytes);

/* shunt_tmax_solve computes it. Returns 0, or -EINVAL for impossible values.
 * Thread: any. */
int shunt_tmax_solve(const struct shunt_tmax_opts *opts, struct shunt_tmax *result,
		     struct shunt_err *err);

#endif
