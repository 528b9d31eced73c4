// SPDX-License-Identifier: BSD-2-Clause
/* Sending through AF_PACKET, one frame a call, by a thread that sleeps until the
 * next is due. For low rates, and for devices that XDP cannot send to. */
#include "gen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static int open_socket(const struct gen_sender *s, struct shunt_err *err)
{
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_ifindex = s->ifindex};
	const int on = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return shunt_err_set(err, errno, "socket(AF_PACKET): %s%s", strerror(errno),
				     errno == EPERM ? ": CAP_NET_RAW (or root) is needed" : "");
	if (!setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	rc = shunt_err_set(err, errno, "AF_PACKET socket on %s: %s", s->opts->dev, strerror(errno));
	close(fd);
	return rc;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / SHUNT_NS_PER_SEC),
				    .tv_nsec = (long)(ns % SHUNT_NS_PER_SEC)};

	/* A signal ends it early: the caller looks at the clock again. */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* The same rule as the XDP program's is_due; returns when to look again. */
static uint64_t wait_ns(struct shunt_gen_state *st, const struct shunt_gen_pace *pace, uint64_t now)
{
	const uint64_t t = (now - st->start_ns) << SHUNT_GEN_PACE_SHIFT;
	const uint64_t due = st->due > st->next ? st->due : st->next;

	if (t < due)
		return st->start_ns + (due >> SHUNT_GEN_PACE_SHIFT) + 1;
	st->due += pace->interval;
	if (st->next + pace->burst < t)
		st->next = t - pace->burst;
	st->next += pace->catchup;
	return 0;
}

static int send_one(struct gen_sender *s, int fd, uint8_t *buf)
{
	struct shunt_gen_state *st = s->state;

	if (s->opts->v6)
		shunt_gen_write(buf, s->frame, st->flow, st->seq, true);
	else
		shunt_gen_write(buf, s->frame, st->flow, st->seq, false);
	if (send(fd, buf, s->opts->size, 0) < 0) {
		if (errno == ENOBUFS || errno == EAGAIN || errno == EINTR)
			return 0; /* the device is full: the same frame again */
		return shunt_err_set(&s->err, errno, "send on %s: %s", s->opts->dev,
				     strerror(errno));
	}
	if (++st->flow >= s->opts->flows)
		st->flow = 0;
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELEASE);
	if (st->seq == s->limit)
		__atomic_store_n(&st->done_ns, shunt_clock_ns(), __ATOMIC_RELEASE);
	return 0;
}

int gen_send_packet(struct gen_sender *s)
{
	const bool paced = s->opts->rate_pps > 0;
	const struct shunt_gen_pace pace =
		paced ? gen_pace(s->opts->rate_pps) : (struct shunt_gen_pace){};
	uint8_t buf[GEN_SIZE_MAX] = {};
	int rc = 0, fd = open_socket(s, &s->err);

	if (fd < 0)
		return fd;
	prctl(PR_SET_TIMERSLACK, 1);
	__atomic_store_n(&s->state->start_ns, shunt_clock_ns(), __ATOMIC_RELEASE);
	while (!rc && !s->stop && !s->state->done_ns) {
		uint64_t later = paced ? wait_ns(s->state, &pace, shunt_clock_ns()) : 0;

		if (later)
			sleep_until(later);
		else
			rc = send_one(s, fd, buf);
	}
	close(fd);
	return rc;
}
