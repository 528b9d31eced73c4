// SPDX-License-Identifier: BSD-2-Clause
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int shunt_err_set(struct shunt_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
	}
	return -code;
}

void shunt_err_prefix(struct shunt_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list ap;
	size_t len;

	if (!err)
		return;
	snprintf(old, sizeof(old), "%s", err->msg);
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	for (len = 0; err->msg[len]; len++)
		;
	snprintf(err->msg + len, sizeof(err->msg) - len, "%s", old);
}
