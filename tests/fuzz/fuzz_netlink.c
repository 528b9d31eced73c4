// SPDX-License-Identifier: BSD-2-Clause
/* Netlink messages, as the kernel sends them, to all that read them. Must hold: nothing behind a
 * message is read, every message is read in bounded time, and what was made of them does not
 * contradict itself (netlink_*.c say what that means).
 *
 * An input is a head of four bytes (the bus: 0 NETLINK_ROUTE, 1 NETLINK_NETFILTER, 2 NETLINK_XFRM;
 * bits, netlink.h; a device; nothing), and messages. A message with NLM_F_MULTI answers a dump, one
 * without is an event, NLMSG_DONE and NLMSG_ERROR end a dump. */
#include <linux/netlink.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/netlink.h"
#include "fuzz.h"
#include "netlink.h"

#define HEAD_BYTES 4
#define ROOM_BYTES (1u << 16)

/* Memory behind which nothing can be read, also not by libraries without a sanitizer. */
static uint8_t *guarded_end(void)
{
	static uint8_t *end;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *room;

	if (end)
		return end;
	room = mmap(NULL, ROOM_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	FUZZ_MUST(room != MAP_FAILED && !mprotect(room + ROOM_BYTES, page, PROT_NONE), "mmap: %m");
	end = room + ROOM_BYTES;
	return end;
}

static void take(const struct nlmsghdr *nlh, int bus)
{
	if (bus == NETLINK_ROUTE) {
		netlink_mirror_take(nlh);
		netlink_bridge_take(nlh);
	}
	netlink_firewall_take(nlh, bus);
}

/* The kernel sends whole words. */
static void take_all(const uint8_t *data, size_t size, int bus)
{
	uint8_t *at = guarded_end() - MNL_ALIGN(size);
	const struct nlmsghdr *nlh = (const void *)at;
	int left = (int)MNL_ALIGN(size);

	memset(at, 0, MNL_ALIGN(size));
	memcpy(at, data, size);
	for (; shunt_netlink_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		take(nlh, bus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int buses[] = {NETLINK_ROUTE, NETLINK_NETFILTER, NETLINK_XFRM};

	if (size < HEAD_BYTES || size > ROOM_BYTES)
		return 0;
	netlink_mirror_start(data[1], data[2]);
	netlink_bridge_start();
	netlink_firewall_start();
	take_all(data + HEAD_BYTES, size - HEAD_BYTES, buses[data[0] % 3]);
	netlink_mirror_finish();
	netlink_bridge_finish();
	netlink_firewall_finish();
	return 0;
}
