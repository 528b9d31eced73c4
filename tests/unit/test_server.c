// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "serve/server.h"

static char dir[] = "/tmp/shunt-server-XXXXXX";
static struct sockaddr_un addr = {.sun_family = AF_UNIX};
static struct shunt_server *server;
static unsigned call_cnt;

/* Gives back what it was asked, or as many bytes as were asked for. */
static json_t *echo(void *arg, bool may_change, const json_t *request,
		    struct shunt_server_more *more, struct shunt_err *err)
{
	json_int_t size = json_integer_value(json_object_get(request, "size"));
	char *text;
	json_t *big;

	(void)more;
	call_cnt++;
	cr_assert_eq(arg, &call_cnt);
	if (json_object_get(request, "who"))
		return json_string(may_change ? "owner" : "reader");
	if (json_object_get(request, "fail")) {
		shunt_err_set(err, EINVAL, "%s",
			      json_string_value(json_object_get(request, "fail")));
		return NULL;
	}
	if (!size)
		return json_incref((json_t *)request);
	text = malloc((size_t)size);
	memset(text, 'x', (size_t)size);
	big = json_stringn(text, (size_t)size);
	free(text);
	return big;
}

static void setup(void)
{
	struct shunt_err err = {""};

	cr_assert(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", dir);
	cr_assert_eq(shunt_server_create(&server, addr.sun_path, "", echo, &call_cnt, &err), 0,
		     "%s", err.msg);
}

static void teardown(void)
{
	shunt_server_destroy(server);
	cr_expect_neq(access(addr.sun_path, F_OK), 0, "the socket file is left");
	rmdir(dir);
}

TestSuite(server, .init = setup, .fini = teardown, .timeout = 120);

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0, "%s", strerror(errno));
	return fd;
}

/* Lets the server do everything that is due now. Every call must be short. */
static void settle(void)
{
	struct pollfd p = {.fd = shunt_server_fd(server), .events = POLLIN};
	unsigned i;

	for (i = 0; i < 1000 && poll(&p, 1, 0) > 0; i++)
		shunt_server_service(server);
	cr_expect_lt(i, 1000, "the server never comes to rest");
}

static void say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	settle();
}

/* Reads what is there; "" for nothing yet, "EOF" when the server hung up. */
static const char *hear(int fd)
{
	static char buf[8192];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return errno == EAGAIN ? "" : "EOF";
	if (!n)
		return "EOF";
	buf[n] = 0;
	return buf;
}

Test(server, one_line_each_way_again_and_again)
{
	int fd = dial();

	say(fd, "{\"a\": 1}\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{\"a\":1}}\n");
	say(fd, "{\"fail\": \"no such thing\"}\n");
	cr_expect_str_eq(hear(fd), "{\"error\":\"no such thing\"}\n");
	say(fd, "{\"b\": [2]}\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{\"b\":[2]}}\n");
	close(fd);
	settle();
}

Test(server, a_request_in_pieces)
{
	int fd = dial();

	say(fd, "{\"a\"");
	cr_expect_str_eq(hear(fd), "");
	say(fd, ": 1}");
	cr_expect_str_eq(hear(fd), "");
	cr_expect_eq(call_cnt, 0);
	say(fd, "\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{\"a\":1}}\n");
	close(fd);
}

Test(server, garbage_is_answered_and_forgotten)
{
	static const char *const garbage[] = {"\n",
					      "x\n",
					      "{\n",
					      "[]\n",
					      "1\n",
					      "\"a\"\n",
					      "null\n",
					      "{\"a\":1,\"a\":2}\n",
					      "{\"a\":\"\xff\xfe\"}\n",
					      "{}{}\n",
					      "\x01\x02\x03\n",
					      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n"};
	int fd = dial();
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(garbage); i++) {
		say(fd, garbage[i]);
		cr_expect_str_eq(hear(fd),
				 "{\"error\":\"the request is not a JSON object, expected one such "
				 "as {\\\"cmd\\\": \\\"show\\\", \\\"object\\\": \\\"ports\\\"} on "
				 "one line\"}\n");
	}
	cr_expect_eq(call_cnt, 0);
	say(fd, "{}\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{}}\n");
	close(fd);
}

Test(server, too_long_a_request_ends_the_client)
{
	char line[SHUNT_SERVER_REQUEST_MAX + 1];
	int fd = dial();

	memset(line, 'x', SHUNT_SERVER_REQUEST_MAX);
	line[SHUNT_SERVER_REQUEST_MAX] = 0;
	say(fd, line);
	cr_expect_str_eq(hear(fd), "{\"error\":\"the request is too long, expected at most 16383 "
				   "bytes and a newline\"}\n");
	cr_expect_str_eq(hear(fd), "EOF");
	close(fd);

	fd = dial();
	line[0] = '{';
	memset(line + 1, ' ', SHUNT_SERVER_REQUEST_MAX - 3);
	strcpy(line + SHUNT_SERVER_REQUEST_MAX - 2, "}\n");
	say(fd, line);
	cr_expect_str_eq(hear(fd), "{\"result\":{}}\n", "the longest one allowed");
	close(fd);
}

Test(server, two_requests_at_once_are_refused)
{
	int fd = dial();

	say(fd, "{}\n{}\n");
	cr_expect_str_eq(hear(fd), "{\"error\":\"more than one request was sent, expected the next "
				   "one after the reply\"}\n");
	cr_expect_str_eq(hear(fd), "EOF");
	cr_expect_eq(call_cnt, 0);
	close(fd);
}

/* A client that does not read holds one reply and nothing else. */
Test(server, a_client_that_does_not_read)
{
	int slow = dial(), other;
	static char text[5000000];
	ssize_t n;
	size_t len = 0;

	say(slow, "{\"size\": 4000000}\n");
	/* More requests lie in the socket, unread. */
	cr_assert_gt(send(slow, "{}\n", 3, 0), 0);
	settle();
	cr_expect_eq(call_cnt, 1);
	other = dial();
	say(other, "{\"size\": 3}\n");
	cr_expect_str_eq(hear(other), "{\"result\":\"xxx\"}\n");
	while (len < 4000014 + 14) {
		n = recv(slow, text + len, sizeof(text) - len, 0);
		if (n > 0)
			len += (size_t)n;
		else
			cr_assert(errno == EAGAIN && n < 0, "hung up after %zu bytes", len);
		settle();
	}
	cr_expect_eq(len, 4000014 + 14);
	cr_expect_eq(memcmp(text + len - 17, "\"}\n{\"result\":{}}\n", 17), 0,
		     "the second reply comes behind the first");
	close(slow);
	close(other);
}

/* Far above SHUNT_SERVER_STALL_SEC: a busy machine may be late, but never not at all. */
#define HANG_UP_SEC 60

/* Waits until the server hangs up on fd; other events are its own business. */
static double hang_up_sec(int fd, unsigned limit_sec)
{
	uint64_t start_ns = shunt_clock_ns();
	struct pollfd p = {.fd = shunt_server_fd(server), .events = POLLIN};
	char buf[65536];
	double sec = 0;

	while (sec < limit_sec) {
		poll(&p, 1, 100);
		shunt_server_service(server);
		sec = (double)(shunt_clock_ns() - start_ns) / 1e9;
		/* Peeking, so that an unread reply stays unread. */
		if (recv(fd, buf, 1, MSG_PEEK) == 0)
			return sec;
		if (send(fd, "", 0, MSG_NOSIGNAL) < 0 && errno == EPIPE)
			return sec;
	}
	return sec;
}

Test(server, half_a_request_has_a_time_limit)
{
	int fd = dial(), idle = dial();

	say(fd, "{\"a\"");
	cr_expect_lt(hang_up_sec(fd, HANG_UP_SEC), HANG_UP_SEC);
	say(idle, "{}\n");
	cr_expect_str_eq(hear(idle), "{\"result\":{}}\n", "an idle client was ended too");
	close(fd);
	close(idle);
}

Test(server, an_unread_reply_has_a_time_limit)
{
	int fd = dial();

	say(fd, "{\"size\": 4000000}\n");
	cr_expect_lt(hang_up_sec(fd, HANG_UP_SEC), HANG_UP_SEC);
	close(fd);
}

/* More clients than there is room for: the one that was quiet longest makes room. */
Test(server, a_crowd_is_served)
{
	int fds[3 * SHUNT_SERVER_CLIENT_MAX];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(fds); i++) {
		fds[i] = dial();
		settle();
		say(fds[i], "{}\n");
		cr_expect_str_eq(hear(fds[i]), "{\"result\":{}}\n");
	}
	cr_expect_str_eq(hear(fds[0]), "EOF");
	for (i = 0; i < SHUNT_ARRAY_LEN(fds); i++)
		close(fds[i]);
	settle();
}

Test(server, without_descriptors_it_does_not_spin)
{
	struct rlimit old, tight;
	int fd, extra = dup(0);

	cr_assert(extra >= 0);
	close(extra);
	fd = dial();
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	tight.rlim_cur = (rlim_t)(fd + 1);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	settle(); /* asserts that it comes to rest */
	setrlimit(RLIMIT_NOFILE, &old);
	cr_expect_str_eq(hear(fd), "EOF");
	close(fd);
	fd = dial();
	settle();
	say(fd, "{}\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{}}\n");
	close(fd);
}

Test(server, the_file_is_for_its_owner_alone)
{
	struct stat st;

	cr_assert_eq(stat(addr.sun_path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
}

Test(server, a_live_daemon_is_not_robbed)
{
	struct shunt_server *second;
	struct shunt_err err = {""};
	char want[384];
	int fd;

	cr_expect_eq(shunt_server_create(&second, addr.sun_path, "", echo, NULL, &err),
		     -EADDRINUSE);
	snprintf(want, sizeof(want),
		 "control socket %s is in use by another daemon (process %d): "
		 "stop that one, or give --control another path",
		 addr.sun_path, (int)getpid());
	cr_expect_str_eq(err.msg, want);
	cr_expect_null(second);
	settle();
	fd = dial();
	settle();
	say(fd, "{}\n");
	cr_expect_str_eq(hear(fd), "{\"result\":{}}\n");
	close(fd);
}

Test(server, a_dead_daemons_socket_is_replaced)
{
	struct sockaddr_un dead = {.sun_family = AF_UNIX};
	struct shunt_server *second;
	struct shunt_err err = {""};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(dead.sun_path, sizeof(dead.sun_path), "%s/dead", dir);
	cr_assert_eq(bind(fd, (struct sockaddr *)&dead, sizeof(dead)), 0);
	close(fd); /* as a kill leaves it */
	cr_assert_eq(shunt_server_create(&second, dead.sun_path, "", echo, NULL, &err), 0, "%s",
		     err.msg);
	shunt_server_destroy(second);
	cr_expect_neq(access(dead.sun_path, F_OK), 0);
}

Test(server, another_file_is_left_alone)
{
	struct shunt_server *second;
	struct shunt_err err = {""};
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/precious", dir);
	f = fopen(path, "w");
	cr_assert(f);
	fclose(f);
	cr_expect_eq(shunt_server_create(&second, path, "", echo, NULL, &err), -EEXIST);
	cr_expect(strstr(err.msg, "no socket"), "%s", err.msg);
	cr_expect_eq(access(path, F_OK), 0);
	unlink(path);
	snprintf(path, sizeof(path), "%s/none/sock", dir);
	cr_expect_eq(shunt_server_create(&second, path, "", echo, NULL, &err), -ENOENT);
}

/* A successor that took the path over keeps it. */
Test(server, destroy_removes_only_its_own_file)
{
	struct shunt_server *second, *third;
	struct shunt_err err = {""};
	char path[96];

	snprintf(path, sizeof(path), "%s/shared", dir);
	cr_assert_eq(shunt_server_create(&second, path, "", echo, NULL, &err), 0);
	unlink(path);
	cr_assert_eq(shunt_server_create(&third, path, "", echo, NULL, &err), 0);
	shunt_server_destroy(second);
	cr_expect_eq(access(path, F_OK), 0);
	shunt_server_destroy(third);
	cr_expect_neq(access(path, F_OK), 0);
}

/* As another user: what a client is told there comes back as the exit status, 0 for `want`. */
static int told(uid_t uid, gid_t gid, const char *want)
{
	const pid_t pid = fork();
	int status = -1;

	if (!pid) {
		char reply[256] = "";
		int fd = -1;

		if (!setgid(gid) && !setuid(uid))
			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			_exit(errno);
		send(fd, "{\"who\": 1}\n", 11, MSG_NOSIGNAL);
		if (recv(fd, reply, sizeof(reply) - 1, 0) <= 0)
			_exit(254);
		_exit(strstr(reply, want) ? 0 : 255);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		shunt_server_service(server);
		sched_yield();
	}
	return WEXITSTATUS(status);
}

Test(server, a_group_reads)
{
	const struct group *group = getgrnam("daemon");
	struct shunt_err err = {""};
	struct stat st;

	if (geteuid() != 0 || !group)
		cr_skip_test("needs root, and a group named daemon");
	cr_assert_eq(chmod(dir, 0711), 0);
	cr_expect_eq(told(65534, 65534, "owner"), EACCES);
	shunt_server_destroy(server);
	cr_assert_eq(shunt_server_create(&server, addr.sun_path, "daemon", echo, &call_cnt, &err),
		     0, "%s", err.msg);
	cr_assert_eq(stat(addr.sun_path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0660);
	cr_expect_eq(st.st_gid, group->gr_gid);
	cr_expect_eq(told(65534, group->gr_gid, "reader"), 0);
	cr_expect_eq(told(0, 0, "owner"), 0);
	cr_expect_eq(told(65534, 65534, ""), EACCES);
}

Test(server, a_group_that_is_not_there)
{
	struct shunt_server *second;
	struct shunt_err err = {""};
	char path[96];

	snprintf(path, sizeof(path), "%s/grouped", dir);
	cr_expect_eq(shunt_server_create(&second, path, "no-such-group", echo, NULL, &err),
		     -ENOENT);
	cr_expect(strstr(err.msg, "there is no group 'no-such-group'"), "%s", err.msg);
	cr_expect_neq(access(path, F_OK), 0);
}

/* Sixteen clients that only read keep nobody out who may change things. */
Test(server, readers_yield)
{
	const struct group *group = getgrnam("daemon");
	struct shunt_err err = {""};
	int owner, fds[SHUNT_SERVER_CLIENT_MAX + 4];
	unsigned i;

	if (geteuid() != 0 || !group)
		cr_skip_test("needs root, and a group named daemon");
	cr_assert_eq(chmod(dir, 0711), 0);
	shunt_server_destroy(server);
	cr_assert_eq(shunt_server_create(&server, addr.sun_path, "daemon", echo, &call_cnt, &err),
		     0, "%s", err.msg);
	owner = dial();
	settle();
	/* The kernel notes who connects by the effective user. */
	cr_assert(!setegid(group->gr_gid) && !seteuid(65534));
	for (i = 0; i < SHUNT_ARRAY_LEN(fds); i++) {
		fds[i] = dial();
		cr_assert(!seteuid(0));
		settle();
		cr_assert(!seteuid(65534));
	}
	cr_assert(!seteuid(0) && !setegid(0));
	say(owner, "{\"who\": 1}\n");
	cr_expect_str_eq(hear(owner), "{\"result\":\"owner\"}\n");
	cr_expect_str_eq(hear(fds[0]), "EOF");
	say(fds[i - 1], "{\"who\": 1}\n");
	cr_expect_str_eq(hear(fds[i - 1]), "{\"result\":\"reader\"}\n");
	while (i--)
		close(fds[i]);
	close(owner);
	settle();
}
