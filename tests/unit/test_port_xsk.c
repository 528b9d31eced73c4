// SPDX-License-Identifier: BSD-2-Clause
/* AF_XDP queues on two pairs of veth in a network namespace of the test's own. What
 * goes out of va and vb is seen with raw sockets on their peers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/xsk.h"
#include "netns.h"
#include "wait.h"
#include "xdp/xdp.h"

#define RING   64u
#define FRAMES 1024

static struct shunt_pool pool;
static struct shunt_xsk_umem *umem;
static struct shunt_queue *queues[2];
static struct shunt_xdp *xdp[2];
static struct shunt_steer_slot slot; /* of va's queue */
static struct shunt_err err;

static void shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

static void init(void)
{
	netns_enter();
	shell("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1; "
	      "for x in a b; do ip link add v$x numrxqueues 1 numtxqueues 1 type veth "
	      "peer name p$x numrxqueues 1 numtxqueues 1 && ip link set v$x up && "
	      "ip link set p$x up && ethtool -K p$x gro on; done");
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xsk_umem_create(&umem, &pool, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	unsigned i;

	for (i = 2; i-- > 0;) {
		if (queues[i])
			queues[i]->ops->close(queues[i]);
		shunt_xdp_detach(xdp[i]);
	}
	shunt_xsk_umem_destroy(umem);
	shunt_pool_fini(&pool);
}

static struct shunt_xsk_opts options(unsigned i)
{
	return (struct shunt_xsk_opts){.ifname = i ? "vb" : "va",
				       .port = (uint16_t)i,
				       .ring_size = RING,
				       .gate = i ? NULL : &slot.gate,
				       .xsks_fd = xdp[i] ? shunt_xdp_xsks_fd(xdp[i]) : -1};
}

static void open_queue(unsigned i)
{
	struct shunt_xsk_opts opts = options(i);

	cr_assert_eq(shunt_xsk_open(&queues[i], umem, &opts, &err), 0, "%s", err.msg);
}

/* With the steering program, which hands everything to the socket. */
static void open_receiving(unsigned i)
{
	struct shunt_xdp_opts opts = {.ifname = i ? "vb" : "va", .requested = SHUNT_XDP_NATIVE};
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_XCONNECT, .mac = {2}};

	cr_assert_eq(shunt_xdp_open(&xdp[i], &opts, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xdp_attach(xdp[i], &err), 0, "%s", err.msg);
	open_queue(i);
	cr_assert_eq(shunt_xdp_set_config(xdp[i], &cfg, &err), 0, "%s", err.msg);
}

static struct shunt_ledger ledger(void)
{
	struct shunt_ledger l = {.total = pool.total, .pool = pool.free_cnt};
	unsigned i;

	for (i = 0; i < 2; i++)
		if (queues[i])
			queues[i]->ops->ledger(queues[i], &l);
	return l;
}

static void expect_balance(uint64_t in_hand)
{
	struct shunt_ledger l = ledger();

	cr_assert_eq(shunt_ledger_sum(&l) + in_hand, l.total, "%llu of %llu",
		     (unsigned long long)(shunt_ledger_sum(&l) + in_hand),
		     (unsigned long long)l.total);
}

static int raw_socket(const char *ifname)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(ifname)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), size = 4 << 20;

	cr_assert_geq(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* The next frame of experimental ethertype 0x88b5; its number. */
static unsigned next_frame(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	uint8_t frame[2048];
	ssize_t len;
	unsigned number;

	for (;;) {
		cr_assert_eq(poll(&pfd, 1, WAIT_MS), 1, "no frame");
		len = recv(fd, frame, sizeof(frame), 0);
		if (len == 60 && frame[12] == 0x88 && frame[13] == 0xb5)
			break;
	}
	memcpy(&number, frame + 14, 4);
	return number;
}

static void write_frame(uint8_t *frame, unsigned number)
{
	static const uint8_t head[14] = {2, 0, 0, 0, 9, 9, 2, 0, 0, 0, 9, 8, 0x88, 0xb5};

	memset(frame, 0, 60);
	memcpy(frame, head, 14);
	memcpy(frame + 14, &number, 4);
}

static unsigned make_packets(struct shunt_pkt *pkts, unsigned cnt, unsigned number)
{
	uint64_t addr[256];
	unsigned i;

	cnt = shunt_pool_alloc(&pool, addr, cnt);
	for (i = 0; i < cnt; i++) {
		pkts[i].addr = addr[i] + 256;
		pkts[i].len = 60;
		write_frame(pool.mem + pkts[i].addr, number + i);
	}
	return cnt;
}

static void expect_refusal(struct shunt_xsk_opts opts, int code, const char *says)
{
	struct shunt_queue *queue = NULL;
	int ret = shunt_xsk_open(&queue, umem, &opts, &err);

	cr_assert_eq(ret, code, "%d: %s", ret, err.msg);
	cr_assert(strstr(err.msg, says), "%s", err.msg);
	cr_assert_null(queue);
}

/* --- opening ---------------------------------------------------------------------------------- */

Test(port_xsk, opens_in_copy_mode_and_says_so, .init = init, .fini = fini)
{
	struct shunt_xsk_kernel_stats stats;
	struct shunt_xsk_in_use in_use;
	struct shunt_ledger l;

	open_queue(0);
	cr_assert_eq(shunt_xsk_in_use(queues[0], &in_use), 0);
	cr_assert(!in_use.zerocopy && in_use.need_wakeup && !in_use.busy_poll);
	cr_assert_eq(shunt_xsk_kernel_stats(queues[0], &stats), 0);
	cr_assert(stats.rx_dropped == 0 && stats.rx_invalid_descs == 0);
	l = ledger();
	cr_assert(l.fill == RING && l.pool == FRAMES - RING, "filled before the bind");
	expect_balance(0);
}

Test(port_xsk, busy_polling_is_confirmed, .init = init, .fini = fini)
{
	struct shunt_xsk_opts opts = options(0);
	struct shunt_xsk_in_use in_use;

	opts.busy_poll = true;
	opts.busy_budget = 64;
	cr_assert_eq(shunt_xsk_open(&queues[0], umem, &opts, &err), 0, "%s", err.msg);
	shunt_xsk_in_use(queues[0], &in_use);
	cr_assert(in_use.busy_poll);
	queues[0]->ops->busy_poll(queues[0]);
	cr_assert_eq(queues[0]->stats.rx_kicks, 1);
}

Test(port_xsk, refusals, .init = init, .fini = fini)
{
	struct shunt_xsk_opts opts;

	open_queue(0);
	opts = options(1);
	opts.queue = 1;
	expect_refusal(opts, -EINVAL, "does the device have this queue");
	opts = options(1);
	opts.ifname = "nosuch";
	expect_refusal(opts, -ENODEV, "nosuch: no such device");
	opts = options(1);
	opts.ring_size = 100;
	expect_refusal(opts, -EINVAL, "power of two");
	opts = options(1);
	opts.ring_size = FRAMES;
	expect_refusal(opts, -ENOMEM, "raise frames");
	cr_assert_eq(pool.free_cnt, FRAMES - RING, "nothing held");
	open_queue(1);
	expect_balance(0);
}

Test(port_xsk, zero_copy_is_refused_on_veth, .init = init, .fini = fini)
{
	struct shunt_xsk_opts opts = options(0);

	opts.copy_mode = SHUNT_COPY_ZEROCOPY;
	expect_refusal(opts, -EOPNOTSUPP, "refuses zero-copy");
}

/* Has queue 1 held for a moment, long enough for the first tries of another to fail. Returns
 * the holder, when it has it. */
static pid_t hold_queue(struct shunt_pool *others)
{
	const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
	struct shunt_xsk_opts opts = options(1);
	struct shunt_xsk_umem *other;
	struct shunt_queue *queue;
	int fds[2];
	pid_t child;
	char byte;

	cr_assert_eq(pipe(fds), 0);
	child = fork();
	if (!child) {
		shunt_xsk_umem_create(&other, others, &err);
		if (shunt_xsk_open(&queue, other, &opts, &err) || write(fds[1], "", 1) != 1)
			_exit(1);
		nanosleep(&pause, NULL);
		_exit(0);
	}
	close(fds[1]);
	cr_assert_eq(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return child;
}

/* A queue that stays taken is refused after two seconds, one that comes free in the
 * meantime is got. A holder may get no CPU in which to end, for once, not five times. */
Test(port_xsk, a_busy_queue_is_tried_again, .init = init, .fini = fini)
{
	uint64_t start = shunt_clock_ns();
	struct shunt_xsk_umem *other;
	struct shunt_queue *queue;
	struct shunt_pool others;
	struct shunt_xsk_opts opts = options(0);
	int status, ret = -EBUSY;
	unsigned i;

	open_queue(0);
	cr_assert_eq(shunt_pool_init(&others, FRAMES, 2048, &err), 0);
	cr_assert_eq(shunt_xsk_umem_create(&other, &others, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_xsk_open(&queue, other, &opts, &err), -EBUSY);
	cr_assert(strstr(err.msg, "another AF_XDP socket"), "%s", err.msg);
	cr_assert_eq(others.free_cnt, FRAMES, "nothing held");
	shunt_xsk_umem_destroy(other);
	cr_assert_geq(shunt_clock_ns() - start, 2 * SHUNT_NS_PER_SEC);
	opts = options(1);
	for (i = 0; i < 5 && ret == -EBUSY; i++) {
		pid_t child = hold_queue(&others);

		ret = shunt_xsk_open(&queues[1], umem, &opts, &err);
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert_eq(status, 0);
	}
	cr_assert_eq(ret, 0, "%s", err.msg);
	shunt_pool_fini(&others);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_all(unsigned i, unsigned cnt, int peer)
{
	struct shunt_pkt pkts[RING];
	unsigned sent = 0, seen = 0, n;

	while (sent < cnt) {
		n = make_packets(pkts, SHUNT_MIN(RING, cnt - sent), sent);
		cr_assert_eq(queues[i]->ops->tx(queues[i], pkts, n), n);
		queues[i]->ops->flush(queues[i]);
		expect_balance(0);
		sent += n;
		for (; seen < sent; seen++)
			cr_assert_eq(next_frame(peer), seen, "in order, each once");
		while (queues[i]->stats.tx_completed < sent)
			queues[i]->ops->reclaim(queues[i]);
		expect_balance(0);
	}
}

Test(port_xsk, sends_by_two_devices_from_one_umem, .init = init, .fini = fini)
{
	int pa = raw_socket("pa"), pb = raw_socket("pb");

	open_queue(0);
	open_queue(1);
	send_all(0, 1000, pa);
	send_all(1, 1000, pb);
	cr_assert_eq(queues[0]->stats.tx_packets, 1000);
	cr_assert_eq(queues[1]->stats.tx_bytes, 60000);
	cr_assert_eq(queues[0]->stats.kick_errors + queues[1]->stats.kick_errors, 0);
}

/* A full ring takes what fits, and the kick that empties it is sent all the same. */
Test(port_xsk, a_full_ring_takes_what_fits, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[RING + 36];
	unsigned n, i;
	int pa = raw_socket("pa");

	open_queue(0);
	n = make_packets(pkts, RING + 36, 0);
	cr_assert_eq(queues[0]->ops->tx(queues[0], pkts, n), RING);
	cr_assert_eq(queues[0]->ops->tx(queues[0], pkts + RING, 36), 0, "nothing more");
	expect_balance(36);
	cr_assert_eq(ledger().tx, RING);
	queues[0]->ops->flush(queues[0]);
	cr_assert_geq(queues[0]->stats.tx_kicks, 1);
	for (i = 0; i < RING; i++)
		cr_assert_eq(next_frame(pa), i);
	while (queues[0]->stats.tx_completed < RING)
		queues[0]->ops->reclaim(queues[0]);
	cr_assert_eq(queues[0]->ops->tx(queues[0], pkts + RING, 36), 36, "room again");
	queues[0]->ops->flush(queues[0]);
	for (; i < RING + 36; i++)
		cr_assert_eq(next_frame(pa), i);
	expect_balance(0);
}

/* --- receiving -------------------------------------------------------------------------------- */

Test(port_xsk, receives_and_passes_on, .init = init, .fini = fini)
{
	int pa = raw_socket("pa"), pb = raw_socket("pb");
	struct shunt_pkt pkts[32];
	uint8_t frame[60];
	unsigned number, n, spins;

	open_receiving(0);
	open_receiving(1);
	for (number = 0; number < 2000; number++) {
		write_frame(frame, number);
		cr_assert_eq(send(pa, frame, 60, 0), 60);
		for (n = spins = 0; !n && spins < WAIT_MS; spins++) {
			struct pollfd pfd = {.fd = queues[0]->fd, .events = POLLIN};

			queues[0]->ops->reclaim(queues[0]);
			n = queues[0]->ops->rx(queues[0], pkts, 32);
			if (!n)
				poll(&pfd, 1, 1);
		}
		cr_assert_eq(n, 1, "frame %u", number);
		cr_assert(pkts[0].port == 0 && pkts[0].len == 60);
		cr_assert_eq(memcmp(pool.mem + pkts[0].addr, frame, 60), 0, "frame %u", number);
		expect_balance(1);
		cr_assert_eq(queues[1]->ops->tx(queues[1], pkts, 1), 1);
		queues[1]->ops->flush(queues[1]);
		queues[1]->ops->reclaim(queues[1]);
		cr_assert_eq(next_frame(pb), number);
		expect_balance(0);
	}
	cr_assert_eq(queues[0]->stats.rx_packets, 2000);
	cr_assert_eq(queues[0]->stats.fill_starved, 0);
}

/* Sends frames to va until as many lie in its receive ring. */
static void let_lie(int pa, unsigned cnt)
{
	uint64_t until_ns = 0;
	uint8_t frame[60];
	unsigned i;

	for (i = (unsigned)ledger().rx; i < cnt; i++) {
		write_frame(frame, i);
		cr_assert_eq(send(pa, frame, 60, 0), 60);
	}
	while (ledger().rx < cnt)
		cr_assert(wait_a_moment(&until_ns), "%llu lie there",
			  (unsigned long long)ledger().rx);
}

/* A hang's are late once others overtook them, what comes after the beat that ends it is not. */
Test(port_xsk, what_a_hang_leaves_is_late, .init = init, .fini = fini)
{
	int pa = raw_socket("pa");
	struct shunt_pkt pkts[RING];

	open_receiving(0);
	queues[0]->ops->beat(queues[0], 1000, false);
	let_lie(pa, 3);
	slot.gate.is_hung = 1;
	cr_expect_not(shunt_queue_is_overtaken(queues[0]));
	queues[0]->ops->beat(queues[0], 2000, false);
	cr_expect_not(queues[0]->is_late, "nothing overtook them");
	slot.counters.packets[SHUNT_STEER_HUNG]++;
	cr_expect(shunt_queue_is_overtaken(queues[0]));
	queues[0]->ops->beat(queues[0], 3000, false);
	cr_expect(queues[0]->is_late);
	slot.gate.is_hung = 0; /* by the watch, at that beat */
	let_lie(pa, 5);
	queues[0]->ops->beat(queues[0], 4000, false);
	cr_expect_eq(queues[0]->ops->late(queues[0]), 3);
	cr_assert_eq(queues[0]->ops->rx(queues[0], pkts, 2), 2);
	cr_expect_eq(queues[0]->ops->late(queues[0]), 1);
	cr_assert_eq(queues[0]->ops->rx(queues[0], pkts + 2, RING), 3);
	cr_expect_eq(queues[0]->ops->late(queues[0]), 0);
	cr_expect_not(shunt_queue_is_overtaken(queues[0]));
	shunt_pool_free_pkts(&pool, pkts, 5);
}

/* More arrives than is taken: what does not fit is counted by the kernel, and every
 * frame stays accounted for. */
Test(port_xsk, a_receiver_that_does_not_keep_up, .init = init, .fini = fini)
{
	struct shunt_xsk_kernel_stats stats;
	int pa = raw_socket("pa");
	struct shunt_pkt pkts[RING];
	uint8_t frame[60];
	unsigned number, n, got = 0;
	uint64_t until_ns = 0;

	open_receiving(0);
	for (number = 0; number < 1000; number++) {
		write_frame(frame, number);
		cr_assert_eq(send(pa, frame, 60, 0), 60);
		expect_balance(0);
	}
	do {
		n = queues[0]->ops->rx(queues[0], pkts, RING);
		shunt_pool_free_pkts(&pool, pkts, n);
		got += n;
		expect_balance(0);
		shunt_xsk_kernel_stats(queues[0], &stats);
	} while (got + stats.rx_ring_full + stats.rx_dropped < 1000 && wait_a_moment(&until_ns));
	cr_assert_eq(got + stats.rx_ring_full + stats.rx_dropped, 1000,
		     "%u received, %llu and %llu dropped", got,
		     (unsigned long long)stats.rx_ring_full, (unsigned long long)stats.rx_dropped);
	cr_assert_eq(got, RING / 2, "a receive ring of frames");
	cr_assert_eq(stats.rx_fill_ring_empty_descs, 0, "the driver never lacked a frame");
}

/* A driver delivered a frame again and again, so it is sent as often, and comes back as often: the
 * stack never holds more frames than there are, and the number is known. */
Test(port_xsk, a_frame_that_comes_back_twice_is_found, .init = init, .fini = fini)
{
	struct shunt_pkt pkts[RING];
	uint8_t seen[FRAMES];
	unsigned round, i;

	open_queue(0);
	cr_assert_eq(make_packets(pkts, 1, 0), 1);
	for (i = 1; i < RING; i++)
		pkts[i] = pkts[0];
	for (round = 1; round <= 2 * FRAMES / RING; round++) {
		cr_assert_eq(queues[0]->ops->tx(queues[0], pkts, RING), RING);
		queues[0]->ops->flush(queues[0]);
		while (queues[0]->stats.tx_completed < round * RING)
			queues[0]->ops->reclaim(queues[0]);
		cr_assert_leq(pool.free_cnt, FRAMES, "round %u", round);
	}
	cr_expect_geq(pool.doubled, FRAMES - RING, "%llu", (unsigned long long)pool.doubled);
	memset(seen, 0, sizeof(seen));
	cr_expect_eq(shunt_pool_audit(&pool, seen), 0);
}
