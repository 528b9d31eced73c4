/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter of classic BPF as the control socket's clients write it: 16 hexadecimal digits an
 * instruction, code jt jf k. */
#ifndef SHUNT_TAP_CBPF_TEXT_H
#define SHUNT_TAP_CBPF_TEXT_H

#include <linux/filter.h>

#include "base/err.h"

/* shunt_cbpf_read makes a filter of text, of SHUNT_CBPF_MAX instructions at most; NULL or empty:
 * every packet, *out NULL and *cnt 0. It is valid, and the caller frees it. what: who asks, for
 * err. Returns 0, or -errno with err set and *out NULL. Thread: any. */
int shunt_cbpf_read(const char *text, const char *what, struct sock_filter **out, unsigned *cnt,
		    struct shunt_err *err);

#endif
