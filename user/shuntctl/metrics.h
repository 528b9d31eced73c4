/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's counters in the text format that Prometheus scrapes (exposition format 0.0.4):
 * base units, counters ending in _total, labels of bounded number. */
#ifndef SHUNTCTL_METRICS_H
#define SHUNTCTL_METRICS_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"

/* What metrics are made of: objects of `show`, by name. */
#define SHUNTCTL_METRICS_OBJECTS(X) \
	X(ports)                    \
	X(lanes) X(notices) X(workers) X(runtime) X(drops) X(ledger) X(mirror) X(rules) X(devices)

/* shuntctl_metrics_ask gathers those objects from a daemon; word is not used. Returns a new
 * reference to an object of them by name, or NULL with err set. */
json_t *shuntctl_metrics_ask(int fd, const char *word, struct shunt_err *err);

/* shuntctl_metrics_print writes all families; what the daemon did not measure is left out, never
 * 0. Returns 0, or -ENOMEM. Pure but for out. */
int shuntctl_metrics_print(FILE *out, const json_t *objects);

#endif
