/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice of a lane as a value: facts about all ports in, a choice for each port out. Nothing
 * is asked here and nothing is changed. lane/facts.c asks, lane/follow.c does what follows.
 *
 *	struct shunt_lane_facts facts[cnt];		filled in
 *	struct shunt_lane_choice choices[cnt];
 *	shunt_lane_choose(facts, cnt, choices);
 *
 * SHUNT_LANE_REASONS is the policy. The first reason with a condition that holds decides. To change
 * the policy, change the list, and its table in tests/unit/test_choice.c. */
#ifndef SHUNT_CHOICE_CHOICE_H
#define SHUNT_CHOICE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "shunt_steer.h"

/* name, lane, condition, sentence.
 *
 * name: stable, for programs (JSON, metrics, tests). lane and condition are expressions about
 * `f`, the port's facts, and `far`, what is known of the ports that its frames leave by. In the
 * sentence, for people, {port} is the port; {far} one that its frames leave by and that takes no
 * frames from XDP, {refusal} why; {slow} a port without zero-copy; {driver} and {mode} the
 * port's; {detail} what the facts cannot say.
 *
 * Three groups. First what keeps the steering program off the device, or from being told: there
 * the lane that would be in use otherwise is still wanted (PROGRAM). Then what leaves frames to
 * the kernel whatever lane is asked for (LEFT). Then the lane that was asked for, or auto. */
#define SHUNT_LANE_REASONS_PROGRAM(X)                                                             \
	X(gone, f->before, f->is_gone && f->is_suspended,                                         \
	  "{port} is gone; a device that takes its place is served after a restart")              \
	X(gone_with_program, f->before, f->is_gone,                                               \
	  "{port} is gone; a device that takes its place is served after a restart; in another "  \
	  "network namespace it still has the program, which passes everything")                  \
	X(taken_off, SHUNT_LANE_KERNEL, f->is_taken_off,                                          \
	  "somebody took the steering program off {port}; it is served after a restart")          \
	X(blocked, SHUNT_LANE_KERNEL, f->is_blocked,                                              \
	  "another's XDP program came on {port} while everything was the kernel's; the steering " \
	  "program returns when that goes")                                                       \
	X(refused, SHUNT_LANE_KERNEL, f->is_refused,                                              \
	  "the steering program, off while everything was the kernel's, could not return: "       \
	  "{detail}")
#define SHUNT_LANE_REASONS_LEFT(X)                                                                \
	X(isolated, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_isolated,                     \
	  "{port} is isolated, which only the kernel's bridge minds")                             \
	X(locked, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_locked,                         \
	  "{port} is locked, which only the kernel's bridge minds")                               \
	X(hairpin, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_hairpin,                       \
	  "{port} is in hairpin mode, which only the kernel's bridge minds")                      \
	X(not_member, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_not_member,                 \
	  "{port} is not a port of its bridge any more: the kernel has put it elsewhere")         \
	X(backup_port, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_backup_port,               \
	  "{port} is a port of a bridge in which one has a backup port, which only the kernel's " \
	  "bridge minds")                                                                         \
	X(vlan_filtering, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_vlan_filtering,         \
	  "{port} is a port of a bridge that filters VLANs in a way that only the kernel's does") \
	X(unaged, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_unaged,                         \
	  "{port} is a port of a bridge without an ageing time, which only the kernel's bridge "  \
	  "minds")                                                                                \
	X(tags_in_vain, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_tags && !f->has_fallback, \
	  "{port} takes VLAN tags off, and frames would leave without; the kernel forwards "      \
	  "nothing between these ports: nothing crosses")                                         \
	X(tags, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_tags,                             \
	  "{port} takes VLAN tags off, and frames would leave without")                           \
	X(unfollowed, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_unfollowed,                 \
	  "what the kernel told of its tables was more than could be taken; they are being read " \
	  "again")                                                                                \
	X(firewall_in_vain, SHUNT_LANE_KERNEL,                                                    \
	  f->left == SHUNT_LANE_REASON_firewall && !f->has_fallback,                              \
	  "what {port} forwards is judged by {detail}, and the kernel forwards nothing between "  \
	  "these ports: nothing crosses")                                                         \
	X(firewall, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_firewall,                     \
	  "what {port} forwards is judged by {detail}")                                           \
	X(policy_routing, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_policy_routing,         \
	  "only the kernel knows where routing rules (ip rule) lead what comes in by {port}")     \
	X(master, SHUNT_LANE_KERNEL, f->left == SHUNT_LANE_REASON_master,                         \
	  "{port} belongs to a bridge or a bond that is not followed (show devices)")
#define SHUNT_LANE_REASONS_CHOSEN(X)                                                              \
	X(no_devices, SHUNT_LANE_USER, is_auto(f) && !far->are_devices,                           \
	  "not all of the ports are network devices")                                             \
	X(nodes, SHUNT_LANE_USER, is_auto(f) && f->has_nodes,                                     \
	  "nodes are configured, which no other lane has")                                        \
	X(zerocopy, SHUNT_LANE_USER, is_auto(f) && far->slow < 0,                                 \
	  "the kernel granted zero-copy on all of the ports")                                     \
	X(no_tables, SHUNT_LANE_USER, is_auto(f) && f->lacks_tables,                              \
	  "all of the drivers claim zero-copy, for which the tables were made")                   \
	X(generic, SHUNT_LANE_KERNEL,                                                             \
	  is_auto(f) && f->is_generic_dear && f->has_fallback && far->cnt,                        \
	  "on this kernel a generic program on {driver} costs more than it saves")                \
	X(bulk, SHUNT_LANE_KERNEL, is_auto(f) && f->is_bulk && far->cnt,                          \
	  "TCP in bulk on {port}: its senders leave the cutting into segments to a device")       \
	X(xdp, SHUNT_LANE_XDP, is_auto(f) && far->taking_cnt && far->refusing < 0,                \
	  "no zero-copy on {slow}, and the other end takes frames from XDP")                      \
	X(xdp_partly, SHUNT_LANE_XDP, is_auto(f) && far->taking_cnt,                              \
	  "no zero-copy on {slow}, and not all of the others take frames from XDP")               \
	X(alone, SHUNT_LANE_KERNEL, is_auto(f) && !far->cnt,                                      \
	  "there is no other port to forward to")                                                 \
	X(fallback, SHUNT_LANE_KERNEL, is_auto(f) && f->has_fallback,                             \
	  "no zero-copy on {slow}, and {far} {refusal}")                                          \
	X(detour, SHUNT_LANE_XDP, is_auto(f) && far->can_detour,                                  \
	  "no zero-copy on {slow}; {far} takes no frames from XDP and gets them by a veth pair, " \
	  "{detail}")                                                                             \
	X(no_detour, SHUNT_LANE_USER, is_auto(f) && far->has_no_detour,                           \
	  "{far} takes no frames from XDP; {detail}")                                             \
	X(no_fallback, SHUNT_LANE_USER, is_auto(f),                                               \
	  "{far} {refusal}, and the kernel knows nothing of a {mode}")                            \
	X(asked_in_vain, SHUNT_LANE_KERNEL, asks(f, KERNEL) && !f->has_fallback,                  \
	  "asked for; the kernel forwards nothing between these ports, nothing crosses")          \
	X(asked_detour, SHUNT_LANE_XDP, asks(f, XDP) && !f->has_fallback && far->can_detour,      \
	  "asked for; {far} takes no frames from XDP and gets them by a veth pair, {detail}")     \
	X(asked_partly, SHUNT_LANE_XDP, asks(f, XDP) && far->refusing >= 0,                       \
	  "asked for; {far} {refusal}, so what goes there is the kernel's")                       \
	X(asked, asked_lane(f), true, "asked for")

/* A share that is set by hand shows this in place of the choice. Nothing chooses it. */
#define SHUNT_LANE_REASONS_SHOWN(X) \
	X(share, f->before, false, "set by shuntctl lane set, until lane set PORT auto")

#define SHUNT_LANE_REASONS(X)         \
	SHUNT_LANE_REASONS_PROGRAM(X) \
	SHUNT_LANE_REASONS_LEFT(X)    \
	SHUNT_LANE_REASONS_CHOSEN(X)  \
	SHUNT_LANE_REASONS_SHOWN(X)

enum shunt_lane_reason {
	SHUNT_LANE_REASON_none, /* not chosen yet */
#define X(name, lane, condition, sentence) SHUNT_LANE_REASON_##name,
	SHUNT_LANE_REASONS(X)
#undef X
		SHUNT_LANE_REASON_CNT,
};

/* What is known of a port; all zeros: a capture or memory, lane auto. */
struct shunt_lane_facts {
	/* the configuration's */
	enum shunt_lane_request requested;
	uint64_t far;	   /* bit p: its frames can leave by port p, itself by devices above it */
	bool is_device;	   /* has a steering program */
	bool is_generic;   /* in generic mode */
	bool has_nodes;	   /* nodes of the configuration's own stand in front */
	bool has_fallback; /* the kernel forwards what it gets in the user lane's place */
	bool crosses;	   /* where no worker serves it, its program carries its wire on */
	bool is_pinned;	   /* rules, a share or an external program: the program stays */
	/* the driver's (device/driver.h) */
	bool sends_bare;      /* what is redirected to it leaves without a program of its own */
	bool lacks_headroom;  /* takes no frame that is redirected from a zero-copy ring */
	bool is_generic_dear; /* a generic program costs more than the kernel's forwarding */
	/* the device's, of now */
	bool takes;	   /* frames that XDP redirects to it */
	bool is_confirmed; /* the kernel said so; false: the driver's name did */
	bool is_zerocopy;  /* all of its queues */
	bool is_gone;	   /* removed, or in another network namespace */
	bool is_taken_off; /* by somebody else: the program is no longer on the device */
	bool is_suspended; /* by shunt: the program is off while nothing needs it */
	bool is_blocked;   /* so, and another's program has come */
	bool is_refused;   /* so, and the device does not take the program back */
	bool restarts;	   /* the driver restarts the device when the program goes: forwarding
			    * would stop */
	bool is_bulk;	   /* TCP in bulk (choice/bulk.h) */
	bool asks_flows;   /* rules judge its frames, and leave it those of approved connections */
	/* of bridge and router: why frames are left to the kernel, one of SHUNT_LANE_REASONS_LEFT
	 */
	enum shunt_lane_reason left;
	bool lacks_tables; /* it routes, and lane xdp cannot read the tables */
	/* detours */
	bool can_detour;	/* one can be opened to it, or is open */
	bool has_no_detour;	/* that was tried and refused */
	enum shunt_lane before; /* in use until now */
};

struct shunt_lane_choice {
	enum shunt_lane lane;	       /* to be in use: user, xdp or kernel */
	enum shunt_lane wanted;	       /* the same if the program could be on the device */
	enum shunt_lane_reason reason; /* of lane */
	int8_t far, slow;	       /* ports that the sentence names; -1: none */
	bool has_program;	       /* the steering program is to be on the device */
	bool has_detour;	       /* others reach this port by a detour */
};

/* shunt_lane_choose chooses for cnt ports, at most SHUNT_PORT_MAX. Thread: any. Cost: setup;
 * quadratic in the ports. */
void shunt_lane_choose(const struct shunt_lane_facts *facts, unsigned cnt,
		       struct shunt_lane_choice *out);

/* shunt_lane_takes says whether what comes in on `from` can be redirected to `to`, which may be
 * the same port. Thread: any. */
bool shunt_lane_takes(const struct shunt_lane_facts *from, const struct shunt_lane_facts *to);

/* shunt_lane_wants_detour says whether frames of `from` may have to take a detour to port `to`.
 * Thread: any. */
bool shunt_lane_wants_detour(const struct shunt_lane_facts *from, unsigned to);

/* shunt_lane_is_same says whether two choices have the same lane for the same reason about the
 * same ports. Thread: any. */
bool shunt_lane_is_same(const struct shunt_lane_choice *a, const struct shunt_lane_choice *b);

/* shunt_lane_is_overruled says whether the reason leaves the port to the kernel, or without a
 * program, whatever lane is asked for. Then a share that is set by hand is not in force. Thread:
 * any. */
bool shunt_lane_is_overruled(enum shunt_lane_reason reason);

/* shunt_lane_is_judged says whether the reason is that the host's firewall would judge the frames.
 * Thread: any. */
static inline bool shunt_lane_is_judged(enum shunt_lane_reason reason)
{
	return reason == SHUNT_LANE_REASON_firewall || reason == SHUNT_LANE_REASON_firewall_in_vain;
}

/* shunt_lane_reason_name returns the reason's name, "?" out of range. Thread: any. */
const char *shunt_lane_reason_name(enum shunt_lane_reason reason);

/* Words of a sentence; each may be NULL where the sentence has no place for it. */
struct shunt_lane_words {
	const char *port, *far, *refusal, *slow, *driver, *mode, *detail;
};

/* shunt_lane_reason_print writes the reason's sentence, one clause, cut off at len bytes.
 * Thread: any. */
void shunt_lane_reason_print(enum shunt_lane_reason reason, const struct shunt_lane_words *words,
			     char *out, unsigned len);

#endif
