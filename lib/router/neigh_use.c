// SPDX-License-Identifier: BSD-2-Clause
#include "router/neigh_use.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Between two walks. The kernel takes five seconds to ask a neighbour, and does not tell that it
 * asks (state delay). */
#define PERIOD_NS  (4 * SHUNT_NS_PER_SEC)
#define TELL_BYTES 16384
#define TELL_MAX   128 /* bytes of one */

struct shunt_neigh_use {
	struct mnl_socket *nl;
	uint64_t due_ns;
	uint32_t at; /* neighbours up to here were looked at */
	size_t len;
	char buf[TELL_BYTES];
};

int shunt_neigh_use_open(struct shunt_neigh_use **out, struct shunt_err *err)
{
	struct shunt_neigh_use *use = calloc(1, sizeof(*use));

	*out = NULL;
	if (use)
		use->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!use || !use->nl) {
		free(use);
		return shunt_err_set(err, errno, "router: netlink socket: %s", strerror(errno));
	}
	*out = use;
	return 0;
}

void shunt_neigh_use_close(struct shunt_neigh_use *use)
{
	if (!use)
		return;
	mnl_socket_close(use->nl);
	free(use);
}

/* Refusals come back unasked; the neighbour may be gone. */
void shunt_neigh_use_tell(struct shunt_neigh_use *use)
{
	char buf[8192];

	if (use->len)
		mnl_socket_sendto(use->nl, use->buf, use->len);
	use->len = 0;
	while (recv(mnl_socket_get_fd(use->nl), buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static void add(struct shunt_neigh_use *use, const struct shunt_mirror_neigh_info *info)
{
	struct nlmsghdr *nlh;
	struct ndmsg *ndm;

	nlh = mnl_nlmsg_put_header(use->buf + use->len);
	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_REPLACE;
	ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));
	ndm->ndm_family = info->family;
	ndm->ndm_ifindex = (int)info->ifindex;
	ndm->ndm_state = NUD_STALE;
	ndm->ndm_flags = NTF_USE;
	mnl_attr_put(nlh, NDA_DST, info->family == AF_INET ? 4 : 16, info->addr);
	use->len += NLMSG_ALIGN(nlh->nlmsg_len);
}

bool shunt_neigh_use_collect(struct shunt_neigh_use *use, struct shunt_mirror *mirror,
			     uint64_t now_ns)
{
	const struct shunt_mirror_store *neighs = &shunt_mirror_table(mirror)->neighs;
	const struct shunt_mirror_neigh *neigh;

	if (now_ns < use->due_ns)
		return false;
	while (use->len + TELL_MAX <= sizeof(use->buf) &&
	       (use->at = shunt_mirror_store_next(neighs, use->at))) {
		neigh = shunt_mirror_store_at(neighs, use->at);
		if (neigh->info.state & NUD_STALE &&
		    shunt_mirror_neigh_is_used(mirror, &neigh->info))
			add(use, &neigh->info);
	}
	if (!use->at)
		use->due_ns = now_ns + PERIOD_NS;
	return use->at;
}
