/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a set-up or control call failed, in one sentence: object, operation, cause, likely remedy.
 * Calls that can fail take a struct shunt_err and return -errno. The data path never uses it. */
#ifndef SHUNT_BASE_ERR_H
#define SHUNT_BASE_ERR_H

struct shunt_err {
	char msg[384];
};

/* shunt_err_set writes the sentence (printf format) into err, which may be NULL. Returns -code, for
 * `return shunt_err_set(err, EINVAL, ...)`. code is a positive errno. Thread: any. */
int shunt_err_set(struct shunt_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* shunt_err_prefix puts a place, such as "file:line: " (printf format), in front of the sentence in
 * err, which may be NULL. Thread: any. */
void shunt_err_prefix(struct shunt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
