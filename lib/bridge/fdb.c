// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/fdb.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/netlink.h"
#include "bridge/fdb_take.h"

/* Some 60,000 events. Without CAP_NET_ADMIN the kernel bounds it by rmem_max. */
#define RCVBUF_BYTES (16 << 20)

#define READ_BYTES   65536
#define READS_MAX    256u /* a service: some milliseconds */

/* A message that tells of a station, at most. What is told in one system call, and what may wait
 * for that. */
#define TELL_LEN                                                                    \
	(NLMSG_ALIGN(sizeof(struct nlmsghdr)) + NLMSG_ALIGN(sizeof(struct ndmsg)) + \
	 2 * MNL_ALIGN(sizeof(struct nlattr)) + MNL_ALIGN(6) + MNL_ALIGN(sizeof(uint16_t)))
#define TELL_BYTES (800 * TELL_LEN)
#define TELLS_MAX  (32 * TELL_BYTES)

struct shunt_fdb {
	struct mnl_socket *events; /* dumps too */
	struct mnl_socket *telling;
	const struct shunt_fdb_ops *ops;
	void *arg;
	struct shunt_fdb_stats stats;
	unsigned seq;
	/* of the dump under way */
	bool dump_done, is_interrupted;
	int dump_error; /* -errno, the kernel's answer */
	bool is_behind; /* events were lost, and no dump has said since what there is */
	uint64_t current_ns;
	struct tells {
		char *buf; /* [max], owned */
		size_t len, max;
	} noted, sending;
	char buf[READ_BYTES];
};

/* --- messages --------------------------------------------------------------------------------- */

/* The kernel's word on a dump: its end, or that it does not begin (EBUSY: one is under way). */
static void take_end(struct shunt_fdb *fdb, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_seq != fdb->seq)
		return;
	fdb->dump_done = true;
	if (nlh->nlmsg_type == NLMSG_ERROR && mnl_nlmsg_get_payload_len(nlh) >= sizeof(*error))
		fdb->dump_error = error->error;
}

static void take(struct shunt_fdb *fdb, const struct nlmsghdr *nlh)
{
	fdb->stats.messages++;
	fdb->is_interrupted |= nlh->nlmsg_seq == fdb->seq && nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
		take_end(fdb, nlh);
	else
		shunt_fdb_take(nlh, fdb->ops, fdb->arg);
}

/* Returns the bytes taken, or -errno: -EAGAIN when none were there, or came in time. */
static ssize_t receive(struct shunt_fdb *fdb, int flags)
{
	int fd = mnl_socket_get_fd(fdb->events);
	ssize_t n = recv(fd, fdb->buf, sizeof(fdb->buf), flags);
	const struct nlmsghdr *nlh = (const void *)fdb->buf;
	int left = (int)n;

	if (n < 0)
		return -errno;
	for (; shunt_netlink_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		take(fdb, nlh);
	return n;
}

/* --- dumps ------------------------------------------------------------------------------------ */

struct question {
	uint16_t type;
	uint8_t family;
	uint8_t head_len; /* of the message's first part, whose first byte is the family */
};

static int ask(struct shunt_fdb *fdb, const struct question *question)
{
	char buf[256] = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *head;

	nlh->nlmsg_type = question->type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++fdb->seq;
	head = mnl_nlmsg_put_extra_header(nlh, question->head_len);
	head->rtgen_family = question->family;
	fdb->dump_done = fdb->is_interrupted = false;
	fdb->dump_error = 0;
	return mnl_socket_sendto(fdb->events, nlh, nlh->nlmsg_len) < 0 ? -errno : 0;
}

/* One dump, to its end, since another cannot begin before. Returns 0, or
 * - -ENOBUFS: events were lost meanwhile;
 * - -EINTR: what was dumped changed meanwhile;
 * - another -errno. */
static int dump(struct shunt_fdb *fdb, const struct question *question)
{
	int ret = ask(fdb, question), lost = 0;

	while (!ret && !fdb->dump_done) {
		const ssize_t n = receive(fdb, 0);

		if (n == -ENOBUFS)
			lost = -ENOBUFS;
		else if (n < 0 && n != -EINTR)
			ret = (int)n;
	}
	if (!ret)
		ret = fdb->dump_error ? fdb->dump_error : lost;
	return ret || !fdb->is_interrupted ? ret : -EINTR;
}

/* A kernel whose bridges cannot filter VLANs has none to tell of. */
static int dump_one(struct shunt_fdb *fdb, const struct question *question)
{
	const int ret = dump(fdb, question);

	return ret == -EOPNOTSUPP && question->type == RTM_GETVLAN ? 0 : ret;
}

static int dump_once(struct shunt_fdb *fdb)
{
	static const struct question questions[] = {
		/* bridges, with their settings */
		{RTM_GETLINK, AF_UNSPEC, sizeof(struct ifinfomsg)},
		/* their ports, those's VLANs, and their stations */
		{RTM_GETLINK, AF_BRIDGE, sizeof(struct ifinfomsg)},
		{RTM_GETVLAN, AF_BRIDGE, sizeof(struct br_vlan_msg)},
		{RTM_GETNEIGH, AF_BRIDGE, sizeof(struct ifinfomsg)},
	};
	unsigned i;
	int ret = 0;

	fdb->ops->begin(fdb->arg);
	for (i = 0; i < SHUNT_ARRAY_LEN(questions) && !ret; i++)
		ret = dump_one(fdb, &questions[i]);
	if (!ret)
		fdb->ops->end(fdb->arg);
	return ret;
}

/* Dumps again what was interrupted or overrun, up to a bound. Such a dump is never believed. */
static int dump_all(struct shunt_fdb *fdb)
{
	unsigned tries = 8;
	int ret;

	do {
		ret = dump_once(fdb);
		fdb->stats.overruns += ret == -ENOBUFS;
		fdb->stats.repeated += ret == -EINTR || ret == -EBUSY;
	} while ((ret == -ENOBUFS || ret == -EINTR || ret == -EBUSY) && --tries);
	fdb->is_behind = ret;
	return ret;
}

/* --- made and unmade -------------------------------------------------------------------------- */

static int open_sockets(struct shunt_fdb *fdb)
{
	/* a dump that never ends must not hang the daemon */
	const struct timeval limit = {.tv_sec = 5};
	int groups[] = {RTNLGRP_NEIGH, RTNLGRP_LINK, RTNLGRP_BRVLAN}, rcvbuf = RCVBUF_BYTES, fd;
	unsigned i;

	fdb->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	fdb->telling = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!fdb->events || !fdb->telling || mnl_socket_bind(fdb->events, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_bind(fdb->telling, 0, MNL_SOCKET_AUTOPID))
		return -errno;
	fd = mnl_socket_get_fd(fdb->events);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (i = 0; i < SHUNT_ARRAY_LEN(groups); i++)
		if (mnl_socket_setsockopt(fdb->events, NETLINK_ADD_MEMBERSHIP, &groups[i],
					  sizeof(int)))
			return -errno;
	return 0;
}

int shunt_fdb_create(struct shunt_fdb **out, const struct shunt_fdb_ops *ops, void *arg,
		     struct shunt_err *err)
{
	struct shunt_fdb *fdb = calloc(1, sizeof(*fdb));
	int ret;

	if (!fdb)
		return shunt_err_set(err, ENOMEM, "bridge: not enough memory");
	fdb->ops = ops;
	fdb->arg = arg;
	ret = open_sockets(fdb);
	if (!ret)
		ret = dump_all(fdb);
	if (ret) {
		shunt_fdb_destroy(fdb);
		return shunt_err_set(err, -ret,
				     "bridge: cannot follow the kernel's bridge by netlink: %s",
				     strerror(-ret));
	}
	*out = fdb;
	return 0;
}

void shunt_fdb_destroy(struct shunt_fdb *fdb)
{
	if (!fdb)
		return;
	if (fdb->events)
		mnl_socket_close(fdb->events);
	if (fdb->telling)
		mnl_socket_close(fdb->telling);
	free(fdb->noted.buf);
	free(fdb->sending.buf);
	free(fdb);
}

int shunt_fdb_fd(const struct shunt_fdb *fdb)
{
	return mnl_socket_get_fd(fdb->events);
}

static void read_events(struct shunt_fdb *fdb)
{
	unsigned left = READS_MAX;
	uint64_t now_ns;
	ssize_t n;

	do {
		now_ns = shunt_clock_ns();
		n = receive(fdb, MSG_DONTWAIT);
	} while ((n > 0 || n == -EINTR) && --left);
	if (n == -EAGAIN)
		fdb->current_ns = now_ns;
	if (n != -ENOBUFS)
		return;
	fdb->stats.overruns++;
	fdb->is_behind = true;
}

/* A dump takes time, so whoever forwards hears first that events were lost. */
void shunt_fdb_service(struct shunt_fdb *fdb)
{
	const uint64_t now_ns = shunt_clock_ns();

	if (!fdb->is_behind)
		read_events(fdb);
	else if (!dump_all(fdb))
		fdb->current_ns = now_ns;
}

uint64_t shunt_fdb_current_ns(const struct shunt_fdb *fdb)
{
	return fdb->current_ns;
}

bool shunt_fdb_is_behind(const struct shunt_fdb *fdb)
{
	return fdb->is_behind;
}

void shunt_fdb_stats(const struct shunt_fdb *fdb, struct shunt_fdb_stats *out)
{
	*out = fdb->stats;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* Refusals come back unasked; the port may be gone. */
static void read_refusals(struct shunt_fdb *fdb)
{
	char buf[8192];

	while (recv(mnl_socket_get_fd(fdb->telling), buf, sizeof(buf), MSG_DONTWAIT) > 0)
		fdb->stats.refused++;
}

bool shunt_fdb_take_tells(struct shunt_fdb *fdb)
{
	const struct tells sent = fdb->sending;

	fdb->sending = fdb->noted;
	fdb->noted = sent;
	fdb->noted.len = 0;
	return fdb->sending.len;
}

bool shunt_fdb_has_tells(const struct shunt_fdb *fdb)
{
	return fdb->noted.len;
}

/* How many bytes of messages go with one call. */
static size_t call_len(const char *buf, size_t len)
{
	size_t at = 0, next;

	while (at < len) {
		next = at + ((const struct nlmsghdr *)(buf + at))->nlmsg_len;
		if (next > TELL_BYTES)
			break;
		at = next;
	}
	return at;
}

void shunt_fdb_send_tells(struct shunt_fdb *fdb)
{
	const struct tells *t = &fdb->sending;
	size_t at, len;

	for (at = 0; at < t->len; at += len) {
		len = call_len(t->buf + at, t->len - at);
		if (mnl_socket_sendto(fdb->telling, t->buf + at, len) < 0)
			fdb->stats.refused++;
		read_refusals(fdb);
	}
	fdb->sending.len = 0;
}

/* Without memory, or with too many waiting, the station is told with the next tell of all. */
static char *make_room(struct tells *t)
{
	const size_t max = t->max ? 2 * t->max : TELL_BYTES;
	char *buf;

	if (t->len + TELL_LEN <= t->max)
		return t->buf + t->len;
	buf = max > TELLS_MAX ? NULL : realloc(t->buf, max);
	if (!buf)
		return NULL;
	t->buf = buf;
	t->max = max;
	return t->buf + t->len;
}

void shunt_fdb_tell(struct shunt_fdb *fdb, uint32_t ifindex, const uint8_t *mac, unsigned vid)
{
	char *at = make_room(&fdb->noted);
	struct nlmsghdr *nlh;
	struct ndmsg *ndm;

	if (!at)
		return;
	nlh = mnl_nlmsg_put_header(at);
	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE;
	ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)ifindex;
	ndm->ndm_state = NUD_REACHABLE;
	ndm->ndm_flags = NTF_MASTER | NTF_USE;
	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	if (vid)
		mnl_attr_put_u16(nlh, NDA_VLAN, (uint16_t)vid);
	fdb->noted.len += nlh->nlmsg_len;
	fdb->stats.told++;
}
