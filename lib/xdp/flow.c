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

enum shunt_flow_asks shunt_xdp_flow_find(void)
{
	const struct shunt_xdp_log before = shunt_xdp_log_begin();
	struct btf *vmlinux = btf__load_vmlinux_btf();
	enum shunt_flow_asks asks = SHUNT_FLOW_ASKS_NOTHING;

	if (vmlinux && has_function(vmlinux, "nf_flow_table", "bpf_xdp_flow_lookup"))
		asks = SHUNT_FLOW_ASKS_FLOWTABLE;
	else if (vmlinux && has_function(vmlinux, "nf_conntrack", "bpf_xdp_ct_lookup"))
		asks = SHUNT_FLOW_ASKS_CONNECTION;
	btf__free(vmlinux);
	shunt_xdp_log_end(before);
	return asks;
}
