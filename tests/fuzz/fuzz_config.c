// SPDX-License-Identifier: BSD-2-Clause
/* The configuration file: what is accepted prints as a file that is accepted and prints as the
 * same. */
#include <string.h>

#include "config/config.h"
#include "config/print.h"
#include "fuzz.h"

static char *print(const struct shunt_config *config, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	FUZZ_MUST(out && !shunt_config_print(config, out), "no memory");
	fclose(out);
	return text;
}

static void load_again(const char *text, size_t len)
{
	struct shunt_config config;
	struct fuzz_file file;
	struct shunt_err err = {""};
	size_t other_len;
	char *other;
	int ret;

	fuzz_file_open(&file, text, len);
	ret = shunt_config_load(&config, file.path, &err);
	FUZZ_MUST(!ret, "what was printed is refused: %s\n%s", err.msg, text);
	other = print(&config, &other_len);
	FUZZ_MUST(len == other_len && !memcmp(text, other, len), "printed twice:\n%s\n%s", text,
		  other);
	free(other);
	shunt_config_fini(&config);
	fuzz_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shunt_config config;
	struct shunt_err err = {""};
	struct fuzz_file file;
	size_t len;
	char *text;

	fuzz_file_open(&file, data, size);
	if (!shunt_config_load(&config, file.path, &err)) {
		text = print(&config, &len);
		load_again(text, len);
		free(text);
	} else {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
	}
	shunt_config_fini(&config);
	fuzz_file_close(&file);
	return 0;
}
