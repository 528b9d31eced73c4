// SPDX-License-Identifier: BSD-2-Clause
#include "device/kernel.h"

#include <stdio.h>
#include <sys/utsname.h>

void shunt_kernel_query(struct shunt_kernel *out)
{
	struct utsname u;

	*out = (struct shunt_kernel){0};
	if (uname(&u))
		return;
	snprintf(out->release, sizeof(out->release), "%s", u.release);
	if (sscanf(u.release, "%u.%u", &out->major, &out->minor) != 2)
		out->major = out->minor = 0;
}

bool shunt_kernel_is_before(const struct shunt_kernel *kernel, unsigned major, unsigned minor)
{
	return kernel->major < major || (kernel->major == major && kernel->minor < minor);
}

static const struct {
	unsigned major, minor;
	const char *text;
} since[] = {
#define X(name, major, minor, what, source) {major, minor, "Linux " #major "." #minor},
	SHUNT_KERNEL_FACTS(X)
#undef X
};

bool shunt_kernel_has(const struct shunt_kernel *kernel, enum shunt_kernel_fact fact)
{
	return !shunt_kernel_is_before(kernel, since[fact].major, since[fact].minor);
}

const char *shunt_kernel_since(enum shunt_kernel_fact fact)
{
	return since[fact].text;
}
