// SPDX-License-Identifier: BSD-2-Clause
#include "base/process.h"

#include <stdio.h>
#include <string.h>

uint64_t shunt_process_start(uint32_t pid)
{
	char path[32], line[512];
	unsigned long long start = 0;
	long threads = 0;
	const char *at;
	char state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file)) {
		at = strrchr(line, ')'); /* the name before it may hold anything */
		if (!at ||
		    sscanf(at + 1,
			   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
			   "%*d %*d %ld %*d %llu",
			   &state, &threads, &start) != 3 ||
		    (state == 'Z' && threads <= 1))
			start = 0;
	}
	fclose(file);
	return start;
}
