// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/tables.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "io/queue.h"
#include "xdp/private.h"

#define CHUNK_BYTES  (1ul << SHUNT_TABLES_CHUNK_SHIFT)
#define REGION_BYTES ((size_t)SHUNT_TABLES_CHUNKS_MAX * CHUNK_BYTES)

_Static_assert(CHUNK_BYTES == SHUNT_ARENA_STEP_BYTES, "an arena grows by chunks");

struct shunt_xdp_tables {
	uint8_t *mapping; /* a chunk longer than the region, which is aligned in it */
	uint8_t *region;
	size_t reserved_bytes;
	struct shunt_arena_source source;
	int fds[SHUNT_TABLES_CHUNKS_MAX];	   /* -1: not made yet */
	const struct shunt_xdp_delegate *delegate; /* makes the chunks; NULL: this process does */
	struct shunt_xdp *readers[SHUNT_PORT_MAX];
	unsigned reader_cnt;
	uint32_t generation;
};

static uint8_t *reserve(void *ctx, size_t bytes)
{
	struct shunt_xdp_tables *t = ctx;
	uint8_t *at = t->region + t->reserved_bytes;

	if (bytes > REGION_BYTES - t->reserved_bytes)
		return NULL;
	t->reserved_bytes += bytes;
	return at;
}

static int tell(const struct shunt_xdp_tables *t, const struct shunt_xdp *x, uint32_t chunk)
{
	return bpf_map_update_elem(x->tables_fd, &chunk, &t->fds[chunk], BPF_ANY) ? -errno : 0;
}

int shunt_xdp_tables_make_chunk(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "shunt_chunk", sizeof(uint32_t),
				sizeof(struct shunt_tables_line), SHUNT_TABLES_LINES, &opts);

	return fd < 0 ? -errno : fd;
}

static int chunk_make(struct shunt_xdp_tables *t, uint32_t chunk)
{
	int fd = t->delegate ? t->delegate->make_chunk(t->delegate->ctx)
			     : shunt_xdp_tables_make_chunk();
	int ret = fd < 0 ? fd : 0;

	if (ret)
		return ret;
	if (mmap(t->region + chunk * CHUNK_BYTES, CHUNK_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		ret = -errno;
		close(fd);
		return ret;
	}
	t->fds[chunk] = fd;
	for (unsigned i = 0; i < t->reader_cnt && !ret; i++)
		ret = tell(t, t->readers[i], chunk);
	return ret;
}

static int commit(void *ctx, uint8_t *at, size_t bytes)
{
	struct shunt_xdp_tables *t = ctx;
	uint32_t chunk = shunt_xdp_tables_chunk(t, at);
	uint32_t end = chunk + (uint32_t)(bytes / CHUNK_BYTES);

	for (; chunk < end; chunk++)
		if (t->fds[chunk] < 0 && chunk_make(t, chunk))
			return -ENOMEM;
	return 0;
}

void shunt_xdp_tables_change(struct shunt_xdp_tables *t)
{
	unsigned i;

	/* 0 is the generation of empty memory. */
	t->generation += t->generation == UINT32_MAX ? 2 : 1;
	for (i = 0; i < t->reader_cnt; i++)
		__atomic_store_n(&t->readers[i]->ctl->tables.generation, t->generation,
				 __ATOMIC_RELEASE);
}

/* What is handed out again may be a next hop's index, by which programs remember what it was. Then
 * as shunt_xdp_quiesce in maps.c. */
static void grace(void *ctx)
{
	const struct timespec poll_and_more = {.tv_nsec = 2 * 1000 * 1000};

	shunt_xdp_tables_change(ctx);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&poll_and_more, NULL);
}

int shunt_xdp_tables_create(struct shunt_xdp_tables **out, struct shunt_err *err)
{
	struct shunt_xdp_tables *t = calloc(1, sizeof(*t));
	size_t head;

	*out = NULL;
	if (!t)
		return shunt_err_set(err, ENOMEM, "tables of lane xdp: not enough memory");
	t->mapping = mmap(NULL, REGION_BYTES + CHUNK_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->mapping == MAP_FAILED) {
		free(t);
		return shunt_err_set(
			err, ENOMEM,
			"tables of lane xdp: mmap of %zu MiB of address space: %s; raise "
			"the limit on address space (ulimit -v), or use --lane user",
			REGION_BYTES >> 20, strerror(errno));
	}
	head = -(uintptr_t)t->mapping & (CHUNK_BYTES - 1);
	t->region = t->mapping + head;
	t->source = (struct shunt_arena_source){
		.ctx = t, .reserve = reserve, .commit = commit, .grace = grace};
	memset(t->fds, 0xff, sizeof(t->fds));
	*out = t;
	return 0;
}

void shunt_xdp_tables_destroy(struct shunt_xdp_tables *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < SHUNT_TABLES_CHUNKS_MAX; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	munmap(t->mapping, REGION_BYTES + CHUNK_BYTES);
	free(t);
}

void shunt_xdp_tables_delegate(struct shunt_xdp_tables *t,
			       const struct shunt_xdp_delegate *delegate)
{
	t->delegate = delegate;
}

const struct shunt_arena_source *shunt_xdp_tables_source(const struct shunt_xdp_tables *t)
{
	return t ? &t->source : NULL;
}

uint32_t shunt_xdp_tables_chunk(const struct shunt_xdp_tables *t, const void *base)
{
	return (uint32_t)((size_t)((const uint8_t *)base - t->region) >> SHUNT_TABLES_CHUNK_SHIFT);
}

int shunt_xdp_tables_join(struct shunt_xdp_tables *t, struct shunt_xdp *x, struct shunt_err *err)
{
	int ret = t->reader_cnt < SHUNT_PORT_MAX ? 0 : -E2BIG;

	for (uint32_t i = 0; i < SHUNT_TABLES_CHUNKS_MAX && !ret; i++)
		if (t->fds[i] >= 0)
			ret = tell(t, x, i);
	if (ret)
		return shunt_err_set(err, -ret, "%s: cannot give its program the tables: %s",
				     x->ifname, strerror(-ret));
	t->readers[t->reader_cnt++] = x;
	/* Attached by hand, it may remember what the tables of a daemon before said. */
	t->generation = SHUNT_MAX(t->generation, x->ctl->tables.generation);
	return 0;
}

void shunt_xdp_tables_publish(struct shunt_xdp *x, const struct shunt_tables_cfg *cfg)
{
	struct shunt_tables_cfg *to = &x->ctl->tables;

	/* The places never change under a program that routes, so flags come last. */
	memcpy(to->base, cfg->base, sizeof(to->base));
	to->writer_cnt = cfg->writer_cnt;
	to->flow_seed = cfg->flow_seed;
	to->vlan = cfg->vlan;
	__atomic_store_n(&to->flags, cfg->flags, __ATOMIC_RELEASE);
}

uint32_t shunt_xdp_tables_cpu_cnt(void)
{
	const int cnt = libbpf_num_possible_cpus();

	return cnt > 0 ? (uint32_t)cnt : 1;
}
