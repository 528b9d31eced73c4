/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program on a veth pair va-vb of the test's own network namespace. */
#ifndef TEST_XDP_RIG_H
#define TEST_XDP_RIG_H

#include "xdp/xdp.h"
#include "steer_frame.h"

/* What the library said last. */
extern struct shunt_err xdp_rig_err;

/* xdp_rig_start makes the namespace (it ends with the test's process), or skips the test by name.
 */
void xdp_rig_start(void);
void xdp_rig_shell(const char *command);

/* xdp_rig_attach opens and attaches, to va unless opts says otherwise; xdp_rig_attach_fails wants
 * one of the two to fail, and returns with what. */
struct shunt_xdp *xdp_rig_attach(struct shunt_xdp_opts opts);
int xdp_rig_attach_fails(struct shunt_xdp_opts opts);

/* xdp_rig_attach_and_die has a child attach and end without a word, as a killed daemon does. */
void xdp_rig_attach_and_die(struct shunt_xdp_opts opts);

/* xdp_rig_put puts a program of two instructions and this name on va, and returns its number, which
 * xdp_rig_prog_on returns of any device's, 0 without one. */
uint32_t xdp_rig_put(const char *name, unsigned flags);
uint32_t xdp_rig_prog_on(const char *ifname);

/* xdp_rig_expect sends f out of vb, which arrives on va, and waits until it is counted under a
 * reason: a NAPI takes its time. */
void xdp_rig_expect(struct shunt_xdp *x, const struct frame *f, int reason);

#endif
