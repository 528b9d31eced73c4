// SPDX-License-Identifier: BSD-2-Clause
#include "rollback.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/takeover.h"

#define ANSWER_NS (20 * SHUNT_NS_PER_SEC)
#define ARGS_MAX  65536
#define WORDS_MAX 1024

/* How the daemon before was started. */
struct before {
	int exe_fd, cwd_fd;
	int out_fds[2]; /* its stdout and stderr, or /dev/null */
	char args[ARGS_MAX];
	char *argv[WORDS_MAX + 2]; /* and --takeover, so that it takes the programs' place */
};

static int open_of(int pid, const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return open(path, flags | O_CLOEXEC);
}

static bool read_args(int pid, struct before *b)
{
	int fd = open_of(pid, "cmdline", O_RDONLY);
	unsigned cnt = 0;
	ssize_t len, at;

	if (fd < 0)
		return false;
	len = read(fd, b->args, sizeof(b->args) - 1);
	close(fd);
	if (len <= 0 || len == sizeof(b->args) - 1)
		return false;
	for (at = 0; at < len && cnt < WORDS_MAX; at += (ssize_t)strlen(b->args + at) + 1)
		if (strcmp(b->args + at, "--takeover") != 0)
			b->argv[cnt++] = b->args + at;
	b->argv[cnt++] = "--takeover";
	b->argv[cnt] = NULL;
	return cnt > 2;
}

static int open_output(int pid, const char *fd)
{
	int out = open_of(pid, fd, O_WRONLY | O_APPEND | O_NONBLOCK);

	/* A socket cannot be opened a second time. */
	return out >= 0 ? out : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static bool learn(int pid, struct before *b)
{
	b->exe_fd = open_of(pid, "exe", O_RDONLY);
	b->cwd_fd = open_of(pid, "cwd", O_RDONLY | O_DIRECTORY);
	b->out_fds[0] = open_output(pid, "fd/1");
	b->out_fds[1] = open_output(pid, "fd/2");
	return b->exe_fd >= 0 && b->cwd_fd >= 0 && b->out_fds[0] >= 0 && b->out_fds[1] >= 0 &&
	       read_args(pid, b);
}

static void become(struct before *b)
{
	sigset_t none;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fcntl(b->out_fds[0], F_SETFL, O_APPEND);
	fcntl(b->out_fds[1], F_SETFL, O_APPEND);
	dup2(null_fd, STDIN_FILENO);
	dup2(b->out_fds[0], STDOUT_FILENO);
	dup2(b->out_fds[1], STDERR_FILENO);
	if (!fchdir(b->cwd_fd))
		fexecve(b->exe_fd, b->argv, environ);
	_exit(EXIT_FAILURE);
}

/* Waits for a byte, which means that all is well, or for the end of the file. */
static void stand_by(struct before *b, int fd)
{
	char byte;
	ssize_t n;

	setsid();
	/* A reader of the new daemon's output must not have to wait for this process's end. */
	dup2(b->out_fds[0], STDOUT_FILENO);
	dup2(b->out_fds[1], STDERR_FILENO);
	do
		n = read(fd, &byte, 1);
	while (n < 0);
	if (n == 0)
		become(b);
	_exit(EXIT_SUCCESS);
}

/* Starts a grandchild, so that this process never has to wait for its end. */
static bool set_aside(struct before *b, const int fds[2])
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		close(fds[1]);
		pid = fork();
		if (pid == 0)
			stand_by(b, fds[0]);
		_exit(pid > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void forget(struct before *b)
{
	const int fds[] = {b->exe_fd, b->cwd_fd, b->out_fds[0], b->out_fds[1]};
	unsigned i;

	for (i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(b);
}

int shuntd_rollback_arm(const char *path)
{
	int pid = shunt_takeover_pid(path), fds[2] = {-1, -1};
	struct before *b = pid > 0 ? calloc(1, sizeof(*b)) : NULL;
	bool is_armed;

	if (!b)
		return -1;
	is_armed = learn(pid, b) && !pipe2(fds, O_CLOEXEC) && set_aside(b, fds);
	forget(b);
	if (fds[0] >= 0)
		close(fds[0]);
	if (is_armed)
		return fds[1];
	if (fds[1] >= 0)
		close(fds[1]);
	return -1;
}

void shuntd_rollback_disarm(int *fd)
{
	if (*fd < 0)
		return;
	if (write(*fd, "k", 1) == 1)
		close(*fd);
	*fd = -1;
}

bool shuntd_rollback_fire(int *fd, const char *path)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	uint64_t until = shunt_clock_ns() + ANSWER_NS;
	int pid;

	close(*fd);
	*fd = -1;
	while (shunt_clock_ns() < until) {
		pid = shunt_takeover_pid(path);
		/* The socket may be another user's than this process's. */
		if (pid > 0 || pid == -EACCES)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
