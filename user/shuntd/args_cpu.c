// SPDX-License-Identifier: BSD-2-Clause
#include "args_cpu.h"

#include <errno.h>
#include <stdlib.h>

static int parse_cpu(const char **text, unsigned long *cpu)
{
	char *end;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	*cpu = strtoul(*text, &end, 10);
	*text = end;
	return *cpu < 1024 ? 0 : -EINVAL;
}

/* "1,3" or "2-5" or both mixed; returns how many, or -EINVAL. */
static int parse_cpu_list(const char *text, int *cpus)
{
	unsigned long first, last;
	int cnt = 0;

	for (;;) {
		if (parse_cpu(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-' && (text++, parse_cpu(&text, &last)))
			return -EINVAL;
		for (; first <= last; first++) {
			if (cnt == SHUNT_WORKER_MAX)
				return -EINVAL;
			cpus[cnt++] = (int)first;
		}
		if (!*text)
			return cnt ? cnt : -EINVAL;
		if (*text++ != ',')
			return -EINVAL;
	}
}

int shuntd_args_cpus(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int cpus[SHUNT_WORKER_MAX];
	const int cnt = parse_cpu_list(text, cpus);

	if (cnt < 0)
		return shunt_err_set(
			err, EINVAL,
			"--cpu is '%s', expected CPU numbers as 1,3 or 2-5, at most %d", text,
			SHUNT_WORKER_MAX);
	return shunt_config_set_workers(config, cpus, (unsigned)cnt, err);
}
