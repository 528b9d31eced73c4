// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

/* --- the list --------------------------------------------------------------------------------- */

static struct shunt_judge *find_same(struct shunt_judges *judges, enum shunt_judge_kind kind,
				     enum shunt_judge_place place, int ifindex)
{
	unsigned i;

	for (i = 0; i < judges->cnt; i++) {
		struct shunt_judge *judge = &judges->at[i];

		if (judge->kind == kind && judge->place == place && judge->ifindex == ifindex)
			return judge;
	}
	return NULL;
}

/* Whatever it was that found no room: the last entry of a full list stands for it, everywhere. */
static void overflow(struct shunt_judges *judges)
{
	judges->at[SHUNT_JUDGES_MAX - 1] = (struct shunt_judge){
		SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, 1, ": there is more than can be listed"};
}

void shunt_judges_add(struct shunt_judges *judges, enum shunt_judge_kind kind,
		      enum shunt_judge_place place, int ifindex, const char *what, ...)
{
	struct shunt_judge *judge;
	va_list args;

	ifindex = shunt_firewall_base(judges->aboves, ifindex);
	judge = find_same(judges, kind, place, ifindex);
	if (judge) {
		judge->cnt++;
		return;
	}
	if (judges->cnt == SHUNT_JUDGES_MAX) {
		overflow(judges);
		return;
	}
	judge = &judges->at[judges->cnt++];
	memset(judge, 0, sizeof(*judge));
	judge->kind = kind;
	judge->place = place;
	judge->ifindex = ifindex;
	judge->cnt = 1;
	va_start(args, what);
	vsnprintf(judge->what, sizeof(judge->what), what, args);
	va_end(args);
}

void shunt_judges_clear(struct shunt_judges *judges)
{
	judges->cnt = 0;
	judges->flowtable_cnt = 0;
	judges->legacy = 0;
	judges->aboves = NULL;
}

static bool has_flowtable(const struct shunt_judges *judges, int ifindex)
{
	unsigned i;

	for (i = 0; i < judges->flowtable_cnt; i++)
		if (judges->flowtables[i] == ifindex)
			return true;
	return false;
}

void shunt_judges_add_flowtable(struct shunt_judges *judges, int ifindex)
{
	ifindex = shunt_firewall_base(judges->aboves, ifindex);
	if (!has_flowtable(judges, ifindex) && judges->flowtable_cnt < SHUNT_FLOWTABLES_MAX)
		judges->flowtables[judges->flowtable_cnt++] = ifindex;
}

void shunt_judges_append(struct shunt_judges *judges, const struct shunt_judges *more)
{
	unsigned i;

	for (i = 0; i < more->cnt; i++)
		if (judges->cnt == SHUNT_JUDGES_MAX)
			overflow(judges);
		else
			judges->at[judges->cnt++] = more->at[i];
	for (i = 0; i < more->flowtable_cnt; i++)
		shunt_judges_add_flowtable(judges, more->flowtables[i]);
	judges->legacy += more->legacy;
}

bool shunt_judges_equal(const struct shunt_judges *a, const struct shunt_judges *b)
{
	return a->cnt == b->cnt && !memcmp(a->at, b->at, a->cnt * sizeof(a->at[0])) &&
	       a->flowtable_cnt == b->flowtable_cnt &&
	       !memcmp(a->flowtables, b->flowtables, a->flowtable_cnt * sizeof(a->flowtables[0]));
}

/* --- whose frames ----------------------------------------------------------------------------- */

/* What is routed passes the bridge or the bond as a device. What is bridged passes the ports alone.
 */
static bool is_at(const struct shunt_judged *port, int ifindex)
{
	return port->ifindex == ifindex || (port->is_routed && port->master == ifindex);
}

/* Frames that leave by the device, or pass its bridge on their way. */
static bool leaves_by(const struct shunt_judged *ports, unsigned cnt,
		      const struct shunt_judged *port, int ifindex)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		if (port->leave_by >> i & 1 && is_at(&ports[i], ifindex))
			return true;
	return false;
}

static bool meets(const struct shunt_judge *judge, const struct shunt_judged *ports, unsigned cnt,
		  const struct shunt_judged *port)
{
	if (port->is_untold)
		return true;
	switch (judge->place) {
	case SHUNT_JUDGE_IP:
	case SHUNT_JUDGE_IP_LATE:
		return port->is_routed || port->calls_ip;
	case SHUNT_JUDGE_BRIDGE:
		return port->is_bridged;
	case SHUNT_JUDGE_BRIDGE_HOST:
		return port->is_bridged && port->is_routed;
	case SHUNT_JUDGE_ARP:
		return port->calls_arp;
	case SHUNT_JUDGE_IN:
		return !judge->ifindex || is_at(port, judge->ifindex);
	case SHUNT_JUDGE_OUT:
		return !judge->ifindex || leaves_by(ports, cnt, port, judge->ifindex);
	}
	return true;
}

const struct shunt_judge *shunt_judge_find(const struct shunt_judges *judges,
					   const struct shunt_judged *ports, unsigned cnt,
					   unsigned port)
{
	unsigned i;

	for (i = 0; i < judges->cnt && ports[port].ifindex; i++)
		if (meets(&judges->at[i], ports, cnt, &ports[port]))
			return &judges->at[i];
	return NULL;
}

static bool is_of_ip(const struct shunt_judge *judge)
{
	return judge->place == SHUNT_JUDGE_IP || judge->place == SHUNT_JUDGE_IP_LATE;
}

static bool is_by_rules(const struct shunt_judge *judge)
{
	return judge->kind == SHUNT_JUDGE_nftables || judge->kind == SHUNT_JUDGE_iptables;
}

/* A connection in a flowtable passes none of IP's hooks any more. All others it does. */
static bool leaves_flows(const struct shunt_judge *judge)
{
	return is_of_ip(judge) && is_by_rules(judge);
}

int shunt_judges_flow_device(const struct shunt_judges *judges, const struct shunt_judged *port)
{
	if (has_flowtable(judges, port->ifindex))
		return port->ifindex;
	if (port->is_routed && port->master && has_flowtable(judges, port->master))
		return port->master;
	return 0;
}

bool shunt_judges_leave_flows(const struct shunt_judges *judges, const struct shunt_judged *ports,
			      unsigned cnt, unsigned port)
{
	unsigned i;

	if (ports[port].is_untold || !shunt_judges_flow_device(judges, &ports[port]))
		return false;
	for (i = 0; i < judges->cnt; i++)
		if (meets(&judges->at[i], ports, cnt, &ports[port]) &&
		    !leaves_flows(&judges->at[i]))
			return false;
	return true;
}

/* What stands at a device the packets of a flowtable meet as before, at the kernel's hands; IPsec
 * and what is not known they may not. */
static bool is_passed_by(const struct shunt_judge *judge)
{
	switch (judge->kind) {
	case SHUNT_JUDGE_nftables:
	case SHUNT_JUDGE_iptables:
		return judge->place == SHUNT_JUDGE_IP_LATE;
	case SHUNT_JUDGE_ebtables:
	case SHUNT_JUDGE_tc:
		return false;
	default:
		return true;
	}
}

bool shunt_judges_want_table(const struct shunt_judges *judges, const struct shunt_judge **against)
{
	bool are_rules = false;
	unsigned i;

	*against = NULL;
	for (i = 0; i < judges->cnt; i++)
		are_rules |= is_of_ip(&judges->at[i]) && is_by_rules(&judges->at[i]);
	for (i = 0; i < judges->cnt && are_rules && !*against; i++)
		if (is_passed_by(&judges->at[i]))
			*against = &judges->at[i];
	return are_rules && !*against;
}

void shunt_judge_print(const struct shunt_judge *judge, char *out, unsigned len)
{
	static const char *const called[] = {
#define X(kind, name) name,
		SHUNT_JUDGE_KINDS(X)
#undef X
	};
	int n = snprintf(out, len, "%s %s", called[judge->kind], judge->what);

	if (judge->cnt > 1 && n >= 0 && (unsigned)n < len)
		snprintf(out + n, len - (unsigned)n, " and %u more", judge->cnt - 1);
}
