/* SPDX-License-Identifier: BSD-2-Clause */
/* A test in a network namespace and a mount namespace of its own, with a BPF file system of its
 * own: libxdp makes a folder there, and leaves it. */
#ifndef SHUNT_TESTS_NETNS_H
#define SHUNT_TESTS_NETNS_H

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

/* netns_enter skips the test where that cannot be had. */
static inline void netns_enter(void)
{
	if (unshare(CLONE_NEWNET) || unshare(CLONE_NEWNS))
		cr_skip_test("no network namespace can be made here: %s", strerror(errno));
	cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0, "%s", strerror(errno));
	cr_assert_eq(mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL), 0, "%s", strerror(errno));
}

#endif
