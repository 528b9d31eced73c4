// SPDX-License-Identifier: BSD-2-Clause
/* A worker's memory as a UMEM, with or without room for transmit metadata. */
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/xsk_private.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

/* Linux 6.8, the second since 6.11; struct xdp_umem_reg of earlier headers ends before the last. */
#define TX_SW_CSUM  (1u << 1)
#define TX_METADATA (1u << 2)
struct umem_reg {
	uint64_t addr, len;
	uint32_t chunk_size, headroom, flags, tx_metadata_len;
};

/* struct xsk_tx_metadata (linux/if_xdp.h), which ends where the packet begins. */
struct tx_meta {
	uint64_t flags;
	uint16_t csum_start, csum_offset;
	uint32_t unused[3];
};
#define TXMD_CHECKSUM (1u << 1)
_Static_assert(sizeof(struct tx_meta) == 24, "the kernel's layout");

/* Room before a received packet, after the kernel's own 256 bytes: virtio_net
 * puts its header there and refuses zero-copy without it. */
#define UMEM_HEADROOM (SHUNT_FRAME_OVERHEAD - SHUNT_FRAME_HEADROOM)

int shunt_xsk_socket(struct shunt_err *err)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		return fd;
	if (errno == EPERM || errno == EACCES)
		return shunt_err_set(err, EPERM,
				     "cannot open an AF_XDP socket: CAP_NET_RAW is missing; run as "
				     "root or grant it");
	if (errno == EAFNOSUPPORT)
		return shunt_err_set(err, EAFNOSUPPORT,
				     "this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS)");
	return shunt_err_set(err, errno, "cannot open an AF_XDP socket: %s", strerror(errno));
}

static int create(struct shunt_xsk_umem **out, struct shunt_pool *pool, uint32_t flags,
		  struct shunt_err *err)
{
	struct umem_reg reg = {
		.addr = (uintptr_t)pool->mem,
		.len = (uint64_t)pool->total * pool->frame_size,
		.chunk_size = pool->frame_size,
		.headroom = UMEM_HEADROOM,
		.flags = flags,
		.tx_metadata_len = flags & TX_METADATA ? sizeof(struct tx_meta) : 0,
	};
	struct shunt_xsk_umem *umem = calloc(1, sizeof(*umem));
	int ret;

	if (!umem)
		return shunt_err_set(err, ENOMEM, "UMEM: not enough memory");
	umem->pool = pool;
	umem->has_tx_meta = flags & TX_METADATA;
	umem->fd = shunt_xsk_socket(err);
	if (umem->fd < 0) {
		ret = umem->fd;
		free(umem);
		return ret;
	}
	if (setsockopt(umem->fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg))) {
		ret = shunt_err_set(err, errno, "cannot register %llu MiB of UMEM: %s%s",
				    (unsigned long long)(reg.len >> 20), strerror(errno),
				    errno == ENOBUFS || errno == ENOMEM || errno == EPERM
					    ? "; raise the memlock limit (ulimit -l), grant "
					      "CAP_IPC_LOCK, or ask for fewer frames"
					    : "");
		close(umem->fd);
		free(umem);
		return ret;
	}
	*out = umem;
	return 0;
}

int shunt_xsk_umem_create(struct shunt_xsk_umem **out, struct shunt_pool *pool,
			  struct shunt_err *err)
{
	return create(out, pool, 0, err);
}

int shunt_xsk_umem_create_tx(struct shunt_xsk_umem **out, struct shunt_pool *pool, bool is_software,
			     struct shunt_err *err)
{
	const int ret = create(out, pool, TX_METADATA | (is_software ? TX_SW_CSUM : 0), err);

	if (ret != -EINVAL)
		return ret;
	return shunt_err_set(err, EOPNOTSUPP,
			     "this kernel takes no transmit metadata (Linux 6.11 does): checksums "
			     "are computed in software only");
}

void shunt_xsk_tx_checksum(struct shunt_pkt *pkt, uint8_t *base, uint16_t start, uint16_t offset)
{
	const struct tx_meta meta = {
		.flags = TXMD_CHECKSUM, .csum_start = start, .csum_offset = offset};

	memcpy(shunt_pkt_data(pkt, base) - sizeof(meta), &meta, sizeof(meta));
	pkt->flags |= SHUNT_PKT_TX_META;
}

void shunt_xsk_umem_destroy(struct shunt_xsk_umem *umem)
{
	if (!umem)
		return;
	if (!umem->taken)
		close(umem->fd);
	free(umem);
}
