// SPDX-License-Identifier: BSD-2-Clause
#include "lane/lanes.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "lane/detours.h"
#include "lane/facts.h"
#include "lane/judged.h"
#include "lane/program.h"
#include "lane/redirects.h"
#include "lane/tell.h"
#include "veth/detour.h"

/* Choices in a row. The second follows a program that did not get back on its device. */
#define ROUNDS_MAX 2

void shunt_lanes_open(struct shunt_lanes *lanes, struct shunt_ports *ports)
{
	lanes->ports = ports;
	shunt_lane_facts_open(lanes);
	shunt_lane_detours_open(lanes);
}

void shunt_lanes_close(struct shunt_lanes *lanes, bool hands_over)
{
	shunt_lane_detours_close(lanes, hands_over);
	shunt_xdp_fail_close(lanes->redirects);
	lanes->redirects = NULL;
}

/* --- the choice ------------------------------------------------------------------------------- */

/* A detour that could not be opened is a fact, by which all is chosen again. */
static void choose(struct shunt_lanes *lanes, struct shunt_lane_choice *choices)
{
	struct shunt_lane_facts facts[SHUNT_PORT_MAX];
	unsigned i;

	do {
		for (i = 0; i < lanes->ports->cnt; i++)
			facts[i] = lanes->ports->at[i].lane.facts;
		shunt_lane_choose(facts, lanes->ports->cnt, choices);
	} while (shunt_lane_detours_follow(lanes, choices));
}

static bool take(struct shunt_port *port, const struct shunt_lane_choice *choice)
{
	const struct shunt_lane_choice before = port->lane.choice;
	const bool is_first = before.reason == SHUNT_LANE_REASON_none;

	port->lane.choice = *choice;
	if (shunt_lane_is_same(&before, choice))
		return false;
	port->lane.is_new = true;
	port->lane.change_cnt += !is_first && before.lane != choice->lane;
	return true;
}

bool shunt_lanes_choose(struct shunt_lanes *lanes)
{
	struct shunt_lane_choice choices[SHUNT_PORT_MAX];
	bool is_new = shunt_lane_facts_ask(lanes);
	unsigned i;

	choose(lanes, choices);
	for (i = 0; i < lanes->ports->cnt; i++)
		is_new |= take(&lanes->ports->at[i], &choices[i]);
	return is_new;
}

int shunt_lanes_follow(struct shunt_lanes *lanes, bool is_new, struct shunt_err *err)
{
	bool is_again = true;
	unsigned round;
	int ret = 0;

	is_new |= shunt_lane_detours_retry(lanes);
	for (round = 0; round < ROUNDS_MAX && is_again && !ret; round++) {
		is_new |= shunt_lanes_choose(lanes);
		if (is_new)
			ret = shunt_lanes_tell_all(lanes, err);
		if (is_new)
			shunt_lane_detours_prune(lanes);
		if (!ret)
			shunt_lanes_unbar(lanes);
		if (!ret)
			ret = shunt_lane_programs_follow(lanes, &is_again, err);
		is_new = false;
	}
	return ret;
}

bool shunt_lanes_take_new(struct shunt_port *port)
{
	const bool is_new = port->lane.is_new;

	port->lane.is_new = false;
	return is_new;
}

/* --- in words --------------------------------------------------------------------------------- */

static const char *name_of(const struct shunt_lanes *lanes, int port)
{
	return port < 0 ? NULL : lanes->ports->at[port].name;
}

/* What of the lane goes with a judge. */
static void print_flows(const struct shunt_lanes *lanes, const struct shunt_port *port, char *out,
			unsigned len)
{
	const unsigned used = (unsigned)strlen(out);
	char judge[128];

	if (port->lane.facts.asks_flows &&
	    shunt_lane_judge_print(lanes, port->index, judge, sizeof(judge)))
		snprintf(out + used, len - used,
			 "; of what %s judges, connections that a flowtable has", judge);
}

void shunt_lanes_print(const struct shunt_lanes *lanes, const struct shunt_port *port, char *out,
		       unsigned len)
{
	const struct shunt_lane_choice *choice = &port->lane.choice;
	const struct shunt_port *far = choice->far < 0 ? NULL : &lanes->ports->at[choice->far];
	char pair[IF_NAMESIZE] = "", judge[128];
	struct shunt_lane_words words = {
		.port = port->name,
		.far = name_of(lanes, choice->far),
		.slow = name_of(lanes, choice->slow),
		.refusal = far && far->lane.facts.is_gone ? "is gone" : "takes no frames from XDP",
		.driver = port->netdev.driver,
		.mode = shunt_forward_mode_name(shunt_ports_mode(lanes->ports, port->index)),
	};

	if (shunt_lane_is_judged(choice->reason))
		words.detail = shunt_lane_judge_print(lanes, port->index, judge, sizeof(judge))
				       ? judge
				       : "nothing any more";
	else if (choice->reason == SHUNT_LANE_REASON_refused)
		words.detail = port->lane.refusal.msg;
	else if (choice->reason == SHUNT_LANE_REASON_no_detour && far)
		words.detail = far->detour.err.msg;
	else if (far && far->netdev.ifindex)
		shunt_detour_name(far->netdev.ifindex, pair);
	if (*pair)
		words.detail = pair;
	shunt_lane_reason_print(choice->reason, &words, out, len);
	print_flows(lanes, port, out, len);
}
