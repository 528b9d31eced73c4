/* SPDX-License-Identifier: BSD-2-Clause */
/* The contract between a module that keeps tables in arenas and one that has memory for them.
 * Neither knows the other. */
#ifndef SHUNT_BASE_ARENA_SOURCE_H
#define SHUNT_BASE_ARENA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#define SHUNT_ARENA_STEP_BYTES (2UL << 20)

/* Where arenas get their memory from, when not from the system: for tables that are read from
 * outside this process. reserve returns address space for bytes, a multiple of the step, aligned to
 * it, NULL without; commit makes [at, at + bytes) of it usable, reading as zero, and returns 0 or
 * -ENOMEM; grace returns when no other reader still holds what was unpublished before. What was
 * reserved stays until the source goes, after its arenas. Thread: control. */
struct shunt_arena_source {
	void *ctx;
	uint8_t *(*reserve)(void *ctx, size_t bytes);
	int (*commit)(void *ctx, uint8_t *at, size_t bytes);
	void (*grace)(void *ctx);
};

#endif
