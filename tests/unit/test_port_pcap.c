// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/pcap.h"

#define FRAMES 32

static struct shunt_pool pool;
static struct shunt_queue *queue;
static struct shunt_err err;
static char folder[] = "/tmp/shunt-pcap-XXXXXX";
static char in[64], out[64];

static void init(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(in, sizeof(in), "%s/in.pcap", folder);
	snprintf(out, sizeof(out), "%s/out.pcap", folder);
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
}

static void fini(void)
{
	if (queue)
		queue->ops->close(queue);
	shunt_pool_fini(&pool);
	unlink(in);
	unlink(out);
	rmdir(folder);
}

static uint32_t len_of(unsigned i)
{
	return 14 + i * 700;
}

/* A capture of cnt frames, frame i with len_of(i) bytes of value i + 1. */
static void write_capture(int link_type, unsigned cnt)
{
	pcap_t *dead = pcap_open_dead(link_type, 65535);
	pcap_dumper_t *dumper = pcap_dump_open(dead, in);
	static uint8_t bytes[65535];
	unsigned i;

	cr_assert(dumper);
	for (i = 0; i < cnt; i++) {
		struct pcap_pkthdr hdr = {.caplen = len_of(i), .len = len_of(i)};

		memset(bytes, (int)i + 1, sizeof(bytes));
		pcap_dump((u_char *)dumper, &hdr, bytes);
	}
	pcap_dump_close(dumper);
	pcap_close(dead);
}

static int open_port(const char *from, const char *to, bool repeat)
{
	const struct shunt_pcap_opts opts = {
		.port = 3, .queue = 1, .in = from, .out = to, .repeat = repeat};

	queue = NULL;
	return shunt_pcap_open(&queue, &pool, &opts, &err);
}

static void expect_packet(const struct shunt_pkt *pkt, unsigned i)
{
	cr_assert(pkt->port == 3 && pkt->len == len_of(i), "packet %u", i);
	cr_assert_eq(pool.mem[pkt->addr], i + 1);
	cr_assert_eq(pool.mem[pkt->addr + pkt->len - 1], i + 1);
}

Test(port_pcap, replays_once, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[8];
	unsigned i;

	write_capture(DLT_EN10MB, 3);
	cr_assert_eq(open_port(in, NULL, false), 0, "%s", err.msg);
	cr_assert_eq(queue->ops->rx(queue, pkts, 2), 2);
	cr_assert_eq(queue->ops->rx(queue, pkts + 2, 8), 1);
	cr_assert_eq(queue->ops->rx(queue, pkts + 3, 8), 0);
	for (i = 0; i < 3; i++)
		expect_packet(&pkts[i], i);
	cr_assert_eq(queue->stats.rx_packets, 3);
	cr_assert_eq(queue->stats.rx_bytes, len_of(0) + len_of(1) + len_of(2));
	cr_assert_eq(queue->ops->tx(queue, pkts, 3), 3, "swallowed");
	cr_assert_eq(pool.free_cnt, FRAMES);
}

Test(port_pcap, replays_for_ever_while_there_are_frames, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[FRAMES + 1];
	unsigned round, i;

	write_capture(DLT_EN10MB, 3);
	cr_assert_eq(open_port(in, NULL, true), 0, "%s", err.msg);
	for (round = 0; round < 30; round++) {
		cr_assert_eq(queue->ops->rx(queue, pkts, 4), 4);
		for (i = 0; i < 4; i++)
			expect_packet(&pkts[i], (round * 4 + i) % 3);
		queue->ops->tx(queue, pkts, 4);
	}
	cr_assert_eq(queue->ops->rx(queue, pkts, FRAMES + 1), FRAMES, "the pool's end");
	queue->ops->tx(queue, pkts, FRAMES);
}

Test(port_pcap, empty_capture, .init = init, .fini = fini)
{
	struct shunt_pkt pkt;

	write_capture(DLT_EN10MB, 0);
	cr_assert_eq(open_port(in, NULL, true), 0, "%s", err.msg);
	cr_assert_eq(queue->ops->rx(queue, &pkt, 1), 0);
}

/* What was sent is in the file after the flush, byte for byte. */
static void expect_capture(unsigned cnt)
{
	char reason[PCAP_ERRBUF_SIZE];
	pcap_t *file = pcap_open_offline(out, reason);
	struct pcap_pkthdr *hdr;
	const u_char *data;
	unsigned i;

	cr_assert(file, "%s", reason);
	cr_assert_eq(pcap_datalink(file), DLT_EN10MB);
	for (i = 0; i < cnt; i++) {
		cr_assert_eq(pcap_next_ex(file, &hdr, &data), 1);
		cr_assert(hdr->caplen == len_of(i) && hdr->len == len_of(i));
		cr_assert(data[0] == i + 1 && data[hdr->len - 1] == i + 1);
		cr_assert_gt(hdr->ts.tv_sec, 1500000000);
		cr_assert_lt(hdr->ts.tv_usec, 1000000);
	}
	cr_assert_eq(pcap_next_ex(file, &hdr, &data), PCAP_ERROR_BREAK);
	pcap_close(file);
}

Test(port_pcap, writes_what_is_sent, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[3];

	write_capture(DLT_EN10MB, 3);
	cr_assert_eq(open_port(in, out, false), 0, "%s", err.msg);
	cr_assert_eq(queue->ops->rx(queue, pkts, 3), 3);
	cr_assert_eq(queue->ops->tx(queue, pkts, 2), 2);
	queue->ops->flush(queue);
	expect_capture(2);
	cr_assert_eq(queue->ops->tx(queue, pkts + 2, 1), 1);
	queue->ops->flush(queue);
	expect_capture(3);
	cr_assert(queue->stats.tx_packets == 3 && queue->stats.tx_completed == 3);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

static void expect_refusal(int code, const char *says)
{
	int ret = open_port(in, NULL, false);

	cr_assert_eq(ret, code, "%d", ret);
	cr_assert(strstr(err.msg, in) && strstr(err.msg, says), "%s", err.msg);
	cr_assert(!strchr(err.msg, '\n'), "one sentence");
	cr_assert_null(queue);
}

Test(port_pcap, says_what_is_wrong_with_the_file, .init = init, .fini = fini)
{
	FILE *file;
	long size;

	expect_refusal(-ENOENT, "No such file");
	file = fopen(in, "w");
	fputs("this is no capture, whatever its name may say", file);
	fclose(file);
	expect_refusal(-EINVAL, "cannot replay");
	write_capture(DLT_RAW, 1);
	expect_refusal(-EINVAL, "link type RAW");
	write_capture(DLT_EN10MB, 4); /* the last one has 2114 bytes */
	expect_refusal(-EINVAL, "frame 4 has 2114 bytes");
	write_capture(DLT_EN10MB, 3);
	file = fopen(in, "r+");
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	fclose(file);
	cr_assert_eq(truncate(in, size - 1), 0);
	expect_refusal(-EIO, "frame 3: ");
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* A packet that no pool's frames together can hold would stop the replay for ever. */
Test(port_pcap, refuses_what_no_chain_can_hold, .init = init, .fini = fini)
{
	struct shunt_pkt pkt;
	unsigned cnt = 0;

	cr_assert_eq(shunt_pool_link(&pool, &err), 0);
	write_capture(DLT_EN10MB, 45);
	expect_refusal(-EINVAL, "frame 45 has 30814 bytes; 14 to 30464");
	write_capture(DLT_EN10MB, 44);
	cr_assert_eq(open_port(in, NULL, false), 0, "%s", err.msg);
	while (queue->ops->rx(queue, &pkt, 1)) {
		cr_assert_eq(pkt.len, len_of(cnt++));
		shunt_pool_free_pkts(&pool, &pkt, 1);
	}
	cr_assert_eq(cnt, 44);
}

Test(port_pcap, says_what_it_cannot_write, .init = init, .fini = fini)
{
	cr_assert_eq(open_port(NULL, "/nonexistent/out.pcap", false), -ENOENT);
	cr_assert(strstr(err.msg, "cannot write the capture /nonexistent/out.pcap"), "%s", err.msg);
}
