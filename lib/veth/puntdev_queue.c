// SPDX-License-Identifier: BSD-2-Clause
/* A worker's queue of frames for the kernel, and its packet socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "veth/puntdev.h"
#include "veth/puntdev_private.h"

union control {
	char buf[CMSG_SPACE(sizeof(uint32_t))];
	struct cmsghdr head;
};

struct shunt_puntdev_queue {
	int fd;
	unsigned cnt;
	uint32_t frame_max;
	uint8_t *frames; /* frame_max bytes each */
	uint64_t tags[SHUNT_PUNTDEV_QUEUE_LEN];
	struct iovec iovs[SHUNT_PUNTDEV_QUEUE_LEN];
	union control controls[SHUNT_PUNTDEV_QUEUE_LEN];
	struct mmsghdr msgs[SHUNT_PUNTDEV_QUEUE_LEN];
};

/* Protocol 0: the socket sends, and receives nothing. It does not block, since a worker must not: a
 * full device queue or a lack of memory is an error. */
static int open_socket(int ifindex)
{
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_ifindex = ifindex};
	const int bytes = 4 << 20;
	int ret, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
		goto fail;
	if (!bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
fail:
	ret = -errno;
	close(fd);
	return ret;
}

static void wire_message(struct shunt_puntdev_queue *queue, unsigned i)
{
	struct msghdr *msg = &queue->msgs[i].msg_hdr;
	struct cmsghdr *mark;

	queue->iovs[i].iov_base = queue->frames + (size_t)i * queue->frame_max;
	msg->msg_iov = &queue->iovs[i];
	msg->msg_iovlen = 1;
	msg->msg_control = queue->controls[i].buf;
	msg->msg_controllen = sizeof(queue->controls[i].buf);
	mark = &queue->controls[i].head;
	mark->cmsg_level = SOL_SOCKET;
	mark->cmsg_type = SO_MARK;
	mark->cmsg_len = CMSG_LEN(sizeof(uint32_t));
}

int shunt_puntdev_queue_create(struct shunt_puntdev_queue **out, const struct shunt_puntdev *dev,
			       uint32_t frame_max, struct shunt_err *err)
{
	struct shunt_puntdev_queue *queue = calloc(1, sizeof(*queue));
	unsigned i;
	int ret;

	*out = NULL;
	if (queue)
		queue->frames = calloc(SHUNT_PUNTDEV_QUEUE_LEN, frame_max);
	if (!queue || !queue->frames) {
		free(queue);
		return shunt_err_set(err, ENOMEM, "%s: not enough memory for a punt queue",
				     dev->name);
	}
	queue->fd = ret = open_socket(dev->ifindex);
	if (ret < 0) {
		shunt_puntdev_queue_destroy(queue);
		return shunt_err_set(err, -ret,
				     "%s: cannot open a packet socket: %s; CAP_NET_RAW and "
				     "CAP_NET_ADMIN are needed",
				     dev->name, strerror(-ret));
	}
	queue->frame_max = frame_max;
	for (i = 0; i < SHUNT_PUNTDEV_QUEUE_LEN; i++)
		wire_message(queue, i);
	*out = queue;
	return 0;
}

void shunt_puntdev_queue_destroy(struct shunt_puntdev_queue *queue)
{
	if (!queue)
		return;
	if (queue->fd >= 0)
		close(queue->fd);
	free(queue->frames);
	free(queue);
}

uint8_t *shunt_puntdev_queue_put(struct shunt_puntdev_queue *queue, uint32_t len, uint32_t ifindex,
				 uint64_t tag)
{
	unsigned i = queue->cnt;

	if (i == SHUNT_PUNTDEV_QUEUE_LEN || len > queue->frame_max)
		return NULL;
	queue->iovs[i].iov_len = len;
	memcpy(CMSG_DATA(&queue->controls[i].head), &ifindex, sizeof(ifindex));
	queue->tags[i] = tag;
	queue->cnt++;
	return queue->iovs[i].iov_base;
}

/* sendmmsg ends at the first frame that is refused; that one is given up. */
void shunt_puntdev_queue_send(struct shunt_puntdev_queue *queue,
			      void (*fate)(void *arg, uint64_t tag, bool sent), void *arg)
{
	unsigned at = 0;

	while (at < queue->cnt) {
		int n = sendmmsg(queue->fd, queue->msgs + at, queue->cnt - at, 0);
		unsigned until = at + (n > 0 ? (unsigned)n : 0);

		for (; at < until; at++)
			fate(arg, queue->tags[at], true);
		if (n <= 0)
			fate(arg, queue->tags[at++], false);
	}
	queue->cnt = 0;
}
