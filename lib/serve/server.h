/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket's server. A client writes one line, a JSON object, and gets one line back,
 * {"result": ...} or {"error": "sentence"}. Then it may ask again. Nothing that a client does or
 * leaves undone blocks the daemon or makes it grow:
 * - the number of clients is limited, as are the length of a request and the time that it takes;
 * - a client has one request in work. Its reply is written before the next request is read.
 *
 * Limits: the handler runs to its end in the caller's thread; a reply is built in
 * memory; only root, the daemon's own user, and a group that may open the socket are answered.
 *
 *     shunt_server_create(&server, "/run/shunt/control", "", answer, &daemon, &err);
 *     epoll or poll shunt_server_fd(server) for input, then
 *     shunt_server_service(server);
 *     shunt_server_destroy(server);
 */
#ifndef SHUNT_SERVE_SERVER_H
#define SHUNT_SERVE_SERVER_H

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"

#define SHUNT_SERVER_CLIENT_MAX	 16
#define SHUNT_SERVER_STAY_MAX	 8     /* clients on whom something hangs */
#define SHUNT_SERVER_REQUEST_MAX 16384 /* bytes of a line, its end included */
#define SHUNT_SERVER_FD_MAX	 65    /* descriptors with a reply */
#define SHUNT_SERVER_STALL_SEC	 5     /* half a request or an unread reply */
#define SHUNT_SERVER_IDLE_SEC	 60    /* between requests */

/* What a handler may give beside its answer. */
struct shunt_server_more {
	int fds[SHUNT_SERVER_FD_MAX]; /* go with the reply; the server closes its own */
	unsigned fd_cnt;
	/* Called with ended_arg when the client is gone. NULL: nothing hangs on it. Otherwise the
	 * client may be silent for as long as it likes, and its place is nobody else's. */
	void (*ended)(void *arg);
	void *ended_arg;
};

/* Answers one request, an object. may_change: it comes from root or the daemon's own user;
 * otherwise from the group, which may be told things and change none. *more has no descriptor and
 * nothing that hangs on the client. Returns a new reference, which becomes the server's, or NULL
 * with err set, and *more left alone.
 */
typedef json_t *(*shunt_server_fn)(void *arg, bool may_change, const json_t *request,
				   struct shunt_server_more *more, struct shunt_err *err);

struct shunt_server;

/* shunt_server_create listens on path. group: who may read besides (shunt_listener_open), ""
 * nobody. A socket file that a killed daemon left is replaced. Returns 0, or -errno with err set as
 * shunt_listener_open does. Thread: init. */
int shunt_server_create(struct shunt_server **out, const char *path, const char *group,
			shunt_server_fn fn, void *arg, struct shunt_err *err);

/* shunt_server_destroy closes everything and removes the socket file. NULL is
 * legal. Thread: control. */
void shunt_server_destroy(struct shunt_server *server);

/* shunt_server_dismiss ends the clients on whom something hangs. Thread: control. */
void shunt_server_dismiss(struct shunt_server *server);

/* shunt_server_fd returns a descriptor that is readable when service has work.
 * It stays the server's. Thread: control. */
int shunt_server_fd(const struct shunt_server *server);

/* shunt_server_service does what is due: accepts, reads, answers, writes, ends
 * clients that are too slow. Never blocks, the handler apart. Thread: control. */
void shunt_server_service(struct shunt_server *server);

#endif
