// SPDX-License-Identifier: BSD-2-Clause
#include "journal/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *shunt_journal_file_create(const char *path)
{
	FILE *file;
	int fd;

	if (unlink(path) && errno != ENOENT)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w");
	if (!file)
		close(fd);
	return file;
}

int shunt_journal_file_open(FILE **out, const char *path, struct shunt_err *err)
{
	/* O_NONBLOCK: the open of a pipe does not wait for its other end. */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	*out = NULL;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno != ELOOP)
		return shunt_err_set(err, errno, "journal %s: %s", path, strerror(errno));
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return shunt_err_set(err, EINVAL,
				     "journal %s is no regular file, so no shuntd made it; remove "
				     "it, or give --control another path",
				     path);
	}
	*out = fdopen(fd, "r");
	if (*out)
		return 0;
	close(fd);
	return shunt_err_set(err, ENOMEM, "journal %s: not enough memory", path);
}

void shunt_journal_file_boot(char out[static SHUNT_JOURNAL_BOOT_LEN])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || fscanf(file, "%39s", out) != 1)
		snprintf(out, SHUNT_JOURNAL_BOOT_LEN, "unknown");
	if (file)
		fclose(file);
}
