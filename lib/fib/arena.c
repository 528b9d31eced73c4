// SPDX-License-Identifier: BSD-2-Clause
#include "fib/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static size_t round_up(size_t bytes)
{
	return (bytes + SHUNT_ARENA_STEP_BYTES - 1) & ~(SHUNT_ARENA_STEP_BYTES - 1);
}

int shunt_arena_init(struct shunt_arena *arena, size_t reserve_bytes,
		     struct shunt_arena_budget *budget, const char *what, struct shunt_err *err)
{
	size_t bytes = round_up(reserve_bytes), head;
	uint8_t *p;

	memset(arena, 0, sizeof(*arena));
	arena->budget = budget;
	arena->source = budget->source;
	arena->reserved_bytes = bytes;
	if (arena->source) {
		arena->base = arena->source->reserve(arena->source->ctx, bytes);
		return arena->base ? 0
				   : shunt_err_set(err, ENOMEM,
						   "%s: no room for %zu MiB of shared addresses",
						   what, bytes >> 20);
	}
	p = mmap(NULL, bytes + SHUNT_ARENA_STEP_BYTES, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return shunt_err_set(err, ENOMEM,
				     "%s: mmap of %zu MiB of address space: %s; raise the limit on "
				     "address space (ulimit -v)",
				     what, bytes >> 20, strerror(errno));
	head = round_up((uintptr_t)p) - (uintptr_t)p;
	if (head)
		munmap(p, head);
	if (head < SHUNT_ARENA_STEP_BYTES)
		munmap(p + head + bytes, SHUNT_ARENA_STEP_BYTES - head);
	arena->base = p + head;
	return 0;
}

int shunt_arena_commit(struct shunt_arena *arena, size_t bytes)
{
	struct shunt_arena_budget *budget = arena->budget;
	size_t want = round_up(bytes), more;

	if (want <= arena->committed_bytes)
		return 0;
	more = want - arena->committed_bytes;
	if (want > arena->reserved_bytes)
		return -ENOMEM;
	if (budget->bytes_max && budget->bytes + more > budget->bytes_max)
		return -ENOMEM;
	if (arena->source) {
		if (arena->source->commit(arena->source->ctx, arena->base + arena->committed_bytes,
					  more))
			return -ENOMEM;
		arena->committed_bytes = want;
		budget->bytes += more;
		return 0;
	}
	if (mprotect(arena->base + arena->committed_bytes, more, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	/* Advice only: without huge pages all works, slower. */
	madvise(arena->base + arena->committed_bytes, more, MADV_HUGEPAGE);
	arena->committed_bytes = want;
	budget->bytes += more;
	return 0;
}

int shunt_arena_init_full(struct shunt_arena *arena, size_t bytes,
			  struct shunt_arena_budget *budget, const char *what,
			  struct shunt_err *err)
{
	int ret = shunt_arena_init(arena, bytes, budget, what, err);

	if (ret || !shunt_arena_commit(arena, bytes))
		return ret;
	shunt_arena_fini(arena);
	return shunt_err_set(err, ENOMEM, "%s: no memory for %zu KiB", what, bytes >> 10);
}

void shunt_arena_fini(struct shunt_arena *arena)
{
	if (!arena->base)
		return;
	if (!arena->source)
		munmap(arena->base, arena->reserved_bytes);
	arena->budget->bytes -= arena->committed_bytes;
	memset(arena, 0, sizeof(*arena));
}
