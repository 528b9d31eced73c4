// SPDX-License-Identifier: GPL-2.0-only
/* The same with a tap. */
#define SHUNT_FLOWS
#define SHUNT_TAPPED
#include "shunt_steer.bpf.c"
