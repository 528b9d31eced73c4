/* SPDX-License-Identifier: BSD-2-Clause */
/* What the service manager is told (sd_notify(3), without libsystemd): datagrams to
 * the socket that $NOTIFY_SOCKET names. Without one everything here does nothing. */
#ifndef SHUNTD_NOTIFY_H
#define SHUNTD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

/* shuntd_notify_open connects, and takes $NOTIFY_SOCKET and $WATCHDOG_USEC out of the
 * environment. Thread: init. */
void shuntd_notify_open(void);

/* shuntd_notify tells a state such as "READY=1". Thread: control. */
void shuntd_notify(const char *state);

/* shuntd_notify_alive tells WATCHDOG=1 while every worker gives a sign of life: a heartbeat in the
 * latest second. An idle worker beats ten times as often. Thread: control. */
void shuntd_notify_alive(const struct shunt_engine *engine);

/* shuntd_notify_interval_ms returns how often shuntd_notify_alive is to be called: a
 * third of what the manager allows, at most 1000. Thread: control. */
unsigned shuntd_notify_interval_ms(void);

#endif
