// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/delegate.h"

#include <errno.h>

#include "xdp/private.h"

struct shunt_xdp_state shunt_xdp_state_of(const struct shunt_xdp *x)
{
	return (struct shunt_xdp_state){
		.prog_id = x->prog_id,
		.looked_id = x->looked_id,
		.is_attached = x->is_attached,
		.is_suspended = x->is_suspended,
		.is_under = x->is_under,
		.is_blocked = x->is_blocked,
		.is_bound = x->is_bound,
		.is_tapped = x->is_tapped,
		.asks_flows = (uint8_t)x->asks_flows,
	};
}

static void take(struct shunt_xdp *x, const struct shunt_xdp_state *state)
{
	x->prog_id = state->prog_id;
	x->looked_id = state->looked_id;
	x->is_attached = state->is_attached;
	x->is_suspended = state->is_suspended;
	x->is_under = state->is_under;
	x->is_blocked = state->is_blocked;
	x->is_bound = state->is_bound;
	x->is_tapped = state->is_tapped;
	__atomic_store_n(&x->asks_flows, state->asks_flows, __ATOMIC_RELAXED);
}

void shunt_xdp_delegate(struct shunt_xdp *x, const struct shunt_xdp_delegate *delegate)
{
	const struct shunt_xdp_state state = shunt_xdp_state_of(x);

	x->delegate = delegate;
	shunt_xdp_program_drop(x);
	take(x, &state);
}

int shunt_xdp_delegate_ask(struct shunt_xdp *x, enum shunt_xdp_act act, struct shunt_err *err)
{
	struct shunt_xdp_state state = shunt_xdp_state_of(x);
	const int rc = x->delegate->act(x->delegate->ctx, act, x->ifindex, &state, err);

	take(x, &state);
	return rc;
}

int shunt_xdp_delegate_tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts,
			   struct shunt_err *err)
{
	struct shunt_xdp_state state = shunt_xdp_state_of(x);
	const int rc = x->delegate->tap(x->delegate->ctx, x->ifindex, opts, &state, err);

	take(x, &state);
	return rc;
}

int shunt_xdp_act(struct shunt_xdp *x, enum shunt_xdp_act act, struct shunt_xdp_state *state,
		  struct shunt_err *err)
{
	struct shunt_xdp_log before = shunt_xdp_log_begin();
	struct shunt_xdp_info info;
	int rc = -EINVAL;

	switch (act) {
	case SHUNT_XDP_ACT_SUSPEND:
		rc = shunt_xdp_suspend(x, err);
		break;
	case SHUNT_XDP_ACT_RESUME:
		rc = shunt_xdp_resume(x, err);
		break;
	case SHUNT_XDP_ACT_WITHDRAW:
		rc = shunt_xdp_take_off(x, err);
		break;
	case SHUNT_XDP_ACT_LOOK:
		rc = shunt_xdp_info(x, &info, err);
		break;
	case SHUNT_XDP_ACT_UNTAP:
		rc = shunt_xdp_untap(x, err);
		break;
	case SHUNT_XDP_ACT_ASK_FLOWS:
		rc = shunt_xdp_ask_flows(x, err);
		break;
	}
	shunt_xdp_log_end(before);
	*state = shunt_xdp_state_of(x);
	return rc;
}

unsigned shunt_xdp_ifindex(const struct shunt_xdp *x)
{
	return x->ifindex;
}
