// SPDX-License-Identifier: BSD-2-Clause
#include "journal/journal.h"

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
#include "journal/foreign.h"
#include "journal/knob.h"
#include "journal/ntuple.h"
#include "journal/rss.h"
#include "io/puntdev.h"
#include "io/xdp.h"

/* A device's entries. */
struct entry {
	char ifname[IFNAMSIZ];
	unsigned ifindex;
	bool has_program;
	struct shunt_journal_foreign foreign;
	struct shunt_journal_knobs knobs;
	struct shunt_journal_rss rss;
	struct shunt_journal_ntuple ntuple;
};

struct shunt_journal {
	char path[128];
	uint64_t netns;
	char boot[40];
	char puntdev[IFNAMSIZ];	  /* "" without */
	struct shunt_err warning; /* "" without */
	bool is_persistent;	  /* the programs stay */
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

/* --- file ------------------------------------------------------------------------------------- */

static void print_entry(FILE *file, const struct shunt_journal *j, const struct entry *e)
{
	char where[64], head[80];
	unsigned i;

	snprintf(where, sizeof(where), "%" PRIu64 " %u %s", j->netns, e->ifindex, e->ifname);
	if (e->has_program)
		fprintf(file, "xdp %s\n", where);
	if (e->foreign.dir_fd >= 0) /* after the program that it gave way to */
		fprintf(file, "foreign %s %s\n", where, shunt_xdp_mode_name(e->foreign.mode));
	for (i = 0; i < SHUNT_JOURNAL_KNOBS; i++)
		if (e->knobs.is_turned[i])
			fprintf(file, "knob %s %s %lu %lu\n", where, shunt_journal_knob_name(i),
				e->knobs.was[i], shunt_journal_knob_now(i));
	if (e->rss.queues) {
		fprintf(file, "rss %s ", where);
		shunt_journal_rss_print(&e->rss, file);
	}
	snprintf(head, sizeof(head), "ntuple %s ", where);
	shunt_journal_ntuple_print(&e->ntuple, head, file);
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

/* What ethtool's requests give back. */
static int undo_ethtool(const char *ifname, bool is_rss, const char *text)
{
	struct shunt_journal_ntuple *ntuple = calloc(1, sizeof(*ntuple));
	struct shunt_journal_rss rss = {.queues = 0};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_done = false;

	snprintf(rss.ifname, sizeof(rss.ifname), "%s", ifname);
	if (fd >= 0 && is_rss)
		is_done =
			!shunt_journal_rss_parse(&rss, text) && shunt_journal_rss_restore(&rss, fd);
	else if (fd >= 0 && ntuple) {
		memcpy(ntuple->ifname, rss.ifname, sizeof(ntuple->ifname));
		is_done = !shunt_journal_ntuple_parse(ntuple, text) &&
			  shunt_journal_ntuple_restore(ntuple, fd);
	}
	free(ntuple);
	if (fd >= 0)
		close(fd);
	return is_done;
}

/* Returns 1 when something was given back, 0, or -errno. */
static int undo(const char *line, uint64_t netns, const struct shunt_config *config, bool keep,
		struct shunt_err *err)
{
	struct {
		char ifname[IFNAMSIZ];
		unsigned ifindex;
	} e;
	unsigned long was, now;
	uint64_t line_netns;
	char what[8], knob[32];
	bool is_gone;
	int at = 0, ret;

	/* not counted: to the user it is part of the programs */
	if (sscanf(line, "punt %" SCNu64 " %15s", &line_netns, e.ifname) == 2)
		return line_netns == netns ? SHUNT_MIN(shunt_puntdev_clean(e.ifname, err), 0) : 0;
	if (sscanf(line, "%7s %" SCNu64 " %u %*15s %n", what, &line_netns, &e.ifindex, &at) < 3 ||
	    !at || line_netns != netns)
		return 0;
	/* by its number, which it keeps under another name */
	is_gone = !if_indextoname(e.ifindex, e.ifname);
	if (!strcmp(what, "foreign") && sscanf(line + at, "%31s", knob) == 1)
		return keep && !is_gone && is_served(config, e.ifname)
			       ? 0
			       : shunt_journal_foreign_undo(netns, e.ifindex, knob, is_gone);
	if (is_gone)
		return 0;
	if (!strcmp(what, "rss") || !strcmp(what, "ntuple"))
		return undo_ethtool(e.ifname, *what == 'r', line + at);
	if (!strcmp(what, "xdp")) {
		ret = keep && is_served(config, e.ifname) ? 0 : shunt_xdp_clean(e.ifindex, err);
		/* another daemon has the device by now, and has cleaned up there */
		return ret == -EBUSY ? 0 : ret;
	}
	if (!strcmp(what, "knob") && sscanf(line + at, "%31s %lu %lu", knob, &was, &now) == 3)
		return shunt_journal_knob_undo(e.ifname, e.ifindex, knob, was, now);
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
		e->foreign.fd = e->foreign.dir_fd = -1;
		snprintf(e->ifname, sizeof(e->ifname), "%.15s", config->ports[i].name);
		e->ifindex = if_nametoindex(e->ifname);
		e->has_program = !config->external;
		if (config->poll == SHUNT_POLL_busy)
			shunt_journal_knobs_plan(&e->knobs, e->ifname, e->ifindex);
		ret = shunt_journal_rss_plan(&e->rss, j->ioctl_fd, &config->ports[i], err);
		if (!ret)
			ret = shunt_journal_ntuple_plan(&e->ntuple, j->ioctl_fd, &config->ports[i],
							err);
		j->entry_cnt++;
	}
	if (config->group_cnt)
		shunt_puntdev_name(j->puntdev);
	return ret;
}

/* Nothing fails for want of it: what cannot be pinned is in the warning. */
static void plan_foreign(struct shunt_journal *j, const struct shunt_config *config)
{
	unsigned i;

	for (i = 0; i < j->entry_cnt && !config->external; i++) {
		struct entry *e = &j->entries[i];

		shunt_journal_foreign_plan(&e->foreign, j->netns, e->ifindex, config->replace);
		if (*j->path)
			shunt_journal_foreign_pin(&e->foreign, e->ifname, config->user,
						  &j->warning);
	}
}

static int turn(struct shunt_journal *j, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < j->entry_cnt; i++)
		shunt_journal_knobs_turn(&j->entries[i].knobs, j->entries[i].ifname, &j->warning);
	for (i = 0; i < j->entry_cnt && !ret; i++) {
		ret = shunt_journal_rss_apply(&j->entries[i].rss, j->ioctl_fd, err);
		if (!ret)
			ret = shunt_journal_ntuple_apply(&j->entries[i].ntuple, j->ioctl_fd, err);
	}
	return ret;
}

const char *shunt_journal_warning(const struct shunt_journal *journal)
{
	return journal && *journal->warning.msg ? journal->warning.msg : NULL;
}

static void restore_foreign(struct shunt_journal *j, bool keep)
{
	unsigned i;

	for (i = 0; i < j->entry_cnt; i++)
		shunt_journal_foreign_restore(&j->entries[i].foreign, j->entries[i].ifindex, keep);
}

static void restore_ethtool(struct entry *e, int fd)
{
	memcpy(e->ntuple.ifname, e->ifname, sizeof(e->ntuple.ifname));
	memcpy(e->rss.ifname, e->ifname, sizeof(e->rss.ifname));
	shunt_journal_ntuple_restore(&e->ntuple, fd);
	shunt_journal_rss_restore(&e->rss, fd);
}

static void restore(struct shunt_journal *j, bool keep)
{
	unsigned i;

	for (i = 0; i < j->entry_cnt; i++) {
		struct entry *e = &j->entries[i];

		if (if_indextoname(e->ifindex, e->ifname)) /* it may have been renamed */
			restore_ethtool(e, j->ioctl_fd);
		shunt_journal_knobs_restore(&e->knobs);
	}
	restore_foreign(j, keep || j->is_persistent);
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
	j->is_persistent = config->persist;
	ret = plan(j, config, err);
	if (ret) {
		release(j);
		return ret;
	}
	plan_foreign(j, config);
	ret = *j->path ? save(j, err) : 0;
	if (ret) {
		restore_foreign(j, false);
		release(j);
		return ret;
	}
	ret = turn(j, err);
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
	restore(journal, keep);
	if (*journal->path && !keep) /* what is given back already is skipped by who finds it */
		unlink(journal->path);
	release(journal);
}
