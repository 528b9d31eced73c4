/* SPDX-License-Identifier: BSD-2-Clause */
/* A mirror in a network namespace of the test's own, changed by iproute2, compared with what
 * iproute2 says of the kernel. */
#ifndef TEST_MIRROR_RIG_H
#define TEST_MIRROR_RIG_H

#include "mirror/mirror.h"

/* rig_start makes the namespace (it ends with the test's process) with veth pairs va-vb and
 * wa-wb up, or skips the test by name. */
void rig_start(void);

/* rig_create makes a mirror and services it until the first dump is taken over. */
struct shunt_mirror *rig_create(const struct shunt_mirror_opts *opts);

/* rig_ip runs `ip -batch` over lines; an empty line begins another `ip` (one remembers device
 * indexes). With is_forced, commands may fail. */
void rig_ip(const char *lines, bool is_forced);
void rig_shell(const char *command);

/* rig_service services the mirror until it has nothing to do. */
void rig_service(struct shunt_mirror *mirror);

/* rig_wait waits until the kernel has something to tell, at most so long. */
void rig_wait(struct shunt_mirror *mirror, int timeout_ms);

/* rig_expect_same waits until the mirror is what `ip` shows: routes of tables main and local,
 * neighbours, addresses, links and next-hop objects. Fails the test with the first
 * differences after 5 s; what is told in the message. */
void rig_expect_same(struct shunt_mirror *mirror, const char *what);

#endif
