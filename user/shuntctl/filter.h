/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap-filter(7) as classic BPF, by libpcap. */
#ifndef SHUNTCTL_FILTER_H
#define SHUNTCTL_FILTER_H

#include <stdint.h>

#include "base/err.h"

struct sock_filter;

struct shuntctl_filter {
	struct sock_filter *insns;
	unsigned cnt; /* 0: every packet */
};

/* shuntctl_filter_compile makes text, for Ethernet. Returns 0, or -EINVAL with err set: libpcap's
 * own words. fini frees it. */
int shuntctl_filter_compile(struct shuntctl_filter *filter, const char *text, uint32_t snap_len,
			    struct shunt_err *err);
void shuntctl_filter_fini(struct shuntctl_filter *filter);

/* shuntctl_filter_print returns 16 hexadecimal digits an instruction, to be freed; NULL without
 * memory. */
char *shuntctl_filter_print(const struct shuntctl_filter *filter);

#endif
