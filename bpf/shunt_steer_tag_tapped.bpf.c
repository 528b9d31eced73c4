// SPDX-License-Identifier: GPL-2.0-only
/* The steering program that asks for tags, with a tap: in the plain one's place while somebody
 * captures. */
#define SHUNT_TAPPED
#include "shunt_steer_tag.bpf.c"
