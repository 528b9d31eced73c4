// SPDX-License-Identifier: GPL-2.0-only
/* The steering program with metadata where the driver has none: the time alone, by the program's
 * clock. Without a word of the driver's functions, since the kernel refuses a program that so much
 * as names them and is bound to no device. */
#define SHUNT_STEER_WITH_META
#define SHUNT_STEER_WITHOUT_DRIVER
#include "shunt_steer.bpf.c"
