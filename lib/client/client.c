// SPDX-License-Identifier: BSD-2-Clause
#include "client/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hex.h"

#define ANSWER_SEC 30
#define REPLY_MAX  (64u << 20) /* far above what a daemon says */

static int explain(const char *path, int code, struct shunt_err *err)
{
	switch (code) {
	case ENOENT:
		return shunt_err_set(err, code,
				     "no daemon answers on %s: there is no such socket; "
				     "is shuntd running, or elsewhere (-s)?",
				     path);
	case ECONNREFUSED:
		return shunt_err_set(err, code,
				     "no daemon answers on %s: nobody listens there; "
				     "was shuntd killed?",
				     path);
	case EACCES:
	case EPERM:
		return shunt_err_set(err, code,
				     "no right to ask the daemon on %s: become root or "
				     "the user that shuntd runs as, or join the group that "
				     "its configuration names",
				     path);
	case EAGAIN:
		return shunt_err_set(err, code,
				     "the daemon on %s accepts no connection: does it "
				     "hang?",
				     path);
	default:
		return shunt_err_set(err, code, "cannot connect to %s: %s", path, strerror(code));
	}
}

int shunt_client_open(const char *path, struct shunt_err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_SEC};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, code;

	if (!*path || strlen(path) >= sizeof(addr.sun_path))
		return shunt_err_set(err, EINVAL,
				     "socket '%s' has a path of %zu characters, "
				     "expected 1 to %zu",
				     path, strlen(path), sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return explain(path, errno, err);
	/* The send limit bounds connect too. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		code = errno;
		close(fd);
		return explain(path, code, err);
	}
	return fd;
}

static int send_all(int fd, const char *text, size_t len, struct shunt_err *err)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return shunt_err_set(err, errno, "cannot write to the daemon: %s",
					     strerror(errno));
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The descriptors that came with some bytes; *got is left alone where none did. */
static void take_fds(struct msghdr *msg, struct shunt_client_fds *got)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(msg);

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return;
	got->cnt = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(got->at, CMSG_DATA(head), got->cnt * sizeof(int));
}

static int read_some(int fd, char *buf, size_t len, struct shunt_client_fds *got,
		     struct shunt_err *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(got->at))];
	} control;
	struct iovec iov = {buf, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (got) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (got && n > 0)
		take_fds(&msg, got);
	if (n > 0)
		return (int)n;
	if (n == 0)
		return shunt_err_set(err, ECONNRESET,
				     "the daemon closed the connection: it stopped, "
				     "or other clients took its place");
	if (errno == EAGAIN)
		return shunt_err_set(err, ETIMEDOUT, "the daemon did not answer within %d seconds",
				     ANSWER_SEC);
	return shunt_err_set(err, errno, "cannot read from the daemon: %s", strerror(errno));
}

/* Returns a line without its end, to be freed, or NULL with err set. */
static char *read_line(int fd, struct shunt_client_fds *got, struct shunt_err *err)
{
	size_t len = 0, max = 0;
	char *buf = NULL;
	int n;

	for (;;) {
		if (len + 1 >= max) {
			char *bigger = max < REPLY_MAX ? realloc(buf, max + 65536) : NULL;

			if (!bigger) {
				shunt_err_set(err, ENOMEM, "no memory for the daemon's reply");
				break;
			}
			buf = bigger;
			max += 65536;
		}
		n = read_some(fd, buf + len, max - len - 1, got, err);
		if (n < 0)
			break;
		len += (size_t)n;
		if (buf[len - 1] == '\n') {
			buf[len - 1] = 0;
			return buf;
		}
	}
	free(buf);
	return NULL;
}

static json_t *parse_reply(const char *line, struct shunt_err *err)
{
	json_t *reply = json_loads(line, 0, NULL);
	json_t *result = json_object_get(reply, "result");
	const char *error = json_string_value(json_object_get(reply, "error"));

	if (result)
		json_incref(result);
	else
		shunt_err_set(err, EPROTO, "%s",
			      error ? error
				    : "the reply is not shuntd's: "
				      "something else listens on the socket");
	json_decref(reply);
	return result;
}

json_t *shunt_client_ask(int fd, json_t *request, struct shunt_client_fds *got,
			 struct shunt_err *err)
{
	char *text = json_dumps(request, JSON_COMPACT), *line = NULL;
	json_t *result = NULL;

	json_decref(request);
	if (!text) {
		shunt_err_set(err, ENOMEM, "no memory for a request");
		return NULL;
	}
	if (!send_all(fd, text, strlen(text), err) && !send_all(fd, "\n", 1, err))
		line = read_line(fd, got, err);
	if (line)
		result = parse_reply(line, err);
	free(line);
	free(text);
	return result;
}

static json_t *ask(int fd, json_t *request, struct shunt_err *err)
{
	return shunt_client_ask(fd, request, NULL, err);
}

json_t *shunt_client_show(int fd, const char *object, struct shunt_err *err)
{
	return ask(fd, json_pack("{s:s, s:s}", "cmd", "show", "object", object), err);
}

json_t *shunt_client_flows(int fd, const char *filter, struct shunt_err *err)
{
	return ask(fd,
		   json_pack("{s:s, s:s, s:s}", "cmd", "show", "object", "flows", "filter", filter),
		   err);
}

json_t *shunt_client_route(int fd, const char *address, const char *iif, struct shunt_err *err)
{
	return ask(fd,
		   json_pack("{s:s, s:s, s:s*}", "cmd", "route", "address", address, "iif", iif),
		   err);
}

json_t *shunt_client_explain(int fd, const char *port, const uint8_t *bytes, uint32_t len,
			     unsigned queue, struct shunt_err *err)
{
	char *digits = malloc(2 * (size_t)len + 1);
	json_t *answer;

	if (!digits) {
		shunt_err_set(err, ENOMEM, "no memory for a request");
		return NULL;
	}
	shunt_hex_write(digits, bytes, len);
	answer = ask(fd,
		     json_pack("{s:s, s:s, s:s, s:i}", "cmd", "explain", "port", port, "bytes",
			       digits, "queue", (int)queue),
		     err);
	free(digits);
	return answer;
}

json_t *shunt_client_reload(int fd, const char *word, struct shunt_err *err)
{
	(void)word;
	return ask(fd, json_pack("{s:s}", "cmd", "reload"), err);
}

json_t *shunt_client_lane(int fd, const char *port, char **words, int cnt, struct shunt_err *err)
{
	json_t *share = json_array();

	while (cnt--)
		json_array_append_new(share, json_string(*words++));
	return ask(fd, json_pack("{s:s, s:s, s:o}", "cmd", "lane", "port", port, "share", share),
		   err);
}
