/* SPDX-License-Identifier: BSD-2-Clause */
/* A dump by netlink that is whole, and what a message says read within its bounds.
 *
 * What is added or removed while the kernel lists it can be left out, or be there twice. The kernel
 * marks such a dump (NLM_F_DUMP_INTR), and it is asked for again.
 */
#ifndef SHUNT_BASE_NETLINK_H
#define SHUNT_BASE_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct shunt_netlink_dump {
	int bus;			/* NETLINK_ROUTE, ... */
	const struct nlmsghdr *request; /* flags NLM_F_REQUEST | NLM_F_DUMP are added */
	mnl_cb_t take;			/* called for every message */
	void (*forget)(void *arg);	/* called before each try: what was taken is no more */
	void *arg;
};

/* shunt_netlink_dump asks on a socket of its own. Returns 0 or -errno: the kernel's answer to the
 * request, -EAGAIN where the kernel gave no answer in a second, -EINTR where its tables changed
 * under sixteen dumps in a row. Thread: any. Cost: a netlink exchange, and the dump. */
int shunt_netlink_dump(const struct shunt_netlink_dump *dump);

/* shunt_netlink_ok says whether a whole message stands at nlh, of which left bytes can be read. (To
 * libmnl's own, a length of 2^31 and more is negative, and so fits.) Thread: any. */
static inline bool shunt_netlink_ok(const struct nlmsghdr *nlh, int left)
{
	return mnl_nlmsg_ok(nlh, left) && nlh->nlmsg_len <= (uint32_t)left;
}

/* shunt_netlink_run is mnl_cb_run for messages of which one may lie about its length: then it
 * returns MNL_CB_ERROR, errno EBADMSG, and no message is taken. Thread: any. */
int shunt_netlink_run(const void *messages, size_t len, unsigned seq, unsigned portid,
		      mnl_cb_t take, void *arg);

/* shunt_netlink_head returns the head that a message of its family begins with, NULL where the
 * message has fewer than len bytes. Thread: any. */
static inline const void *shunt_netlink_head(const struct nlmsghdr *nlh, size_t len)
{
	return mnl_nlmsg_get_payload_len(nlh) >= len ? mnl_nlmsg_get_payload(nlh) : NULL;
}

/* shunt_netlink_u8, _u16, _u32 and _u64 return the attribute's number in the order of bytes in
 * which it stands there, 0 where the attribute is shorter. libmnl's own read on. Thread: any. */
#define SHUNT_NETLINK_NUMBER(bits)                                                    \
	static inline uint##bits##_t shunt_netlink_u##bits(const struct nlattr *attr) \
	{                                                                             \
		uint##bits##_t number = 0;                                            \
                                                                                      \
		if (mnl_attr_get_payload_len(attr) >= sizeof(number))                 \
			memcpy(&number, mnl_attr_get_payload(attr), sizeof(number));  \
		return number;                                                        \
	}
SHUNT_NETLINK_NUMBER(8)
SHUNT_NETLINK_NUMBER(16)
SHUNT_NETLINK_NUMBER(32)
SHUNT_NETLINK_NUMBER(64)
#undef SHUNT_NETLINK_NUMBER

/* shunt_netlink_str returns the attribute's text, "" where it does not end within the attribute.
 * Thread: any. */
static inline const char *shunt_netlink_str(const struct nlattr *attr)
{
	const char *text = mnl_attr_get_payload(attr);

	return memchr(text, 0, mnl_attr_get_payload_len(attr)) ? text : "";
}

/* shunt_netlink_copy copies up to max bytes of the attribute. Returns how many. Thread: any. */
static inline unsigned shunt_netlink_copy(void *dst, unsigned max, const struct nlattr *attr)
{
	const unsigned len = mnl_attr_get_payload_len(attr);

	memcpy(dst, mnl_attr_get_payload(attr), len < max ? len : max);
	return len < max ? len : max;
}

#endif
