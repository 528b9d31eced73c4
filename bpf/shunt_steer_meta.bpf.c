// SPDX-License-Identifier: GPL-2.0-only
/* The steering program with the packet's metadata: the same program, in an object of its own, since
 * what asks the driver is loaded for one device (BPF_F_XDP_DEV_BOUND_ONLY, Linux 6.3) and by ip
 * link not at all. shunt_want says what the driver is asked; what it does not have is not in the
 * program that the kernel loads. */
#define SHUNT_STEER_WITH_META
#include "shunt_steer.bpf.c"
