/* SPDX-License-Identifier: BSD-2-Clause */
/* A running daemon has not the rights to load, attach or make anything. A delegate does that for
 * it: another process, which has a copy of struct shunt_xdp from the time before
 * (lib/helper/helper.h). The two copies never disagree, since each part has one owner. The maps
 * (configuration, gates, counters) are the daemon's alone. The program, and whether it is on the
 * device, are the delegate's alone. Every answer of the delegate carries all of its part.
 *
 *	shunt_xdp_delegate(x, &delegate);			in the daemon
 *	shunt_xdp_act(x, SHUNT_XDP_ACT_SUSPEND, &state, &err);	in the delegate, for the daemon's
 *								shunt_xdp_suspend
 */
#ifndef SHUNT_XDP_DELEGATE_H
#define SHUNT_XDP_DELEGATE_H

#include "xdp/xdp.h"

enum shunt_xdp_act {
	SHUNT_XDP_ACT_SUSPEND,	/* shunt_xdp_suspend */
	SHUNT_XDP_ACT_RESUME,	/* shunt_xdp_resume */
	SHUNT_XDP_ACT_WITHDRAW, /* shunt_xdp_withdraw: off for good */
	SHUNT_XDP_ACT_LOOK,	/* shunt_xdp_info: what only rights tell */
	SHUNT_XDP_ACT_UNTAP,	/* shunt_xdp_untap */
	SHUNT_XDP_ACT_ASK_FLOWS /* shunt_xdp_ask_flows */
};

/* The delegate's part. */
struct shunt_xdp_state {
	uint32_t prog_id;
	uint32_t looked_id; /* of the dispatcher that it runs under */
	uint8_t is_attached, is_suspended;
	uint8_t is_under;   /* under a dispatcher, now or before it was suspended */
	uint8_t is_blocked; /* suspended, and another's program has come */
	uint8_t is_bound;   /* asks its driver for tags */
	uint8_t is_tapped;  /* shows its frames */
	uint8_t asks_flows; /* enum shunt_flow_asks */
};

struct shunt_xdp_delegate {
	void *ctx;
	/* Does act on the device. *state is changed where an answer came. Returns 0, -ENOTCONN:
	 * there is no delegate any more, or -errno, with err set. */
	int (*act)(void *ctx, enum shunt_xdp_act act, unsigned ifindex,
		   struct shunt_xdp_state *state, struct shunt_err *err);
	/* Does shunt_xdp_tap. Returns the ring's descriptor, or as act. */
	int (*tap)(void *ctx, unsigned ifindex, const struct shunt_xdp_tap_opts *opts,
		   struct shunt_xdp_state *state, struct shunt_err *err);
	/* Does shunt_xdp_explain. */
	int (*explain)(void *ctx, unsigned ifindex, const struct shunt_xdp_frame *frame,
		       struct shunt_xdp_steered *out, struct shunt_err *err);
	/* Makes an array for the tables of lane xdp. Returns a descriptor or -errno. */
	int (*make_chunk)(void *ctx);
};

/* shunt_xdp_delegate leaves x's program to the delegate, which has its copy by now, and closes this
 * process's descriptors of it. The delegate outlives x. Thread: init. */
void shunt_xdp_delegate(struct shunt_xdp *x, const struct shunt_xdp_delegate *delegate);

/* shunt_xdp_act does what the other copy's owner asks for. Returns 0 or -errno with err set, and
 * *state as it is then. Thread: the delegate's only one. */
int shunt_xdp_act(struct shunt_xdp *x, enum shunt_xdp_act act, struct shunt_xdp_state *state,
		  struct shunt_err *err);

/* shunt_xdp_state_of returns the delegate's part of x. Thread: the delegate's only one. */
struct shunt_xdp_state shunt_xdp_state_of(const struct shunt_xdp *x);

/* shunt_xdp_ifindex returns the number of x's device. Thread: any. */
unsigned shunt_xdp_ifindex(const struct shunt_xdp *x);

#endif
