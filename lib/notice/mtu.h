/* SPDX-License-Identifier: BSD-2-Clause */
/* A port's MTU that changes while shuntd runs. A lower one is followed: what is longer does not
 * leave by the port, as the kernel would have it. With a higher one, frames, rings and what may
 * pass were made for the one at the start, and longer packets do not come through: that is a
 * warning. */
#ifndef SHUNT_NOTICE_MTU_H
#define SHUNT_NOTICE_MTU_H

#include "engine/engine.h"

/* shunt_mtu_follow asks for the MTUs of now, and sets what the workers send by them. Returns
 * whether any is another than before. Thread: control. Cost: an ioctl a port. */
bool shunt_mtu_follow(struct shunt_engine *engine);

/* shunt_mtu_sentence writes the warning about a port. Returns false where there is no reason for
 * one. Thread: control. Cost: an ioctl. */
bool shunt_mtu_sentence(const struct shunt_port *port, struct shunt_err *out);

/* shunt_mtu_warn writes it for every port that it was not written for yet with this MTU, at most
 * max. Returns how many. Thread: control. */
unsigned shunt_mtu_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
