// SPDX-License-Identifier: BSD-2-Clause
/* Opening an AF_XDP queue. libxdp's xsk_socket__create binds before its caller
 * can put a frame into the fill ring of any but a UMEM's first socket, and some
 * drivers leak or stall when they start on an empty one; so the socket is set up
 * here, in the order of Documentation/networking/af_xdp.rst, and libxdp's inline
 * helpers use its rings. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "io/xsk_private.h"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
/* Linux 6.17: packets that one copying transmit call may send. */
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif
/* Linux 6.6: packets over several buffers. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif

/* What a copying transmit call sends where XDP_MAX_TX_SKB_BUDGET is unknown
 * (TX_BATCH_SIZE in net/xdp/xsk.c). */
#define TX_BUDGET_DEFAULT 32

/* The kernel tears a socket's queue down some time after close() returned, so bind is tried for two
 * seconds. Tries are counted, no clock is read: where other processes have the CPUs, the kernel
 * gets no further either. */
#define BUSY_PAUSE_NS	  (10 * 1000 * 1000)
#define BUSY_TRIES	  200u

/* --- rings ------------------------------------------------------------------------------------ */

struct ring_spec {
	int option;
	uint64_t pgoff;
	size_t desc_len;
};

enum { RING_RX, RING_TX, RING_FILL, RING_COMP };

static const struct ring_spec specs[4] = {
	[RING_RX] = {XDP_RX_RING, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc)},
	[RING_TX] = {XDP_TX_RING, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc)},
	[RING_FILL] = {XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t)},
	[RING_COMP] = {XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t)},
};

static int map_ring(struct xsk_queue *xsk, unsigned which, const struct xdp_ring_offset *off,
		    uint32_t size)
{
	struct ring_map *map = &xsk->map[which];

	map->len = off->desc + size * specs[which].desc_len;
	map->mem = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			xsk->queue.fd, (off_t)specs[which].pgoff);
	if (map->mem == MAP_FAILED) {
		map->mem = NULL;
		return -errno;
	}
	return 0;
}

/* libxdp's ring structs are the same but for their type; a producer's cached
 * consumer runs one ring ahead (see xsk_prod_nb_free). */
#define SET_RING(r, map, off, cnt)                                             \
	do {                                                                   \
		(r)->mask = (cnt)-1;                                           \
		(r)->size = (cnt);                                             \
		(r)->producer = (void *)((char *)(map).mem + (off)->producer); \
		(r)->consumer = (void *)((char *)(map).mem + (off)->consumer); \
		(r)->flags = (void *)((char *)(map).mem + (off)->flags);       \
		(r)->ring = (char *)(map).mem + (off)->desc;                   \
		(r)->cached_prod = *(r)->producer;                             \
		(r)->cached_cons = *(r)->consumer;                             \
	} while (0)

/* The receive ring has half the fill ring's size, so that when a worker falls behind it is full
 * before the driver finds no frame: igb (Linux 7.3) that runs out of frames at its ring's end takes
 * old descriptors for new ones and delivers frames twice. */
static int create_rings(struct xsk_queue *xsk, uint32_t size)
{
	const uint32_t sizes[] = {
		[RING_RX] = size / 2, [RING_TX] = size, [RING_FILL] = size, [RING_COMP] = size};
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	unsigned i;
	int ret;

	for (i = 0; i < SHUNT_ARRAY_LEN(sizes); i++)
		if (setsockopt(xsk->queue.fd, SOL_XDP, specs[i].option, &sizes[i],
			       sizeof(sizes[i])))
			return -errno;
	if (getsockopt(xsk->queue.fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		return -errno;
	if (len != sizeof(off)) /* before Linux 5.4: no need_wakeup */
		return -EPROTO;
	ret = map_ring(xsk, RING_RX, &off.rx, sizes[RING_RX]);
	if (!ret)
		ret = map_ring(xsk, RING_TX, &off.tx, size);
	if (!ret)
		ret = map_ring(xsk, RING_FILL, &off.fr, size);
	if (!ret)
		ret = map_ring(xsk, RING_COMP, &off.cr, size);
	if (ret)
		return ret;
	SET_RING(&xsk->rx, xsk->map[RING_RX], &off.rx, sizes[RING_RX]);
	SET_RING(&xsk->tx, xsk->map[RING_TX], &off.tx, size);
	SET_RING(&xsk->fill, xsk->map[RING_FILL], &off.fr, size);
	SET_RING(&xsk->comp, xsk->map[RING_COMP], &off.cr, size);
	xsk->tx.cached_cons += size;
	xsk->fill.cached_cons += size;
	return 0;
}

/* --- bind ------------------------------------------------------------------------------------- */

static int bind_once(const struct xsk_queue *xsk, const struct shunt_xsk_opts *opts,
		     unsigned ifindex)
{
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = opts->queue,
	};

	if (xsk->umem->users) {
		/* mode and need_wakeup are those of the first socket */
		addr.sxdp_flags = XDP_SHARED_UMEM;
		addr.sxdp_shared_umem_fd = (uint32_t)xsk->umem->fd;
	} else {
		addr.sxdp_flags = XDP_USE_NEED_WAKEUP;
		if (xsk->umem->pool->links)
			addr.sxdp_flags |= XDP_USE_SG;
		if (opts->copy_mode == SHUNT_COPY_COPY || opts->generic)
			addr.sxdp_flags |= XDP_COPY;
		else if (opts->copy_mode == SHUNT_COPY_ZEROCOPY)
			addr.sxdp_flags |= XDP_ZEROCOPY;
	}
	return bind(xsk->queue.fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
}

static int bind_queue(const struct xsk_queue *xsk, const struct shunt_xsk_opts *opts,
		      struct shunt_err *err)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
	unsigned ifindex = if_nametoindex(opts->ifname), tries = 0;
	int ret;

	if (!ifindex)
		return shunt_err_set(err, ENODEV, "%s: no such device", opts->ifname);
	while ((ret = bind_once(xsk, opts, ifindex)) == -EBUSY && tries++ < BUSY_TRIES)
		nanosleep(&pause, NULL);
	switch (ret) {
	case 0:
		return 0;
	case -EBUSY:
		return shunt_err_set(err, EBUSY,
				     "%s queue %u: another AF_XDP socket is bound to it; stop the "
				     "program that holds it or serve fewer queues",
				     opts->ifname, opts->queue);
	case -EOPNOTSUPP:
	case -EINVAL:
		if (opts->copy_mode == SHUNT_COPY_ZEROCOPY)
			return shunt_err_set(err, -ret,
					     "%s queue %u: the driver or kernel refuses zero-copy "
					     "(bind: %s); use copy_mode auto or copy",
					     opts->ifname, opts->queue, strerror(-ret));
		return shunt_err_set(err, -ret,
				     "%s queue %u: the kernel refuses an AF_XDP socket (bind: %s); "
				     "does the device have this queue? (ethtool -l %s)",
				     opts->ifname, opts->queue, strerror(-ret), opts->ifname);
	case -ENETDOWN:
		return shunt_err_set(err, ENETDOWN, "%s is down; ip link set %s up", opts->ifname,
				     opts->ifname);
	case -EPERM:
		return shunt_err_set(err, EPERM,
				     "%s queue %u: not allowed to bind an AF_XDP socket: "
				     "CAP_NET_RAW and CAP_NET_ADMIN are needed",
				     opts->ifname, opts->queue);
	default:
		return shunt_err_set(err, -ret, "%s queue %u: cannot bind an AF_XDP socket: %s",
				     opts->ifname, opts->queue, strerror(-ret));
	}
}

/* --- open and close --------------------------------------------------------------------------- */

/* A copying transmit stops where the socket's send buffer ends until the driver has sent something:
 * at the default of 208 KiB after some ninety packets of 1514 bytes or, where each piece is a page,
 * nine of 9014. The ring should end first. Without CAP_NET_ADMIN the buffer keeps its size, and
 * transmit is slower. */
static void widen_send_buffer(const struct xsk_queue *xsk)
{
	int bytes = (int)SHUNT_MIN(xsk->tx.size * 2ULL * SHUNT_FRAME_SIZE_MAX, 1ULL << 30);

	setsockopt(xsk->queue.fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
}

static void ask_options(struct xsk_queue *xsk)
{
	struct xdp_options options = {0};
	socklen_t len = sizeof(options);
	uint32_t budget = xsk->tx.size;

	if (!getsockopt(xsk->queue.fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		xsk->in_use.zerocopy = options.flags & XDP_OPTIONS_ZEROCOPY;
	xsk->in_use.need_wakeup = true;
	xsk->in_use.multi_buffer = xsk->umem->pool->links;
	if (!xsk->in_use.zerocopy)
		widen_send_buffer(xsk);
	xsk->tx_budget = TX_BUDGET_DEFAULT;
	if (!setsockopt(xsk->queue.fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget)))
		xsk->tx_budget = budget;
}

/* A kernel before 5.11, or without CONFIG_NET_RX_BUSY_POLL, has no preferred busy
 * polling: in_use says so, and the caller decides. */
static void prefer_busy_poll(struct xsk_queue *xsk, const struct shunt_xsk_opts *opts)
{
	int on = 1, budget = (int)opts->busy_budget, usecs = 20;

	xsk->in_use.busy_poll =
		!setsockopt(xsk->queue.fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof(on)) &&
		!setsockopt(xsk->queue.fd, SOL_SOCKET, SO_BUSY_POLL, &usecs, sizeof(usecs)) &&
		!setsockopt(xsk->queue.fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget,
			    sizeof(budget));
}

/* Puts a whole ring of frames into the fill ring. */
static int fill_ring(struct xsk_queue *xsk, const char *ifname, struct shunt_err *err)
{
	struct shunt_pool *pool = xsk->queue.pool;
	uint32_t at, i;

	if (pool->free_cnt < xsk->fill.size)
		return shunt_err_set(err, ENOMEM,
				     "%s queue %u: the pool has %u frames left and the fill ring "
				     "takes %u; raise frames or lower ring_size",
				     ifname, xsk->queue.index, pool->free_cnt, xsk->fill.size);
	if (xsk_ring_prod__reserve(&xsk->fill, xsk->fill.size, &at) != xsk->fill.size)
		return shunt_err_set(err, EPROTO, "%s: fill ring not empty at start", ifname);
	for (i = 0; i < xsk->fill.size; i++)
		*xsk_ring_prod__fill_addr(&xsk->fill, at + i) = pool->free[--pool->free_cnt];
	xsk_ring_prod__submit(&xsk->fill, xsk->fill.size);
	return 0;
}

/* Over a descriptor of its own: the caller may close the one it gave before the queue leaves the
 * map, and that number may be another file's by then. */
static int enter_map(struct xsk_queue *xsk, const struct shunt_xsk_opts *opts,
		     struct shunt_err *err)
{
	uint32_t key = xsk->queue.index;
	int fd, code;

	if (opts->xsks_fd < 0)
		return 0;
	fd = fcntl(opts->xsks_fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && !bpf_map_update_elem(fd, &key, &xsk->queue.fd, BPF_ANY)) {
		xsk->xsks_fd = fd;
		return 0;
	}
	code = errno;
	if (fd >= 0)
		close(fd);
	return shunt_err_set(err, code, "%s queue %u: cannot enter the socket in the XSKMAP: %s",
			     opts->ifname, key, strerror(code));
}

static int setup(struct xsk_queue *xsk, const struct shunt_xsk_opts *opts, struct shunt_err *err)
{
	int ret = create_rings(xsk, opts->ring_size);

	if (ret)
		return shunt_err_set(err, -ret,
				     "%s queue %u: cannot create AF_XDP rings of %u: %s; ring_size "
				     "is a power of two",
				     opts->ifname, opts->queue, opts->ring_size, strerror(-ret));
	/* Often enough that the ring never runs low, seldom enough that its
	 * producer line, which the driver reads, is written once a batch. */
	xsk->fill_batch = SHUNT_MIN(opts->ring_size / 8, 32u);
	/* What may arrive until the worker looks again. Higher, and frames go to the
	 * kernel that a user socket had room for; lower, and a burst finds none. */
	xsk->dry_below = opts->ring_size / 8;
	ret = fill_ring(xsk, opts->ifname, err);
	if (ret)
		return ret;
	if (opts->busy_poll)
		prefer_busy_poll(xsk, opts);
	ret = bind_queue(xsk, opts, err);
	if (ret)
		return ret;
	xsk->umem->users++;
	ask_options(xsk);
	return enter_map(xsk, opts, err);
}

/* The frames of a fill ring that no driver serves go back to the pool. */
static void take_back(struct xsk_queue *xsk)
{
	uint32_t i;

	for (i = 0; i < xsk->fill.cached_prod; i++)
		shunt_pool_free(xsk->queue.pool, &((const uint64_t *)xsk->fill.ring)[i], 1);
}

int shunt_xsk_open(struct shunt_queue **out, struct shunt_xsk_umem *umem,
		   const struct shunt_xsk_opts *opts, struct shunt_err *err)
{
	struct xsk_queue *xsk = aligned_alloc(SHUNT_CACHELINE, (sizeof(*xsk) + 63) & ~63UL);
	int ret;

	if (!xsk)
		return shunt_err_set(err, ENOMEM, "%s: not enough memory", opts->ifname);
	memset(xsk, 0, sizeof(*xsk));
	xsk->queue.ops = umem->has_tx_meta   ? &shunt_xsk_tx_meta_ops
			 : umem->pool->links ? &shunt_xsk_sg_ops
					     : &shunt_xsk_ops;
	xsk->queue.pool = umem->pool;
	xsk->queue.port = opts->port;
	xsk->queue.is_steered = true;
	xsk->queue.index = opts->queue;
	xsk->umem = umem;
	xsk->xsks_fd = -1;
	xsk->gate = opts->gate;
	xsk->queue.hung = xsk->gate ? &xsk->gate->is_hung : NULL;
	xsk->queue.fd = umem->taken ? shunt_xsk_socket(err) : umem->fd;
	if (xsk->queue.fd < 0) {
		ret = xsk->queue.fd;
		free(xsk);
		return ret;
	}
	umem->taken = true;
	ret = setup(xsk, opts, err);
	if (ret) {
		take_back(xsk);
		shunt_xsk_close(&xsk->queue);
		return ret;
	}
	*out = &xsk->queue;
	return 0;
}

void shunt_xsk_close(struct shunt_queue *queue)
{
	struct xsk_queue *xsk = shunt_container_of(queue, struct xsk_queue, queue);
	uint32_t key = queue->index;
	unsigned i;

	/* Out of the map first: no frame is redirected to a dying socket. */
	if (xsk->xsks_fd >= 0) {
		bpf_map_delete_elem(xsk->xsks_fd, &key);
		close(xsk->xsks_fd);
	}
	if (xsk->gate)
		__atomic_store_n(&xsk->gate->beat_ns, 0, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++)
		if (xsk->map[i].mem)
			munmap(xsk->map[i].mem, xsk->map[i].len);
	close(queue->fd);
	free(xsk);
}

/* --- what the kernel says --------------------------------------------------------------------- */

static bool is_xsk(const struct shunt_queue *queue)
{
	return queue->ops == &shunt_xsk_ops || queue->ops == &shunt_xsk_sg_ops ||
	       queue->ops == &shunt_xsk_tx_meta_ops;
}

int shunt_xsk_in_use(const struct shunt_queue *queue, struct shunt_xsk_in_use *out)
{
	if (!is_xsk(queue))
		return -EINVAL;
	*out = shunt_container_of(queue, const struct xsk_queue, queue)->in_use;
	return 0;
}

int shunt_xsk_kernel_stats(const struct shunt_queue *queue, struct shunt_xsk_kernel_stats *out)
{
	struct xdp_statistics stats = {0};
	socklen_t len = sizeof(stats);

	if (!is_xsk(queue))
		return -EINVAL;
	if (getsockopt(queue->fd, SOL_XDP, XDP_STATISTICS, &stats, &len))
		return -errno;
#define X(name, help) out->name = stats.name;
	SHUNT_XSK_KERNEL_COUNTERS(X)
#undef X
	return 0;
}
