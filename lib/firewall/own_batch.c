// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/own_batch.h"

#include <errno.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

void shunt_own_batch_begin(struct shunt_own_batch *batch, struct mnl_socket *nl, uint32_t *seq,
			   const char *table)
{
	*batch = (struct shunt_own_batch){.nl = nl, .seq = seq, .table = table};
	batch->messages = mnl_nlmsg_batch_start(batch->buf, sizeof(batch->buf));
	if (!batch->messages) {
		batch->is_short = true;
		return;
	}
	nftnl_batch_begin(mnl_nlmsg_batch_current(batch->messages), ++*seq);
	mnl_nlmsg_batch_next(batch->messages);
	batch->first_seq = *seq;
}

struct nlmsghdr *shunt_own_batch_head(struct shunt_own_batch *batch, uint16_t type, uint16_t flags)
{
	batch->last_seq = ++*batch->seq;
	return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(batch->messages), type, NFPROTO_INET,
				     flags, batch->last_seq);
}

/* Reads the answers up to that of the last message, which always has one; others only where they
 * failed. What is older is of a batch before. */
static int read_answers(const struct shunt_own_batch *batch, struct mnl_socket *nl)
{
	char buf[8192];
	int len;

	for (;;) {
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;

		len = (int)mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
			const struct nlmsgerr *answer = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type != NLMSG_ERROR ||
			    mnl_nlmsg_get_payload_len(nlh) < sizeof(*answer) ||
			    nlh->nlmsg_seq - batch->first_seq > batch->last_seq - batch->first_seq)
				continue;
			if (answer->error || nlh->nlmsg_seq == batch->last_seq)
				return answer->error;
		}
	}
}

int shunt_own_batch_commit(struct shunt_own_batch *batch)
{
	struct mnl_socket *nl = batch->nl;
	int ret = batch->is_short ? -ENOMEM : 0;

	if (!batch->messages)
		return -ENOMEM;
	nftnl_batch_end(mnl_nlmsg_batch_current(batch->messages), ++*batch->seq);
	mnl_nlmsg_batch_next(batch->messages);
	if (!ret && mnl_socket_sendto(nl, mnl_nlmsg_batch_head(batch->messages),
				      mnl_nlmsg_batch_size(batch->messages)) < 0)
		ret = -errno;
	if (!ret)
		ret = read_answers(batch, nl);
	mnl_nlmsg_batch_stop(batch->messages);
	return ret;
}
