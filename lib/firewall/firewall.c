// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/firewall.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "device/link.h"
#include "firewall/ask.h"
#include "firewall/manager.h"
#include "firewall/own_table.h"

#define DEVICES_MAX 128 /* 64 ports, and as many bridges */

/* Parts that are asked for apart: those with events when one comes, and everything every second. */
enum part { NFT, TC, IPSEC, REST, PARTS };

/* Where events come from. A bus that the kernel lacks has none. */
static const struct source {
	int bus;
	unsigned group;
} sources[] = {
	[NFT] = {NETLINK_NETFILTER, NFNLGRP_NFTABLES},
	[TC] = {NETLINK_ROUTE, RTNLGRP_TC},
	[IPSEC] = {NETLINK_XFRM, XFRMNLGRP_POLICY},
};

struct shunt_firewall {
	int epoll_fd;
	struct mnl_socket *events[SHUNT_ARRAY_LEN(sources)]; /* NULL: none come */
	struct shunt_firewall_asker asker;
	int ifindexes[DEVICES_MAX / 2];
	unsigned cnt;
	struct shunt_manager *manager; /* NULL: nothing is managed */
	bool are_rules_new; /* the follower's: events told of other tables than shunt's */
	struct answer {
		unsigned parts; /* asked for, a bit each */
		struct shunt_judges judges[PARTS];
		unsigned versions[PARTS]; /* as they were when it was asked */
	} answers[SHUNT_FIREWALL_SIDES];
	/* with the guard */
	struct shunt_judges parts[PARTS];
	unsigned versions[PARTS];		    /* answers that followed an event */
	struct shunt_judges judges, fresh;	    /* all parts in one, of now and being made */
	uint64_t answer_cnts[SHUNT_FIREWALL_SIDES]; /* put in force; read by anybody */
};

/* --- asking ----------------------------------------------------------------------------------- */

/* The ports, and after them the bridges and bonds that they belong to. Returns 0 or -errno. */
static int add_masters(const int *ifindexes, unsigned cnt, int *out, unsigned *out_cnt)
{
	unsigned i, n = SHUNT_MIN(cnt, DEVICES_MAX / 2u);
	int master, ret, failed = 0;

	memcpy(out, ifindexes, n * sizeof(*out));
	for (i = 0, cnt = n; i < cnt; i++) {
		ret = shunt_link_master((unsigned)ifindexes[i], &master);
		if (ret && ret != -ENODEV)
			failed = ret;
		if (master && !shunt_firewall_has(out, n, master))
			out[n++] = master;
	}
	*out_cnt = n;
	return failed;
}

/* What the ports' frames pass: these, the bridges and bonds that they belong to, and the VLAN
 * devices above them all. */
struct passed {
	int ifindexes[DEVICES_MAX]; /* but the VLAN devices */
	unsigned cnt;
	struct shunt_firewall_aboves aboves;
};

static void find_passed(struct passed *passed, const int *ifindexes, unsigned cnt,
			struct shunt_judges *out)
{
	int ret = add_masters(ifindexes, cnt, passed->ifindexes, &passed->cnt);

	if (ret)
		shunt_judges_add(out, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "bridges: %s",
				 strerror(-ret));
	ret = shunt_firewall_aboves_ask(&passed->aboves, passed->ifindexes, passed->cnt);
	if (ret)
		shunt_judges_add(out, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "VLAN devices: %s",
				 strerror(-ret));
}

static void ask_tc(const struct passed *passed, struct shunt_judges *out)
{
	int *devices = calloc(DEVICES_MAX + passed->aboves.cnt, sizeof(*devices));
	unsigned i;

	if (!devices) {
		shunt_judges_add(out, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "tc: %s",
				 strerror(ENOMEM));
		return;
	}
	memcpy(devices, passed->ifindexes, passed->cnt * sizeof(*devices));
	for (i = 0; i < passed->aboves.cnt; i++)
		devices[passed->cnt + i] = passed->aboves.at[i].ifindex;
	shunt_firewall_ask_tc(devices, passed->cnt + passed->aboves.cnt, out);
	free(devices);
}

static void ask_part(enum part part, const struct shunt_firewall_asker *asker,
		     const struct passed *passed, struct shunt_judges *out)
{
	switch (part) {
	case NFT:
		shunt_firewall_ask_nft(out);
		shunt_firewall_ask_flowtables(out);
		break;
	case TC:
		ask_tc(passed, out);
		break;
	case IPSEC:
		shunt_firewall_ask_ipsec(out);
		break;
	default:
		shunt_firewall_ask_iptables(asker, out);
		shunt_firewall_ask_ebtables(asker, out);
		shunt_firewall_ask_ipvs(out);
		shunt_firewall_ask_hooks(asker, out);
	}
}

static void ask(enum part part, const struct shunt_firewall_asker *asker, const int *ifindexes,
		unsigned cnt, struct shunt_judges *out)
{
	struct passed passed = {.cnt = 0};

	if (part == NFT || part == TC)
		find_passed(&passed, ifindexes, cnt, out);
	out->aboves = &passed.aboves;
	ask_part(part, asker, &passed, out);
	out->aboves = NULL;
	shunt_firewall_aboves_free(&passed.aboves);
}

void shunt_firewall_query(const int *ifindexes, unsigned cnt, struct shunt_judges *out)
{
	struct shunt_firewall_asker asker;
	unsigned part;

	shunt_firewall_open_asker(&asker);
	shunt_judges_clear(out);
	for (part = 0; part < PARTS; part++)
		ask(part, &asker, ifindexes, cnt, out);
	shunt_firewall_close_asker(&asker);
}

bool shunt_firewall_has_flowtable(int ifindex)
{
	struct shunt_judges *judges = calloc(1, sizeof(*judges));
	struct passed passed = {.cnt = 0};
	bool has = false;
	unsigned i;

	if (!judges)
		return false;
	find_passed(&passed, &ifindex, 1, judges);
	judges->aboves = &passed.aboves;
	shunt_firewall_ask_flowtables(judges);
	for (i = 0; i < judges->flowtable_cnt; i++)
		has |= shunt_firewall_has(passed.ifindexes, passed.cnt, judges->flowtables[i]);
	shunt_firewall_aboves_free(&passed.aboves);
	free(judges);
	return has;
}

/* --- events ----------------------------------------------------------------------------------- */

static int open_source(struct shunt_firewall *firewall, unsigned i, struct shunt_err *err)
{
	struct mnl_socket *nl = mnl_socket_open2(sources[i].bus, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
	int group = (int)sources[i].group;

	if (!nl && errno == EPROTONOSUPPORT)
		return 0;
	firewall->events[i] = nl;
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return shunt_err_set(err, errno, "firewall: netlink socket: %s", strerror(errno));
	/* Without the right no event comes, and the look of every second finds what is new. */
	mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
	if (epoll_ctl(firewall->epoll_fd, EPOLL_CTL_ADD, mnl_socket_get_fd(nl), &event))
		return shunt_err_set(err, errno, "firewall: epoll: %s", strerror(errno));
	return 0;
}

/* Whether a message is about a table of somebody else. In all of them but that of a generation's
 * number the first attribute is the table's name. */
static bool is_foreign(const struct nlmsghdr *nlh)
{
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(nlh, sizeof(struct nfgenmsg));
	const int left = (int)mnl_nlmsg_get_payload_len(nlh) - (int)sizeof(struct nfgenmsg);

	return (nlh->nlmsg_type & 0xff) != NFT_MSG_NEWGEN &&
	       !(mnl_attr_ok(attr, left) && mnl_attr_get_type(attr) == NFTA_TABLE_NAME &&
		 shunt_own_table_is(shunt_netlink_str(attr)));
}

static bool are_foreign(const char *buf, ssize_t len)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
	int left = (int)len;

	for (; shunt_netlink_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		if (is_foreign(nlh))
			return true;
	return false;
}

/* What the events say is not read, but for whose they are: all is asked for anew. An overrun
 * (ENOBUFS) is an event, too, and one that is cut off is somebody else's. */
static bool take_events(struct mnl_socket *nl, bool *are_others)
{
	char buf[8192];
	bool any = false;
	ssize_t n;

	for (;;) {
		n = recv(mnl_socket_get_fd(nl), buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return any;
		any = true;
		*are_others |= n < 0 || n > (ssize_t)sizeof(buf) || are_foreign(buf, n);
	}
}

unsigned shunt_firewall_take(struct shunt_firewall *firewall)
{
	unsigned i, parts = 0;
	bool are_others;

	for (i = 0; i < SHUNT_ARRAY_LEN(sources); i++) {
		are_others = false;
		if (firewall->events[i] && take_events(firewall->events[i], &are_others))
			parts |= 1u << i;
		firewall->are_rules_new |= i == NFT && are_others;
	}
	return parts;
}

void shunt_firewall_ask(struct shunt_firewall *firewall, enum shunt_firewall_side side,
			unsigned parts)
{
	struct answer *answer = &firewall->answers[side];
	unsigned part;

	answer->parts = parts;
	for (part = 0; part < PARTS; part++) {
		if (!(parts >> part & 1))
			continue;
		answer->versions[part] =
			__atomic_load_n(&firewall->versions[part], __ATOMIC_RELAXED);
		shunt_judges_clear(&answer->judges[part]);
		ask(part, &firewall->asker, firewall->ifindexes, firewall->cnt,
		    &answer->judges[part]);
	}
}

/* An event came after the question of the other side: its answer is newer. */
static bool is_late(const struct shunt_firewall *firewall, enum shunt_firewall_side side,
		    unsigned part)
{
	return side == SHUNT_FIREWALL_LOOKS &&
	       firewall->answers[side].versions[part] != firewall->versions[part];
}

static void put_part(struct shunt_firewall *firewall, enum shunt_firewall_side side, unsigned part)
{
	if (!(firewall->answers[side].parts >> part & 1) || is_late(firewall, side, part))
		return;
	firewall->parts[part] = firewall->answers[side].judges[part];
	if (side == SHUNT_FIREWALL_FOLLOWS)
		__atomic_store_n(&firewall->versions[part], firewall->versions[part] + 1,
				 __ATOMIC_RELAXED);
}

/* An order first: a port that it leaves out is judged from now on. */
static void manage(struct shunt_firewall *firewall, enum shunt_firewall_side side)
{
	const bool are_new = side == SHUNT_FIREWALL_FOLLOWS && firewall->are_rules_new;

	if (!firewall->manager)
		return;
	shunt_manager_order(firewall->manager, &firewall->fresh, are_new);
	shunt_manager_add(firewall->manager, &firewall->fresh);
	if (are_new)
		firewall->are_rules_new = false;
}

bool shunt_firewall_put(struct shunt_firewall *firewall, enum shunt_firewall_side side)
{
	unsigned part;

	shunt_judges_clear(&firewall->fresh);
	for (part = 0; part < PARTS; part++) {
		put_part(firewall, side, part);
		shunt_judges_append(&firewall->fresh, &firewall->parts[part]);
	}
	manage(firewall, side);
	shunt_counter_add(&firewall->answer_cnts[side], 1);
	if (shunt_judges_equal(&firewall->fresh, &firewall->judges))
		return false;
	firewall->judges = firewall->fresh;
	return true;
}

uint64_t shunt_firewall_answers(const struct shunt_firewall *firewall,
				enum shunt_firewall_side side)
{
	return shunt_counter_read(&firewall->answer_cnts[side]);
}

/* --- managed ---------------------------------------------------------------------------------- */

const char *shunt_managed_state_name(enum shunt_managed_state state)
{
	static const char *const names[] = {
#define X(state, sentence) #state,
		SHUNT_MANAGED_STATES(X)
#undef X
	};

	return names[state];
}

int shunt_firewall_manage(struct shunt_firewall *firewall, const int *ifindexes, unsigned cnt,
			  struct shunt_err *err)
{
	const int ret = shunt_manager_create(&firewall->manager, ifindexes, cnt, err);

	if (ret)
		return ret;
	shunt_manager_order(firewall->manager, &firewall->judges, false);
	shunt_manager_obey(firewall->manager);
	shunt_manager_add(firewall->manager, &firewall->judges);
	return 0;
}

int shunt_firewall_start(struct shunt_firewall *firewall, struct shunt_err *err)
{
	return firewall && firewall->manager ? shunt_manager_start(firewall->manager, err) : 0;
}

int shunt_firewall_stop(struct shunt_firewall *firewall, unsigned limit_ms)
{
	return firewall ? shunt_manager_stop(firewall->manager, limit_ms) : 0;
}

bool shunt_firewall_managed(const struct shunt_firewall *firewall, struct shunt_managed *out)
{
	if (!firewall || !firewall->manager)
		return false;
	shunt_manager_tell(firewall->manager, out);
	return true;
}

int shunt_firewall_can_manage(struct shunt_err *err)
{
	const struct shunt_own_table_port loopback = {1, "lo"};
	struct shunt_own_table *table;
	int ret = shunt_own_table_open(&table, err);

	if (!ret)
		ret = shunt_own_table_put(table, &loopback, 1, err);
	if (!ret)
		ret = shunt_own_table_remove(table, err);
	shunt_own_table_close(table);
	return ret;
}

/* --- life ------------------------------------------------------------------------------------- */

int shunt_firewall_create(struct shunt_firewall **out, const int *ifindexes, unsigned cnt,
			  struct shunt_err *err)
{
	struct shunt_firewall *firewall = calloc(1, sizeof(*firewall));
	unsigned i;
	int ret = 0;

	*out = NULL;
	if (!firewall)
		return shunt_err_set(err, ENOMEM, "firewall: not enough memory");
	shunt_firewall_open_asker(&firewall->asker);
	firewall->cnt = SHUNT_MIN(cnt, DEVICES_MAX / 2u);
	memcpy(firewall->ifindexes, ifindexes, firewall->cnt * sizeof(*ifindexes));
	firewall->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (firewall->epoll_fd < 0)
		ret = shunt_err_set(err, errno, "firewall: epoll: %s", strerror(errno));
	/* First the events, then the question: what comes between is asked for again. */
	for (i = 0; i < SHUNT_ARRAY_LEN(sources) && !ret; i++)
		ret = open_source(firewall, i, err);
	if (ret) {
		shunt_firewall_destroy(firewall);
		return ret;
	}
	shunt_firewall_ask(firewall, SHUNT_FIREWALL_LOOKS, SHUNT_FIREWALL_ALL);
	shunt_firewall_put(firewall, SHUNT_FIREWALL_LOOKS);
	*out = firewall;
	return 0;
}

void shunt_firewall_destroy(struct shunt_firewall *firewall)
{
	unsigned i;

	if (!firewall)
		return;
	for (i = 0; i < SHUNT_ARRAY_LEN(sources); i++)
		if (firewall->events[i])
			mnl_socket_close(firewall->events[i]);
	if (firewall->epoll_fd >= 0)
		close(firewall->epoll_fd);
	shunt_firewall_close_asker(&firewall->asker);
	shunt_manager_destroy(firewall->manager);
	free(firewall);
}

int shunt_firewall_fd(const struct shunt_firewall *firewall)
{
	return firewall->epoll_fd;
}

const struct shunt_judges *shunt_firewall_judges(const struct shunt_firewall *firewall)
{
	return &firewall->judges;
}
