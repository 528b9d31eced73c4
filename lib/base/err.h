/* SPDX-License-Identifier: BSD-2-Clause */
/* One sentence for a human about why a set-up or control call failed: what was
 * asked of which object, the cause, the likely remedy. Calls that can fail take
 * a struct shunt_err and return -errno; the data path never uses it. */
#ifndef SHUNT_BASE_ERR_H
#define SHUNT_BASE_ERR_H

struct shunt_err {
	char msg[384];
};

/* shunt_err_set writes the sentence (printf format) into err, which may be NULL,
 * and returns -code, so that `return shunt_err_set(err, EINVAL, ...)` reads well.
 * code is a positive errno. Thread: any. */
int shunt_err_set(struct shunt_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* shunt_err_prefix puts a printf-formatted "where: " in front of the sentence
 * that err holds already, e.g. a file and line. Thread: any. */
void shunt_err_prefix(struct shunt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
