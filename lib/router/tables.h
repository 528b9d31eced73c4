/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing in lane xdp, seen from the control side. The router's tables lie in memory that the
 * ports' programs read too. The programs are told where, what may be forwarded, and when anything
 * changed. For router.c. */
#ifndef SHUNT_ROUTER_TABLES_H
#define SHUNT_ROUTER_TABLES_H

#include "router/router.h"

/* shunt_router_tables_join lets every routing port's program read the tables. Returns 0 or -errno
 * with err set. Does nothing where the programs cannot read them. Thread: control. */
int shunt_router_tables_join(struct shunt_router *router, struct shunt_err *err);

/* shunt_router_tables_follow tells the programs that tables or settings may have changed. Thread:
 * the follower, with the guard. Cost: some stores a port. */
void shunt_router_tables_follow(struct shunt_router *router);

#endif
