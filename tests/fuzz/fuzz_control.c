// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: whatever a client sends, what comes back is lines of JSON, each an object
 * with a result or an error, and the next client is served. An input is sent in pieces, cut at
 * its zero bytes; the engine behind it has two ports of memory and does not run. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/engine.h"
#include "serve/server.h"
#include "show/show.h"
#include "fuzz.h"

static struct shunt_config config;
static struct shunt_engine *engine;
static struct shunt_show show;
static struct shunt_server *server;
static struct sockaddr_un addr = {.sun_family = AF_UNIX};

static void stop(void)
{
	struct shunt_err err;

	shunt_server_destroy(server);
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
			  !shunt_notices_create(&show.notices, engine, &err),
		  "%s", err.msg);
	show.engine = engine;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/shunt-fuzz-%d.sock", getpid());
	ret = shunt_server_create(&server, addr.sun_path, shunt_show_request, &show, &err);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char good[] = "{\"cmd\":\"show\",\"object\":\"rules\"}\n";
	const uint8_t *end = data + size, *cut;
	int fd;

	if (!server)
		start();
	fd = dial();
	for (; data < end; data = cut + 1) {
		cut = memchr(data, 0, (size_t)(end - data));
		cut = cut ? cut : end;
		if (send(fd, data, (size_t)(cut - data), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		shunt_server_service(server);
		read_replies(fd);
	}
	close(fd);
	shunt_server_service(server);
	fd = dial();
	FUZZ_MUST(send(fd, good, sizeof(good) - 1, 0) > 0, "send: %m");
	shunt_server_service(server);
	FUZZ_MUST(read_replies(fd) == 1, "the next client is not answered");
	close(fd);
	shunt_server_service(server);
	return 0;
}
