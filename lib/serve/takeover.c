// SPDX-License-Identifier: BSD-2-Clause
#include "serve/takeover.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

static const char request[] = "{\"cmd\": \"handover\"}\n";
static const char macs_request[] = "{\"cmd\": \"show\", \"object\": \"macs\"}\n";
static const char granted[] = "{\"result\":";

static int connect_to(const char *path, struct shunt_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code;

	if (fd < 0)
		return shunt_err_set(err, errno, "takeover: socket: %s", strerror(errno));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	code = errno;
	close(fd);
	if (code == ENOENT || code == ECONNREFUSED)
		return -code;
	return shunt_err_set(err, code, "takeover: connecting to %s: %s", path, strerror(code));
}

/* Reads until the other end closes. Returns how much of the reply there was. */
static int read_all(int fd, char *reply, size_t room, const char *path, struct shunt_err *err)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n;

	for (;;) {
		if (poll(&pollfd, 1, TIMEOUT_MS) <= 0)
			return shunt_err_set(err, ETIMEDOUT,
					     "takeover: the daemon at %s does not let go; look at "
					     "`shuntctl -s %s show workers`, or stop it",
					     path, path);
		n = read(fd, reply + len, room - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		reply[len] = 0;
		if (reply[len - 1] == '\n' && strncmp(reply, granted, strlen(granted)) != 0)
			break; /* refused: it will not end */
		if (len + 1 == room)
			break;
	}
	return (int)len;
}

static json_t *ask_for_macs(FILE *daemon)
{
	json_t *reply = NULL;

	if (fputs(macs_request, daemon) >= 0 && !fflush(daemon))
		reply = json_loadf(daemon, JSON_DISABLE_EOF_CHECK, NULL);
	return reply;
}

struct json_t *shunt_takeover_stations(const char *path)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_MS / 1000};
	int fd = connect_to(path, NULL);
	FILE *daemon = fd < 0 ? NULL : fdopen(fd, "r+");
	json_t *reply = NULL, *macs;

	if (!daemon) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		reply = ask_for_macs(daemon);
	fclose(daemon);
	macs = json_incref(json_object_get(reply, "result"));
	json_decref(reply);
	return macs;
}

int shunt_takeover_request(const char *path, struct shunt_err *err)
{
	char reply[1024] = "";
	int fd = connect_to(path, err), ret;

	if (fd < 0)
		return fd == -ENOENT || fd == -ECONNREFUSED ? 0 : fd;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		ret = shunt_err_set(err, errno, "takeover: asking the daemon at %s: %s", path,
				    strerror(errno));
	else
		ret = read_all(fd, reply, sizeof(reply), path, err);
	close(fd);
	if (ret < 0)
		return ret;
	if (strncmp(reply, granted, strlen(granted)) != 0)
		return shunt_err_set(err, EPROTO,
				     "takeover: the daemon at %s does not hand over: %.200s", path,
				     *reply ? reply : "it closed the connection");
	return 1;
}

static int listener(const char *path, bool by_root)
{
	struct ucred peer = {.pid = -1};
	socklen_t len = sizeof(peer);
	int fd = connect_to(path, NULL);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		peer.pid = -1;
	close(fd);
	return by_root && peer.uid ? -EPERM : peer.pid;
}

int shunt_takeover_pid(const char *path)
{
	return listener(path, false);
}

int shunt_takeover_root_pid(const char *path)
{
	return listener(path, true);
}
