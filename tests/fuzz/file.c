// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

void fuzz_file_open(struct fuzz_file *file, const void *data, size_t size)
{
	file->fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_MUST(file->fd >= 0, "memfd_create: %m");
	FUZZ_MUST(write(file->fd, data, size) == (ssize_t)size, "write: %m");
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

void fuzz_file_close(struct fuzz_file *file)
{
	close(file->fd);
}
