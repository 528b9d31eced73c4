// SPDX-License-Identifier: BSD-2-Clause
/* The tables of iptables-, arptables- and ebtables-legacy. A table judges if, at a hook that
 * forwarded packets pass, it has a rule or a policy that is not ACCEPT. No message tells of their
 * changes.
 *
 * To ask for a table that is not there makes it. So a table of iptables is asked for only if the
 * kernel lists it. Of ebtables there is no list: its table's module must be loaded, or built in.
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
#include <linux/netfilter_arp/arp_tables.h>
#include <linux/netfilter_bridge/ebtables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "base/bytes.h"
#include "firewall/ask.h"

static const char *const tables[] = {"filter", "nat", "mangle", "raw", "security"};

/* --- iptables, ip6tables, arptables ----------------------------------------------------------- */

/* What differs between the families; the structures behind have the same members. */
struct family {
	const char *command, *core, *module, *names;
	enum shunt_judge_place place;
	unsigned hooks;	   /* that forwarded packets pass, a bit each */
	unsigned hook_cnt; /* of all */
	bool is_ip6;
	int level, get_info, get_entries;
	socklen_t info_len;
	size_t entries_head;  /* of struct ipt_get_entries */
	size_t target_offset; /* of an entry's own header: the target's when it matches nothing */
	size_t counters;      /* of an entry: its 16 bytes of counters */
	size_t entry_len;
};

#define IP_HOOKS (1 << NF_INET_PRE_ROUTING | 1 << NF_INET_FORWARD | 1 << NF_INET_POST_ROUTING)

static const struct family families[] = {
	{
		.command = "iptables",
		.core = "ip_tables",
		.module = "iptable_",
		.names = "/proc/net/ip_tables_names",
		.place = SHUNT_JUDGE_IP,
		.hooks = IP_HOOKS,
		.hook_cnt = NF_INET_NUMHOOKS,
		.level = IPPROTO_IP,
		.get_info = IPT_SO_GET_INFO,
		.get_entries = IPT_SO_GET_ENTRIES,
		.info_len = sizeof(struct ipt_getinfo),
		.entries_head = sizeof(struct ipt_get_entries),
		.target_offset = offsetof(struct ipt_entry, target_offset),
		.counters = offsetof(struct ipt_entry, counters),
		.entry_len = sizeof(struct ipt_entry),
	},
	{
		.command = "ip6tables",
		.core = "ip6_tables",
		.module = "ip6table_",
		.names = "/proc/net/ip6_tables_names",
		.place = SHUNT_JUDGE_IP,
		.hooks = IP_HOOKS,
		.hook_cnt = NF_INET_NUMHOOKS,
		.is_ip6 = true,
		.level = IPPROTO_IPV6,
		.get_info = IP6T_SO_GET_INFO,
		.get_entries = IP6T_SO_GET_ENTRIES,
		.info_len = sizeof(struct ip6t_getinfo),
		.entries_head = sizeof(struct ip6t_get_entries),
		.target_offset = offsetof(struct ip6t_entry, target_offset),
		.counters = offsetof(struct ip6t_entry, counters),
		.entry_len = sizeof(struct ip6t_entry),
	},
	{
		.command = "arptables",
		.core = "arp_tables",
		.module = "arptable_",
		.names = "/proc/net/arp_tables_names",
		.place = SHUNT_JUDGE_ARP,
		.hooks = 1 << NF_ARP_FORWARD,
		.hook_cnt = NF_ARP_NUMHOOKS,
		.level = IPPROTO_IP,
		.get_info = ARPT_SO_GET_INFO,
		.get_entries = ARPT_SO_GET_ENTRIES,
		.info_len = sizeof(struct arpt_getinfo),
		.entries_head = sizeof(struct arpt_get_entries),
		.target_offset = offsetof(struct arpt_entry, target_offset),
		.counters = offsetof(struct arpt_entry, counters),
		.entry_len = sizeof(struct arpt_entry),
	},
};

/* What the kernel says of a table, whatever number of hooks the family has: a name and numbers. */
struct info {
	char name[XT_TABLE_MAXNAMELEN];
	unsigned numbers[1 + 2 * NF_INET_NUMHOOKS + 2]; /* valid hooks, starts, ends, count, size */
};

_Static_assert(sizeof(struct info) == sizeof(struct ipt_getinfo), "as in the kernel");
_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one structure for both");
_Static_assert(offsetof(struct arpt_getinfo, size) ==
		       offsetof(struct info, numbers) +
			       (2 + 2 * NF_ARP_NUMHOOKS) * sizeof(unsigned),
	       "the same members");
/* next_offset follows target_offset in each. */
_Static_assert(offsetof(struct ipt_entry, next_offset) ==
			       offsetof(struct ipt_entry, target_offset) + sizeof(uint16_t) &&
		       offsetof(struct ip6t_entry, next_offset) ==
			       offsetof(struct ip6t_entry, target_offset) + sizeof(uint16_t) &&
		       offsetof(struct arpt_entry, next_offset) ==
			       offsetof(struct arpt_entry, target_offset) + sizeof(uint16_t),
	       "the same members");
_Static_assert(offsetof(struct ipt_get_entries, size) == offsetof(struct ip6t_get_entries, size) &&
		       offsetof(struct ipt_get_entries, size) ==
			       offsetof(struct arpt_get_entries, size),
	       "one head for all");

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

/* The hooks of forwarded packets at which the table judges, a bit each. */
static unsigned judging_hooks(const struct family *family, const struct info *info,
			      const char *entries, size_t len)
{
	const unsigned *starts = &info->numbers[1], *ends = starts + family->hook_cnt;
	unsigned i, hooks = 0;

	for (i = 0; i < family->hook_cnt; i++)
		if (info->numbers[0] & family->hooks & 1u << i &&
		    (starts[i] != ends[i] || !is_accept(family, entries, len, ends[i])))
			hooks |= 1u << i;
	return hooks;
}

/* FNV-1a, eight bytes at a time: entries are padded to that. */
static uint64_t hash(uint64_t sum, const char *bytes, size_t len)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 32;
	}
	return sum;
}

/* A number of all entries but for their counters. */
static uint64_t number_of(const struct family *family, const char *entries, size_t len)
{
	const size_t counters_len = sizeof(struct xt_counters);
	uint64_t sum = 0xcbf29ce484222325u;
	uint16_t next = 0;
	size_t at;

	for (at = 0; at + family->entry_len <= len; at += next) {
		memcpy(&next, entries + at + family->target_offset + sizeof(next), sizeof(next));
		if (next < family->entry_len || next > len - at)
			break;
		sum = hash(sum, entries + at, family->counters);
		sum = hash(sum, entries + at + family->counters + counters_len,
			   next - family->counters - counters_len);
	}
	return sum;
}

/* What a table says. */
struct answer {
	unsigned hooks; /* at which it judges, a bit each */
	bool is_there;
	uint64_t number; /* of its rules */
};

/* Returns 0 or -errno; -EAGAIN where the table changed between the two questions. */
static int ask_table(const struct family *family, int fd, const char *name, struct answer *out)
{
	const char *entries;
	struct info info = {0};
	struct ipt_get_entries *get;
	socklen_t len = family->info_len;
	unsigned size;
	int ret = 0;

	snprintf(info.name, sizeof(info.name), "%s", name);
	if (getsockopt(fd, family->level, family->get_info, &info, &len))
		return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
	size = info.numbers[2 + 2 * family->hook_cnt];
	len = (socklen_t)(family->entries_head + size);
	get = calloc(1, len);
	if (!get)
		return -ENOMEM;
	snprintf(get->name, sizeof(get->name), "%s", name);
	get->size = size;
	entries = (const char *)get + family->entries_head;
	if (getsockopt(fd, family->level, family->get_entries, get, &len))
		ret = -errno;
	else
		*out = (struct answer){judging_hooks(family, &info, entries, size), true,
				       number_of(family, entries, size)};
	free(get);
	return ret;
}

/* The names in the kernel's list, one a line, as a string with a newline before each: root's to
 * read, so it was opened while the daemon was root. Returns whether it can be read: not that of a
 * module that came later, or that was loaded anew. */
static bool read_names(int fd, char *out, size_t len)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, out + 1, len - 2, 0);

	out[0] = '\n';
	out[n > 0 ? n + 1 : 1] = '\0';
	return n >= 0;
}

static bool has_module(const char *prefix, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/%s%s", prefix, name);
	return !access(path, F_OK);
}

/* names: NULL where the list cannot be read. A module that is built in has no folder. */
static bool is_there(const struct family *family, const char *names, const char *name)
{
	char line[40];

	if (!names)
		return !access(family->names, F_OK) &&
		       (has_module(family->module, name) || !has_module(family->core, ""));
	snprintf(line, sizeof(line), "\n%s\n", name);
	return strstr(names, line);
}

/* Translation is by connection, what else is done behind the hook forward by packet. */
static enum shunt_judge_place place_of(const struct family *family, const char *table,
				       unsigned hooks)
{
	return family->place == SHUNT_JUDGE_IP && hooks >> NF_INET_POST_ROUTING & 1 &&
			       strcmp(table, "nat") != 0
		       ? SHUNT_JUDGE_IP_LATE
		       : family->place;
}

static void ask_family(const struct family *family, int fd, int names_fd,
		       struct shunt_judges *judges)
{
	char names[256];
	const bool is_listed = read_names(names_fd, names, sizeof(names));
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(tables) && fd >= 0; i++) {
		struct answer answer = {0};
		int ret = -EAGAIN, tries = 4;

		if (!is_there(family, is_listed ? names : NULL, tables[i]))
			continue;
		while (ret == -EAGAIN && tries--)
			ret = ask_table(family, fd, tables[i], &answer);
		if (ret)
			shunt_judges_add(judges, SHUNT_JUDGE_untold, family->place, 0, "%s: %s",
					 family->command, strerror(-ret));
		else if (answer.hooks)
			shunt_judges_add(judges, SHUNT_JUDGE_iptables,
					 place_of(family, tables[i], answer.hooks), 0, "%s -t %s",
					 family->command, tables[i]);
		else if (answer.is_there && !strcmp(tables[i], "nat"))
			shunt_firewall_ask_nat(judges, SHUNT_JUDGE_iptables,
					       family->is_ip6 ? "ip6tables -t nat"
							      : "iptables -t nat");
		judges->legacy += answer.number;
	}
}

void shunt_firewall_ask_iptables(const struct shunt_firewall_asker *asker,
				 struct shunt_judges *judges)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(families); i++)
		ask_family(&families[i], families[i].is_ip6 ? asker->inet6_fd : asker->inet_fd,
			   asker->names_fds[i], judges);
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

/* Of what is built in there is no module to be seen. It does not change, so the start tells. */
static bool is_built_in(int fd, const char *name)
{
	struct ebt_replace table = {0};
	socklen_t len = sizeof(table);

	snprintf(table.name, sizeof(table.name), "%s", name);
	return !has_module("ebtables", "") &&
	       !getsockopt(fd, IPPROTO_IP, EBT_SO_GET_INFO, &table, &len);
}

static unsigned find_built_in(int fd)
{
	unsigned i, found = 0;

	for (i = 0; i < SHUNT_ARRAY_LEN(bridge_tables); i++)
		found |= (unsigned)is_built_in(fd, bridge_tables[i]) << i;
	return found;
}

void shunt_firewall_ask_ebtables(const struct shunt_firewall_asker *asker,
				 struct shunt_judges *judges)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(bridge_tables) && asker->inet_fd >= 0; i++) {
		bool is_judge = false;
		int ret = -EINVAL, tries = 4;

		if (!has_module("ebtable_", bridge_tables[i]) &&
		    !(asker->built_in_bridge_tables >> i & 1))
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
	unsigned i;

	asker->inet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	asker->inet6_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (i = 0; i < SHUNT_ARRAY_LEN(families); i++)
		asker->names_fds[i] = open(families[i].names, O_RDONLY | O_CLOEXEC);
	asker->built_in_bridge_tables = find_built_in(asker->inet_fd);
	shunt_firewall_open_hooks(asker);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void shunt_firewall_close_asker(struct shunt_firewall_asker *asker)
{
	unsigned i;

	close_fd(&asker->inet_fd);
	close_fd(&asker->inet6_fd);
	for (i = 0; i < SHUNT_ARRAY_LEN(families); i++)
		close_fd(&asker->names_fds[i]);
}
