/* SPDX-License-Identifier: BSD-2-Clause */
/* A transaction of nftables: messages that come into force together, or not at all. For
 * own_table.c.
 *
 *	shunt_own_batch_begin(&batch, nl, &seq, table);
 *	nftnl_..._nlmsg_build_payload(shunt_own_batch_head(&batch, NFT_MSG_..., flags), object);
 *	mnl_nlmsg_batch_next(batch.messages);		for each message; the last has NLM_F_ACK
 *	ret = shunt_own_batch_commit(&batch);
 *
 * Source: nfnetlink_rcv_batch of Linux 6.12. */
#ifndef SHUNT_FIREWALL_OWN_BATCH_H
#define SHUNT_FIREWALL_OWN_BATCH_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

/* All of a table with 64 ports takes a quarter of it. */
#define SHUNT_OWN_BATCH_BYTES 32768

struct shunt_own_batch {
	struct mnl_socket *nl;
	uint32_t *seq;	   /* of the message before; the socket's */
	const char *table; /* the name that its messages are about */
	struct mnl_nlmsg_batch *messages;
	uint32_t first_seq, last_seq; /* of what is answered */
	bool is_short;		      /* an object found no memory: nothing is sent */
	char buf[SHUNT_OWN_BATCH_BYTES];
};

/* shunt_own_batch_begin begins an empty one; without memory messages is NULL, and the commit
 * says so. shunt_own_batch_head begins a message of family inet. shunt_own_batch_commit sends all,
 * and waits for the kernel's answer: 0 or -errno, -ETIMEDOUT where the socket's limit passed.
 * Thread: the socket's. */
void shunt_own_batch_begin(struct shunt_own_batch *batch, struct mnl_socket *nl, uint32_t *seq,
			   const char *table);
struct nlmsghdr *shunt_own_batch_head(struct shunt_own_batch *batch, uint16_t type, uint16_t flags);
int shunt_own_batch_commit(struct shunt_own_batch *batch);

#endif
