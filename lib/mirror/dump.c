// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "base/netlink.h"

/* A dump that the kernel flags as interrupted this often is taken as it is, without a sweep;
 * the events that interrupted it are followed anyway. */
#define RETRIES_MAX 8

/* The kernel's MAX_ERRNO: no more is an errno. */
#define ERRNO_MAX   4095

/* What is dumped, in this order: objects before those that refer to them. */
static const struct stage {
	uint16_t type;
	uint8_t family;
	uint8_t table; /* of routes; 0: those of the spaces */
	bool is_check; /* part of a RUN_CHECK */
	size_t header_bytes;
	size_t store; /* offset in the table; 0: nothing to sweep */
} stages[] = {
	{RTM_GETLINK, AF_UNSPEC, 0, false, sizeof(struct ifinfomsg),
	 offsetof(struct shunt_mirror_table, links)},
	{RTM_GETVLAN, AF_BRIDGE, 0, false, sizeof(struct br_vlan_msg),
	 offsetof(struct shunt_mirror_table, bridge_vlans)},
	{RTM_GETNETCONF, AF_INET, 0, false, sizeof(struct netconfmsg), 0},
	{RTM_GETNETCONF, AF_INET6, 0, false, sizeof(struct netconfmsg), 0},
	{RTM_GETRULE, AF_INET, 0, false, sizeof(struct fib_rule_hdr),
	 offsetof(struct shunt_mirror_table, rules)},
	{RTM_GETRULE, AF_INET6, 0, false, sizeof(struct fib_rule_hdr),
	 offsetof(struct shunt_mirror_table, rules)},
	{RTM_GETADDR, AF_INET, 0, false, sizeof(struct ifaddrmsg),
	 offsetof(struct shunt_mirror_table, addrs)},
	{RTM_GETADDR, AF_INET6, 0, false, sizeof(struct ifaddrmsg),
	 offsetof(struct shunt_mirror_table, addrs)},
	{RTM_GETNEIGH, AF_INET, 0, false, sizeof(struct ndmsg),
	 offsetof(struct shunt_mirror_table, neighs)},
	{RTM_GETNEIGH, AF_INET6, 0, false, sizeof(struct ndmsg),
	 offsetof(struct shunt_mirror_table, neighs)},
	{RTM_GETNEIGH, AF_BRIDGE, 0, false, sizeof(struct ndmsg),
	 offsetof(struct shunt_mirror_table, neighs)},
	{RTM_GETNEXTHOP, AF_UNSPEC, 0, true, sizeof(struct nhmsg),
	 offsetof(struct shunt_mirror_table, nexthops)},
	{RTM_GETROUTE, AF_INET, RT_TABLE_LOCAL, true, sizeof(struct rtmsg), 0},
	{RTM_GETROUTE, AF_INET, RT_TABLE_MAIN, true, sizeof(struct rtmsg), 0},
	{RTM_GETROUTE, AF_INET6, RT_TABLE_LOCAL, true, sizeof(struct rtmsg), 0},
	{RTM_GETROUTE, AF_INET6, RT_TABLE_MAIN, true, sizeof(struct rtmsg), 0},
	{RTM_GETROUTE, AF_INET, RT_TABLE_UNSPEC, true, sizeof(struct rtmsg), 0},
	{RTM_GETROUTE, AF_INET6, RT_TABLE_UNSPEC, true, sizeof(struct rtmsg), 0},
};

/* A stage that is done for one space after the other. */
static bool is_of_spaces(const struct stage *stage)
{
	return stage->type == RTM_GETROUTE && !stage->table;
}

static enum shunt_mirror_ip ip_of(const struct stage *stage)
{
	return stage->family == AF_INET6 ? SHUNT_MIRROR_IP6 : SHUNT_MIRROR_IP4;
}

void shunt_mirror_dump_want_check(struct shunt_mirror_dump *dump, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < dump->check_cnt; i++) {
		if (dump->checks[i] == ifindex)
			return;
	}
	if (i < SHUNT_MIRROR_CHECKS_MAX)
		dump->checks[dump->check_cnt++] = ifindex;
	else
		dump->want_audit = true;
}

void shunt_mirror_dump_overrun(struct shunt_mirror_dump *dump)
{
	dump->want_full = true;
	dump->is_broken = true;
}

bool shunt_mirror_dump_is_mine(const struct shunt_mirror_dump *dump, const struct nlmsghdr *nlh,
			       uint32_t portid)
{
	return dump->is_waiting && nlh->nlmsg_pid == portid && nlh->nlmsg_seq == dump->seq;
}

static int request(struct shunt_mirror_dump *dump, const struct shunt_mirror_table *table,
		   struct mnl_socket *nl)
{
	const struct stage *stage = &stages[dump->stage];
	uint8_t buf[256] = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	uint8_t *header;

	nlh->nlmsg_type = stage->type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++dump->seq;
	header = mnl_nlmsg_put_extra_header(nlh, stage->header_bytes);
	header[0] = stage->family; /* every one of these headers begins with it */
	if (stage->type == RTM_GETLINK)
		mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (stage->type == RTM_GETROUTE) {
		((struct rtmsg *)header)->rtm_table = stage->table;
		if (dump->space)
			mnl_attr_put_u32(nlh, RTA_TABLE, table->spaces[dump->space].table);
		if (dump->run == SHUNT_MIRROR_RUN_CHECK)
			mnl_attr_put_u32(nlh, RTA_OIF, dump->ifindex);
	}
	return mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0 ? -errno : 0;
}

/* A stage begins: what it does not name will be swept. */
static int begin_stage(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table,
		       struct mnl_socket *nl)
{
	int ret;

	shunt_mirror_table_mark(table);
	dump->is_interrupted = false;
	dump->is_broken = false;
	dump->stage_changes = 0;
	dump->stage_events = 0;
	ret = request(dump, table, nl);
	dump->is_waiting = !ret;
	return ret;
}

/* The next space that the run is about, 0 for none. */
static unsigned next_space(const struct shunt_mirror_dump *dump,
			   const struct shunt_mirror_table *table)
{
	unsigned i;

	for (i = dump->space + 1; i < SHUNT_TABLES_SPACES; i++)
		if (table->spaces[i].table &&
		    (dump->run != SHUNT_MIRROR_RUN_SPACES || dump->spaces & 1u << i))
			return i;
	return 0;
}

/* Whether the stage is done in this run; of one for each space, for the first. */
static bool is_due(struct shunt_mirror_dump *dump, const struct shunt_mirror_table *table)
{
	const struct stage *stage = &stages[dump->stage];

	dump->space = 0;
	if (dump->run == SHUNT_MIRROR_RUN_CHECK && !stage->is_check)
		return false;
	if (!is_of_spaces(stage))
		return dump->run != SHUNT_MIRROR_RUN_SPACES;
	dump->space = next_space(dump, table);
	return dump->space;
}

/* Goes on to the next stage; false at the end. */
static bool advance(struct shunt_mirror_dump *dump, const struct shunt_mirror_table *table)
{
	dump->space = is_of_spaces(&stages[dump->stage]) ? next_space(dump, table) : 0;
	if (dump->space)
		return true;
	while (++dump->stage < SHUNT_ARRAY_LEN(stages))
		if (is_due(dump, table))
			return true;
	return false;
}

/* Returns false where there is nothing to ask. */
static bool begin_run(struct shunt_mirror_dump *dump, const struct shunt_mirror_table *table,
		      uint64_t now_ns)
{
	dump->stage = 0;
	dump->retries = 0;
	dump->begin_ns = now_ns;
	if (dump->want_full) {
		dump->run = SHUNT_MIRROR_RUN_FULL;
		dump->want_full = false;
		dump->want_audit = false;
		dump->want_spaces = 0;
		dump->check_cnt = 0;
	} else if (dump->check_cnt) {
		dump->run = SHUNT_MIRROR_RUN_CHECK;
		dump->ifindex = dump->checks[--dump->check_cnt];
	} else if (dump->want_spaces) {
		dump->run = SHUNT_MIRROR_RUN_SPACES;
		dump->spaces = dump->want_spaces;
		dump->want_spaces = 0;
	} else {
		dump->run = SHUNT_MIRROR_RUN_AUDIT;
		dump->want_audit = false;
	}
	if (is_due(dump, table) || advance(dump, table))
		return true;
	dump->run = SHUNT_MIRROR_RUN_NONE;
	return false;
}

/* NLMSG_DONE and NLMSG_ERROR carry it alike. */
int shunt_mirror_dump_error(const struct nlmsghdr *nlh)
{
	const int32_t *error = shunt_netlink_head(nlh, sizeof(*error));

	if (!error)
		return 0;
	return *error <= 0 && *error >= -ERRNO_MAX ? -*error : EBADMSG;
}

bool shunt_mirror_dump_end(struct shunt_mirror_dump *dump, int error)
{
	const struct stage *stage = &stages[dump->stage];

	dump->is_waiting = false;
	dump->is_sweeping = true;
	dump->sweep = (struct shunt_mirror_route_sweep){
		.rib = shunt_mirror_rib(ip_of(stage), dump->space),
		.is_local = stage->table == RT_TABLE_LOCAL,
		.ifindex = dump->run == SHUNT_MIRROR_RUN_CHECK ? dump->ifindex : 0,
	};
	/* ENOENT: that table does not exist (yet), so it is empty; ENODEV: the device to check
	 * is gone, and its routes with it. */
	return !error || error == ENOENT || error == ENODEV;
}

/* Sweeps some; true when the stage is through. */
static bool sweep(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table, uint32_t budget)
{
	const struct stage *stage = &stages[dump->stage];

	if (dump->is_broken || dump->is_interrupted)
		return true;
	if (stage->store) {
		dump->stage_changes += shunt_mirror_table_sweep(
			table, (void *)((uint8_t *)table + stage->store), stage->family);
		return true;
	}
	return stage->type != RTM_GETROUTE ||
	       shunt_mirror_route_sweep(table, &dump->sweep, budget, &dump->stage_changes);
}

/* All routes of a space are known when both were said, and none of what was said is in doubt. */
static void hear_space(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table)
{
	if (!dump->space || dump->run == SHUNT_MIRROR_RUN_CHECK)
		return;
	if (dump->is_interrupted || dump->is_broken)
		dump->want_spaces |= 1u << dump->space;
	else
		table->spaces[dump->space].is_heard |= 1 << ip_of(&stages[dump->stage]);
}

/* The stage is through: goes on to the next, or ends the run. */
static void next_stage(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table,
		       uint64_t now_ns, struct shunt_mirror_dump_result *result)
{
	dump->is_sweeping = false;
	result->changes = dump->stage_events ? 0 : dump->stage_changes;
	result->races = dump->stage_events ? dump->stage_changes : 0;
	result->is_interrupted = dump->is_interrupted;
	if (dump->is_interrupted && dump->retries++ < RETRIES_MAX)
		return;
	dump->retries = 0;
	hear_space(dump, table);
	if (advance(dump, table) && !dump->want_full)
		return;
	if (!dump->want_full) {
		result->run = dump->run;
		result->ns = now_ns - dump->begin_ns;
	}
	dump->run = SHUNT_MIRROR_RUN_NONE;
}

int shunt_mirror_dump_step(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table,
			   struct mnl_socket *nl, uint64_t now_ns, uint32_t budget,
			   struct shunt_mirror_dump_result *result)
{
	int ret;

	memset(result, 0, sizeof(*result));
	if (dump->is_sweeping) {
		if (sweep(dump, table, budget))
			next_stage(dump, table, now_ns, result);
		return 1;
	}
	if (!shunt_mirror_dump_has_work(dump))
		return 0;
	if (!dump->run && !begin_run(dump, table, now_ns))
		return 1;
	ret = begin_stage(dump, table, nl);
	return ret ? ret : 1;
}
