/* SPDX-License-Identifier: GPL-2.0-only */
/* What every part of the steering program includes first: BPF's headers, and words to the compiler
 * and to the verifier. */
#ifndef SHUNT_STEER_BASE_BPF_H
#define SHUNT_STEER_BASE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* One load or store, now: userspace or another queue writes or reads the same. */
#define READ_ONCE(x)	       (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value)   (*(volatile typeof(x) *)&(x) = (value))

/* Leaves a value as it is, but the verifier knows it no more: what follows is looked at once, and
 * not once for each that it can be. unknown: any value that the verifier does not know. */
#define FORGET(value, unknown) asm volatile("%0 += %1; %0 -= %1" : "+r"(value) : "r"(unknown))

#endif
