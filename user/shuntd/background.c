// SPDX-License-Identifier: BSD-2-Clause
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ready_fd = -1, null_fd = -1;

int shuntd_background_enter(struct shunt_err *err)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return shunt_err_set(err, errno, "cannot go to the background: pipe: %s",
				     strerror(errno));
	pid = fork();
	if (pid < 0)
		return shunt_err_set(err, errno, "cannot go to the background: fork: %s",
				     strerror(errno));
	if (pid > 0) {
		close(fds[1]);
		/* The child sends a byte when it forwards; end of file: it failed. */
		_exit(read(fds[0], &byte, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	close(fds[0]);
	ready_fd = fds[1];
	/* Now, since shuntd_background_ready may open nothing for writing. */
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	setsid();
	return 0;
}

void shuntd_background_ready(void)
{
	if (null_fd >= 0) {
		dup2(null_fd, STDIN_FILENO);
		dup2(null_fd, STDOUT_FILENO);
		dup2(null_fd, STDERR_FILENO);
		if (null_fd > STDERR_FILENO)
			close(null_fd);
	}
	null_fd = -1;
	if (ready_fd >= 0 && write(ready_fd, "", 1) == 1)
		close(ready_fd);
	ready_fd = -1;
}

int shuntd_background_pidfile(const char *path, struct shunt_err *err)
{
	/* Root writes it, and the folder may be somebody else's: a link there would lead elsewhere.
	 * An old file goes first, so that a second name of another's file is not written to either.
	 */
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	char number[16];
	int fd, len = snprintf(number, sizeof(number), "%d\n", getpid()), code = 0;

	unlink(path);
	fd = open(path, flags, 0644);
	if (fd < 0 || write(fd, number, (size_t)len) != len)
		code = errno;
	if (fd >= 0)
		close(fd);
	return code ? shunt_err_set(err, code, "cannot write the pid file %s: %s", path,
				    strerror(code))
		    : 0;
}
