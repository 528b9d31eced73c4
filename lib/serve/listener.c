// SPDX-License-Identifier: BSD-2-Clause
#include "serve/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 16

static int fail(struct shunt_err *err, const char *path, const char *what, int code)
{
	return shunt_err_set(err, code, "control socket %s: %s: %s", path, what, strerror(code));
}

static int in_use(int fd, const char *path, struct shunt_err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || !peer.pid)
		return shunt_err_set(err, EADDRINUSE,
				     "control socket %s is in use by another "
				     "daemon: stop that one, or give --control another path",
				     path);
	return shunt_err_set(err, EADDRINUSE,
			     "control socket %s is in use by another daemon "
			     "(process %d): stop that one, or give --control another path",
			     path, (int)peer.pid);
}

/* Removes a file of that name if it is a socket that nobody listens on. A daemon that lives but
 * hangs has a full backlog: EAGAIN. */
static int remove_stale(const struct shunt_listener *l, struct shunt_err *err)
{
	const char *path = l->addr.sun_path;
	struct stat st;
	int fd, ret, code;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : fail(err, path, "stat", errno);
	if (!S_ISSOCK(st.st_mode))
		return shunt_err_set(err, EEXIST,
				     "control socket %s: the path is taken by a file "
				     "that is no socket, remove it or give --control another",
				     path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(err, path, "socket", errno);
	ret = connect(fd, (const struct sockaddr *)&l->addr, sizeof(l->addr));
	code = ret ? errno : 0;
	if (!code || code == EAGAIN)
		ret = in_use(fd, path, err);
	else if (code != ECONNREFUSED && code != EPROTOTYPE)
		ret = fail(err, path, "connect", code);
	else
		ret = unlink(path) && errno != ENOENT ? fail(err, path, "unlink", errno) : 0;
	close(fd);
	return ret;
}

/* Lets a group open it, once it is that group's. */
static int give_to(const char *path, const char *name, struct shunt_err *err)
{
	const struct group *group = getgrnam(name);

	if (!group)
		return shunt_err_set(err, ENOENT,
				     "control socket %s: there is no group '%s': make it with "
				     "`groupadd --system %s`, or leave the group out",
				     path, name, name);
	if (lchown(path, (uid_t)-1, group->gr_gid))
		return shunt_err_set(err, EPERM,
				     "control socket %s: it cannot be given to group %s: %s; who "
				     "starts shuntd must be root or in that group",
				     path, name, strerror(errno));
	if (fchmodat(AT_FDCWD, path, 0660, AT_SYMLINK_NOFOLLOW))
		return fail(err, path, "chmod", errno);
	return 0;
}

/* The mode is set on the socket, from which bind takes that of the file: at no
 * moment could another user open it. */
static int bind_and_listen(struct shunt_listener *l, const char *group, struct shunt_err *err)
{
	const char *path = l->addr.sun_path;
	struct stat st;
	int ret;

	if (fchmod(l->fd, 0600))
		return fail(err, path, "fchmod", errno);
	if (bind(l->fd, (const struct sockaddr *)&l->addr, sizeof(l->addr)))
		return fail(err, path, "bind", errno);
	ret = *group ? give_to(path, group, err) : 0;
	if (ret) {
		unlink(path);
		return ret;
	}
	if (lstat(path, &st) || listen(l->fd, BACKLOG)) {
		int code = errno;

		unlink(path);
		return fail(err, path, "listen", code);
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

int shunt_listener_open(struct shunt_listener *l, const char *path, const char *group,
			struct shunt_err *err)
{
	int ret;

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	if (!*path || strlen(path) >= sizeof(l->addr.sun_path))
		return shunt_err_set(err, ENAMETOOLONG,
				     "control socket '%s': the path has %zu "
				     "characters, expected 1 to %zu",
				     path, strlen(path), sizeof(l->addr.sun_path) - 1);
	l->addr.sun_family = AF_UNIX;
	memcpy(l->addr.sun_path, path, strlen(path));
	ret = remove_stale(l, err);
	if (ret)
		return ret;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return fail(err, path, "socket", errno);
	ret = bind_and_listen(l, group, err);
	if (ret) {
		close(l->fd);
		l->fd = -1;
	}
	return ret;
}

void shunt_listener_close(struct shunt_listener *l)
{
	struct stat st;

	if (l->fd < 0)
		return;
	if (!lstat(l->addr.sun_path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->addr.sun_path);
	close(l->fd);
	l->fd = -1;
}
