/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket's address: a UNIX stream socket that only its owner may open (mode 0600), or a
 * group as well (0660). A socket file that a dead daemon left is replaced. That of a daemon that
 * lives is refused. */
#ifndef SHUNT_SERVE_LISTENER_H
#define SHUNT_SERVE_LISTENER_H

#include <sys/stat.h>
#include <sys/un.h>

#include "base/err.h"

struct shunt_listener {
	int fd; /* non-blocking, listening */
	struct sockaddr_un addr;
	dev_t dev; /* of the file, so that only our own is removed */
	ino_t ino;
};

/* shunt_listener_open binds path. group: name of the group that may open it, "" none. Returns 0;
 * -EADDRINUSE when somebody answers there; -EEXIST when the path is something else than a socket;
 * -ENOENT where there is no such group; -EPERM where the file cannot be given to it; or another
 * -errno; with err set and nothing held. Thread: init. */
int shunt_listener_open(struct shunt_listener *l, const char *path, const char *group,
			struct shunt_err *err);

/* shunt_listener_close closes the socket and removes its file, if it is still the
 * one that open made. Legal with fd -1. Thread: control. */
void shunt_listener_close(struct shunt_listener *l);

#endif
