/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that grows in place: address space is reserved once, pages are committed as they
 * are needed, so that the base pointer that readers hold never changes. Commits come in
 * steps of 2 MiB, aligned, with transparent huge pages asked for: a lookup in a table of
 * some megabytes costs twice as much with 4 KiB pages (TLB misses). Several arenas may
 * share a budget, which bounds what they commit together.
 * Limits: committed memory is given back only by fini.
 */
#ifndef SHUNT_FIB_ARENA_H
#define SHUNT_FIB_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena_source.h"
#include "base/err.h"

struct shunt_arena_budget {
	const struct shunt_arena_source *source; /* of arenas made from now on; NULL: the system */
	size_t bytes;				 /* committed by all arenas of this budget */
	size_t bytes_max;			 /* 0: no bound but the machine's */
};

struct shunt_arena {
	uint8_t *base;
	size_t reserved_bytes;
	size_t committed_bytes;
	struct shunt_arena_budget *budget;
	const struct shunt_arena_source *source;
};

/* shunt_arena_init reserves address space for reserve_bytes, committing none. what names
 * the arena's contents in the error sentence. Returns 0 or -ENOMEM with *err filled.
 * The budget must outlive the arena. Thread: the writer. Cost: setup, one syscall. */
int shunt_arena_init(struct shunt_arena *arena, size_t reserve_bytes,
		     struct shunt_arena_budget *budget, const char *what, struct shunt_err *err);

/* shunt_arena_commit makes at least the first bytes usable; what is new reads as zero.
 * Returns 0, or -ENOMEM (reservation, budget or machine exhausted; nothing changed).
 * Thread: the writer. Cost: a syscall for each 2 MiB. */
int shunt_arena_commit(struct shunt_arena *arena, size_t bytes);

/* shunt_arena_init_full does both for bytes. Returns 0, or -ENOMEM with *err filled and nothing
 * held. Thread: the writer. Cost: setup. */
int shunt_arena_init_full(struct shunt_arena *arena, size_t bytes,
			  struct shunt_arena_budget *budget, const char *what,
			  struct shunt_err *err);

/* shunt_arena_fini gives everything back; legal on a zeroed arena. Thread: the writer. */
void shunt_arena_fini(struct shunt_arena *arena);

#endif
