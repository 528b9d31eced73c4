/* SPDX-License-Identifier: BSD-2-Clause */
/* shuntctl doctor: what devices and host are fit for, and with a daemon on the
 * socket what is in use. */
#ifndef SHUNTCTL_DOCTOR_H
#define SHUNTCTL_DOCTOR_H

#include <stdio.h>

#include "base/err.h"
#include "doctor/doctor.h"

struct shuntctl_doctor_opts {
	const char *socket;
	struct shunt_doctor_opts want; /* frame_size or worker_cnt 0: the daemon's, or the
					* defaults */
};

/* shuntctl_doctor looks at the devices named, or at the daemon's when cnt is 0.
 * Returns 0, or -EINVAL with err set when there is nothing to look at. The
 * findings are the caller's to fini. */
int shuntctl_doctor(struct shunt_doctor *out, const struct shuntctl_doctor_opts *opts,
		    char **devices, int cnt, struct shunt_err *err);

/* shuntctl_doctor_print writes the findings as a table, remedies below. */
void shuntctl_doctor_print(FILE *out, const struct shunt_doctor *doctor);

#endif
