// SPDX-License-Identifier: BSD-2-Clause
#include "io/pcap.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/chain.h"

struct record {
	uint32_t at; /* in bytes[] */
	uint32_t len;
};

struct pcap_queue {
	struct shunt_queue queue;
	uint8_t *bytes;
	struct record *records;
	uint32_t bytes_len, bytes_room, record_cnt, record_room;
	uint32_t next;
	bool repeat;
	uint8_t *chained; /* where packets of several frames are put together; SHUNT_CHAIN_BYTES_MAX
			   */
	pcap_t *dead;	  /* the format of the output */
	pcap_dumper_t *dumper;
};

static struct pcap_queue *pcap_of(struct shunt_queue *queue)
{
	return shunt_container_of(queue, struct pcap_queue, queue);
}

static unsigned pcap_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct pcap_queue *pq = pcap_of(queue);
	uint64_t bytes = 0;
	unsigned n = 0;

	while (n < max) {
		const struct record *rec;

		if (pq->next == pq->record_cnt) {
			if (!pq->repeat || !pq->record_cnt)
				break;
			pq->next = 0;
		}
		rec = &pq->records[pq->next];
		if (!shunt_chain_put(queue->pool, &pkts[n], SHUNT_FRAME_HEADROOM,
				     pq->bytes + rec->at, rec->len))
			break;
		pq->next++;
		pkts[n].port = queue->port;
		bytes += rec->len;
		n++;
	}
	if (n) {
		shunt_queue_count_rx(queue, n, bytes);
	}
	return n;
}

static unsigned pcap_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct pcap_queue *pq = pcap_of(queue);
	struct pcap_pkthdr hdr;
	struct timespec ts;
	uint64_t bytes = 0;
	unsigned i;

	clock_gettime(CLOCK_REALTIME, &ts);
	for (i = 0; i < cnt; i++) {
		hdr.ts.tv_sec = ts.tv_sec;
		hdr.ts.tv_usec = ts.tv_nsec; /* the file is written in nanoseconds */
		hdr.caplen = hdr.len = pkts[i].len;
		bytes += pkts[i].len;
		if (!pq->dumper)
			continue;
		if (shunt_chain_is(queue->pool, &pkts[i])) {
			shunt_chain_copy(queue->pool, &pkts[i], pq->chained);
			pcap_dump((u_char *)pq->dumper, &hdr, pq->chained);
		} else {
			pcap_dump((u_char *)pq->dumper, &hdr, queue->pool->mem + pkts[i].addr);
		}
	}
	shunt_pool_free_pkts(queue->pool, pkts, cnt);
	shunt_queue_count_tx(queue, cnt, bytes);
	shunt_counter_add(&queue->stats.tx_completed, cnt);
	return cnt;
}

/* Written out every turn that sent something, so that a reader of the file sees
 * what has left. */
static void pcap_flush_turn(struct shunt_queue *queue)
{
	struct pcap_queue *pq = pcap_of(queue);

	if (pq->dumper)
		pcap_dump_flush(pq->dumper);
}

static void pcap_close_queue(struct shunt_queue *queue)
{
	struct pcap_queue *pq = pcap_of(queue);

	if (pq->dumper)
		pcap_dump_close(pq->dumper);
	if (pq->dead)
		pcap_close(pq->dead);
	free(pq->bytes);
	free(pq->records);
	free(pq->chained);
	free(pq);
}

static const struct shunt_queue_ops pcap_ops = {
	.kind = "pcap",
	.reclaim = shunt_queue_nothing,
	.rx = pcap_rx,
	.tx = pcap_tx,
	.flush = pcap_flush_turn,
	.ledger = shunt_queue_ledger_none,
	.audit = shunt_queue_audit_none,
	.close = pcap_close_queue,
};

static int grow(void **array, uint32_t *room, uint64_t need, size_t size)
{
	uint64_t want = *room ? *room : 1024;
	void *p;

	if (need <= *room)
		return 0;
	while (want < need)
		want *= 2;
	if (want > UINT32_MAX)
		return -EFBIG;
	p = realloc(*array, want * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = (uint32_t)want;
	return 0;
}

static int append(struct pcap_queue *pq, const uint8_t *data, uint32_t len)
{
	int ret = grow((void **)&pq->bytes, &pq->bytes_room, (uint64_t)pq->bytes_len + len, 1);

	if (!ret)
		ret = grow((void **)&pq->records, &pq->record_room, pq->record_cnt + 1ULL,
			   sizeof(*pq->records));
	if (ret)
		return ret;
	memcpy(pq->bytes + pq->bytes_len, data, len);
	pq->records[pq->record_cnt++] = (struct record){pq->bytes_len, len};
	pq->bytes_len += len;
	return 0;
}

static int read_records(struct pcap_queue *pq, pcap_t *file, const char *path,
			struct shunt_err *err)
{
	const uint32_t each = pq->queue.pool->frame_size - SHUNT_FRAME_HEADROOM;
	const uint32_t room = pq->queue.pool->links ? SHUNT_MIN(SHUNT_CHAIN_MAX * each,
								(uint32_t)SHUNT_CHAIN_BYTES_MAX)
						    : each;
	struct pcap_pkthdr *hdr;
	const u_char *data;
	int got, ret;

	if (pcap_datalink(file) != DLT_EN10MB)
		return shunt_err_set(err, EINVAL,
				     "%s: link type %s; only Ethernet captures can be replayed",
				     path, pcap_datalink_val_to_name(pcap_datalink(file)));
	while ((got = pcap_next_ex(file, &hdr, &data)) == 1) {
		if (hdr->caplen > room || hdr->caplen < 14)
			return shunt_err_set(
				err, EINVAL,
				"%s: frame %u has %u bytes; 14 to %u fit a frame of %u "
				"(see frame_size)",
				path, pq->record_cnt + 1, hdr->caplen, room,
				pq->queue.pool->frame_size);
		ret = append(pq, data, hdr->caplen);
		if (ret)
			return shunt_err_set(err, -ret, "%s: not enough memory for the capture",
					     path);
	}
	if (got != PCAP_ERROR_BREAK)
		return shunt_err_set(err, EIO, "%s: frame %u: %s", path, pq->record_cnt + 1,
				     pcap_geterr(file));
	return 0;
}

static int open_in(struct pcap_queue *pq, const char *path, struct shunt_err *err)
{
	char reason[PCAP_ERRBUF_SIZE];
	FILE *stream = fopen(path, "re");
	pcap_t *file;
	int ret;

	if (!stream)
		return shunt_err_set(err, errno, "cannot replay the capture %s: %s", path,
				     strerror(errno));
	file = pcap_fopen_offline(stream, reason);
	if (!file) {
		fclose(stream);
		return shunt_err_set(err, EINVAL, "cannot replay the capture %s: %s", path, reason);
	}
	ret = read_records(pq, file, path, err);
	pcap_close(file);
	return ret;
}

static int open_out(struct pcap_queue *pq, const char *path, struct shunt_err *err)
{
	FILE *stream = fopen(path, "we");

	if (!stream)
		return shunt_err_set(err, errno, "cannot write the capture %s: %s", path,
				     strerror(errno));
	pq->dead =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	pq->dumper = pq->dead ? pcap_dump_fopen(pq->dead, stream) : NULL;
	if (pq->dumper)
		return 0;
	fclose(stream);
	return shunt_err_set(err, ENOMEM, "%s: not enough memory for the capture's format", path);
}

int shunt_pcap_open(struct shunt_queue **out, struct shunt_pool *pool,
		    const struct shunt_pcap_opts *opts, struct shunt_err *err)
{
	struct pcap_queue *pq = aligned_alloc(SHUNT_CACHELINE, (sizeof(*pq) + 63) & ~63UL);
	int ret = 0;

	if (!pq)
		return shunt_err_set(err, ENOMEM, "pcap port: not enough memory");
	memset(pq, 0, sizeof(*pq));
	pq->queue.ops = &pcap_ops;
	pq->queue.pool = pool;
	pq->queue.port = opts->port;
	pq->queue.index = opts->queue;
	pq->queue.fd = -1;
	pq->repeat = opts->repeat;
	if (pool->links) {
		pq->chained = malloc(SHUNT_CHAIN_BYTES_MAX);
		if (!pq->chained)
			ret = shunt_err_set(err, ENOMEM, "pcap port: not enough memory");
	}
	if (!ret && opts->in)
		ret = open_in(pq, opts->in, err);
	if (!ret && opts->out)
		ret = open_out(pq, opts->out, err);
	if (ret) {
		pcap_close_queue(&pq->queue);
		return ret;
	}
	*out = &pq->queue;
	return 0;
}
