/* SPDX-License-Identifier: BSD-2-Clause */
/* All that the daemon has. Thread: control. */
#ifndef SHUNTD_DAEMON_H
#define SHUNTD_DAEMON_H

#include "args.h"
#include "capture/capture.h"
#include "engine/engine.h"
#include "explain/explain.h"
#include "helper/helper.h"
#include "journal/journal.h"
#include "notice/notice.h"
#include "serve/rights.h"
#include "serve/server.h"

struct daemon {
	struct shuntd_args args;
	int argc; /* to be read again by a reload */
	char **argv;
	struct shunt_engine *engine;
	struct shunt_notices *notices;
	struct shunt_captures *captures;
	struct shunt_explain *explain;
	struct shunt_server *server; /* NULL without a control path */
	struct shunt_journal *journal;
	struct shunt_helper *helper; /* NULL: no port is a device */
	bool hands_over;	     /* a successor asked for it */
	int rollback_fd;	     /* while the daemon before can come back (rollback.h); -1 */
	int signal_fd, timer_fd, epoll_fd;
	bool has_pidfile; /* written by this process */
	struct shunt_rights_opts rights;
};

#endif
