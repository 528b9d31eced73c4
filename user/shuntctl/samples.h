/* SPDX-License-Identifier: BSD-2-Clause */
/* shuntctl show drops --samples: the last packet that was lost or left to the kernel for each
 * reason, by a capture of some seconds. */
#ifndef SHUNTCTL_SAMPLES_H
#define SHUNTCTL_SAMPLES_H

#include <jansson.h>

#include "base/err.h"

/* shuntctl_samples_take captures for so many seconds. Returns an array, a new reference, with a row
 * for each place and reason of which a packet came: {where, name, port, age_ns, packet: a line for
 * people, bytes: the first 64 as hexadecimal digits}; port is null where it is not known. Or NULL
 * with err set, one sentence, also where somebody captures already. */
json_t *shuntctl_samples_take(const char *socket, unsigned seconds, struct shunt_err *err);

#endif
