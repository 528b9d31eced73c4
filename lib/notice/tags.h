/* SPDX-License-Identifier: BSD-2-Clause */
/* A port whose NIC takes VLAN tags off (rxvlan, which most drivers have on): the steering program
 * sees frames of every VLAN without their tags, and forwards them so. The journal switches that off
 * while shuntd runs; where it is on nevertheless, that is a warning. */
#ifndef SHUNT_NOTICE_TAGS_H
#define SHUNT_NOTICE_TAGS_H

#include "engine/engine.h"

/* shunt_tags_are_taken says whether a port's are. shunt_tags_sentence writes the warning about that
 * and returns the same. Thread: control. Cost: some ioctls. */
bool shunt_tags_are_taken(const struct shunt_port *port);
bool shunt_tags_sentence(const struct shunt_port *port, struct shunt_err *out);

/* shunt_tags_warn writes it for every port whose tags began to be taken off since it was called
 * last, at most max. Returns how many. Thread: control. */
unsigned shunt_tags_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
