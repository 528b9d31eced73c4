// SPDX-License-Identifier: BSD-2-Clause
#include "journal/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

static void pin_name(char out[static 64], uint64_t netns, unsigned ifindex,
		     enum shunt_xdp_mode mode)
{
	snprintf(out, 64, "%" PRIu64 "-%u-%s", netns, ifindex, shunt_xdp_mode_name(mode));
}

static void pin_path(char out[static 128], const char *pin)
{
	snprintf(out, 128, "%s/%s", SHUNT_JOURNAL_FOREIGN_DIR, pin);
}

static int open_dir(void)
{
	return open(SHUNT_JOURNAL_FOREIGN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* By the folder's descriptor, since at stop there may be no right to open the path. */
static void unpin(int dir_fd, const char *pin)
{
	if (dir_fd < 0)
		return;
	unlinkat(dir_fd, pin, 0);
	unlinkat(AT_FDCWD, SHUNT_JOURNAL_FOREIGN_DIR, AT_REMOVEDIR); /* the last one */
	close(dir_fd);
}

/* Takes over the pin of a daemon that left its own program on the device. */
static bool inherit(struct shunt_journal_foreign *f, uint64_t netns, unsigned ifindex,
		    enum shunt_xdp_mode mode)
{
	char path[128];

	pin_name(f->pin, netns, ifindex, mode);
	pin_path(path, f->pin);
	f->fd = bpf_obj_get(path);
	if (f->fd < 0)
		return false;
	f->mode = mode;
	f->dir_fd = open_dir();
	return true;
}

void shunt_journal_foreign_plan(struct shunt_journal_foreign *f, uint64_t netns, unsigned ifindex,
				bool replace)
{
	const enum shunt_xdp_holder holder = shunt_xdp_holder(ifindex, &f->fd, &f->mode);

	f->dir_fd = -1;
	if (holder == SHUNT_XDP_HOLDER_OTHER && replace) {
		pin_name(f->pin, netns, ifindex, f->mode);
		return;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (holder == SHUNT_XDP_HOLDER_SHUNT && !inherit(f, netns, ifindex, SHUNT_XDP_NATIVE))
		inherit(f, netns, ifindex, SHUNT_XDP_GENERIC);
}

static int make_dir(const char *user)
{
	const struct passwd *owner = *user ? getpwnam(user) : NULL;
	struct stat st;
	int fd, ret = 0;

	if (mkdir(SHUNT_JOURNAL_FOREIGN_DIR, 0700) && errno != EEXIST)
		return -errno;
	/* Others may make links in a BPF file system. */
	fd = open(SHUNT_JOURNAL_FOREIGN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (st.st_uid != geteuid() && !(owner && st.st_uid == owner->pw_uid))
		ret = -EPERM;
	else if (owner && fchown(fd, owner->pw_uid, owner->pw_gid))
		ret = -errno;
	close(fd);
	return ret;
}

void shunt_journal_foreign_pin(struct shunt_journal_foreign *f, const char *ifname,
			       const char *user, struct shunt_err *warning)
{
	char path[128];
	int ret;

	if (f->fd < 0 || f->dir_fd >= 0)
		return;
	pin_path(path, f->pin);
	ret = make_dir(user);
	if (!ret) {
		unlink(path); /* a pin that was left behind */
		ret = bpf_obj_pin(f->fd, path) ? -errno : 0;
	}
	if (!ret)
		f->dir_fd = open_dir();
	else
		shunt_err_set(warning, -ret,
			      "%s: the program that gives way cannot be pinned in %s: %s; after a "
			      "kill it is not given back (mount -t bpf bpf /sys/fs/bpf)",
			      ifname, SHUNT_JOURNAL_FOREIGN_DIR, strerror(-ret));
}

void shunt_journal_foreign_restore(struct shunt_journal_foreign *f, unsigned ifindex, bool keep)
{
	enum shunt_xdp_mode mode;
	int fd;

	if (f->fd < 0)
		return;
	if (!keep && shunt_xdp_put(ifindex, f->fd, f->mode)) {
		/* This start failed before it replaced the program of the daemon before. */
		keep = shunt_xdp_holder(ifindex, &fd, &mode) == SHUNT_XDP_HOLDER_SHUNT;
		if (fd >= 0)
			close(fd);
	}
	close(f->fd);
	if (!keep)
		unpin(f->dir_fd, f->pin);
	else if (f->dir_fd >= 0)
		close(f->dir_fd);
	f->fd = f->dir_fd = -1;
}

bool shunt_journal_foreign_undo(uint64_t netns, unsigned ifindex, const char *mode, bool is_gone)
{
	const bool is_generic = !strcmp(mode, shunt_xdp_mode_name(SHUNT_XDP_GENERIC));
	const enum shunt_xdp_mode as = is_generic ? SHUNT_XDP_GENERIC : SHUNT_XDP_NATIVE;
	char pin[64], path[128];
	bool is_done;
	int fd;

	pin_name(pin, netns, ifindex, as);
	pin_path(path, pin);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	is_done = !is_gone && !shunt_xdp_put(ifindex, fd, as);
	close(fd);
	unpin(open_dir(), pin);
	return is_done;
}
