// SPDX-License-Identifier: BSD-2-Clause
#include "journal/knob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define PATH_LEN 96

/* Two empty polls before the interrupt is armed again, and 200 us between them. The worker polls
 * more often than that. When it hangs, the kernel goes on by itself. With longer times the kernel's
 * own lane waits that long. With shorter ones driver and worker get in each other's way. Values of
 * Documentation/networking/napi.rst. */
static const struct {
	const char *file;
	unsigned long now;
} busy_knobs[] = {
	{"napi_defer_hard_irqs", 2},
	{"gro_flush_timeout", 200000},
};

_Static_assert(SHUNT_ARRAY_LEN(busy_knobs) == SHUNT_JOURNAL_KNOBS, "one entry each");

static void knob_path(char out[static PATH_LEN], const char *ifname, const char *knob)
{
	snprintf(out, PATH_LEN, "/sys/class/net/%s/%s", ifname, knob);
}

static int knob_read(const char *ifname, const char *knob, unsigned long *out)
{
	char path[PATH_LEN];
	FILE *file;
	int ret;

	knob_path(path, ifname, knob);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	ret = fscanf(file, "%lu", out) == 1 ? 0 : -EIO;
	fclose(file);
	return ret;
}

static int knob_write(const char *ifname, const char *knob, unsigned long value)
{
	char path[PATH_LEN];
	FILE *file;
	int ret = 0;

	knob_path(path, ifname, knob);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	if (fprintf(file, "%lu\n", value) < 0)
		ret = -EIO;
	return fclose(file) ? -errno : ret;
}

/* A sysfs that was mounted in another network namespace shows that one's devices. */
static bool is_sysfs_ours(const char *ifname, unsigned ifindex)
{
	unsigned long shown = 0;

	return !knob_read(ifname, "ifindex", &shown) && shown == ifindex;
}

/* A value that somebody else has set since stays. */
static bool knob_restore(const char *ifname, const char *knob, unsigned long was, unsigned long now)
{
	unsigned long is = 0;

	return !knob_read(ifname, knob, &is) && is == now && !knob_write(ifname, knob, was);
}

static int knob_open(const char *ifname, const char *knob)
{
	char path[PATH_LEN];

	knob_path(path, ifname, knob);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* With read and write, which the seccomp filter knows; sysfs ignores the position. */
static void fd_restore(int fd, unsigned long was, unsigned long now)
{
	char text[24] = "";

	if (read(fd, text, sizeof(text) - 1) <= 0 || strtoul(text, NULL, 10) != now)
		return;
	snprintf(text, sizeof(text), "%lu\n", was);
	(void)!write(fd, text, strlen(text)); /* it fails when the device is gone */
}

void shunt_journal_knobs_plan(struct shunt_journal_knobs *k, const char *ifname, unsigned ifindex)
{
	unsigned i;

	if (!is_sysfs_ours(ifname, ifindex))
		return;
	for (i = 0; i < SHUNT_JOURNAL_KNOBS; i++)
		k->is_turned[i] = !knob_read(ifname, busy_knobs[i].file, &k->was[i]) &&
				  k->was[i] != busy_knobs[i].now;
}

void shunt_journal_knobs_turn(struct shunt_journal_knobs *k, const char *ifname,
			      struct shunt_err *warning)
{
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_KNOBS; i++) {
		const int ret = k->is_turned[i]
					? knob_write(ifname, busy_knobs[i].file, busy_knobs[i].now)
					: 0;

		k->fds[i] = k->is_turned[i] && !ret ? knob_open(ifname, busy_knobs[i].file) : -1;
		if (ret)
			shunt_err_set(warning, -ret,
				      "%s: cannot set %s for busy polling: %s; interrupts will "
				      "come in between%s",
				      ifname, busy_knobs[i].file, strerror(-ret),
				      ret == -EACCES
					      ? ", unless CAP_DAC_OVERRIDE is granted for the start"
					      : "");
	}
}

void shunt_journal_knobs_restore(struct shunt_journal_knobs *k)
{
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_KNOBS; i++) {
		if (!k->is_turned[i] || k->fds[i] < 0)
			continue;
		fd_restore(k->fds[i], k->was[i], busy_knobs[i].now);
		close(k->fds[i]);
	}
}

const char *shunt_journal_knob_name(unsigned i)
{
	return busy_knobs[i].file;
}

unsigned long shunt_journal_knob_now(unsigned i)
{
	return busy_knobs[i].now;
}

bool shunt_journal_knob_undo(const char *ifname, unsigned ifindex, const char *knob,
			     unsigned long was, unsigned long now)
{
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_KNOBS; i++)
		if (!strcmp(busy_knobs[i].file, knob))
			return is_sysfs_ours(ifname, ifindex) &&
			       knob_restore(ifname, knob, was, now);
	return false;
}
