// SPDX-License-Identifier: BSD-2-Clause
/* Sending through AF_PACKET, one frame a call, by a thread that sleeps until the
 * next is due. For low rates, and for devices that XDP cannot send to. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "gen.h"

static int open_socket(const struct gen_sender *s, struct shunt_err *err)
{
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET,
					 .sll_ifindex = s->plan->dev.ifindex};
	const int on = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return shunt_err_set(err, errno, "socket(AF_PACKET): %s%s", strerror(errno),
				     errno == EPERM ? ": CAP_NET_RAW (or root) is needed" : "");
	if (!setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	rc = shunt_err_set(err, errno, "AF_PACKET socket on %s: %s", s->plan->opts->dev,
			   strerror(errno));
	close(fd);
	return rc;
}

/* The same frame again while the device is full. */
static int send_one(struct gen_sender *s, int fd, const uint8_t *buf, uint32_t len)
{
	while (send(fd, buf, len, 0) < 0) {
		if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
			return shunt_err_set(&s->err, errno, "send on %s: %s", s->plan->opts->dev,
					     strerror(errno));
		if (s->stop)
			break;
	}
	return 0;
}

int gen_send_packet(struct gen_sender *s)
{
	uint8_t buf[GEN_SIZE_MAX + GEN_VLAN_LEN] = {};
	int rc = 0, fd = open_socket(s, &s->err);

	if (fd < 0)
		return fd;
	while (!rc && !gen_next_is_over(s)) {
		const uint64_t now = shunt_clock_ns();

		if (gen_next_due(s, now))
			rc = send_one(s, fd, buf, gen_next_write(s, buf, now));
		else
			gen_next_sleep(s, 0);
	}
	close(fd);
	return rc;
}
