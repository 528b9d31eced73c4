/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line says: options before the command and behind it, the command, its words.
 * Thread: shuntctl has one. */
#ifndef SHUNTCTL_OPTIONS_H
#define SHUNTCTL_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "capture.h"
#include "doctor.h"
#include "explain.h"
#include "show/show.h"
#include "view.h"
#include "words.h"

enum shuntctl_command {
	COMMAND_SHOW,
	COMMAND_ROUTE,
	COMMAND_LANE,
	COMMAND_TOP,
	COMMAND_METRICS,
	COMMAND_DOCTOR,
	COMMAND_CAPTURE,
	COMMAND_TRACE,
	COMMAND_EXPLAIN,
	COMMAND_RELOAD,
	COMMAND_HELP,
	COMMAND_CNT,
};

struct shuntctl_options {
	const char *socket;
	bool json, pretty;
	struct shuntctl_view_opts view;
	struct shunt_doctor_opts doctor;
	struct shuntctl_capture_opts capture;
	struct shuntctl_explain_opts explain;
	unsigned samples_s; /* of show drops; 0: none */
	double interval_s;
	unsigned iterations;
};

/* What show shows. */
enum {
#define X(name, help) SHUNTCTL_OBJECT_##name,
	SHUNT_SHOW_OBJECTS(X)
#undef X
		SHUNTCTL_OBJECT_CNT
};

extern const struct shuntctl_word shuntctl_commands[COMMAND_CNT];
extern const struct shuntctl_word shuntctl_objects[SHUNTCTL_OBJECT_CNT];

/* shuntctl_options_parse sets all of *o, what is not given to its default. Options stand before the
 * command, or behind it, among its words: some commands have their own there. *words is set to the
 * command and what follows, *cnt of them, 0 without a command. Returns 0, 1 when help or version
 * was printed, or -EINVAL with err set. */
int shuntctl_options_parse(struct shuntctl_options *o, int argc, char **argv, char ***words,
			   int *cnt, struct shunt_err *err);

void shuntctl_options_help(void);

#endif
