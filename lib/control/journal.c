// SPDX-License-Identifier: BSD-2-Clause
#include "control/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "control/journal_rss.h"
#include "io/puntdev.h"
#include "io/xdp.h"

/* Two empty polls before the interrupt is armed again, and 200 us between them: the
 * worker polls more often than that, and when he hangs the kernel goes on by itself.
 * Longer, and the kernel's own lane waits that long; shorter, and driver and worker
 * get in each other's way. Values of Documentation/networking/napi.rst. */
static const struct {
	const char *file;
	unsigned long now;
} busy_knobs[] = {
	{"napi_defer_hard_irqs", 2},
	{"gro_flush_timeout", 200000},
};

#define KNOB_CNT SHUNT_ARRAY_LEN(busy_knobs)

/* A device's entries. */
struct entry {
	char ifname[IFNAMSIZ];
	unsigned ifindex;
	bool has_program;
	bool is_turned[KNOB_CNT];
	unsigned long was[KNOB_CNT];
	int fds[KNOB_CNT]; /* of those that are turned: at stop there may be no right to open */
	struct shunt_journal_rss rss;
};

struct shunt_journal {
	char path[128];
	uint64_t netns;
	char boot[40];
	char puntdev[IFNAMSIZ];	  /* "" without */
	struct shunt_err warning; /* "" without */
	int ioctl_fd;		  /* at stop no socket of another family may be opened */
	unsigned entry_cnt;
	struct entry entries[SHUNT_PORT_MAX];
};

/* --- where we are ----------------------------------------------------------------------------- */

static uint64_t netns_inode(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

static void boot_id(char out[static 40])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || fscanf(file, "%39s", out) != 1)
		snprintf(out, 40, "unknown");
	if (file)
		fclose(file);
}

/* --- knobs ------------------------------------------------------------------------------------ */

static int knob_read(const char *ifname, const char *knob, unsigned long *out)
{
	char path[96];
	FILE *file;
	int ret;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, knob);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	ret = fscanf(file, "%lu", out) == 1 ? 0 : -EIO;
	fclose(file);
	return ret;
}

static int knob_write(const char *ifname, const char *knob, unsigned long value)
{
	char path[96];
	FILE *file;
	int ret = 0;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, knob);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	if (fprintf(file, "%lu\n", value) < 0)
		ret = -EIO;
	return fclose(file) ? -errno : ret;
}

/* A sysfs that was mounted in another network namespace shows that one's devices. */
static bool is_sysfs_ours(const struct entry *e)
{
	unsigned long ifindex;

	return !knob_read(e->ifname, "ifindex", &ifindex) && ifindex == e->ifindex;
}

/* Who changed it after us has it. */
static bool knob_restore(const char *ifname, const char *knob, unsigned long was, unsigned long now)
{
	unsigned long is;

	return !knob_read(ifname, knob, &is) && is == now && !knob_write(ifname, knob, was);
}

static int knob_open(const char *ifname, const char *knob)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, knob);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* With read and write, which the seccomp filter knows; sysfs ignores the position. */
static void fd_restore(int fd, unsigned long was, unsigned long now)
{
	char text[24] = "";

	if (read(fd, text, sizeof(text) - 1) > 0 && strtoul(text, NULL, 10) == now) {
		snprintf(text, sizeof(text), "%lu\n", was);
		if (write(fd, text, strlen(text)) < 0)
			return; /* the device is gone */
	}
}

static void knobs_plan(struct entry *e)
{
	unsigned i;

	if (!is_sysfs_ours(e))
		return;
	for (i = 0; i < KNOB_CNT; i++)
		e->is_turned[i] = !knob_read(e->ifname, busy_knobs[i].file, &e->was[i]) &&
				  e->was[i] != busy_knobs[i].now;
}

/* --- file ------------------------------------------------------------------------------------- */

static void print_entry(FILE *file, const struct shunt_journal *j, const struct entry *e)
{
	unsigned i;

	if (e->has_program)
		fprintf(file, "xdp %" PRIu64 " %u %s\n", j->netns, e->ifindex, e->ifname);
	for (i = 0; i < KNOB_CNT; i++)
		if (e->is_turned[i])
			fprintf(file, "knob %" PRIu64 " %u %s %s %lu %lu\n", j->netns, e->ifindex,
				e->ifname, busy_knobs[i].file, e->was[i], busy_knobs[i].now);
	if (e->rss.queues) {
		fprintf(file, "rss %" PRIu64 " %u %s ", j->netns, e->ifindex, e->ifname);
		shunt_journal_rss_print(&e->rss, file);
	}
}

static void sync_folder(const char *path)
{
	char copy[160];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static int save(const struct shunt_journal *j, struct shunt_err *err)
{
	char temp[160];
	FILE *file;
	unsigned i;
	int code;

	snprintf(temp, sizeof(temp), "%s.new", j->path);
	file = fopen(temp, "we");
	if (!file)
		return shunt_err_set(err, errno, "journal %s: %s", temp, strerror(errno));
	fprintf(file, "boot %s\n", j->boot);
	for (i = 0; i < j->entry_cnt; i++)
		print_entry(file, j, &j->entries[i]);
	if (*j->puntdev)
		fprintf(file, "punt %" PRIu64 " %s\n", j->netns, j->puntdev);
	code = fflush(file) || fsync(fileno(file)) ? errno : 0;
	if (fclose(file) && !code)
		code = errno;
	if (!code && rename(temp, j->path))
		code = errno;
	if (code) {
		unlink(temp);
		return shunt_err_set(err, code, "journal %s: %s", j->path, strerror(code));
	}
	sync_folder(j->path);
	return 0;
}

/* --- recovery --------------------------------------------------------------------------------- */

static bool is_served(const struct shunt_config *config, const char *ifname)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		if (config->ports[i].kind == SHUNT_PORT_XSK &&
		    !strcmp(config->ports[i].name, ifname))
			return true;
	return false;
}

static bool knob_is_known(const char *knob)
{
	unsigned i;

	for (i = 0; i < KNOB_CNT; i++)
		if (!strcmp(busy_knobs[i].file, knob))
			return true;
	return false;
}

static bool rss_undo(const char *ifname, const char *text)
{
	struct shunt_journal_rss rss = {.queues = 0};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_done;

	snprintf(rss.ifname, sizeof(rss.ifname), "%s", ifname);
	is_done = fd >= 0 && !shunt_journal_rss_parse(&rss, text) &&
		  shunt_journal_rss_restore(&rss, fd);
	if (fd >= 0)
		close(fd);
	return is_done;
}

/* Returns 1 when something was given back, 0, or -errno. */
static int undo(const char *line, uint64_t netns, const struct shunt_config *config, bool keep,
		struct shunt_err *err)
{
	struct entry e = {0};
	unsigned long was, now;
	uint64_t line_netns;
	char what[8], knob[32];
	int n, at = 0;

	/* not counted: to the user it is part of the programs */
	if (sscanf(line, "punt %" SCNu64 " %15s", &line_netns, e.ifname) == 2)
		return line_netns == netns ? SHUNT_MIN(shunt_puntdev_clean(e.ifname, err), 0) : 0;
	if (sscanf(line, "rss %" SCNu64 " %u %15s %n", &line_netns, &e.ifindex, e.ifname, &at) ==
		    3 &&
	    at)
		return line_netns == netns && if_nametoindex(e.ifname) == e.ifindex
			       ? rss_undo(e.ifname, line + at)
			       : 0;
	n = sscanf(line, "%7s %" SCNu64 " %u %15s %31s %lu %lu", what, &line_netns, &e.ifindex,
		   e.ifname, knob, &was, &now);
	if (n < 4 || line_netns != netns || if_nametoindex(e.ifname) != e.ifindex)
		return 0;
	if (n == 4 && !strcmp(what, "xdp"))
		return keep && is_served(config, e.ifname) ? 0 : shunt_xdp_clean(e.ifname, err);
	if (n == 7 && !strcmp(what, "knob") && knob_is_known(knob) && is_sysfs_ours(&e))
		return knob_restore(e.ifname, knob, was, now);
	return 0;
}

static int undo_all(FILE *file, const struct shunt_config *config, bool keep, struct shunt_err *err)
{
	uint64_t netns = netns_inode();
	char line[SHUNT_JOURNAL_LINE_MAX], boot[40], line_boot[40];
	int done = 0, ret = 0;

	boot_id(boot);
	while (ret >= 0 && fgets(line, sizeof(line), file)) {
		if (!strchr(line, '\n'))
			break; /* cut off: nothing was changed yet that it is about */
		if (sscanf(line, "boot %39s", line_boot) == 1 && strcmp(line_boot, boot) != 0)
			break; /* the machine was started anew since: all is as it was */
		ret = undo(line, netns, config, keep, err);
		done += ret > 0;
	}
	return ret < 0 ? ret : done;
}

int shunt_journal_recover(const char *path, const struct shunt_config *config, bool keep,
			  struct shunt_err *err)
{
	FILE *file = fopen(path, "re");
	int ret;

	if (!file)
		return errno == ENOENT
			       ? 0
			       : shunt_err_set(err, errno, "journal %s: %s", path, strerror(errno));
	ret = undo_all(file, config, keep, err);
	fclose(file);
	if (ret >= 0)
		unlink(path);
	return ret;
}

/* --- open and close --------------------------------------------------------------------------- */

static int plan(struct shunt_journal *j, const struct shunt_config *config, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < config->port_cnt && j->entry_cnt < SHUNT_PORT_MAX && !ret; i++) {
		struct entry *e = &j->entries[j->entry_cnt];

		if (config->ports[i].kind != SHUNT_PORT_XSK)
			continue;
		snprintf(e->ifname, sizeof(e->ifname), "%.15s", config->ports[i].name);
		e->ifindex = if_nametoindex(e->ifname);
		e->has_program = !config->external;
		if (config->poll == SHUNT_POLL_busy)
			knobs_plan(e);
		ret = shunt_journal_rss_plan(&e->rss, j->ioctl_fd, &config->ports[i], err);
		j->entry_cnt++;
	}
	if (config->group_cnt)
		shunt_puntdev_name(j->puntdev);
	return ret;
}

static int turn_rss(const struct shunt_journal *j, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < j->entry_cnt && !ret; i++)
		ret = shunt_journal_rss_apply(&j->entries[i].rss, j->ioctl_fd, err);
	return ret;
}

/* Busy polling works without them, later and with interrupts in between: no failure, but said. */
static void turn_knob(struct shunt_journal *j, struct entry *e, unsigned k)
{
	int ret = knob_write(e->ifname, busy_knobs[k].file, busy_knobs[k].now);

	if (ret)
		shunt_err_set(&j->warning, -ret,
			      "%s: cannot set %s for busy polling: %s; interrupts will come in "
			      "between%s",
			      e->ifname, busy_knobs[k].file, strerror(-ret),
			      ret == -EACCES ? ", unless CAP_DAC_OVERRIDE is granted for the start"
					     : "");
	else
		e->fds[k] = knob_open(e->ifname, busy_knobs[k].file);
}

static void turn_knobs(struct shunt_journal *j)
{
	unsigned i, k;

	for (i = 0; i < j->entry_cnt; i++)
		for (k = 0; k < KNOB_CNT; k++) {
			j->entries[i].fds[k] = -1;
			if (j->entries[i].is_turned[k])
				turn_knob(j, &j->entries[i], k);
		}
}

const char *shunt_journal_warning(const struct shunt_journal *journal)
{
	return journal && *journal->warning.msg ? journal->warning.msg : NULL;
}

static void restore(struct shunt_journal *j)
{
	unsigned i, k;

	for (i = 0; i < j->entry_cnt; i++) {
		struct entry *e = &j->entries[i];

		shunt_journal_rss_restore(&e->rss, j->ioctl_fd);
		for (k = 0; k < KNOB_CNT; k++) {
			if (!e->is_turned[k] || e->fds[k] < 0)
				continue;
			fd_restore(e->fds[k], e->was[k], busy_knobs[k].now);
			close(e->fds[k]);
		}
	}
}

static void release(struct shunt_journal *j)
{
	if (j->ioctl_fd >= 0)
		close(j->ioctl_fd);
	free(j);
}

int shunt_journal_open(struct shunt_journal **out, const char *path,
		       const struct shunt_config *config, struct shunt_err *err)
{
	struct shunt_journal *j = calloc(1, sizeof(*j));
	int ret;

	*out = NULL;
	if (!j)
		return shunt_err_set(err, ENOMEM, "journal: not enough memory");
	snprintf(j->path, sizeof(j->path), "%s", path);
	j->netns = netns_inode();
	boot_id(j->boot);
	j->ioctl_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ret = plan(j, config, err);
	if (!ret && *j->path)
		ret = save(j, err);
	if (ret) {
		release(j);
		return ret;
	}
	turn_knobs(j);
	ret = turn_rss(j, err);
	if (ret) {
		shunt_journal_close(j, false);
		return ret;
	}
	*out = j;
	return 0;
}

void shunt_journal_close(struct shunt_journal *journal, bool keep)
{
	if (!journal)
		return;
	restore(journal);
	if (*journal->path && !keep) /* what is given back already is skipped by who finds it */
		unlink(journal->path);
	release(journal);
}
