/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration read again while frames pass: SIGHUP, `shuntctl reload`. Rules are changed. A
 * change of anything else needs a new daemon, and is refused by name. */
#ifndef SHUNTD_RELOAD_H
#define SHUNTD_RELOAD_H

#include "args.h"
#include "engine/engine.h"

/* shuntd_reload reads the command line and its file again, checks all of it, then puts the new
 * rules in force and says so. Returns how many, or -errno with err set and nothing changed: the
 * file is wrong or cannot be read, there is none, or something other than rules differs. Thread:
 * control. */
int shuntd_reload(struct shunt_engine *engine, int argc, char **argv, struct shunt_err *err);

#endif
