/* SPDX-License-Identifier: BSD-2-Clause */
/* A port's device that is renamed while shuntd runs: everything goes on by its number, and the port
 * and its transmit nodes are called as the device is now. What was started by the old name would
 * not start again by it: that is a warning. */
#ifndef SHUNT_NOTICE_RENAME_H
#define SHUNT_NOTICE_RENAME_H

#include "engine/engine.h"

/* shunt_rename_follow gives every port the name that its device has now; one that is gone keeps its
 * last. Thread: control. Cost: some syscalls a port. */
void shunt_rename_follow(struct shunt_engine *engine);

/* shunt_rename_back gives the ports of a configuration that was read since the names that the
 * devices had when the engine was made, for a comparison. Thread: control. */
void shunt_rename_back(const struct shunt_engine *engine, struct shunt_config *config);

/* shunt_rename_sentence writes the warning about a port. Returns false where there is no reason for
 * one. Thread: control. */
bool shunt_rename_sentence(const struct shunt_port *port, struct shunt_err *out);

/* shunt_rename_warn writes it for every port that got a name since it was called last, at most max.
 * Returns how many. Thread: control. */
unsigned shunt_rename_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
