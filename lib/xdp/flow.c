// SPDX-License-Identifier: BSD-2-Clause
/* Which of the kernel's functions for approved connections there is (bpf/steer/flow.bpf.h).
 * Debian's kernels have them in modules: what is not loaded is not there. */
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "xdp/private.h"

/* In the module, or in the kernel itself where it is built in. */
static bool has_function(struct btf *vmlinux, const char *module, const char *name)
{
	struct btf *btf = btf__load_module_btf(module, vmlinux);
	const bool has = btf__find_by_name_kind(btf ? btf : vmlinux, name, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return has;
}

/* Both are unstable by the kernel's own word. So it is tried. */
static enum shunt_flow_asks find(struct shunt_xdp *x, struct btf *vmlinux, struct shunt_err *err)
{
	shunt_err_set(err, EOPNOTSUPP,
		      "the kernel, as its modules are loaded, has no function that says which "
		      "connections are approved");
	/* which does not know tags: of what comes tagged the connection is asked for */
	if (!has_function(vmlinux, "nf_conntrack", "bpf_xdp_ct_lookup"))
		return SHUNT_FLOW_ASKS_NOTHING;
	if (has_function(vmlinux, "nf_flow_table", "bpf_xdp_flow_lookup") &&
	    !shunt_xdp_program_try_flows(x, SHUNT_FLOW_ASKS_FLOWTABLE, err))
		return SHUNT_FLOW_ASKS_FLOWTABLE;
	if (!shunt_xdp_program_try_flows(x, SHUNT_FLOW_ASKS_CONNECTION, err))
		return SHUNT_FLOW_ASKS_CONNECTION;
	return SHUNT_FLOW_ASKS_NOTHING;
}

enum shunt_flow_asks shunt_xdp_flow_find(struct shunt_xdp *x, struct shunt_err *err)
{
	static enum shunt_flow_asks found;
	struct shunt_xdp_log before;
	struct btf *vmlinux;

	if (found)
		return found;
	before = shunt_xdp_log_begin();
	vmlinux = btf__load_vmlinux_btf();
	if (vmlinux)
		found = find(x, vmlinux, err);
	else
		shunt_err_set(err, errno, "the kernel's BTF cannot be read: %s", strerror(errno));
	btf__free(vmlinux);
	shunt_xdp_log_end(before);
	return found;
}

static int check(const struct shunt_xdp *x, struct shunt_err *err)
{
	if (x->is_external)
		return shunt_err_set(err, EOPNOTSUPP,
				     "its program was attached by hand, and is not exchanged");
	if (x->requested == SHUNT_XDP_GENERIC)
		return shunt_err_set(err, EOPNOTSUPP, "its program runs in generic mode");
	if (x->is_tapped)
		return shunt_err_set(err, EBUSY, "its frames are captured now");
	return 0;
}

bool shunt_xdp_loads_later(struct shunt_xdp *x)
{
	struct shunt_xdp_info info;

	if (x->is_external || shunt_xdp_info(x, &info, NULL))
		return false;
	return info.dispatcher || (x->changes_lengths && !x->is_bound);
}

/* The program is loaded anew when it is put on the device again. */
static int ask(struct shunt_xdp *x, struct shunt_err *err)
{
	const enum shunt_flow_asks asks = shunt_xdp_flow_find(x, err);
	int rc;

	if (!asks)
		return -EOPNOTSUPP;
	rc = shunt_xdp_suspend(x, err);
	if (rc)
		return rc;
	shunt_xdp_program_drop(x);
	x->asks_flows = asks;
	x->asks_tags = false;
	shunt_xdp_explainer_close(x); /* of the program before */
	return 0;
}

void shunt_xdp_set_flow_above(struct shunt_xdp *x, bool is_above)
{
	__atomic_store_n(&x->ctl->flow_above, is_above, __ATOMIC_RELAXED);
}

void shunt_xdp_forget_flows(struct shunt_xdp *x)
{
	__atomic_fetch_add(&x->ctl->flow_epoch, 1, __ATOMIC_RELAXED);
}

int shunt_xdp_ask_flows(struct shunt_xdp *x, struct shunt_err *err)
{
	struct shunt_xdp_log before;
	int rc;

	if (shunt_xdp_asks_flows(x))
		return 0;
	rc = check(x, err);
	if (rc)
		return rc;
	if (x->delegate)
		return shunt_xdp_delegate_ask(x, SHUNT_XDP_ACT_ASK_FLOWS, err);
	before = shunt_xdp_log_begin();
	rc = ask(x, err);
	shunt_xdp_log_end(before);
	return rc;
}
