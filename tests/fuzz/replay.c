// SPDX-License-Identifier: BSD-2-Clause
/* Runs files, and those of folders, through a fuzz target: `fuzz_rule corpus/rule`. Prints how
 * many; the process dies by the first that shows a fault, whose name is then the last printed. */
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned run_cnt;

static int run_file(const char *path, const struct stat *st, int type)
{
	uint8_t *data;
	FILE *file;
	size_t len;

	if (type != FTW_F)
		return 0;
	/* as long as the input to the byte, so that reading on is seen */
	data = malloc((size_t)st->st_size + !st->st_size);
	file = fopen(path, "re");
	FUZZ_MUST(data && file, "%s cannot be read: %m", path);
	len = fread(data, 1, (size_t)st->st_size, file);
	fclose(file);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	run_cnt++;
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		FUZZ_MUST(!ftw(argv[i], run_file, 8), "%s cannot be read", argv[i]);
	printf("%u inputs\n", run_cnt);
	return run_cnt ? 0 : 1;
}
