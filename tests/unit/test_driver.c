// SPDX-License-Identifier: BSD-2-Clause
/* The tables of drivers and kernels. */
#include <criterion/criterion.h>

#include "device/driver.h"
#include "device/kernel.h"

Test(driver, rows)
{
	cr_expect(shunt_driver_of("veth")->is_pair);
	cr_expect(shunt_driver_of("virtio_net")->lacks_headroom);
	cr_expect_eq(shunt_driver_of("igb")->xdp_len_max, 3072);
	cr_expect(shunt_driver_of("ena")->wants_half_free);
	cr_expect_str_eq(shunt_driver_of("mlx5_core")->name, "mlx5_core");
}

Test(driver, one_without_a_row_has_no_facts)
{
	const struct shunt_driver *unknown = shunt_driver_of("a NIC of tomorrow");

	cr_expect_null(unknown->name);
	cr_expect_not(unknown->takes_redirected || unknown->sends_bare || unknown->is_pair);
	cr_expect_eq(shunt_driver_of(""), unknown);
}

Test(driver, versions_of_kernels)
{
	static const struct {
		struct shunt_kernel kernel;
		bool has;
	} cases[] = {
		{{6, 5}, false}, {{6, 6}, true}, {{5, 18}, false}, {{7, 0}, true}, {{0, 0}, false}};
	struct shunt_kernel now;
	unsigned i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(shunt_kernel_has(&cases[i].kernel, SHUNT_KERNEL_xsk_sg), cases[i].has,
			     "%u.%u", cases[i].kernel.major, cases[i].kernel.minor);
	cr_expect_str_eq(shunt_kernel_since(SHUNT_KERNEL_load_bytes), "Linux 5.18");
	shunt_kernel_query(&now);
	cr_expect_not(shunt_kernel_is_before(&now, 5, 18), "%s", now.release);
}
