/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the steering program and userspace share. Each part is a header of its own:
 *
 *     shunt_steer_reason.h   lanes, and reasons for which a frame goes to one
 *     shunt_steer_config.h   what userspace writes: configuration, rules, which half is live
 *     shunt_steer_queue.h    what the program writes for each queue: counters, gate, samples
 *     shunt_steer_mac.h      the MAC table of bridges
 *     shunt_tables.h         the forwarding tables
 *
 * One header for both sides, so that neither can differ; sizes are asserted where they stand. */
#ifndef SHUNT_STEER_H
#define SHUNT_STEER_H

#include "shunt_steer_config.h"
#include "shunt_steer_queue.h"
#include "shunt_steer_reason.h"

/* The program's name, as `ip link` and `bpftool prog` show it. A program that a killed daemon left
 * behind is recognised by it. README.md says what each variant is for. */
#define SHUNT_STEER_PROG     "shunt_steer"
#define SHUNT_STEER_PROG_SG  "shunt_steer_sg"  /* for packets of several buffers */
#define SHUNT_STEER_PROG_DP  "shunt_steer_dp"  /* for libxdp's dispatcher, since Linux 6.14 */
#define SHUNT_STEER_PROG_SGD "shunt_steer_sgd" /* both */
#define SHUNT_STEER_PROG_TAG "shunt_steer_tag" /* bound to a device that has tags beside frames */
#define SHUNT_STEER_PROG_SGT "shunt_steer_sgt" /* that, for packets of several buffers */

#endif
