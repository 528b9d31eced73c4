// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: whatever clients send, what comes back is lines of JSON, each an object with
 * a result or an error, and the next client is served. An input is sent in pieces, each ended by a
 * byte that no UTF-8 has: 0 goes on with the same client, 0xff with another one, while those before
 * it stay, and 0xfe hangs up before the reply is read. The engine behind it has two ports of memory
 * and does not run. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "capture/capture.h"
#include "engine/engine.h"
#include "serve/server.h"
#include "show/show.h"
#include "fuzz.h"

static struct shunt_config config;
static struct shunt_engine *engine;
static struct shunt_show show;
static struct shunt_server *server;
/* One more than the server keeps. */
#define CLIENT_CNT (SHUNT_SERVER_CLIENT_MAX + 1)

/* What ends a piece. */
enum { ON = 0, ANOTHER = 0xff, HANG_UP = 0xfe };

static struct sockaddr_un addr = {.sun_family = AF_UNIX};

static struct shunt_captures *captures;

static void end_capture(void *capture)
{
	shunt_capture_end(capture);
}

static json_t *answer(void *arg, bool may_change, const json_t *request,
		      struct shunt_server_more *more, struct shunt_err *err)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	struct shunt_capture *capture;
	json_t *result;

	(void)may_change;
	if (!cmd || strcmp(cmd, "capture") != 0)
		return shunt_show_request(arg, request, err);
	result = shunt_capture_begin(captures, request, more->fds, &more->fd_cnt, &capture, err);
	if (result) {
		more->ended = end_capture;
		more->ended_arg = capture;
	}
	return result;
}

static void stop(void)
{
	struct shunt_err err;

	shunt_server_destroy(server);
	shunt_captures_destroy(captures);
	shunt_notices_destroy(show.notices);
	shunt_engine_destroy(engine, &err);
	shunt_config_fini(&config);
}

static void start(void)
{
	const struct shunt_pair_config pair = {.port = {0, 1}};
	struct shunt_err err = {""};
	int i, ret = 0;

	shunt_config_init(&config);
	for (i = 0; i < 2; i++) {
		ret |= shunt_config_add_port(&config, i ? "b" : "a", &err) != i;
		config.ports[i].kind = SHUNT_PORT_MEM;
	}
	config.ring_size = 64;
	config.frames = 256;
	ret |= shunt_config_add_pair(&config, &pair, &err);
	FUZZ_MUST(!ret && !shunt_engine_create(&engine, &config, &err) &&
			  !shunt_engine_attach(engine, &err) && !shunt_engine_open(engine, &err) &&
			  !shunt_notices_create(&show.notices, engine, &err) &&
			  !shunt_captures_create(&captures, engine, &err),
		  "%s", err.msg);
	show.engine = engine;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/shunt-fuzz-%d.sock", getpid());
	ret = shunt_server_create(&server, addr.sun_path, "", answer, &show, &err);
	FUZZ_MUST(!ret, "%s", err.msg);
	atexit(stop);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_MUST(fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "connect: %m");
	shunt_server_service(server); /* accepts */
	return fd;
}

static void check_line(const char *line, size_t len)
{
	json_t *reply = json_loadb(line, len, 0, NULL);

	FUZZ_MUST(json_is_object(reply) && json_object_size(reply) == 1, "the reply is '%.*s'",
		  (int)len, line);
	FUZZ_MUST(json_object_get(reply, "result") ||
			  json_is_string(json_object_get(reply, "error")),
		  "the reply is '%.*s'", (int)len, line);
	json_decref(reply);
}

/* Reads the replies that have come. Returns how many. */
static unsigned read_replies(int fd)
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t n;
	unsigned cnt = 0;
	char *line = text, *end;

	do {
		n = recv(fd, text + len, sizeof(text) - len, MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
		shunt_server_service(server); /* writes on */
	} while (n > 0);
	while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
		check_line(line, (size_t)(end - line));
		line = end + 1;
		cnt++;
	}
	FUZZ_MUST(line == text + len, "half a reply");
	return cnt;
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	shunt_server_service(server);
}

static const uint8_t *end_of_piece(const uint8_t *data, const uint8_t *end)
{
	while (data < end && *data != ON && *data != ANOTHER && *data != HANG_UP)
		data++;
	return data;
}

/* The server may have ended the client: then it is deaf, and so is this one. */
static void say(int fd, const uint8_t *piece, size_t len)
{
	(void)!send(fd, piece, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	shunt_server_service(server);
}

static void talk(const uint8_t *data, const uint8_t *end)
{
	int fds[CLIENT_CNT];
	const uint8_t *cut;
	unsigned at = 0, i;

	memset(fds, -1, sizeof(fds));
	for (; data < end; data = cut + 1) {
		if (fds[at] < 0)
			fds[at] = dial();
		cut = end_of_piece(data, end);
		say(fds[at], data, (size_t)(cut - data));
		if (cut < end && *cut == HANG_UP)
			hang_up(&fds[at]);
		else
			read_replies(fds[at]);
		if (cut < end && *cut == ANOTHER)
			at = (at + 1) % CLIENT_CNT;
	}
	for (i = 0; i < CLIENT_CNT; i++)
		hang_up(&fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char good[] = "{\"cmd\":\"show\",\"object\":\"rules\"}\n";
	int fd;

	if (!server)
		start();
	talk(data, data + size);
	fd = dial();
	say(fd, (const uint8_t *)good, sizeof(good) - 1);
	FUZZ_MUST(read_replies(fd) == 1, "the next client is not answered");
	hang_up(&fd);
	return 0;
}
