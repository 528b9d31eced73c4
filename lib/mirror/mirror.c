// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/mirror.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/netlink.h"
#include "mirror/dump.h"
#include "mirror/fib.h"
#include "mirror/fresh.h"
#include "mirror/socket.h"
#include "mirror/take.h"

/* A dump fills what the reader offers, up to 32 KiB at a time (netlink_recvmsg). */
#define BUF_BYTES	 (64u << 10)
#define RCVBUF_BYTES	 (64u << 20)
#define AUDIT_S		 60
/* Routes swept for the budget of one message: stepping over a route that stays takes some 5 ns, a
 * message some 500. */
#define SWEEP_PER_BUDGET 64
/* Routes put into the FIB for the same: each takes up to a microsecond. */
#define FLUSH_PER_BUDGET 1
#define NS_PER_MS	 1000000

struct shunt_mirror {
	struct mnl_socket *nl;
	uint32_t portid;
	struct shunt_mirror_opts opts;
	struct shunt_mirror_table table;
	struct shunt_mirror_dump dump;
	struct shunt_mirror_fib fib;	 /* fib.table is NULL without one */
	struct shunt_mirror_stats stats; /* its counters; the rest is filled in when asked for */
	enum shunt_mirror_state state;
	uint64_t audit_ns; /* when the next is due; 0: none */
	bool has_given_up; /* memory ran out since the last complete dump began */
	bool is_readable;  /* the latest service left messages unread */
	struct shunt_mirror_fresh fresh;
	uint64_t current_ns; /* until when all that was heard is in the FIB */
	struct shunt_mirror_taker taker;
	uint8_t buf[BUF_BYTES];
};

static const char *const state_names[] = {
#define X(name, help) #name,
	SHUNT_MIRROR_STATES(X)
#undef X
};

static const char *const state_helps[] = {
#define X(name, help) help,
	SHUNT_MIRROR_STATES(X)
#undef X
};

const char *shunt_mirror_state_name(enum shunt_mirror_state state)
{
	return state < SHUNT_MIRROR_STATE_CNT ? state_names[state] : "?";
}

const char *shunt_mirror_state_help(enum shunt_mirror_state state)
{
	return state < SHUNT_MIRROR_STATE_CNT ? state_helps[state] : "?";
}

/* --- one message -------------------------------------------------------------------------- */

/* A route is missing: the FIB must not forward by what is left. The next dump tries again. */
static void give_up(struct shunt_mirror *mirror)
{
	mirror->stats.out_of_memory++;
	mirror->state = SHUNT_MIRROR_incomplete;
	mirror->has_given_up = true;
	if (mirror->fib.is_on)
		shunt_mirror_fib_withdraw(&mirror->fib);
}

static void take_message(struct shunt_mirror *mirror, const struct nlmsghdr *nlh)
{
	bool is_dump = shunt_mirror_dump_is_mine(&mirror->dump, nlh, mirror->portid);
	int ret;

	mirror->stats.messages++;
	if (is_dump && (nlh->nlmsg_flags & NLM_F_DUMP_INTR))
		mirror->dump.is_interrupted = true;
	if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
		if (is_dump && !shunt_mirror_dump_end(&mirror->dump, shunt_mirror_dump_error(nlh)))
			mirror->stats.refused++;
		return;
	}
	if (!is_dump) {
		mirror->stats.events++;
		mirror->dump.stage_events++;
	}
	ret = shunt_mirror_take(&mirror->taker, nlh, is_dump);
	if (ret == -ENOMEM) {
		give_up(mirror);
	} else if (ret < 0) {
		mirror->stats.malformed++;
	} else if (ret && is_dump) {
		mirror->dump.stage_changes++;
	}
}

/* --- the socket --------------------------------------------------------------------------- */

/* Reads once and takes what came. Returns the count of messages, 0 when there was nothing,
 * -errno. */
static int receive(struct shunt_mirror *mirror, struct shunt_err *err)
{
	const uint64_t now_ns = shunt_clock_ns();
	ssize_t got = mnl_socket_recvfrom(mirror->nl, mirror->buf, sizeof(mirror->buf));
	const struct nlmsghdr *nlh = (const void *)mirror->buf;
	int cnt = 0, left = (int)got;

	if (got < 0 && errno == EAGAIN)
		shunt_mirror_fresh_empty(&mirror->fresh, now_ns);
	if (got < 0 && errno == ENOBUFS) {
		mirror->stats.overruns++;
		shunt_mirror_dump_overrun(&mirror->dump);
		if (mirror->state == SHUNT_MIRROR_following)
			mirror->state = SHUNT_MIRROR_resyncing;
		return 1;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		return shunt_err_set(err, errno, "netlink mirror: recvmsg: %s", strerror(errno));
	shunt_mirror_fresh_read(&mirror->fresh, now_ns);
	if (shunt_netlink_ok(nlh, left) &&
	    shunt_mirror_dump_is_mine(&mirror->dump, nlh, mirror->portid))
		shunt_mirror_fresh_part(&mirror->fresh);
	for (; shunt_netlink_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left), cnt++)
		take_message(mirror, nlh);
	return SHUNT_MAX(cnt, 1);
}

/* Everything is known and in the FIB. */
static void follow(struct shunt_mirror *mirror, uint64_t now_ns)
{
	if (!mirror->stats.load_ns)
		mirror->stats.load_ns = now_ns - mirror->dump.begin_ns;
	mirror->state = SHUNT_MIRROR_following;
}

static void end_run(struct shunt_mirror *mirror, const struct shunt_mirror_dump_result *result,
		    uint64_t now_ns)
{
	if (result->run == SHUNT_MIRROR_RUN_CHECK)
		mirror->stats.checks++;
	if (result->run == SHUNT_MIRROR_RUN_CHECK || result->run == SHUNT_MIRROR_RUN_SPACES)
		return;
	mirror->stats.dump_ns = result->ns;
	if (mirror->opts.audit_s)
		mirror->audit_ns = now_ns + mirror->opts.audit_s * SHUNT_NS_PER_SEC;
	if (result->run == SHUNT_MIRROR_RUN_AUDIT) {
		mirror->stats.audits++;
		return;
	}
	if (mirror->stats.load_ns)
		mirror->stats.resyncs++;
	if (mirror->has_given_up) {
		mirror->state = SHUNT_MIRROR_incomplete;
		return;
	}
	if (mirror->fib.table && !mirror->fib.is_on)
		shunt_mirror_fib_load(&mirror->fib); /* follow() says when it is done */
	else
		follow(mirror, now_ns);
}

/* Does what the dump can do without the kernel. Returns 1, 0 or -errno. */
static int step(struct shunt_mirror *mirror, uint32_t budget, struct shunt_err *err)
{
	enum shunt_mirror_run run = mirror->dump.run;
	uint64_t now_ns = shunt_clock_ns();
	struct shunt_mirror_dump_result result;
	bool was_waiting = mirror->dump.is_waiting;
	int ret;

	if (mirror->audit_ns && now_ns >= mirror->audit_ns) {
		/* What did not fit before may fit now. */
		if (mirror->state == SHUNT_MIRROR_incomplete)
			mirror->dump.want_full = true;
		else
			mirror->dump.want_audit = true;
		mirror->audit_ns = 0;
	}
	if (mirror->dump.want_full && !mirror->dump.run)
		mirror->has_given_up = false;
	ret = shunt_mirror_dump_step(&mirror->dump, &mirror->table, mirror->nl, now_ns,
				     budget * SWEEP_PER_BUDGET, &result);
	if (mirror->dump.is_waiting && !was_waiting)
		shunt_mirror_fresh_begin(&mirror->fresh, now_ns);
	if (ret == -EAGAIN || ret == -ENOBUFS)
		return 0; /* memory is short: tried again at the next turn */
	if (ret < 0)
		return shunt_err_set(err, -ret, "netlink mirror: cannot ask for a dump: %s",
				     strerror(-ret));
	mirror->stats.interrupted += result.is_interrupted;
	if (run == SHUNT_MIRROR_RUN_CHECK)
		mirror->stats.check_differences += result.changes + result.races;
	if (run == SHUNT_MIRROR_RUN_AUDIT) {
		mirror->stats.differences += result.changes;
		mirror->stats.races += result.races;
	}
	if (result.run)
		end_run(mirror, &result, now_ns);
	return ret;
}

static bool has_work(const struct shunt_mirror *mirror)
{
	return mirror->is_readable || shunt_mirror_dump_has_work(&mirror->dump) ||
	       shunt_mirror_fib_has_work(&mirror->fib);
}

/* Publishes what changed. Returns 1 when there is more, else 0. */
static int publish(struct shunt_mirror *mirror, uint32_t budget)
{
	bool was_loading = mirror->fib.is_loading;
	int ret;

	if (!mirror->fib.table || !mirror->fib.is_on) {
		shunt_mirror_path_reap(&mirror->table);
		return 0;
	}
	ret = shunt_mirror_fib_flush(&mirror->fib, budget);
	if (ret < 0) {
		give_up(mirror);
		return 0;
	}
	if (was_loading && !mirror->fib.is_loading)
		follow(mirror, shunt_clock_ns());
	return ret;
}

/* Reads and takes over up to budget messages. Returns 1, 0 when there are no more, -errno. */
static int follow_socket(struct shunt_mirror *mirror, uint32_t budget, struct shunt_err *err)
{
	uint32_t spent = 0;
	int ret;

	while (spent < budget) {
		ret = step(mirror, budget, err);
		if (ret < 0)
			return ret;
		if (mirror->dump.is_sweeping || mirror->fib.is_loading)
			return 1;
		ret = receive(mirror, err);
		if (ret <= 0)
			return ret;
		spent += (uint32_t)ret;
	}
	return 1;
}

int shunt_mirror_service(struct shunt_mirror *mirror, uint32_t budget, struct shunt_err *err)
{
	int more;

	/* While the FIB is behind, the table waits: a load relies on it. */
	if (mirror->fib.is_loading || mirror->fib.dirty_cnt) {
		publish(mirror, budget * FLUSH_PER_BUDGET);
		more = 1;
	} else {
		more = follow_socket(mirror, budget, err);
		if (more < 0)
			return more;
		shunt_mirror_table_settle(&mirror->table);
		mirror->dump.want_spaces |= shunt_mirror_fib_open_spaces(&mirror->fib);
		more |= publish(mirror, budget * FLUSH_PER_BUDGET);
	}
	mirror->is_readable = more;
	if (!mirror->fib.is_loading && !mirror->fib.dirty_cnt) {
		mirror->current_ns = mirror->fresh.heard_ns;
		shunt_mirror_fib_end_spaces(&mirror->fib);
	}
	return more || has_work(mirror);
}

uint64_t shunt_mirror_current_ns(const struct shunt_mirror *mirror)
{
	return mirror->current_ns;
}

int shunt_mirror_fd(const struct shunt_mirror *mirror)
{
	return mnl_socket_get_fd(mirror->nl);
}

int shunt_mirror_timeout_ms(const struct shunt_mirror *mirror)
{
	uint64_t now_ns = shunt_clock_ns();

	if (has_work(mirror))
		return 0;
	if (!mirror->audit_ns)
		return -1;
	if (now_ns >= mirror->audit_ns)
		return 0;
	return (int)SHUNT_MIN((mirror->audit_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 1u << 30);
}

void shunt_mirror_audit(struct shunt_mirror *mirror)
{
	mirror->audit_ns = shunt_clock_ns();
}

struct shunt_mirror_table *shunt_mirror_table(struct shunt_mirror *mirror)
{
	return &mirror->table;
}

bool shunt_mirror_neigh_is_used(const struct shunt_mirror *mirror,
				const struct shunt_mirror_neigh_info *info)
{
	return mirror->fib.table && info->family != AF_BRIDGE &&
	       shunt_mirror_adj_is_used(&mirror->fib.targets.adjs, info);
}

bool shunt_mirror_neigh_count(const struct shunt_mirror *mirror,
			      const struct shunt_mirror_neigh_info *info, struct shunt_count *out)
{
	return mirror->fib.table && info->family != AF_BRIDGE &&
	       shunt_mirror_adj_count(&mirror->fib.targets.adjs, info, out);
}

void shunt_mirror_set_mtu6(struct shunt_mirror *mirror, uint32_t ifindex, uint32_t mtu6)
{
	struct shunt_mirror_link *link = shunt_mirror_link_get(&mirror->table, ifindex);

	if (!link || link->mtu6 == mtu6)
		return;
	link->mtu6 = mtu6;
	if (mirror->table.watch.link)
		mirror->table.watch.link(mirror->table.watch.ctx, ifindex);
}

uint32_t shunt_mirror_master(const struct shunt_mirror *mirror, uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(&mirror->table, ifindex);

	return link ? link->info.master : 0;
}

uint32_t shunt_mirror_above(const struct shunt_mirror *mirror, uint32_t ifindex)
{
	return mirror->fib.table ? shunt_mirror_above_number(&mirror->fib.aboves, ifindex) : 0;
}

enum shunt_above_state shunt_mirror_above_state(const struct shunt_mirror *mirror, uint32_t ifindex,
						struct shunt_device *out)
{
	enum shunt_above_state state = SHUNT_ABOVE_elsewhere;

	memset(out, 0, sizeof(*out));
	if (mirror->fib.table)
		state = shunt_mirror_above_look(&mirror->fib.aboves, ifindex, out);
	if (state == SHUNT_ABOVE_followed && !shunt_mirror_above(mirror, ifindex))
		return SHUNT_ABOVE_no_room;
	return state;
}

void shunt_mirror_stats(const struct shunt_mirror *mirror, struct shunt_mirror_stats *out)
{
	const struct shunt_mirror_table *table = &mirror->table;

	*out = mirror->stats;
	out->state = mirror->state;
	out->unmatched_deletes = table->unmatched_deletes;
	out->links = table->links.cnt;
	out->addrs = table->addrs.cnt;
	out->neighs = table->neighs.cnt;
	out->nexthops = table->nexthops.cnt;
	out->paths = table->paths.cnt;
	out->routes[SHUNT_MIRROR_IP4] = table->routes[SHUNT_MIRROR_IP4].cnt;
	out->routes[SHUNT_MIRROR_IP6] = table->routes[SHUNT_MIRROR_IP6].cnt;
	out->hosts = mirror->fib.hosts.cnt;
	out->above_changes = mirror->fib.aboves.change_cnt;
	out->fib_updates = mirror->fib.updates;
	out->policy_rules = table->policy_cnt;
	out->bytes = shunt_mirror_table_bytes(table) + sizeof(*mirror);
}

/* --- creation ----------------------------------------------------------------------------- */

int shunt_mirror_create(struct shunt_mirror **out, const struct shunt_mirror_opts *opts,
			struct shunt_err *err)
{
	static const struct shunt_mirror_opts defaults = {.netns_fd = -1, .audit_s = AUDIT_S};
	struct shunt_mirror *mirror = calloc(1, sizeof(*mirror));
	int ret;

	*out = NULL;
	if (!mirror)
		return shunt_err_set(err, ENOMEM, "netlink mirror: no memory");
	opts = opts ? opts : &defaults;
	mirror->opts = *opts;
	if (!mirror->opts.rcvbuf_bytes)
		mirror->opts.rcvbuf_bytes = RCVBUF_BYTES;
	shunt_mirror_table_init(&mirror->table, mirror->opts.routes_max);
	mirror->table.are_rules_ignored = opts->are_rules_ignored;
	mirror->table.may_be_marked = opts->may_be_marked;
	mirror->taker.table = &mirror->table;
	mirror->taker.dump = &mirror->dump;
	mirror->dump.want_full = true;
	ret = shunt_mirror_socket_open(&mirror->nl, mirror->opts.netns_fd,
				       mirror->opts.rcvbuf_bytes, err);
	if (!ret)
		mirror->portid = mnl_socket_get_portid(mirror->nl);
	if (!ret && mirror->opts.fib4)
		ret = shunt_mirror_fib_init(&mirror->fib, &mirror->table, opts, err);
	if (ret) {
		shunt_mirror_destroy(mirror);
		return ret;
	}
	*out = mirror;
	return 0;
}

void shunt_mirror_destroy(struct shunt_mirror *mirror)
{
	if (!mirror)
		return;
	if (mirror->nl)
		mnl_socket_close(mirror->nl);
	shunt_mirror_fib_fini(&mirror->fib);
	shunt_mirror_table_fini(&mirror->table);
	free(mirror);
}
