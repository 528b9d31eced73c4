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
#include <unistd.h>

#include "base/netns.h"
#include "journal/file.h"
#include "journal/foreign.h"
#include "journal/knob.h"
#include "journal/ntuple.h"
#include "journal/promisc.h"
#include "journal/rss.h"
#include "journal/tags.h"
#include "veth/puntdev.h"

/* A device's entries. */
struct entry {
	char ifname[IFNAMSIZ];
	unsigned ifindex;
	bool has_program;
	bool is_promisc_ours;
	struct shunt_journal_foreign foreign;
	struct shunt_journal_knobs knobs;
	struct shunt_journal_rss rss;
	struct shunt_journal_ntuple ntuple;
	struct shunt_journal_tags tags;
};

struct shunt_journal {
	char path[128];
	uint64_t netns;
	char boot[SHUNT_JOURNAL_BOOT_LEN];
	char puntdev[IFNAMSIZ];	  /* "" without */
	struct shunt_err warning; /* "" without */
	bool is_persistent;	  /* the programs stay */
	bool is_given_back;
	int ioctl_fd; /* any socket, for ethtool's requests */
	unsigned entry_cnt;
	struct entry entries[SHUNT_PORT_MAX];
};

/* --- file ------------------------------------------------------------------------------------- */

static void print_entry(FILE *file, const struct shunt_journal *j, const struct entry *e)
{
	char where[64], head[80];
	unsigned i;

	snprintf(where, sizeof(where), "%" PRIu64 " %u %s", j->netns, e->ifindex, e->ifname);
	if (e->has_program)
		fprintf(file, "xdp %s\n", where);
	if (e->foreign.dir_fd >= 0) /* after the program that replaced it */
		fprintf(file, "foreign %s %s\n", where, shunt_xdp_mode_name(e->foreign.mode));
	if (e->is_promisc_ours)
		fprintf(file, "promisc %s\n", where);
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
	snprintf(head, sizeof(head), "tags %s ", where);
	shunt_journal_tags_print(&e->tags, head, file);
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
	file = shunt_journal_file_create(temp);
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

/* --- open and close --------------------------------------------------------------------------- */

static int plan(struct shunt_journal *j, const struct shunt_config *config,
		const struct shunt_journal_kept *kept, struct shunt_err *err)
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
		e->is_promisc_ours = shunt_config_crosses_alone(config, i) &&
				     shunt_journal_promisc_is_off(e->ifname, j->ioctl_fd);
		if (config->poll == SHUNT_POLL_busy)
			shunt_journal_knobs_plan(&e->knobs, e->ifname, e->ifindex);
		ret = shunt_journal_rss_plan(&e->rss, j->ioctl_fd, &config->ports[i], err);
		if (!ret)
			ret = shunt_journal_ntuple_plan(&e->ntuple, j->ioctl_fd, &config->ports[i],
							err);
		e->tags.ifindex = e->ifindex;
		memcpy(e->tags.ifname, e->ifname, sizeof(e->tags.ifname));
		shunt_journal_tags_plan(&e->tags, j->ioctl_fd, kept);
		j->entry_cnt++;
	}
	if (config->group_cnt)
		shunt_puntdev_name(j->puntdev);
	return ret;
}

/* What cannot be pinned is no failure: the warning says it. */
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
		if (j->entries[i].is_promisc_ours)
			shunt_journal_promisc_set(j->entries[i].ifname, j->ioctl_fd, true);
		shunt_journal_tags_apply(&j->entries[i].tags, j->ioctl_fd);
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

/* With keep a program stays, which must see the tags of what it passes on. */
static void restore_ethtool(struct entry *e, int fd, bool keep)
{
	if (e->is_promisc_ours)
		shunt_journal_promisc_set(e->ifname, fd, false);
	memcpy(e->ntuple.ifname, e->ifname, sizeof(e->ntuple.ifname));
	memcpy(e->rss.ifname, e->ifname, sizeof(e->rss.ifname));
	shunt_journal_ntuple_restore(&e->ntuple, fd);
	memcpy(e->tags.ifname, e->ifname, sizeof(e->tags.ifname));
	shunt_journal_rss_restore(&e->rss, fd);
	if (!keep)
		shunt_journal_tags_restore(&e->tags, fd);
}

/* In the helper the socket of the start is closed. */
void shunt_journal_give_back(struct shunt_journal *j, bool keep)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned i;

	for (i = 0; i < j->entry_cnt; i++) {
		struct entry *e = &j->entries[i];

		if (if_indextoname(e->ifindex, e->ifname)) /* it may have been renamed */
			restore_ethtool(e, fd, keep);
		shunt_journal_knobs_restore(&e->knobs);
	}
	restore_foreign(j, keep || j->is_persistent);
	if (fd >= 0)
		close(fd);
	j->is_given_back = true;
}

void shunt_journal_was_given_back(struct shunt_journal *j)
{
	if (j)
		j->is_given_back = true;
}

void shunt_journal_leave(struct shunt_journal *j)
{
	if (!j)
		return;
	if (j->ioctl_fd >= 0)
		close(j->ioctl_fd);
	free(j);
}

int shunt_journal_open(struct shunt_journal **out, const char *path,
		       const struct shunt_config *config, const struct shunt_journal_kept *kept,
		       struct shunt_err *err)
{
	struct shunt_journal *j = calloc(1, sizeof(*j));
	int ret;

	*out = NULL;
	if (!j)
		return shunt_err_set(err, ENOMEM, "journal: not enough memory");
	snprintf(j->path, sizeof(j->path), "%s", path);
	j->netns = shunt_netns_number();
	shunt_journal_file_boot(j->boot);
	j->ioctl_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	j->is_persistent = config->persist;
	ret = plan(j, config, kept, err);
	if (ret)
		goto planned;
	plan_foreign(j, config);
	ret = *j->path ? save(j, err) : 0;
	if (ret)
		goto pinned;
	ret = turn(j, err);
	if (ret) {
		shunt_journal_close(j, false);
		return ret;
	}
	*out = j;
	return 0;
pinned:
	restore_foreign(j, false);
planned:
	shunt_journal_leave(j);
	return ret;
}

void shunt_journal_close(struct shunt_journal *journal, bool keep)
{
	if (!journal)
		return;
	if (!journal->is_given_back)
		shunt_journal_give_back(journal, keep);
	if (*journal->path && !keep)
		unlink(journal->path);
	shunt_journal_leave(journal);
}
