// SPDX-License-Identifier: BSD-2-Clause
/*
 * zc-probe: does this device's queue 0 take a zero-copy socket, in the kernel's own word?
 *
 * Binds one AF_XDP socket a device with XDP_ZEROCOPY, all on one UMEM, and prints for each what
 * XDP_OPTIONS answers, or with what errno the kernel refused. With -f and two devices it then
 * hands frames from either to the other until SIGTERM, for a minute at most. It stands beside
 * shuntd so that a failure says whose it is: the lab's, or shunt's.
 *
 * Exit: 0 every socket is zero-copy, 1 not, 2 usage.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xdp/libxdp.h>
#include <xdp/xsk.h>

enum {
	DEV_MAX = 2,
	RING_LEN = 512,
	FRAMES_PER_DEV = 2 * RING_LEN,
	/* igb rounds what it may write down to whole KiB: of 2048 bytes, less the kernel's 256 and
	 * the headroom, it uses 1024, and a longer frame arrives as two. */
	FRAME_BYTES = 4096,
	/* virtio_net writes its 12-byte header in front of the frame: with less it says EINVAL. */
	HEADROOM_BYTES = 64,
	BATCH_MAX = 64,
	FORWARD_MAX_S = 60,
};

struct port {
	const char *name;
	int ifindex, map_fd;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	struct xsk_socket *sock;
	__u64 spare[FRAMES_PER_DEV]; /* this device's frames that no ring holds */
	unsigned int spare_cnt;
};

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void refill(struct port *p)
{
	unsigned int n = xsk_prod_nb_free(&p->fill, p->spare_cnt);
	__u32 idx;

	n = n < p->spare_cnt ? n : p->spare_cnt;
	n = xsk_ring_prod__reserve(&p->fill, n, &idx);
	for (unsigned int i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&p->fill, idx + i) = p->spare[--p->spare_cnt];
	xsk_ring_prod__submit(&p->fill, n);
}

/* The program goes first: igb gives a queue its buffers when the program or the socket comes, and
 * only a socket that comes second makes it look at the fill ring again, which is empty until the
 * socket is there. The other way round igb receives nothing. */
static int attach(struct port *p)
{
	p->ifindex = if_nametoindex(p->name);
	return p->ifindex ? xsk_setup_xdp_prog(p->ifindex, &p->map_fd) : -errno;
}

static void detach(struct port *p)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(p->ifindex);

	if (!libxdp_get_error(mp))
		xdp_multiprog__detach(mp);
	xdp_multiprog__close(mp);
}

/* A queue whose last socket was closed a moment ago is busy until the driver has let go of it. */
static int bind_zerocopy(struct port *p, struct xsk_umem *umem)
{
	const struct xsk_socket_config cfg = {
		.rx_size = RING_LEN,
		.tx_size = RING_LEN,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP,
	};
	double end = now_s() + 5;
	int err;

	do {
		err = xsk_socket__create_shared(&p->sock, p->name, 0, umem, &p->rx, &p->tx,
						&p->fill, &p->comp, &cfg);
	} while (err == -EBUSY && now_s() < end && usleep(20000) == 0);
	return err;
}

/* Prints the kernel's word on the socket just bound. */
static bool is_zerocopy(const struct port *p)
{
	struct xdp_options opts = {0};
	socklen_t len = sizeof(opts);

	if (getsockopt(xsk_socket__fd(p->sock), SOL_XDP, XDP_OPTIONS, &opts, &len)) {
		printf("%s queue 0: XDP_OPTIONS: %s\n", p->name, strerror(errno));
		return false;
	}
	printf("%s queue 0: %s\n", p->name,
	       opts.flags & XDP_OPTIONS_ZEROCOPY ? "zerocopy" : "copy");
	return opts.flags & XDP_OPTIONS_ZEROCOPY;
}

/* A frame that was sent goes back to the device whose fill ring it came from. */
static void give_back(struct port *ports, __u64 addr)
{
	struct port *owner = &ports[addr / FRAME_BYTES / FRAMES_PER_DEV];

	owner->spare[owner->spare_cnt++] = addr - addr % FRAME_BYTES;
}

static void reclaim(struct port *ports, struct port *p)
{
	__u32 idx;
	unsigned int n = xsk_ring_cons__peek(&p->comp, RING_LEN, &idx);

	for (unsigned int i = 0; i < n; i++)
		give_back(ports, *xsk_ring_cons__comp_addr(&p->comp, idx + i));
	xsk_ring_cons__release(&p->comp, n);
}

/* What `from` received goes out of `to`, frame for frame. */
static unsigned int forward(struct port *from, struct port *to)
{
	unsigned int n = xsk_prod_nb_free(&to->tx, BATCH_MAX);
	__u32 rx_idx, tx_idx;

	n = xsk_ring_cons__peek(&from->rx, n < BATCH_MAX ? n : BATCH_MAX, &rx_idx);
	if (!n || !xsk_ring_prod__reserve(&to->tx, n, &tx_idx))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		*xsk_ring_prod__tx_desc(&to->tx, tx_idx + i) =
			*xsk_ring_cons__rx_desc(&from->rx, rx_idx + i);
	xsk_ring_prod__submit(&to->tx, n);
	xsk_ring_cons__release(&from->rx, n);
	return n;
}

static void kick(struct port *p)
{
	if (xsk_ring_prod__needs_wakeup(&p->tx))
		sendto(xsk_socket__fd(p->sock), NULL, 0, MSG_DONTWAIT, NULL, 0);
}

static void cross_connect(struct port *ports)
{
	struct pollfd fds[DEV_MAX] = {
		{.fd = xsk_socket__fd(ports[0].sock), .events = POLLIN},
		{.fd = xsk_socket__fd(ports[1].sock), .events = POLLIN},
	};
	double end = now_s() + FORWARD_MAX_S;
	unsigned long done = 0;

	while (!stop && now_s() < end) {
		poll(fds, DEV_MAX, 10);
		for (int i = 0; i < DEV_MAX; i++) {
			reclaim(ports, &ports[i]);
			refill(&ports[i]);
			done += forward(&ports[i], &ports[!i]);
			kick(&ports[!i]);
		}
	}
	printf("forwarded %lu\n", done);
}

static struct xsk_umem *create_umem(void *mem, struct port *ports)
{
	const struct xsk_umem_config cfg = {
		.fill_size = RING_LEN,
		.comp_size = RING_LEN,
		.frame_size = FRAME_BYTES,
		.frame_headroom = HEADROOM_BYTES,
	};
	struct xsk_umem *umem = NULL;
	int err = xsk_umem__create(&umem, mem, DEV_MAX * FRAMES_PER_DEV * FRAME_BYTES,
				   &ports[0].fill, &ports[0].comp, &cfg);

	if (err)
		fprintf(stderr, "zc-probe: xsk_umem__create: %s\n", strerror(-err));
	return umem;
}

static bool open_port(struct port *p, int idx, struct xsk_umem *umem)
{
	int err = attach(p);

	err = err ? err : bind_zerocopy(p, umem);
	err = err ? err : xsk_socket__update_xskmap(p->sock, p->map_fd);
	if (err) {
		printf("%s queue 0: refused: %s\n", p->name, strerror(-err));
		return false;
	}
	for (int i = 0; i < FRAMES_PER_DEV; i++)
		p->spare[p->spare_cnt++] = (__u64)(idx * FRAMES_PER_DEV + i) * FRAME_BYTES;
	refill(p);
	return is_zerocopy(p);
}

int main(int argc, char **argv)
{
	static struct port ports[DEV_MAX]; /* zeroed: libxdp trusts the indices it finds */
	bool ok = true, want_forward = false;
	struct xsk_umem *umem;
	int cnt, opt;
	void *mem;

	while ((opt = getopt(argc, argv, "f")) == 'f')
		want_forward = true;
	cnt = argc - optind;
	if (opt != -1 || cnt < 1 || cnt > DEV_MAX || (want_forward && cnt != DEV_MAX)) {
		fprintf(stderr, "usage: zc-probe [-f] DEV [DEV]\n");
		return 2;
	}
	signal(SIGTERM, on_term);
	libbpf_set_print(NULL);
	libxdp_set_print(NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	mem = mmap(NULL, DEV_MAX * FRAMES_PER_DEV * FRAME_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	umem = mem == MAP_FAILED ? NULL : create_umem(mem, ports);
	if (!umem)
		return 1;
	for (int i = 0; i < cnt; i++) {
		ports[i].name = argv[optind + i];
		ok = open_port(&ports[i], i, umem) && ok;
	}
	if (ok && want_forward)
		cross_connect(ports);
	for (int i = 0; i < cnt; i++) {
		detach(&ports[i]);
		xsk_socket__delete(ports[i].sock);
	}
	xsk_umem__delete(umem);
	return !ok;
}
