/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose TCP or UDP checksum their sender left to a device, as a veth's other end does by
 * default: only the kernel's lane finishes them. The steering program looks at the frames that it
 * times; enough of them is a warning with the remedy. */
#ifndef SHUNT_CONTROL_UNFINISHED_H
#define SHUNT_CONTROL_UNFINISHED_H

#include "control/engine.h"

/* shunt_unfinished_sentence writes the warning about a port. Returns false where there is no
 * reason for one. Thread: control. */
bool shunt_unfinished_sentence(const struct shunt_port *port, struct shunt_err *out);

/* shunt_unfinished_warn writes it for every port that it was not written for yet, at most max.
 * Returns how many. Thread: control. */
unsigned shunt_unfinished_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
