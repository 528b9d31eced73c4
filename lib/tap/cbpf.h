/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of pcap-filter(7), which libpcap makes classic BPF of, as BPF of the kernel's: a function
 * int filter(const void *data, const void *end, __u32 len) that returns 1 or 0. It reads the packet
 * where it lies (direct packet access); each length is looked at once on each way to it.
 *
 * Classic BPF: McCanne and Jacobson, USENIX Winter 1993; Documentation/networking/filter.rst.
 *
 * Limits: what lies beyond 32 KiB of a packet is not there. What only a socket of the kernel's
 * knows (SKF_AD_OFF) is refused. */
#ifndef SHUNT_TAP_CBPF_H
#define SHUNT_TAP_CBPF_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"

/* Instructions of a filter. */
#define SHUNT_CBPF_MAX	  512u

/* Instructions that one of classic BPF becomes, at most; and the head and the tail. */
#define SHUNT_CBPF_GROWTH 8
#define SHUNT_CBPF_AROUND (2 + BPF_MEMWORDS + 2)

/* shunt_cbpf_convert writes into out[room] what in[cnt] means. room: cnt * SHUNT_CBPF_GROWTH +
 * SHUNT_CBPF_AROUND is enough. Returns the number of instructions; -EINVAL with err set for what is
 * no valid program; -EOPNOTSUPP for what needs a socket. Thread: any. */
int shunt_cbpf_convert(const struct sock_filter *in, unsigned cnt, struct bpf_insn *out,
		       unsigned room, struct shunt_err *err);

/* shunt_cbpf_reads_changes says whether the answer may depend on what forwarding changes:
 * Ethernet addresses, TTL, hop limit, checksums, the frame's length. Thread: any. */
bool shunt_cbpf_reads_changes(const struct sock_filter *in, unsigned cnt);

#endif
