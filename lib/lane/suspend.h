/* SPDX-License-Identifier: BSD-2-Clause */
/* A port whose frames are all the kernel's is better off without a program: on a veth it costs the
 * kernel a tenth of its packets, and its peer the segmentation offload. So where lane auto comes to
 * the kernel, the steering program is off the device until something is to be steered there: the
 * choice changes, somebody sets a share or rules.
 *
 * Limits: not for lane kernel that was asked for, which is somebody's experiment, nor for external
 * programs, nor while a port that steers sends to this one by a driver that wants a program for it.
 * A device that lost its carrier when it got the program keeps it once frames flow. What the kernel
 * forwards meanwhile is not counted as lane kernel. Meanwhile the device may come to refuse the
 * program, by its MTU or an offload: the kernel keeps the frames, and it is tried again. */
#ifndef SHUNT_LANE_SUSPEND_H
#define SHUNT_LANE_SUSPEND_H

#include "engine/engine.h"

/* shunt_suspend_look remembers the device's carrier, before the program is attached. Thread:
 * control. */
void shunt_suspend_look(struct shunt_port *port);

/* shunt_suspend_may says whether the program could go if the lane were kernel. Thread: control. */
bool shunt_suspend_may(const struct shunt_engine *engine, const struct shunt_port *port);

/* shunt_suspend_follow takes programs off and puts them back, as the lanes in use want it: to be
 * called when those are in force in the programs. A program that does not get back is no failure:
 * the lane says so. Returns 0 or -errno of one that could not be taken off, or told its lane.
 * Thread: control. Cost: nothing where all is as it should be. */
int shunt_suspend_follow(struct shunt_engine *engine, struct shunt_err *err);

#endif
