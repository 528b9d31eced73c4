/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of lane xdp's forwarding tables. Workers read it as memory, XDP programs through a
 * map. It is a range of addresses. BPF arrays of 2 MiB are mapped into it one after the other as
 * the tables grow. Each program has the arrays in a map of maps.
 *
 * Limits: 6 GiB of addresses. Pages are small, so a worker's lookups in a table of many megabytes
 * are slower than in an arena's own memory. Making an array takes CAP_BPF on most hosts. A
 * running daemon has it made by its helper.
 *
 *	shunt_xdp_tables_create(&tables, &err);
 *	shunt_fib4_create_on(&fib, shunt_xdp_tables_source(tables), 0, &err); ...
 *	shunt_xdp_tables_join(tables, xdp, &err);	each port
 *	shunt_xdp_tables_change(tables);		after each change
 *	shunt_xdp_tables_publish(xdp, &cfg);		each port
 *	... after the programs and the tables:
 *	shunt_xdp_tables_destroy(tables);
 */
#ifndef SHUNT_XDP_TABLES_H
#define SHUNT_XDP_TABLES_H

#include "base/arena_source.h"
#include "base/err.h"
#include "xdp/xdp.h"
#include "shunt_tables.h"

struct shunt_xdp_delegate;
struct shunt_xdp_tables;

/* shunt_xdp_tables_create reserves the addresses. Returns 0, or -ENOMEM with err set.
 * Thread: control. */
int shunt_xdp_tables_create(struct shunt_xdp_tables **out, struct shunt_err *err);

/* shunt_xdp_tables_destroy gives all back; no arena may use it any more, and no program that
 * joined may be closed before. NULL is legal. Thread: control. */
void shunt_xdp_tables_destroy(struct shunt_xdp_tables *tables);

/* shunt_xdp_tables_delegate has the arrays made by the delegate from now on; NULL: by this process.
 * shunt_xdp_tables_make_chunk makes one, empty, and returns its descriptor, the caller's, or
 * -errno. Thread: control. */
void shunt_xdp_tables_delegate(struct shunt_xdp_tables *tables,
			       const struct shunt_xdp_delegate *delegate);
int shunt_xdp_tables_make_chunk(void);

/* shunt_xdp_tables_source is where arenas take their memory from. It lives as long as tables. */
const struct shunt_arena_source *shunt_xdp_tables_source(const struct shunt_xdp_tables *tables);

/* shunt_xdp_tables_cpu_cnt returns how many CPUs programs can run on: their numbers are below.
 * Thread: any. */
uint32_t shunt_xdp_tables_cpu_cnt(void);

/* shunt_xdp_tables_chunk returns the number of the chunk in which the table at `base` begins, for
 * struct shunt_tables_cfg. Thread: any. */
uint32_t shunt_xdp_tables_chunk(const struct shunt_xdp_tables *tables, const void *base);

/* shunt_xdp_tables_join lets x's program read the memory, also what is added later. Returns 0 or
 * -errno with err set. Thread: control. */
int shunt_xdp_tables_join(struct shunt_xdp_tables *tables, struct shunt_xdp *x,
			  struct shunt_err *err);

/* shunt_xdp_tables_change begins a new generation of the tables: whatever the programs that joined
 * remember of them is forgotten. Thread: control. Cost: a store a port. */
void shunt_xdp_tables_change(struct shunt_xdp_tables *tables);

/* shunt_xdp_tables_publish tells x's program where the tables are and what the port does by them;
 * the generation is not cfg's. Thread: control. Cost: some stores. */
void shunt_xdp_tables_publish(struct shunt_xdp *x, const struct shunt_tables_cfg *cfg);

#endif
