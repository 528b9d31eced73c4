/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes programs off devices and puts them back. Where all frames of a port are the kernel's, a
 * program costs: on a veth it slows the kernel down, and takes the segmentation offload from the
 * veth's peer. So where lane auto chooses the kernel, the steering program is off the device until
 * something is to be steered there: the choice changes, or somebody sets a share or rules
 * (has_program in choice/choice.h).
 *
 * The program stays
 * - in lane kernel that was asked for;
 * - where it is external;
 * - while a port that steers sends to this one by a driver that wants a program for that;
 * - on a device that lost its carrier when it got the program, once frames flow.
 *
 * Limits: what the kernel forwards without the program is not counted as lane kernel. The device
 * may come to refuse the program, by its MTU or an offload. Then the kernel keeps the frames, and
 * putting it back is tried again. */
#ifndef SHUNT_LANE_PROGRAM_H
#define SHUNT_LANE_PROGRAM_H

#include "lane/lanes.h"

/* shunt_lane_programs_follow takes programs off and puts them back, as the choices in force want
 * it. Sets *is_again where the lanes have to be chosen again: a program did not get back on, or got
 * back after it had not. Returns 0, or -errno of one that could not be taken off. Thread: control.
 * Cost: nothing where all is as it should be. */
int shunt_lane_programs_follow(struct shunt_lanes *lanes, bool *is_again, struct shunt_err *err);

#endif
