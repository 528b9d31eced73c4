// SPDX-License-Identifier: BSD-2-Clause
/* A capture that is replayed, into packets of one frame and into packets of several: refused with a
 * sentence, or all its packets fit, every frame of the pool comes back, and what is written of them
 * is a capture of the same packets. */
#include "fuzz.h"
#include "io/chain.h"
#include "io/mem.h"
#include "io/pcap.h"

#define FRAMES 256u
#define BATCH  16u

static struct shunt_pool plain, linked;

/* A number made of all the packets' bytes and lengths, in their order. */
struct seen {
	uint64_t sum;
	uint32_t cnt;
};

static void start(void)
{
	struct shunt_err err;

	FUZZ_MUST(!shunt_pool_init(&plain, FRAMES, 2048, &err) &&
			  !shunt_pool_init(&linked, FRAMES, 2048, &err) &&
			  !shunt_pool_link(&linked, &err),
		  "%s", err.msg);
}

static void look(struct seen *seen, const struct shunt_pool *pool, const struct shunt_pkt *pkt)
{
	static uint8_t bytes[SHUNT_CHAIN_BYTES_MAX];
	const uint32_t max =
		pool->links ? SHUNT_CHAIN_BYTES_MAX : pool->frame_size - SHUNT_FRAME_HEADROOM;
	uint32_t i;

	FUZZ_MUST(pkt->len >= 14 && pkt->len <= max, "a packet of %u bytes", pkt->len);
	shunt_chain_copy(pool, pkt, bytes);
	for (i = 0; i < pkt->len; i++)
		seen->sum = (seen->sum ^ bytes[i]) * 0x100000001b3;
	seen->sum = (seen->sum ^ pkt->len) * 0x100000001b3;
	seen->cnt++;
}

/* Sends all that comes, which gives its frames back. */
static void replay(struct shunt_queue *queue, struct seen *seen)
{
	struct shunt_pkt pkts[BATCH];
	unsigned cnt, i;

	while ((cnt = queue->ops->rx(queue, pkts, BATCH))) {
		for (i = 0; i < cnt; i++)
			look(seen, queue->pool, &pkts[i]);
		FUZZ_MUST(queue->ops->tx(queue, pkts, cnt) == cnt, "not all is sent");
		queue->ops->flush(queue);
	}
}

/* Returns whether in was accepted. */
static bool run(struct shunt_pool *pool, const char *in, const char *out, struct seen *seen)
{
	const struct shunt_pcap_opts opts = {.in = in, .out = out};
	struct shunt_err err = {""};
	struct shunt_queue *queue;
	int ret = shunt_pcap_open(&queue, pool, &opts, &err);

	*seen = (struct seen){0};
	if (!ret) {
		replay(queue, seen);
		queue->ops->close(queue);
	}
	FUZZ_MUST(!ret || err.msg[0], "refused without a sentence");
	FUZZ_MUST(pool->free_cnt == FRAMES, "%u frames of %u are free", pool->free_cnt, FRAMES);
	return !ret;
}

static void run_twice(struct shunt_pool *pool, const char *in)
{
	struct seen seen, again;
	struct fuzz_file out;

	fuzz_file_open(&out, "", 0);
	if (run(pool, in, out.path, &seen)) {
		FUZZ_MUST(run(pool, out.path, NULL, &again), "what was written is refused");
		FUZZ_MUST(seen.cnt == again.cnt && seen.sum == again.sum,
			  "%u packets were written, %u read", seen.cnt, again.cnt);
	}
	fuzz_file_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_file in;

	if (!plain.mem)
		start();
	fuzz_file_open(&in, data, size);
	run_twice(&plain, in.path);
	run_twice(&linked, in.path);
	fuzz_file_close(&in);
	return 0;
}
