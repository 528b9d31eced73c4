// SPDX-License-Identifier: BSD-2-Clause
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/listener.h"

struct client {
	int fd;		    /* -1: free slot */
	uint64_t active_ns; /* last progress */
	bool close_after_reply, may_change;
	size_t in_len;
	char *reply; /* owned; NULL when none is being written */
	size_t reply_len, reply_off;
	struct shunt_server_more more; /* of its latest answer that had any */
	char in[SHUNT_SERVER_REQUEST_MAX];
};

struct shunt_server {
	int epoll_fd, timer_fd;
	bool has_readers; /* a group may open the socket */
	int reserve_fd;	  /* given up to accept, and so end, a client when descriptors run out */
	struct shunt_listener listener;
	shunt_server_fn fn;
	void *arg;
	struct client clients[SHUNT_SERVER_CLIENT_MAX];
};

/* What an event is about: a client, by the number of its slot, or one of these. */
enum { EVENT_LISTENER = SHUNT_SERVER_CLIENT_MAX, EVENT_TIMER };

static int watch(const struct shunt_server *s, int op, int fd, uint32_t events, unsigned about)
{
	struct epoll_event ev = {.events = events, .data.u32 = about};

	return epoll_ctl(s->epoll_fd, op, fd, &ev) ? -errno : 0;
}

static unsigned client_slot(const struct shunt_server *s, const struct client *c)
{
	return (unsigned)(c - s->clients);
}

/* The timer ticks only while there are clients: an idle daemon is not woken. */
static void set_timer(const struct shunt_server *s)
{
	struct itimerspec its = {0};
	unsigned i;

	for (i = 0; i < SHUNT_SERVER_CLIENT_MAX; i++)
		if (s->clients[i].fd >= 0)
			its.it_value.tv_sec = its.it_interval.tv_sec = 1;
	timerfd_settime(s->timer_fd, 0, &its, NULL);
}

static void close_fds(struct shunt_server_more *more)
{
	while (more->fd_cnt)
		close(more->fds[--more->fd_cnt]);
}

static void end_client(struct shunt_server *s, struct client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	free(c->reply);
	close_fds(&c->more);
	if (c->more.ended)
		c->more.ended(c->more.ended_arg);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
	set_timer(s);
}

/* Descriptors go with the first byte. */
static ssize_t send_some(struct client *c)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SHUNT_SERVER_FD_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {c->reply + c->reply_off, c->reply_len - c->reply_off};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	const size_t bytes = c->more.fd_cnt * sizeof(int);
	ssize_t n;

	if (bytes) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(bytes);
		control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(bytes),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), c->more.fds, bytes);
	}
	n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		close_fds(&c->more);
	return n;
}

/* Writes what the socket takes. When all is out, waits for the next request. */
static void write_reply(struct shunt_server *s, struct client *c)
{
	ssize_t n = send_some(c);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		end_client(s, c);
		return;
	}
	if (n > 0) {
		c->reply_off += (size_t)n;
		c->active_ns = shunt_clock_ns();
	}
	if (c->reply_off < c->reply_len) {
		watch(s, EPOLL_CTL_MOD, c->fd, EPOLLOUT, client_slot(s, c));
		return;
	}
	if (c->close_after_reply) {
		end_client(s, c);
		return;
	}
	free(c->reply);
	c->reply = NULL;
	watch(s, EPOLL_CTL_MOD, c->fd, EPOLLIN, client_slot(s, c));
}

/* Takes over value, which may be NULL for want of memory: then the client is ended. */
static void send_reply(struct shunt_server *s, struct client *c, const char *key, json_t *value)
{
	json_t *reply = json_pack("{s:o}", key, value);
	char *text = reply ? json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(reply);
	if (!text) {
		end_client(s, c);
		return;
	}
	c->reply = text;
	c->reply_len = strlen(text);
	c->reply_off = 0;
	text[c->reply_len++] = '\n'; /* in the place of the terminating zero */
	write_reply(s, c);
}

static void send_error(struct shunt_server *s, struct client *c, const char *sentence)
{
	/* The sentence may quote the client's own bytes: no reason to trust them. */
	json_t *text = json_string(sentence);

	send_reply(s, c, "error",
		   text ? text
			: json_string("the request cannot be quoted: it is "
				      "not UTF-8"));
}

/* What hung on the client before ends where something else does now. */
static void keep_more(struct client *c, const struct shunt_server_more *more)
{
	const struct shunt_server_more before = c->more;

	if (!more->fd_cnt && !more->ended)
		return;
	c->more = *more;
	if (before.ended)
		before.ended(before.ended_arg);
}

static void answer(struct shunt_server *s, struct client *c, const char *line, size_t len)
{
	struct shunt_server_more more = {.fd_cnt = 0};
	struct shunt_err err = {"failed"};
	json_error_t syntax;
	json_t *request, *result;

	request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &syntax);
	if (!json_is_object(request)) {
		json_decref(request);
		send_error(s, c,
			   "the request is not a JSON object, expected one such as "
			   "{\"cmd\": \"show\", \"object\": \"ports\"} on one line");
		return;
	}
	result = s->fn(s->arg, c->may_change, request, &more, &err);
	json_decref(request);
	keep_more(c, &more);
	if (result)
		send_reply(s, c, "result", result);
	else
		send_error(s, c, err.msg);
}

static void take_line(struct shunt_server *s, struct client *c)
{
	char *end = memchr(c->in, '\n', c->in_len);
	size_t len;

	if (!end && c->in_len < sizeof(c->in))
		return;
	if (!end || end + 1 != c->in + c->in_len) {
		c->close_after_reply = true;
		send_error(
			s, c,
			end ? "more than one request was sent, expected the next one after "
			      "the reply"
			    : "the request is too long, expected at most 16383 bytes and a newline");
		return;
	}
	len = (size_t)(end - c->in);
	c->in_len = 0;
	answer(s, c, c->in, len);
}

static void read_request(struct shunt_server *s, struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_client(s, c);
		return;
	}
	/* A request has one time limit, however many pieces it comes in. */
	if (!c->in_len)
		c->active_ns = shunt_clock_ns();
	c->in_len += (size_t)n;
	take_line(s, c);
}

/* Whether a gives its place up before b does: who only reads before who may change things, then the
 * one that has been silent for longer. */
static bool yields(const struct client *a, const struct client *b)
{
	return a->may_change == b->may_change ? a->active_ns < b->active_ns : b->may_change;
}

/* Of those that stay at most STAY_MAX keep their place. */
static struct client *free_slot(struct shunt_server *s)
{
	struct client *oldest = NULL;
	unsigned i, stay_cnt = 0;

	for (i = 0; i < SHUNT_SERVER_CLIENT_MAX; i++) {
		struct client *c = &s->clients[i];

		if (c->fd < 0)
			return c;
		if (c->more.ended && ++stay_cnt <= SHUNT_SERVER_STAY_MAX)
			continue;
		if (!oldest || yields(c, oldest))
			oldest = c;
	}
	end_client(s, oldest);
	return oldest;
}

/* Without a descriptor to accept it with, a waiting client would wake the daemon for ever. */
static void refuse_client(struct shunt_server *s)
{
	int fd;

	if (s->reserve_fd >= 0)
		close(s->reserve_fd);
	fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool may_change(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	return peer.uid == 0 || peer.uid == geteuid();
}

static void accept_client(struct shunt_server *s)
{
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			refuse_client(s);
		return;
	}
	c = free_slot(s);
	c->fd = fd;
	c->may_change = may_change(fd);
	c->active_ns = shunt_clock_ns();
	if (watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, client_slot(s, c))) {
		end_client(s, c);
		return;
	}
	set_timer(s);
	if (!c->may_change && !s->has_readers) {
		c->close_after_reply = true;
		send_error(s, c, "only root and the daemon's own user are answered");
	}
}

static void end_slow_clients(struct shunt_server *s)
{
	uint64_t now = shunt_clock_ns(), ticks, limit;
	unsigned i;

	(void)!read(s->timer_fd, &ticks, sizeof(ticks));
	for (i = 0; i < SHUNT_SERVER_CLIENT_MAX; i++) {
		struct client *c = &s->clients[i];

		limit = c->reply || c->in_len ? SHUNT_SERVER_STALL_SEC : SHUNT_SERVER_IDLE_SEC;
		if (c->more.ended && !c->reply && !c->in_len)
			continue;
		if (c->fd >= 0 && now - c->active_ns > limit * SHUNT_NS_PER_SEC)
			end_client(s, c);
	}
}

static void serve_client(struct shunt_server *s, struct client *c, uint32_t events)
{
	if (c->fd < 0)
		return; /* ended by an earlier event of this call */
	if (c->reply) {
		/* Gone while a reply waits: nobody will read it. */
		if (events & (EPOLLERR | EPOLLHUP))
			end_client(s, c);
		else
			write_reply(s, c);
	} else {
		read_request(s, c);
	}
}

void shunt_server_service(struct shunt_server *server)
{
	struct epoll_event ev[SHUNT_SERVER_CLIENT_MAX + 2];
	bool is_calling = false;
	int i, n;

	n = epoll_wait(server->epoll_fd, ev, (int)(sizeof(ev) / sizeof(ev[0])), 0);
	for (i = 0; i < n; i++) {
		if (ev[i].data.u32 == EVENT_LISTENER)
			is_calling = true;
		else if (ev[i].data.u32 == EVENT_TIMER)
			end_slow_clients(server);
		else
			serve_client(server, &server->clients[ev[i].data.u32], ev[i].events);
	}
	/* Last, since a new client may take a slot that an event above is about. */
	if (is_calling)
		accept_client(server);
}

int shunt_server_fd(const struct shunt_server *server)
{
	return server->epoll_fd;
}

static int open_fds(struct shunt_server *s, struct shunt_err *err)
{
	s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd >= 0)
		s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer_fd >= 0 && !watch(s, EPOLL_CTL_ADD, s->timer_fd, EPOLLIN, EVENT_TIMER) &&
	    !watch(s, EPOLL_CTL_ADD, s->listener.fd, EPOLLIN, EVENT_LISTENER))
		return 0;
	return shunt_err_set(err, errno, "control socket %s: no descriptors to serve it: %s",
			     s->listener.addr.sun_path, strerror(errno));
}

int shunt_server_create(struct shunt_server **out, const char *path, const char *group,
			shunt_server_fn fn, void *arg, struct shunt_err *err)
{
	struct shunt_server *s = calloc(1, sizeof(*s));
	unsigned i;
	int ret;

	*out = NULL;
	if (!s)
		return shunt_err_set(err, ENOMEM, "control socket %s: no memory", path);
	s->fn = fn;
	s->arg = arg;
	s->has_readers = *group;
	s->epoll_fd = s->timer_fd = s->reserve_fd = -1;
	for (i = 0; i < SHUNT_SERVER_CLIENT_MAX; i++)
		s->clients[i].fd = -1;
	ret = shunt_listener_open(&s->listener, path, group, err);
	if (!ret)
		ret = open_fds(s, err);
	if (ret) {
		shunt_server_destroy(s);
		return ret;
	}
	*out = s;
	return 0;
}

void shunt_server_dismiss(struct shunt_server *server)
{
	unsigned i;

	for (i = 0; server && i < SHUNT_SERVER_CLIENT_MAX; i++)
		if (server->clients[i].more.ended)
			end_client(server, &server->clients[i]);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void shunt_server_destroy(struct shunt_server *server)
{
	unsigned i;

	if (!server)
		return;
	/* First, so that the path is free when the last client's connection ends. */
	shunt_listener_close(&server->listener);
	for (i = 0; i < SHUNT_SERVER_CLIENT_MAX; i++)
		end_client(server, &server->clients[i]);
	close_fd(server->epoll_fd);
	close_fd(server->timer_fd);
	close_fd(server->reserve_fd);
	free(server);
}
