/* SPDX-License-Identifier: BSD-2-Clause */
/* libpcap's evaluation of a filter. Apart, since its headers and the kernel's cannot be in one
 * file. */
#ifndef SHUNT_TEST_NAIVE_CBPF_H
#define SHUNT_TEST_NAIVE_CBPF_H

#include <stdint.h>

struct sock_filter;

/* naive_cbpf returns 1 where a frame passes the filter, else 0. */
unsigned naive_cbpf(const struct sock_filter *filter, const uint8_t *frame, unsigned len);

#endif
