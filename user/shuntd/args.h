/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of shuntd: a pair of words for each port, or a file, or both
 * (then the options change what the file says). */
#ifndef SHUNTD_ARGS_H
#define SHUNTD_ARGS_H

#include <stdbool.h>

#include "base/err.h"
#include "config/config.h"

struct shuntd_args {
	struct shunt_config config; /* checked */
	char config_path[256];	    /* of -c, "" without */
	char pidfile[256];	    /* "" without */
	bool daemonise;
	bool check_only; /* --check-config: print the configuration and leave */
	bool verbose;
	bool no_seccomp;
};

/* shuntd_args_parse reads the command line, the file of -c included, and checks the
 * result. Returns 0 to go on; 1 when everything is done (help or version printed to
 * stdout); -EINVAL with err set for a wrong command line; another -errno with err
 * set for a file that cannot be read. A fault inside the file is -EBADMSG. The
 * configuration is the caller's to fini in every case. Thread: init. */
int shuntd_args_parse(int argc, char **argv, struct shuntd_args *out, struct shunt_err *err);

/* shuntd_args_exit_code turns a negative return into the exit code: 2 for usage
 * (-EINVAL), 1 for the rest. */
int shuntd_args_exit_code(int ret);

#endif
