// SPDX-License-Identifier: BSD-2-Clause
/* AF_XDP queues whose packets take several frames, on a veth pair of MTU 9000 in a network
 * namespace of the test's own; its other end is a raw socket. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "io/chain.h"
#include "io/xsk.h"
#include "netns.h"
#include "wait.h"
#include "xdp/xdp.h"

#define RING   64u
#define FRAMES 512
#define LONG   9014u
#define PIECES 6u /* of a packet of LONG bytes, 1760 in a frame of 2048 */

static struct shunt_pool pool;
static struct shunt_xsk_umem *umem;
static struct shunt_queue *queue;
static struct shunt_xdp *xdp;
static struct shunt_steer_slot slot;
static struct shunt_err err;
static int peer = -1;
static uint8_t bytes[LONG] = {2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 8, 0x88, 0xb5}, got[LONG + 1];

static void shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

static void open_peer(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex("pa")};
	int on = 1, room = 8 << 20;

	peer = socket(AF_PACKET, SOCK_RAW, 0);
	setsockopt(peer, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	setsockopt(peer, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	cr_assert_eq(bind(peer, (struct sockaddr *)&at, sizeof(at)), 0, "%s", strerror(errno));
}

static void init(void)
{
	struct shunt_xdp_opts attach = {.ifname = "va", .multi_buffer = true};
	struct shunt_steer_cfg cfg = {
		.mode = SHUNT_STEER_MODE_XCONNECT, .mac = {2}, .len_max = LONG + 4};
	struct shunt_xsk_opts opts = {.ifname = "va", .ring_size = RING, .gate = &slot.gate};
	unsigned major, minor, i;
	struct utsname uts;

	uname(&uts);
	if (sscanf(uts.release, "%u.%u", &major, &minor) != 2 || major * 100 + minor < 606)
		cr_skip_test("Linux %s has no AF_XDP packets of several frames", uts.release);
	netns_enter();
	shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1; "
	      "ip link add va mtu 9000 numrxqueues 1 numtxqueues 1 type veth "
	      "peer name pa mtu 9000 numrxqueues 1 numtxqueues 1 && "
	      "ip link set va up && ip link set pa up && ethtool -K pa gro on");
	for (i = 14; i < LONG; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_pool_link(&pool, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xsk_umem_create(&umem, &pool, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_open(&xdp, &attach, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_attach(xdp, &err), 0, "%s", err.msg);
	opts.xsks_fd = shunt_xdp_xsks_fd(xdp);
	cr_assert_eq(shunt_xsk_open(&queue, umem, &opts, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_set_config(xdp, &cfg, &err), 0, "%s", err.msg);
	open_peer();
}

static void fini(void)
{
	if (queue)
		queue->ops->close(queue);
	shunt_xdp_detach(xdp);
	shunt_xsk_umem_destroy(umem);
	shunt_pool_fini(&pool);
	close(peer);
}

static struct shunt_ledger ledger(void)
{
	struct shunt_ledger l = {.total = pool.total, .pool = pool.free_cnt};

	queue->ops->ledger(queue, &l);
	return l;
}

/* Receives cnt packets, or as many as come. */
static unsigned receive(struct shunt_pkt *pkts, unsigned cnt)
{
	uint64_t until_ns = 0;
	unsigned n = 0;

	while (n < cnt && wait_a_moment(&until_ns)) {
		n += queue->ops->rx(queue, pkts + n, cnt - n);
		queue->ops->reclaim(queue);
		queue->ops->flush(queue);
	}
	return n;
}

static bool peer_gets(uint32_t len)
{
	struct pollfd fd = {.fd = peer, .events = POLLIN};

	return poll(&fd, 1, WAIT_MS) == 1 && recv(peer, got, sizeof(got), 0) == (ssize_t)len &&
	       !memcmp(got, bytes, len);
}

Test(port_xsk_sg, received_whole_and_in_order, .init = init, .fini = fini)
{
	static const uint32_t lens[] = {60, 1760, 1761, 3521, LONG};
	struct shunt_pkt pkts[5];
	struct shunt_ledger l;
	unsigned i, frames = 0;

	for (i = 0; i < 5; i++)
		cr_assert_eq(send(peer, bytes, lens[i], 0), (ssize_t)lens[i]);
	cr_assert_eq(receive(pkts, 5), 5);
	for (i = 0; i < 5; i++) {
		cr_assert_eq(pkts[i].len, lens[i]);
		shunt_chain_copy(&pool, &pkts[i], got);
		cr_assert_eq(memcmp(got, bytes, lens[i]), 0, "%u bytes", lens[i]);
		frames += (lens[i] + 1759) / 1760;
	}
	l = ledger();
	cr_assert_eq(shunt_ledger_sum(&l) + frames, FRAMES);
	shunt_pool_free_pkts(&pool, pkts, 5);
	l = ledger();
	cr_assert_eq(shunt_ledger_sum(&l), FRAMES);
}

/* A batch of one ends between packets, never inside one. */
Test(port_xsk_sg, one_packet_at_a_time, .init = init, .fini = fini)
{
	struct shunt_pkt pkt;
	unsigned i;

	for (i = 0; i < 3; i++)
		cr_assert_eq(send(peer, bytes, LONG, 0), LONG);
	for (i = 0; i < 3; i++) {
		cr_assert_eq(receive(&pkt, 1), 1);
		cr_assert_eq(pkt.len, LONG);
		shunt_chain_copy(&pool, &pkt, got);
		cr_assert_eq(memcmp(got, bytes, LONG), 0);
		shunt_pool_free_pkts(&pool, &pkt, 1);
	}
}

/* Counted in packets, since those are received. */
Test(port_xsk_sg, what_a_hang_leaves_is_late, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[3];
	uint64_t until_ns = 0;
	unsigned i;

	for (i = 0; i < 2; i++)
		cr_assert_eq(send(peer, bytes, LONG, 0), LONG);
	while (ledger().rx < 2 * PIECES)
		cr_assert(wait_a_moment(&until_ns), "nothing comes");
	slot.gate.is_hung = 1;
	slot.counters.packets[SHUNT_STEER_HUNG]++;
	queue->ops->beat(queue, 1000, false);
	slot.gate.is_hung = 0;
	cr_assert(queue->is_late);
	cr_assert_eq(send(peer, bytes, LONG, 0), LONG);
	while (ledger().rx < 3 * PIECES)
		cr_assert(wait_a_moment(&until_ns), "nothing comes");
	cr_expect_eq(queue->ops->late(queue), 2);
	cr_assert_eq(receive(pkts, 1), 1);
	cr_expect_eq(queue->ops->late(queue), 1);
	cr_assert_eq(receive(pkts + 1, 2), 2);
	cr_expect_eq(queue->ops->late(queue), 0);
	shunt_pool_free_pkts(&pool, pkts, 3);
}

/* What does not fit wholly into the ring is not begun. */
Test(port_xsk_sg, transmits_all_of_a_packet_or_none, .init = init, .fini = fini)
{
	uint64_t until_ns = 0;
	struct shunt_pkt pkts[RING / PIECES + 2];
	const unsigned fit = RING / PIECES, cnt = SHUNT_ARRAY_LEN(pkts);
	struct shunt_ledger l;
	unsigned i;

	for (i = 0; i < cnt; i++)
		cr_assert(shunt_chain_put(&pool, &pkts[i], 288, bytes, LONG));
	cr_assert_eq(queue->ops->tx(queue, pkts, cnt), fit);
	l = ledger();
	cr_assert_eq(l.tx, fit * PIECES);
	cr_assert_eq(shunt_ledger_sum(&l) + (cnt - fit) * PIECES, FRAMES);
	/* one of a single piece still does */
	shunt_pool_free_pkts(&pool, pkts + fit, cnt - fit);
	cr_assert(shunt_chain_put(&pool, &pkts[0], 288, bytes, 60));
	cr_assert_eq(queue->ops->tx(queue, pkts, 1), 1);
	queue->ops->flush(queue);
	for (i = 0; i < fit; i++)
		cr_assert(peer_gets(LONG), "packet %u", i);
	cr_assert(peer_gets(60));
	do {
		queue->ops->flush(queue);
		queue->ops->reclaim(queue);
		l = ledger();
	} while (l.tx + l.driver_tx + l.completion && wait_a_moment(&until_ns));
	cr_assert_eq(l.tx + l.driver_tx + l.completion, 0);
	cr_assert_eq(shunt_ledger_sum(&l), FRAMES);
	cr_assert_eq(queue->stats.tx_packets, fit + 1);
}

/* The frames behind the end of a packet that a node made shorter go back to the pool. */
Test(port_xsk_sg, transmits_no_more_than_the_packet, .init = init, .fini = fini)
{
	struct shunt_pkt pkt = {0};
	uint32_t before = pool.free_cnt;

	cr_assert(shunt_chain_put(&pool, &pkt, 288, bytes, LONG));
	pkt.len = 2000;
	cr_assert_eq(queue->ops->tx(queue, &pkt, 1), 1);
	cr_assert_eq(pool.free_cnt, before - 2);
	queue->ops->flush(queue);
	cr_assert(peer_gets(2000));
}
