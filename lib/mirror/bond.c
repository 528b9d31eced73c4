// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/bond.h"

#include <linux/if.h>
#include <linux/if_bonding.h>

#include "shunt_bond.h"

_Static_assert((int)SHUNT_BOND_LAYER2 == BOND_XMIT_POLICY_LAYER2 &&
		       (int)SHUNT_BOND_LAYER34 == BOND_XMIT_POLICY_LAYER34 &&
		       (int)SHUNT_BOND_LAYER23 == BOND_XMIT_POLICY_LAYER23,
	       "the kernel's numbers");

static bool spreads(const struct shunt_mirror_bond *bond)
{
	return bond->mode == BOND_MODE_XOR || bond->mode == BOND_MODE_8023AD;
}

static bool is_known(const struct shunt_mirror_bond *bond)
{
	return bond->mode == BOND_MODE_ACTIVEBACKUP ||
	       (spreads(bond) && bond->policy < SHUNT_BOND_POLICY_CNT);
}

/* bond_slave_can_tx, and that the aggregator is the active one. */
static bool can_send(const struct shunt_mirror_link_info *member,
		     const struct shunt_mirror_bond *bond)
{
	const uint32_t up = IFF_UP | IFF_LOWER_UP;

	return (member->flags & up) == up && !member->bonded.is_backup && !member->bonded.is_down &&
	       (bond->mode != BOND_MODE_8023AD || member->bonded.aggregator == bond->aggregator);
}

/* Those that can send, in the table's order. */
struct senders {
	const struct shunt_mirror_link *at[SHUNT_DEVICE_MEMBERS_MAX];
	unsigned cnt, port_cnt; /* port_cnt: of all members, whether they can send or not */
	bool is_odd;
};

static struct senders find_senders(const struct shunt_mirror_aboves *aboves,
				   const struct shunt_mirror_link *bond)
{
	const struct shunt_mirror_link *link;
	struct senders found = {.cnt = 0};
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&aboves->table->links, idx))) {
		link = shunt_mirror_store_at(&aboves->table->links, idx);
		if (link->info.master != bond->info.ifindex)
			continue;
		found.port_cnt += aboves->port_of(aboves->ctx, link->info.ifindex) >= 0;
		found.is_odd |= link->info.bonded.queue != 0;
		if (!can_send(&link->info, &bond->info.bond))
			continue;
		if (found.cnt < SHUNT_DEVICE_MEMBERS_MAX)
			found.at[found.cnt] = link;
		found.cnt++;
	}
	return found;
}

static int find_name(const struct senders *senders, const char *name)
{
	unsigned i;

	for (i = 0; i < senders->cnt; i++)
		if (!strcmp(senders->at[i]->info.name, name))
			return (int)i;
	return -1;
}

/* Puts the senders into the kernel's order. false: it does not tell, or has others by now. */
static bool sort(const struct shunt_mirror_aboves *aboves, const struct shunt_mirror_link *bond,
		 struct senders *senders)
{
	char names[SHUNT_ABOVE_ORDER_MAX][sizeof(bond->info.name)];
	const struct shunt_mirror_link *sorted[SHUNT_DEVICE_MEMBERS_MAX];
	const int name_cnt = aboves->order_of(bond->info.name, names, SHUNT_ABOVE_ORDER_MAX);
	unsigned cnt = 0;
	int i, at;

	for (i = 0; i < name_cnt; i++) {
		at = find_name(senders, names[i]);
		if (at >= 0 && cnt < senders->cnt)
			sorted[cnt++] = senders->at[at];
	}
	if (cnt != senders->cnt)
		return false;
	memcpy(senders->at, sorted, cnt * sizeof(*sorted));
	return true;
}

enum shunt_above_state shunt_mirror_bond_members(const struct shunt_mirror_aboves *aboves,
						 const struct shunt_mirror_link *bond,
						 struct shunt_device *out)
{
	struct senders senders = find_senders(aboves, bond);
	unsigned i;
	int port;

	if (!senders.port_cnt)
		return SHUNT_ABOVE_elsewhere;
	if (!(bond->info.flags & IFF_UP) || !senders.cnt)
		return SHUNT_ABOVE_down;
	if (!is_known(&bond->info.bond) || senders.is_odd)
		return SHUNT_ABOVE_bonding;
	if (senders.cnt > SHUNT_DEVICE_MEMBERS_MAX ||
	    (senders.cnt > 1 && !sort(aboves, bond, &senders)))
		return SHUNT_ABOVE_members;
	out->policy = spreads(&bond->info.bond) ? bond->info.bond.policy : SHUNT_BOND_LAYER2;
	for (i = 0; i < senders.cnt; i++) {
		port = aboves->port_of(aboves->ctx, senders.at[i]->info.ifindex);
		if (port < 0)
			return SHUNT_ABOVE_members;
		out->members[out->member_cnt++] = (uint8_t)port;
	}
	return SHUNT_ABOVE_followed;
}
