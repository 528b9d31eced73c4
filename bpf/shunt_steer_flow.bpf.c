// SPDX-License-Identifier: GPL-2.0-only
/* The steering program for ports that a flowtable of the kernel's has: it asks that for approved
 * connections (steer/flow.bpf.h). */
#define SHUNT_FLOWS
#include "shunt_steer.bpf.c"
