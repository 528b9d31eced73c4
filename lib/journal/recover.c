// SPDX-License-Identifier: BSD-2-Clause
/* Gives back what a journal says that a killed daemon left. */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/netns.h"
#include "veth/detour.h"
#include "veth/puntdev.h"
#include "xdp/xdp.h"
#include "journal/file.h"
#include "journal/foreign.h"
#include "journal/journal.h"
#include "journal/knob.h"
#include "journal/ntuple.h"
#include "journal/promisc.h"
#include "journal/rss.h"
#include "journal/tags.h"

#define ASIDE_LEN 192 /* a path and a number */

struct recovery {
	const struct shunt_config *config;
	bool keep;
	struct shunt_journal_kept *kept;
	uint64_t netns;
	char boot[SHUNT_JOURNAL_BOOT_LEN];
	uint64_t elsewhere; /* the namespace that the journal is about, if not ours */
	unsigned foreign[SHUNT_PORT_MAX],
		foreign_cnt; /* devices where another's program gave way */
	unsigned done, unread;
};

struct line {
	char what[8];
	uint64_t netns;
	unsigned ifindex;
	char ifname[IFNAMSIZ];
	const char *rest;
};

static bool is_served(const struct shunt_config *config, const char *ifname)
{
	const int port = shunt_config_find_port(config, ifname);

	return port >= 0 && config->ports[port].kind == SHUNT_PORT_XSK;
}

/* Whether another's program gave way on the device. */
static bool has_given_way(const struct recovery *r, unsigned ifindex)
{
	unsigned i;

	for (i = 0; i < r->foreign_cnt; i++)
		if (r->foreign[i] == ifindex)
			return true;
	return false;
}

/* Whether what is on the device stays until this daemon's program takes its place. Many a driver
 * resets its device when a program goes, and again when one comes. But what gave way comes back
 * first, unless that daemon hands over, or this one may replace it, too. */
static bool is_kept(const struct recovery *r, const struct line *l)
{
	const struct shunt_config *config = r->config;

	if (!is_served(config, l->ifname))
		return false;
	return r->keep || config->replace ||
	       shunt_config_crosses_alone(config,
					  (unsigned)shunt_config_find_port(config, l->ifname)) ||
	       (!config->external && !has_given_way(r, l->ifindex));
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

static int undo_tags(const struct recovery *r, const struct line *l)
{
	struct shunt_journal_tags tags = {.ifindex = l->ifindex};
	int fd, ret;

	memcpy(tags.ifname, l->ifname, sizeof(tags.ifname));
	if (shunt_journal_tags_parse(&tags, l->rest))
		return -EBADMSG;
	if (is_kept(r, l)) {
		shunt_journal_tags_keep(r->kept, &tags);
		return 0;
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	ret = (int)shunt_journal_tags_restore(&tags, fd);
	close(fd);
	return ret;
}

/* This daemon has made its wire promiscuous by now, by a socket. */
static int undo_promisc(const struct line *l)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_done = fd >= 0 && shunt_journal_promisc_set(l->ifname, fd, false);

	if (fd >= 0)
		close(fd);
	return is_done;
}

static bool parse(const char *text, struct line *out)
{
	static const char *const kinds[] = {"xdp",    "foreign", "knob",   "rss",
					    "ntuple", "tags",	 "promisc"};
	unsigned i;
	int at = 0;

	if (sscanf(text, "punt %" SCNu64 " %15s", &out->netns, out->ifname) == 2) {
		snprintf(out->what, sizeof(out->what), "punt");
		return true;
	}
	if (sscanf(text, "%7s %" SCNu64 " %u %15s %n", out->what, &out->netns, &out->ifindex,
		   out->ifname, &at) != 4 ||
	    !at)
		return false;
	out->rest = text + at;
	for (i = 0; i < SHUNT_ARRAY_LEN(kinds); i++)
		if (!strcmp(out->what, kinds[i]))
			return true;
	return false;
}

static int undo_foreign(const struct recovery *r, const struct line *l, bool is_gone)
{
	char mode[32];

	if (sscanf(l->rest, "%31s", mode) != 1)
		return -EBADMSG;
	if (!is_gone && is_kept(r, l))
		return 0;
	return shunt_journal_foreign_undo(r->netns, l->ifindex, mode, is_gone);
}

static int undo_program(const struct recovery *r, const struct line *l, struct shunt_err *err)
{
	int ret;

	if (is_kept(r, l))
		return 0;
	ret = shunt_xdp_clean(l->ifindex, err);
	if (ret >= 0)
		shunt_detour_clean(l->ifindex, NULL);
	/* -EBUSY: another daemon has the device by now, and has cleaned up there. */
	return ret == -EBUSY ? 0 : ret;
}

static int undo_knob(const struct line *l)
{
	unsigned long was, now;
	char knob[32];

	if (sscanf(l->rest, "%31s %lu %lu", knob, &was, &now) != 3)
		return -EBADMSG;
	return shunt_journal_knob_undo(l->ifname, l->ifindex, knob, was, now);
}

/* Returns 1 when something was given back, 0, or -errno: -EBADMSG for a line without sense. */
static int undo(const struct recovery *r, struct line *l, struct shunt_err *err)
{
	bool is_gone;

	if (!strcmp(l->what, "punt")) /* not counted apart from the programs */
		return SHUNT_MIN(shunt_puntdev_clean(l->ifname, err), 0);
	/* A device keeps its number when it is renamed. */
	is_gone = !if_indextoname(l->ifindex, l->ifname);
	if (!strcmp(l->what, "foreign"))
		return undo_foreign(r, l, is_gone);
	if (is_gone) {
		shunt_detour_clean(l->ifindex, NULL);
		return 0;
	}
	if (!strcmp(l->what, "xdp"))
		return undo_program(r, l, err);
	if (!strcmp(l->what, "knob"))
		return undo_knob(l);
	if (!strcmp(l->what, "promisc"))
		return undo_promisc(l);
	if (!strcmp(l->what, "tags"))
		return undo_tags(r, l);
	return undo_ethtool(l->ifname, *l->what == 'r', l->rest);
}

/* Returns whether there was a line. It is whole when it has its end and no zero byte, and is no
 * longer than shunt's are. */
static bool read_line(FILE *file, char line[static SHUNT_JOURNAL_LINE_MAX], bool *is_whole)
{
	size_t len = 0;
	int c;

	*is_whole = true;
	while ((c = getc(file)) != EOF) {
		if (!c || len == SHUNT_JOURNAL_LINE_MAX - 1)
			*is_whole = false;
		else
			line[len++] = (char)c;
		if (c == '\n')
			break;
	}
	line[len] = 0;
	*is_whole &= c == '\n';
	return len || c != EOF;
}

static void look_for_foreign(struct recovery *r, FILE *file)
{
	char text[SHUNT_JOURNAL_LINE_MAX];
	struct line line;
	bool is_whole;

	r->foreign_cnt = 0;
	while (read_line(file, text, &is_whole))
		if (is_whole && r->foreign_cnt < SHUNT_PORT_MAX && parse(text, &line) &&
		    !strcmp(line.what, "foreign") && line.netns == r->netns)
			r->foreign[r->foreign_cnt++] = line.ifindex;
	rewind(file);
}

/* Returns 0 or -errno with err set. */
static int undo_all(struct recovery *r, FILE *file, struct shunt_err *err)
{
	char text[SHUNT_JOURNAL_LINE_MAX], boot[SHUNT_JOURNAL_BOOT_LEN];
	bool is_whole, is_known = false;
	struct line line;
	int ret = 0;

	while ((ret >= 0 || ret == -EBADMSG) && read_line(file, text, &is_whole)) {
		if (is_whole && sscanf(text, "boot %39s", boot) == 1) {
			if (strcmp(boot, r->boot) != 0)
				return 0; /* nothing of it survived the reboot */
			is_known = true;
			continue;
		}
		ret = -EBADMSG;
		if (is_whole && is_known && parse(text, &line)) {
			if (line.netns != r->netns)
				r->elsewhere = line.netns;
			ret = line.netns == r->netns ? undo(r, &line, err) : 0;
		}
		r->done += ret > 0;
		r->unread += ret == -EBADMSG;
	}
	return ret < 0 && ret != -EBADMSG ? ret : 0;
}

/* Names the file in which a journal of another namespace waits for a start there. */
static void put_aside(char out[static ASIDE_LEN], const char *path, uint64_t netns)
{
	snprintf(out, ASIDE_LEN, "%.*s.%" PRIu64, ASIDE_LEN - 22, path, netns);
}

static void warn(const struct recovery *r, const char *path, struct shunt_err *warning)
{
	if (r->unread)
		shunt_err_set(warning, EBADMSG,
			      "journal %s: %u line%s make%s no sense; what a killed daemon had "
			      "changed may not all be given back, see ethtool and ip -d link",
			      path, r->unread, r->unread > 1 ? "s" : "", r->unread > 1 ? "" : "s");
	else if (r->elsewhere)
		shunt_err_set(warning, EXDEV,
			      "journal %s is about another network namespace (%" PRIu64
			      "), where a daemon was killed; a start with the same control socket "
			      "there gives back what that daemon had changed",
			      path, r->elsewhere);
}

/* stays: the file stays where something was kept, which no other file has yet. */
static int recover(struct recovery *r, const char *path, bool stays, struct shunt_err *warning,
		   struct shunt_err *err)
{
	char aside[ASIDE_LEN];
	FILE *file;
	int ret;

	r->unread = 0;
	r->elsewhere = 0;
	ret = shunt_journal_file_open(&file, path, err);
	if (ret || !file)
		return ret;
	look_for_foreign(r, file);
	ret = undo_all(r, file, err);
	fclose(file);
	if (ret)
		return ret;
	warn(r, path, warning);
	put_aside(aside, path, r->elsewhere);
	if (r->elsewhere && !rename(path, aside))
		return 0;
	if (!stays || !r->kept->cnt)
		unlink(path);
	return 0;
}

int shunt_journal_recover(const char *path, const struct shunt_config *config, bool keep,
			  struct shunt_journal_kept *kept, struct shunt_err *warning,
			  struct shunt_err *err)
{
	struct recovery r = {
		.config = config, .keep = keep, .kept = kept, .netns = shunt_netns_number()};
	char aside[ASIDE_LEN];
	int ret;

	warning->msg[0] = 0;
	kept->cnt = 0;
	shunt_journal_file_boot(r.boot);
	put_aside(aside, path, r.netns);
	ret = recover(&r, aside, false, warning, err);
	if (!ret)
		ret = recover(&r, path, true, warning, err);
	return ret ? ret : (int)r.done;
}
