// SPDX-License-Identifier: BSD-2-Clause
/* Notices about the host and the workers. */
#include "base/clock.h"
#include "engine/follower.h"
#include "firewall/firewall.h"
#include "helper/helper.h"
#include "lane/judged.h"
#include "notice/checks.h"
#include "router/router.h"

uint64_t shunt_notice_check_policy_routing(const struct shunt_engine *engine,
					   const struct shunt_notice *before,
					   struct shunt_err *text)
{
	const struct shunt_router *router = engine->router;
	struct shunt_mirror_stats stats = {0};
	bool is_diverted;

	if (!shunt_guard_try(engine->ports.guard))
		return before->key;
	if (router && router->mirror)
		shunt_mirror_stats(router->mirror, &stats);
	is_diverted = router && router->diverted;
	shunt_guard_leave(engine->ports.guard);
	if (!is_diverted)
		return 0;
	shunt_err_set(
		text, 0,
		"this host has %u routing rules (ip rule) beside the kernel's own, and only the "
		"kernel knows where they lead what comes in by a port: what that would route is "
		"the kernel's, unless 'policy_routing: ignore' says otherwise",
		stats.policy_rules);
	return stats.policy_rules + 1;
}

uint64_t shunt_notice_check_helper(const struct shunt_engine *engine,
				   const struct shunt_notice *before, struct shunt_err *text)
{
	(void)before;
	if (!shunt_helper_is_lost(engine->lanes.helper))
		return 0;
	shunt_err_set(text, 0,
		      "the helper process (%d) has ended: shuntd forwards, but cannot remove or "
		      "restore programs, even at stop, and its tables of lane xdp do not grow; "
		      "start shuntd again, with --takeover if it may not pause",
		      (int)shunt_helper_pid(engine->lanes.helper));
	return 1;
}

uint64_t shunt_notice_check_bypassed(const struct shunt_engine *engine,
				     const struct shunt_notice *before, struct shunt_err *text)
{
	bool is_judged = false;
	char what[128];
	unsigned i;

	(void)before;
	for (i = 0; i < engine->ports.cnt && !is_judged &&
		    engine->config->firewall == SHUNT_FIREWALL_IGNORE;
	     i++)
		is_judged = shunt_lane_judge_print(&engine->lanes, i, what, sizeof(what));
	if (!is_judged)
		return 0;
	shunt_err_set(text, 0,
		      "what shunt forwards bypasses %s, since 'firewall: ignore' says so; without "
		      "that word such ports are the kernel's",
		      what);
	return 1;
}

uint64_t shunt_notice_check_unmanaged(const struct shunt_engine *engine,
				      const struct shunt_notice *before, struct shunt_err *text)
{
	struct shunt_managed managed;

	(void)before;
	if (!shunt_firewall_managed(engine->firewall, &managed) ||
	    (managed.state != SHUNT_MANAGED_refused && managed.state != SHUNT_MANAGED_failed))
		return 0;
	shunt_err_set(
		text, 0,
		"firewall: manage makes no table, and what rules judge is the kernel's: %.300s",
		managed.why.msg);
	return 1 + managed.state;
}

uint64_t shunt_notice_check_ip6_forwarding(const struct shunt_engine *engine,
					   const struct shunt_notice *before,
					   struct shunt_err *text)
{
	bool is_off;

	if (!shunt_guard_try(engine->ports.guard))
		return before->key;
	is_off = engine->router && engine->router->is_ip6_off;
	shunt_guard_leave(engine->ports.guard);
	if (!is_off)
		return 0;
	shunt_err_set(text, 0,
		      "IPv6 forwarding is off, so the kernel gets and drops what would be routed; "
		      "sysctl net.ipv6.conf.all.forwarding=1");
	return 1;
}

uint64_t shunt_notice_check_uncounted_redirects(const struct shunt_engine *engine,
						const struct shunt_notice *before,
						struct shunt_err *text)
{
	const struct shunt_lanes *lanes = &engine->lanes;
	unsigned i;

	(void)before;
	for (i = 0; i < engine->ports.cnt && !lanes->redirects; i++) {
		const struct shunt_port *port = &engine->ports.at[i];

		if (!port->xdp || port->lane.choice.lane != SHUNT_LANE_XDP)
			continue;
		*text = lanes->redirects_err;
		return 1;
	}
	return 0;
}

/* Then some frames are lost at a kill. */
uint64_t shunt_notice_check_death_unseen(const struct shunt_engine *engine,
					 const struct shunt_notice *before, struct shunt_err *text)
{
	(void)before;
	if (!*engine->death_err.msg)
		return 0;
	*text = engine->death_err;
	return 1;
}

/* This is for people. The steering programs notice within 200 ms. */
uint64_t shunt_notice_check_unfollowed(const struct shunt_engine *engine,
				       const struct shunt_notice *before, struct shunt_err *text)
{
	const uint64_t silent_ns =
		engine->follower ? shunt_follower_silent_ns(engine->follower) : 0;

	(void)before;
	if (!silent_ns)
		return 0;
	shunt_err_set(
		text, 0,
		"what follows the kernel's routes, bridges and firewall has given no sign of "
		"life for %.1f s: it hangs, or gets no CPU; what is routed, bridged over a kernel "
		"bridge, or judged by rules is the kernel's meanwhile; if that lasts, start shuntd "
		"again",
		(double)silent_ns / SHUNT_NS_PER_SEC);
	return 1;
}

/* --- workers ---------------------------------------------------------------------------------- */

/* An idle worker beats ten times as often. */
#define BEAT_MAX_NS    SHUNT_NS_PER_SEC
/* The whole process may have been stopped. After that a worker that lives beats within this time.
 */
#define SUSPECT_MIN_NS (SHUNT_NS_PER_SEC / 2)

/* This is for people. The watch notices within 10 ms, or 100 ms where the thread merely waits for a
 * CPU (shunt_steer_queue.h), and the steering programs forward without the worker. */
uint64_t shunt_notice_check_hang(const struct shunt_engine *engine,
				 const struct shunt_notice *before, struct shunt_err *text)
{
	const struct shunt_worker *w = engine->workers[before->worker];
	struct shunt_suspect *suspect = before->suspect;
	const uint64_t now = shunt_clock_ns(), beat = shunt_counter_read(&w->stats.heartbeat_ns);

	if (now <= beat || now - beat <= BEAT_MAX_NS * engine->config->patience) {
		suspect->beat_ns = 0;
		return 0;
	}
	if (beat != suspect->beat_ns)
		*suspect = (struct shunt_suspect){beat, now};
	if (now - suspect->since_ns < SUSPECT_MIN_NS)
		return before->key;
	shunt_err_set(text, 0,
		      "worker %u has given no sign of life for %.1f s: it hangs, or gets no CPU; "
		      "what is steered to it is the kernel's meanwhile; if that lasts, start "
		      "shuntd again",
		      w->opts.id, (double)(now - beat) / SHUNT_NS_PER_SEC);
	return 1;
}
