/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHUNT_TAP_CBPF_PRIVATE_H
#define SHUNT_TAP_CBPF_PRIVATE_H

#include <stdint.h>

#include "tap/cbpf.h"

/* shunt_cbpf_check says whether it is a program of classic BPF that asks for nothing but the
 * packet. Returns 0, or -errno with err set. Thread: any. */
int shunt_cbpf_check(const struct sock_filter *in, unsigned cnt, struct shunt_err *err);

/* shunt_cbpf_width returns the bytes that a load of the packet reads. */
static inline uint32_t shunt_cbpf_width(const struct sock_filter *f)
{
	return BPF_SIZE(f->code) == BPF_W ? 4 : BPF_SIZE(f->code) == BPF_H ? 2 : 1;
}

#endif
