/* SPDX-License-Identifier: BSD-2-Clause */
/* What shunt's programs are given of the kernel's BTF lies where the kernel has it. */
#include <string.h>

#include <bpf/btf.h>
#include <criterion/criterion.h>

#include "base/bytes.h"
#include "xdp/btf.h"

static const struct btf_type *find(const struct btf *btf, const char *name)
{
	const int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static void expect_same(const struct btf *few, const struct btf *all, const char *name)
{
	const struct btf_type *is = find(few, name), *was = find(all, name);
	unsigned i;

	cr_assert(is && was, "%s", name);
	cr_expect_eq(is->size, was->size, "%s", name);
	cr_assert_eq(btf_vlen(is), btf_vlen(was), "%s", name);
	for (i = 0; i < btf_vlen(is); i++) {
		cr_expect_str_eq(btf__name_by_offset(few, btf_members(is)[i].name_off),
				 btf__name_by_offset(all, btf_members(was)[i].name_off));
		cr_expect_eq(btf_member_bit_offset(is, i), btf_member_bit_offset(was, i),
			     "%s, field %u", name, i);
		cr_expect_eq(btf__resolve_size(few, btf_members(is)[i].type),
			     btf__resolve_size(all, btf_members(was)[i].type), "%s, field %u", name,
			     i);
	}
}

Test(xdp_btf, as_the_kernel_has_it)
{
	static const char *const names[] = {"task_struct", "sched_entity", "net_device", "net",
					    "ns_common"};
	struct btf *all = btf__load_vmlinux_btf(), *few;
	struct shunt_xdp_btf btf;
	unsigned i;

	if (!all)
		cr_skip_test("the kernel has no BTF");
	cr_assert(shunt_xdp_btf_open(&btf));
	few = btf__parse(btf.path, NULL);
	cr_assert(few);
	cr_expect_lt(btf__type_cnt(few), btf__type_cnt(all) / 10);
	for (i = 0; i < SHUNT_ARRAY_LEN(names); i++)
		expect_same(few, all, names[i]);
	cr_expect_eq(shunt_xdp_btf_prog_head(), find(all, "bpf_prog")->size);
	btf__free(few);
	shunt_xdp_btf_close(&btf);
	btf__free(all);
}
