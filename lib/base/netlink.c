// SPDX-License-Identifier: BSD-2-Clause
#include "base/netlink.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define TRIES	  16
#define TIMEOUT_S 1

int shunt_netlink_run(const void *messages, size_t len, unsigned seq, unsigned portid,
		      mnl_cb_t take, void *arg)
{
	const struct nlmsghdr *nlh = messages;
	int left = (int)len;

	while (shunt_netlink_ok(nlh, left))
		nlh = mnl_nlmsg_next(nlh, &left);
	if (left < (int)sizeof(*nlh))
		return mnl_cb_run(messages, len, seq, portid, take, arg);
	errno = EBADMSG;
	return MNL_CB_ERROR;
}

/* Takes what is left of a dump that was interrupted, too: libmnl stops at the mark. */
static int receive(struct mnl_socket *nl, const struct shunt_netlink_dump *dump)
{
	char buf[32768];
	ssize_t n;

	for (;;) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		switch (shunt_netlink_run(buf, (size_t)n, 0, 0, dump->take, dump->arg)) {
		case MNL_CB_OK:
			break;
		case MNL_CB_STOP:
			return 0;
		default:
			return -errno;
		}
	}
}

static int ask(const struct shunt_netlink_dump *dump)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct mnl_socket *nl = mnl_socket_open2(dump->bus, SOCK_CLOEXEC);
	char buf[256];
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	int ret;

	if (!nl)
		return -errno;
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	memcpy(buf, dump->request, dump->request->nlmsg_len);
	nlh->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
	ret = mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0 ? -errno : receive(nl, dump);
	mnl_socket_close(nl);
	return ret;
}

int shunt_netlink_dump(const struct shunt_netlink_dump *dump)
{
	int ret = -EINTR;
	unsigned try;

	if (dump->request->nlmsg_len > 256)
		return -EMSGSIZE;
	for (try = 0; try < TRIES && ret == -EINTR; try++) {
		if (dump->forget)
			dump->forget(dump->arg);
		ret = ask(dump);
	}
	return ret;
}
