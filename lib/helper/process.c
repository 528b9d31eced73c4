// SPDX-License-Identifier: BSD-2-Clause
#include "helper/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "helper/message.h"
#include "journal/journal.h"
#include "veth/detour.h"
#include "xdp/tables.h"

#define NAME "shunt-helper"

struct helper {
	const struct shunt_helper_opts *opts;
	unsigned chunk_cnt; /* made so far */
};

/* --- verbs ------------------------------------------------------------------------------------ */

/* What a verb is given: a request that check() has let through, and its port. */
struct call {
	struct helper *helper;
	const struct shunt_helper_request *request;
	struct shunt_xdp *xdp; /* of the port; NULL where the verb has none */
	struct shunt_helper_answer *answer;
	int fd; /* to go with the answer, closed after it; -1 */
};

static int act(struct call *call, enum shunt_xdp_act what)
{
	return shunt_xdp_act(call->xdp, what, &call->answer->state, &call->answer->err);
}

static int do_suspend(struct call *call)
{
	return act(call, SHUNT_XDP_ACT_SUSPEND);
}

static int do_resume(struct call *call)
{
	return act(call, SHUNT_XDP_ACT_RESUME);
}

static int do_withdraw(struct call *call)
{
	return act(call, SHUNT_XDP_ACT_WITHDRAW);
}

static int do_look(struct call *call)
{
	return act(call, SHUNT_XDP_ACT_LOOK);
}

static int do_untap(struct call *call)
{
	return act(call, SHUNT_XDP_ACT_UNTAP);
}

static int do_ask_flows(struct call *call)
{
	if (!call->helper->opts->rights.loads_later)
		return shunt_err_set(&call->answer->err, EPERM,
				     "helper: no right to load such a program; start shuntd again "
				     "(--takeover)");
	return act(call, SHUNT_XDP_ACT_ASK_FLOWS);
}

static int do_tap(struct call *call)
{
	if (!call->helper->opts->rights.has_taps)
		return shunt_err_set(&call->answer->err, EPERM, "helper: nobody may capture");
	call->fd = shunt_xdp_tap(call->xdp, &call->request->tap, &call->answer->err);
	call->answer->state = shunt_xdp_state_of(call->xdp);
	return SHUNT_MIN(call->fd, 0);
}

static int do_explain(struct call *call)
{
	if (!call->helper->opts->rights.has_taps)
		return shunt_err_set(&call->answer->err, EPERM, "helper: nobody may capture");
	return shunt_xdp_explain(call->xdp, &call->request->frame, &call->answer->steered,
				 &call->answer->err);
}

static int do_make_chunk(struct call *call)
{
	struct shunt_err *err = &call->answer->err;

	if (!call->helper->opts->rights.has_tables)
		return shunt_err_set(err, EPERM,
				     "helper: no port's program reads tables of routing");
	if (call->helper->chunk_cnt >= SHUNT_TABLES_CHUNKS_MAX)
		return shunt_err_set(err, ERANGE, "helper: %u arrays are all that tables can have",
				     SHUNT_TABLES_CHUNKS_MAX);
	call->fd = shunt_xdp_tables_make_chunk();
	if (call->fd < 0)
		return shunt_err_set(err, -call->fd, "helper: the kernel makes no array: %s",
				     strerror(-call->fd));
	call->helper->chunk_cnt++;
	return 0;
}

static int do_detour_open(struct call *call)
{
	const struct shunt_helper_request *r = call->request;

	if (!call->helper->opts->detours)
		return shunt_err_set(&call->answer->err, EPERM,
				     "helper: no port can need a detour");
	return shunt_detour_open(call->helper->opts->detours, r->ifindex, r->mtu, r->queues,
				 &call->answer->err);
}

static int do_detour_close(struct call *call)
{
	if (!call->helper->opts->detours)
		return shunt_detour_clean(call->request->ifindex, &call->answer->err);
	shunt_detour_close(call->helper->opts->detours, call->request->ifindex);
	return 0;
}

static int do_give_back(struct call *call)
{
	struct shunt_journal *journal = call->helper->opts->journal;

	if (!journal)
		return shunt_err_set(&call->answer->err, EPERM, "helper: there is no journal");
	shunt_journal_give_back(journal, call->request->is_kept);
	return 0;
}

enum fields { NONE, PORT, SIZES, KEEP, TAP, FRAME };

static const struct {
	const char *name;
	enum fields fields;
	int (*fn)(struct call *call);
} verbs[] = {
#define X(name, fields, help) [SHUNT_HELPER_##name] = {#name, fields, do_##name},
	SHUNT_HELPER_VERBS(X)
#undef X
};

/* --- what is refused -------------------------------------------------------------------------- */

static struct shunt_xdp *find_port(const struct helper *helper, unsigned ifindex)
{
	unsigned i;

	for (i = 0; i < helper->opts->port_cnt; i++)
		if (ifindex && shunt_xdp_ifindex(helper->opts->ports[i]) == ifindex)
			return helper->opts->ports[i];
	return NULL;
}

static bool is_out_of_bounds(const struct shunt_helper_request *r)
{
	return r->mtu < SHUNT_HELPER_MTU_MIN || r->mtu > SHUNT_HELPER_MTU_MAX || !r->queues ||
	       r->queues > SHUNT_HELPER_QUEUES_MAX;
}

static bool is_zero(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		if (at[i])
			return false;
	return true;
}

/* The filter itself is looked at where it is made a program. */
static bool is_tap_out_of_bounds(const struct shunt_xdp_tap_opts *tap)
{
	return !shunt_is_power_of_2(tap->ring_bytes) || tap->ring_bytes < SHUNT_HELPER_RING_MIN ||
	       tap->ring_bytes > SHUNT_HELPER_RING_MAX || tap->filter_cnt > SHUNT_CBPF_MAX ||
	       !tap->opts.snap_len || tap->opts.snap_len > SHUNT_TAP_SNAP_MAX ||
	       tap->opts.port >= SHUNT_PORT_MAX;
}

static int check(const struct shunt_helper_request *r, const struct shunt_xdp *port,
		 struct shunt_err *err)
{
	const bool is_verb = r->verb && r->verb < SHUNT_HELPER_VERB_END;
	const enum fields fields = is_verb ? verbs[r->verb].fields : NONE;
	const bool has_port = fields == PORT || fields == SIZES || fields == TAP || fields == FRAME;

	if (!is_verb)
		return shunt_err_set(err, ENOSYS, "helper: there is no verb %u", r->verb);
	if ((!has_port && r->ifindex) || (fields != SIZES && (r->mtu || r->queues)) ||
	    (fields != KEEP && r->is_kept) || r->is_kept > 1 ||
	    (fields != TAP && !is_zero(&r->tap, sizeof(r->tap))) ||
	    (fields != FRAME && !is_zero(&r->frame, sizeof(r->frame))))
		return shunt_err_set(err, EINVAL, "helper: %s: a field is set that it has not",
				     verbs[r->verb].name);
	if (has_port && !port)
		return shunt_err_set(err, ENODEV, "helper: %s: device %u is no configured port",
				     verbs[r->verb].name, r->ifindex);
	if (fields == TAP && is_tap_out_of_bounds(&r->tap))
		return shunt_err_set(
			err, ERANGE,
			"helper: %s: a ring of %u bytes, %u instructions, %u bytes of a "
			"packet, or port %u: out of bounds",
			verbs[r->verb].name, r->tap.ring_bytes, r->tap.filter_cnt,
			r->tap.opts.snap_len, r->tap.opts.port);
	if (fields == FRAME &&
	    (r->frame.len < SHUNT_XDP_FRAME_MIN || r->frame.len > SHUNT_XDP_FRAME_MAX))
		return shunt_err_set(err, ERANGE,
				     "helper: %s: a frame of %u bytes, expected %u to %u",
				     verbs[r->verb].name, r->frame.len, SHUNT_XDP_FRAME_MIN,
				     SHUNT_XDP_FRAME_MAX);
	if (fields == SIZES && is_out_of_bounds(r))
		return shunt_err_set(err, ERANGE,
				     "helper: %s: MTU %u or %u queues: expected %u to %u bytes "
				     "and 1 to %u",
				     verbs[r->verb].name, r->mtu, r->queues, SHUNT_HELPER_MTU_MIN,
				     SHUNT_HELPER_MTU_MAX, SHUNT_HELPER_QUEUES_MAX);
	return 0;
}

/* --- requests and answers --------------------------------------------------------------------- */

/* An empty message and the end read the same. */
static bool is_ended(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	return poll(&pollfd, 1, 0) > 0 && pollfd.revents & (POLLHUP | POLLERR);
}

/* Returns 1; 0: the end; or -EBADMSG with err set. The kernel closes descriptors for which there is
 * no room, and says so. */
static int receive(int fd, struct shunt_helper_request *r, struct shunt_err *err)
{
	struct iovec iov = {r, sizeof(*r)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	memset(r, 0, sizeof(*r));
	do
		n = recvmsg(fd, &msg, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0 || (!n && is_ended(fd)))
		return 0;
	if (n == (ssize_t)sizeof(*r) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	if (msg.msg_flags & MSG_CTRUNC)
		return shunt_err_set(err, EBADMSG, "helper: a request has descriptors");
	return shunt_err_set(err, EBADMSG, "helper: a request of %zd bytes, expected %zu", n,
			     sizeof(*r));
}

static int reply(int fd, const struct shunt_helper_answer *answer, int with_fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)answer, sizeof(*answer)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (with_fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.head), &with_fd, sizeof(with_fd));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(*answer) ? 0 : -errno;
}

static int serve_one(int fd, struct helper *helper)
{
	struct shunt_helper_answer answer = {.err = {""}};
	struct shunt_helper_request r;
	struct call call = {.helper = helper, .request = &r, .answer = &answer, .fd = -1};
	int ret = receive(fd, &r, &answer.err);

	if (!ret)
		return -EPIPE;
	answer.number = ret > 0 ? r.number : 0;
	if (ret > 0) {
		call.xdp = find_port(helper, r.ifindex);
		ret = check(&r, call.xdp, &answer.err);
	}
	if (!ret)
		ret = verbs[r.verb].fn(&call);
	answer.ret = ret;
	ret = reply(fd, &answer, call.fd);
	if (call.fd >= 0)
		close(call.fd);
	return ret;
}

/* --- the process ------------------------------------------------------------------------------ */

static bool is_kept(const char *what)
{
	return strncmp(what, "socket:", 7) != 0 && strncmp(what, "pipe:", 5) != 0 &&
	       strncmp(what, "anon_inode:[", 12) != 0;
}

/* Of the descriptors that came with the fork, programs, maps and the journal's files stay. Sockets,
 * pipes and queues of events are the daemon's: with its end others must see theirs. */
static void close_others(int own_fd)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char what[64];
	int fd;

	while (dir && (entry = readdir(dir))) {
		const ssize_t n = readlinkat(dirfd(dir), entry->d_name, what, sizeof(what) - 1);

		fd = n > 0 ? atoi(entry->d_name) : -1;
		if (fd <= STDERR_FILENO || fd == own_fd || fd == dirfd(dir))
			continue;
		what[n] = 0;
		if (!is_kept(what))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

static int leave_terminal(void)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int i;

	for (i = STDIN_FILENO; fd >= 0 && i <= STDERR_FILENO; i++)
		dup2(fd, i);
	if (fd > STDERR_FILENO)
		close(fd);
	return fd < 0 ? -errno : 0;
}

static void set_title(const struct shunt_helper_opts *opts)
{
	prctl(PR_SET_NAME, NAME, 0, 0, 0);
	if (!opts->title_len)
		return;
	memset(opts->title, 0, opts->title_len);
	snprintf(opts->title, opts->title_len, "%s", NAME);
}

/* The signal comes last: a change of user takes it off again. A process that was orphaned before
 * has another parent by then. */
static int enter(int fd, pid_t daemon, const struct shunt_helper_opts *opts, struct shunt_err *err)
{
	int ret = leave_terminal();

	if (ret)
		return shunt_err_set(err, -ret, "helper: /dev/null: %s", strerror(-ret));
	close_others(fd);
	set_title(opts);
	ret = shunt_rights_drop_helper(&opts->rights, err);
	if (ret)
		return ret;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return getppid() == daemon ? 0 : -ESRCH;
}

void shunt_helper_run(int fd, pid_t daemon, const struct shunt_helper_opts *opts)
{
	struct helper helper = {.opts = opts};
	struct shunt_helper_answer first = {.err = {""}};

	first.ret = enter(fd, daemon, opts, &first.err);
	if (!reply(fd, &first, -1) && !first.ret)
		while (!serve_one(fd, &helper))
			;
}
