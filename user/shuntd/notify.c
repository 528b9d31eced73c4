// SPDX-License-Identifier: BSD-2-Clause
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define BEAT_MAX_NS SHUNT_NS_PER_SEC

static int notify_fd = -1;
static unsigned interval_ms = 1000;

static int dial(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd;

	if (len < 2 || len >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return -1;
	memcpy(addr.sun_path, path, len);
	if (*path == '@')
		addr.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (!connect(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		return fd;
	close(fd);
	return -1;
}

void shuntd_notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC");
	unsigned long long limit = usec ? strtoull(usec, NULL, 10) : 0;

	if (path)
		notify_fd = dial(path);
	if (limit)
		interval_ms = (unsigned)SHUNT_MIN(SHUNT_MAX(limit / 3000, 10ull), 1000ull);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
}

void shuntd_notify(const char *state)
{
	if (notify_fd >= 0 && send(notify_fd, state, strlen(state), MSG_NOSIGNAL) < 0)
		return; /* not heard: the next one may be */
}

static bool are_workers_alive(const struct shunt_engine *engine)
{
	uint64_t now = shunt_clock_ns();
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++) {
		uint64_t beat = shunt_counter_read(&engine->workers[i]->stats.heartbeat_ns);

		if (now > beat && now - beat > BEAT_MAX_NS)
			return false;
	}
	return true;
}

void shuntd_notify_alive(const struct shunt_engine *engine)
{
	if (notify_fd >= 0 && are_workers_alive(engine))
		shuntd_notify("WATCHDOG=1");
}

unsigned shuntd_notify_interval_ms(void)
{
	return interval_ms;
}
