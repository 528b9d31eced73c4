/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs taken off devices and put back. A port whose frames are all the kernel's is better off
 * without a program: on a veth it costs the kernel a tenth of its packets, and its peer the
 * segmentation offload. So where lane auto comes to the kernel, the steering program is off the
 * device until something is to be steered there: the choice changes, or somebody sets a share or
 * rules (has_program in choice/choice.h).
 *
 * Limits: not for lane kernel that was asked for, which is somebody's experiment, nor for external
 * programs, nor while a port that steers sends to this one by a driver that wants a program for it.
 * A device that lost its carrier when it got the program keeps it once frames flow. What the kernel
 * forwards meanwhile is not counted as lane kernel. Meanwhile the device may come to refuse the
 * program, by its MTU or an offload: the kernel keeps the frames, and it is tried again. */
#ifndef SHUNT_LANE_PROGRAM_H
#define SHUNT_LANE_PROGRAM_H

#include "lane/lanes.h"

/* shunt_lane_programs_follow takes programs off and puts them back, as the choices in force want
 * it. *is_again: one did not get back, or does again, and lanes have to be chosen again. Returns 0
 * or -errno of one that could not be taken off. Thread: control. Cost: nothing where all is as it
 * should be. */
int shunt_lane_programs_follow(struct shunt_lanes *lanes, bool *is_again, struct shunt_err *err);

#endif
