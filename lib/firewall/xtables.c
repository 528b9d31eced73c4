// SPDX-License-Identifier: BSD-2-Clause
/* The tables of iptables-legacy and ebtables-legacy. A table judges if, at a hook that forwarded
 * packets pass, it has a rule or a policy that is not ACCEPT. No message tells of their changes.
 *
 * To ask for a table that is not there makes it. So a table of iptables is asked for only if the
 * kernel lists it. Of ebtables there is no list: its table's module must be loaded.
 *
 * Source: net/ipv4/netfilter/ip_tables.c, net/bridge/netfilter/ebtables.c of Linux 6.12. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/netfilter_bridge/ebtables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "base/bytes.h"
#include "firewall/ask.h"

/* Of the tables' hooks, those that forwarded packets pass. */
static const unsigned hooks[] = {NF_INET_PRE_ROUTING, NF_INET_FORWARD, NF_INET_POST_ROUTING};

static const char *const tables[] = {"filter", "nat", "mangle", "raw", "security"};

/* --- iptables, ip6tables ---------------------------------------------------------------------- */

/* What differs between the families; the structures behind have the same members. */
struct family {
	const char *command, *module, *names;
	int level, get_info, get_entries;
	size_t entries_head;  /* of struct ipt_get_entries */
	size_t target_offset; /* of an entry's own header: the target's when it matches nothing */
	size_t entry_len;
};

static const struct family family4 = {
	.command = "iptables",
	.module = "iptable_",
	.names = "/proc/net/ip_tables_names",
	.level = IPPROTO_IP,
	.get_info = IPT_SO_GET_INFO,
	.get_entries = IPT_SO_GET_ENTRIES,
	.entries_head = sizeof(struct ipt_get_entries),
	.target_offset = offsetof(struct ipt_entry, target_offset),
	.entry_len = sizeof(struct ipt_entry),
};

static const struct family family6 = {
	.command = "ip6tables",
	.module = "ip6table_",
	.names = "/proc/net/ip6_tables_names",
	.level = IPPROTO_IPV6,
	.get_info = IP6T_SO_GET_INFO,
	.get_entries = IP6T_SO_GET_ENTRIES,
	.entries_head = sizeof(struct ip6t_get_entries),
	.target_offset = offsetof(struct ip6t_entry, target_offset),
	.entry_len = sizeof(struct ip6t_entry),
};

_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one structure for both");
_Static_assert(offsetof(struct ipt_get_entries, size) == offsetof(struct ip6t_get_entries, size),
	       "one head for both");

/* A base chain ends with its policy, at underflow: an entry that matches all, whose target is a
 * verdict. The verdict is stored as -verdict - 1. */
static bool is_accept(const struct family *family, const char *entries, size_t len, size_t at)
{
	struct xt_standard_target target;
	uint16_t offset;

	if (at + family->entry_len + sizeof(target) > len)
		return false;
	memcpy(&offset, entries + at + family->target_offset, sizeof(offset));
	if (at + offset + sizeof(target) > len)
		return false;
	memcpy(&target, entries + at + offset, sizeof(target));
	return target.verdict == -NF_ACCEPT - 1;
}

static bool judges_at(const struct family *family, const struct ipt_getinfo *info,
		      const char *entries, unsigned hook)
{
	if (!(info->valid_hooks & 1u << hook))
		return false;
	return info->hook_entry[hook] != info->underflow[hook] ||
	       !is_accept(family, entries, info->size, info->underflow[hook]);
}

/* Returns 0 or -errno; -EAGAIN where the table changed between the two questions. */
static int ask_table(const struct family *family, int fd, const char *name, bool *judges)
{
	struct ipt_getinfo info = {0};
	struct ipt_get_entries *get;
	socklen_t len = sizeof(info);
	unsigned i;
	int ret = 0;

	snprintf(info.name, sizeof(info.name), "%s", name);
	if (getsockopt(fd, family->level, family->get_info, &info, &len))
		return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
	len = (socklen_t)(family->entries_head + info.size);
	get = calloc(1, len);
	if (!get)
		return -ENOMEM;
	snprintf(get->name, sizeof(get->name), "%s", name);
	get->size = info.size;
	if (getsockopt(fd, family->level, family->get_entries, get, &len))
		ret = -errno;
	for (i = 0; i < SHUNT_ARRAY_LEN(hooks) && !ret; i++)
		*judges |= judges_at(family, &info, (char *)get + family->entries_head, hooks[i]);
	free(get);
	return ret;
}

/* The names in the kernel's list, one a line, as a string with a newline before each: root's to
 * read, so it was opened while the daemon was root. Empty where it could not be. */
static void read_names(int fd, char *out, size_t len)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, out + 1, len - 2, 0);

	out[0] = '\n';
	out[n > 0 ? n + 1 : 1] = '\0';
}

static bool has_module(const char *prefix, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/%s%s", prefix, name);
	return !access(path, F_OK);
}

static bool is_there(const struct family *family, int names_fd, const char *names, const char *name)
{
	char line[40];

	if (names_fd < 0) /* the module came later than this daemon */
		return !access(family->names, F_OK) && has_module(family->module, name);
	snprintf(line, sizeof(line), "\n%s\n", name);
	return strstr(names, line);
}

static void ask_family(const struct family *family, int fd, int names_fd,
		       struct shunt_judges *judges)
{
	char names[256];
	unsigned i;

	read_names(names_fd, names, sizeof(names));
	for (i = 0; i < SHUNT_ARRAY_LEN(tables) && fd >= 0; i++) {
		bool is_judge = false;
		int ret = -EAGAIN, tries = 4;

		if (!is_there(family, names_fd, names, tables[i]))
			continue;
		while (ret == -EAGAIN && tries--)
			ret = ask_table(family, fd, tables[i], &is_judge);
		if (ret)
			shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0, "%s: %s",
					 family->command, strerror(-ret));
		else if (is_judge)
			shunt_judges_add(judges, SHUNT_JUDGE_iptables, SHUNT_JUDGE_IP, 0,
					 "%s -t %s", family->command, tables[i]);
	}
}

void shunt_firewall_ask_iptables(const struct shunt_firewall_asker *asker,
				 struct shunt_judges *judges)
{
	ask_family(&family4, asker->inet_fd, asker->names_fd, judges);
	ask_family(&family6, asker->inet6_fd, asker->names6_fd, judges);
}

/* --- ebtables --------------------------------------------------------------------------------- */

static const char *const bridge_tables[] = {"filter", "nat", "broute"};

/* Chains have a header each, entries follow it. What belongs to the host, or to nobody yet, is left
 * out. */
static bool is_chain_judge(const struct ebt_entries *chain)
{
	static const char *const met[] = {"BROUTING", "PREROUTING", "FORWARD", "POSTROUTING"};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(met); i++)
		if (!strncmp(chain->name, met[i], sizeof(chain->name)))
			return chain->nentries || chain->policy != EBT_ACCEPT;
	return false;
}

static bool are_entries_judges(const char *entries, size_t len)
{
	struct ebt_entries chain;
	struct ebt_entry entry;
	size_t at = 0;

	while (at + sizeof(chain) <= len) {
		memcpy(&chain, entries + at, sizeof(chain));
		if (chain.distinguisher) { /* EBT_ENTRY_OR_ENTRIES: a rule */
			if (at + sizeof(entry) > len)
				return true;
			memcpy(&entry, entries + at, sizeof(entry));
			if (entry.next_offset < sizeof(entry))
				return true;
			at += entry.next_offset;
			continue;
		}
		if (is_chain_judge(&chain))
			return true;
		at += sizeof(chain);
	}
	return false;
}

/* Returns 0 or -errno; -EINVAL also where the table changed between the two questions. */
static int ask_bridge_table(int fd, const char *name, bool *judges)
{
	struct ebt_replace table = {0};
	socklen_t len = sizeof(table);
	int ret = 0;

	snprintf(table.name, sizeof(table.name), "%s", name);
	if (getsockopt(fd, IPPROTO_IP, EBT_SO_GET_INFO, &table, &len))
		return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
	table.entries = calloc(1, table.entries_size + 1);
	if (!table.entries)
		return -ENOMEM;
	table.num_counters = 0;
	table.counters = NULL;
	len = (socklen_t)(sizeof(table) + table.entries_size);
	if (getsockopt(fd, IPPROTO_IP, EBT_SO_GET_ENTRIES, &table, &len))
		ret = -errno;
	else
		*judges = are_entries_judges(table.entries, table.entries_size);
	free(table.entries);
	return ret;
}

void shunt_firewall_ask_ebtables(const struct shunt_firewall_asker *asker,
				 struct shunt_judges *judges)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(bridge_tables) && asker->inet_fd >= 0; i++) {
		bool is_judge = false;
		int ret = -EINVAL, tries = 4;

		if (!has_module("ebtable_", bridge_tables[i]))
			continue;
		while (ret == -EINVAL && tries--)
			ret = ask_bridge_table(asker->inet_fd, bridge_tables[i], &is_judge);
		if (ret)
			shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_BRIDGE, 0,
					 "ebtables: %s", strerror(-ret));
		else if (is_judge)
			shunt_judges_add(judges, SHUNT_JUDGE_ebtables, SHUNT_JUDGE_BRIDGE, 0,
					 "ebtables -t %s", bridge_tables[i]);
	}
}

/* --- sockets and files ------------------------------------------------------------------------ */

void shunt_firewall_open_asker(struct shunt_firewall_asker *asker)
{
	asker->inet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	asker->inet6_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	asker->names_fd = open(family4.names, O_RDONLY | O_CLOEXEC);
	asker->names6_fd = open(family6.names, O_RDONLY | O_CLOEXEC);
	shunt_firewall_open_bpf(asker);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void shunt_firewall_close_asker(struct shunt_firewall_asker *asker)
{
	close_fd(&asker->inet_fd);
	close_fd(&asker->inet6_fd);
	close_fd(&asker->names_fd);
	close_fd(&asker->names6_fd);
}
