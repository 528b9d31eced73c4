// SPDX-License-Identifier: BSD-2-Clause
#include "naive_cbpf.h"

#include <pcap/pcap.h>

unsigned naive_cbpf(const struct sock_filter *filter, const uint8_t *frame, unsigned len)
{
	return bpf_filter((const struct bpf_insn *)filter, frame, len, len) != 0;
}
