/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzz targets share. A target is a file fuzz_NAME.c that defines
 * LLVMFuzzerTestOneInput; it is linked twice: with libFuzzer, which searches (`make fuzz`), and
 * with replay.c, which runs the corpus through it (`make test`). A target ends the process when
 * something that must hold does not. */
#ifndef SHUNT_TEST_FUZZ_H
#define SHUNT_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file without a folder, for what is loaded by path. */
struct fuzz_file {
	int fd;
	char path[32];
};

/* fuzz_file_open makes a file that holds those bytes. fuzz_file_close ends it. */
void fuzz_file_open(struct fuzz_file *file, const void *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

/* What the process exits with where a target cannot run; the last line says why. */
#define FUZZ_SKIPPED 75

/* FUZZ_MUST aborts with a sentence unless the condition holds. */
#define FUZZ_MUST(condition, ...)                                            \
	do {                                                                 \
		if (!(condition)) {                                          \
			fprintf(stderr, "%s:%d: ", __FILE_NAME__, __LINE__); \
			fprintf(stderr, __VA_ARGS__);                        \
			fputc('\n', stderr);                                 \
			abort();                                             \
		}                                                            \
	} while (0)

#endif
