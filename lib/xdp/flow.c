// SPDX-License-Identifier: BSD-2-Clause
/* Which of the kernel's functions for approved connections there is (bpf/steer/flow.bpf.h).
 * Debian's kernels have them in modules: what is not loaded is not there. */
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
static enum shunt_flow_asks find(struct shunt_xdp *x, struct btf *vmlinux)
{
	if (has_function(vmlinux, "nf_flow_table", "bpf_xdp_flow_lookup") &&
	    shunt_xdp_program_try_flows(x, SHUNT_FLOW_ASKS_FLOWTABLE))
		return SHUNT_FLOW_ASKS_FLOWTABLE;
	if (has_function(vmlinux, "nf_conntrack", "bpf_xdp_ct_lookup") &&
	    shunt_xdp_program_try_flows(x, SHUNT_FLOW_ASKS_CONNECTION))
		return SHUNT_FLOW_ASKS_CONNECTION;
	return SHUNT_FLOW_ASKS_NOTHING;
}

enum shunt_flow_asks shunt_xdp_flow_find(struct shunt_xdp *x)
{
	static enum shunt_flow_asks found;
	static bool is_found;
	struct shunt_xdp_log before;
	struct btf *vmlinux;

	if (is_found)
		return found;
	before = shunt_xdp_log_begin();
	vmlinux = btf__load_vmlinux_btf();
	if (vmlinux)
		found = find(x, vmlinux);
	is_found = true;
	btf__free(vmlinux);
	shunt_xdp_log_end(before);
	return found;
}
