/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes of the ports' devices while shuntd runs: MAC addresses, MTUs, names.
 *
 * A lower MTU is followed: what is longer does not leave by the port, as in the kernel. A higher
 * MTU is not, and a notice says so: frames and rings were made for that of the start. A renamed
 * device is served on by its number. */
#ifndef SHUNT_ENGINE_DEVICES_H
#define SHUNT_ENGINE_DEVICES_H

#include "engine/state.h"

/* shunt_engine_hear_devices returns a descriptor that is readable when the kernel has told of a
 * change of a device (rtnetlink(7), RTMGRP_LINK), or -errno. Thread: any. */
int shunt_engine_hear_devices(void);

/* shunt_engine_follow_devices asks for the ports' MAC addresses and MTUs of now, and tells the
 * workers. Returns whether any is another than before. Thread: control. Cost: two ioctls a port. */
bool shunt_engine_follow_devices(struct shunt_engine *engine);

/* shunt_engine_follow_told is the same if the kernel has told of a change since the last call. */
bool shunt_engine_follow_told(struct shunt_engine *engine);

/* shunt_engine_follow_names gives every port, and its transmit nodes, the name that its device has
 * now; one that is gone keeps its last. Thread: control. Cost: a syscall a port. */
void shunt_engine_follow_names(struct shunt_engine *engine);

/* shunt_engine_old_names gives the ports of a configuration that was read since the names that the
 * devices had when the engine was made, for a comparison. Thread: control. */
void shunt_engine_old_names(const struct shunt_engine *engine, struct shunt_config *config);

#endif
