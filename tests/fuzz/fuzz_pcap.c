// SPDX-License-Identifier: BSD-2-Clause
/* A capture that is replayed: refused with a sentence, or all its frames fit and come back. */
#include "fuzz.h"
#include "io/mem.h"
#include "io/pcap.h"

#define FRAMES 64u
#define BATCH  16u

static struct shunt_pool pool;

static void replay(struct shunt_queue *queue)
{
	struct shunt_pkt pkts[BATCH];
	unsigned cnt, i;

	while ((cnt = queue->ops->rx(queue, pkts, BATCH))) {
		for (i = 0; i < cnt; i++)
			FUZZ_MUST(pkts[i].len >= 14 &&
					  pkts[i].len <= pool.frame_size - SHUNT_FRAME_HEADROOM,
				  "a frame of %u bytes", pkts[i].len);
		shunt_pool_free_pkts(&pool, pkts, cnt);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shunt_err err = {""};
	struct shunt_queue *queue;
	struct fuzz_file file;

	if (!pool.mem)
		FUZZ_MUST(!shunt_pool_init(&pool, FRAMES, 2048, &err), "%s", err.msg);
	fuzz_file_open(&file, data, size);
	if (!shunt_pcap_open(&queue, &pool, &(struct shunt_pcap_opts){.in = file.path}, &err)) {
		replay(queue);
		queue->ops->close(queue);
	} else {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
	}
	FUZZ_MUST(pool.free_cnt == FRAMES, "%u frames of %u are free", pool.free_cnt, FRAMES);
	fuzz_file_close(&file);
	return 0;
}
