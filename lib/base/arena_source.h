/* SPDX-License-Identifier: BSD-2-Clause */
/* The contract between a module that keeps tables in arenas and a module with memory for them.
 * Neither module knows the other. */
#ifndef SHUNT_BASE_ARENA_SOURCE_H
#define SHUNT_BASE_ARENA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#define SHUNT_ARENA_STEP_BYTES (2UL << 20)

/* Memory for arenas with tables that are read from outside this process. The source outlives its
 * arenas. What was reserved stays until the source goes. Thread: control.
 * - reserve returns address space for bytes, a multiple of the step and aligned to it, or NULL.
 * - commit makes [at, at + bytes) of it usable, all zeros. Returns 0 or -ENOMEM.
 * - grace returns when no other reader holds what was unpublished before. */
struct shunt_arena_source {
	void *ctx;
	uint8_t *(*reserve)(void *ctx, size_t bytes);
	int (*commit)(void *ctx, uint8_t *at, size_t bytes);
	void (*grace)(void *ctx);
};

#endif
