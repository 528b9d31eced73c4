/* SPDX-License-Identifier: BSD-2-Clause */
/* A port whose device got more queues while shuntd runs (ethtool -L; fewer the kernel refuses while
 * they have sockets): nobody serves those, and what a cross-connect gets there is lost. That is a
 * warning. */
#ifndef SHUNT_NOTICE_COVERAGE_H
#define SHUNT_NOTICE_COVERAGE_H

#include "engine/engine.h"

/* shunt_coverage_queues returns how many queues a port's device has now, as far as that is known.
 * Thread: control. Cost: an ioctl. */
unsigned shunt_coverage_queues(const struct shunt_port *port);

/* shunt_coverage_sentence writes the warning about a port. Returns false where there is no reason
 * for one. Thread: control. Cost: an ioctl. */
bool shunt_coverage_sentence(const struct shunt_port *port, struct shunt_err *out);

/* shunt_coverage_warn writes it for every port that it was not written for yet with so many queues,
 * at most max. Returns how many. Thread: control. */
unsigned shunt_coverage_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
