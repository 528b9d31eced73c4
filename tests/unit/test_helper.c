// SPDX-License-Identifier: BSD-2-Clause
/* The helper process: what it does for the daemon, and every request that it refuses. On a veth
 * pair in a network namespace of the test's own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "helper/helper.h"
#include "helper/message.h"
#include "shunt_tables.h"
#include "veth/detour.h"
#include "wait.h"
#include "xdp_rig.h"

TestSuite(helper, .timeout = 120);

static struct shunt_helper *helper;
static struct shunt_xdp *port;
static struct shunt_detours *detours;
static struct shunt_err err;

/* va is the one port. The sanitizers make calls that a filter refuses. */
static void start(bool has_tables)
{
	struct shunt_helper_opts opts = {.port_cnt = 1, .end = _exit};

	xdp_rig_start();
	port = xdp_rig_attach((struct shunt_xdp_opts){0});
	cr_assert_eq(shunt_detours_open(&detours, &err), 0, "%s", err.msg);
	opts.ports[0] = port;
	opts.detours = detours;
	opts.rights.has_tables = has_tables;
#ifdef __SANITIZE_ADDRESS__
	opts.rights.no_seccomp = true;
#endif
	cr_assert_eq(shunt_helper_start(&helper, &opts, &err), 0, "%s", err.msg);
	shunt_xdp_delegate(port, shunt_helper_delegate(helper));
}

static void stop(void)
{
	shunt_xdp_detach(port);
	shunt_helper_stop(helper);
	shunt_detours_close(detours);
}

/* --- what it does ----------------------------------------------------------------------------- */

Test(helper, takes_the_program_off_and_puts_it_back)
{
	struct shunt_xdp_info info;
	uint32_t id;
	int i;

	start(false);
	for (i = 0; i < 3; i++) {
		id = xdp_rig_prog_on("va");
		cr_expect_neq(id, 0);
		cr_expect_eq(shunt_xdp_suspend(port, &err), 0, "%s", err.msg);
		cr_expect_eq(xdp_rig_prog_on("va"), 0);
		cr_expect_eq(shunt_xdp_info(port, &info, &err), 0, "%s", err.msg);
		cr_expect(info.suspended && !info.blocked);
		cr_expect_eq(shunt_xdp_resume(port, &err), 0, "%s", err.msg);
		cr_expect_eq(shunt_xdp_info(port, &info, &err), 0, "%s", err.msg);
		cr_expect(!info.suspended && info.prog_id == xdp_rig_prog_on("va"));
	}
	shunt_xdp_withdraw(port);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
	stop();
}

Test(helper, configuration_stays_with_the_daemon)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct frame f;

	start(false);
	frame_good4(&f);
	xdp_rig_expect(port, &f, SHUNT_STEER_OFF);
	cr_expect_eq(shunt_xdp_suspend(port, &err), 0, "%s", err.msg);
	cr_expect_eq(shunt_xdp_set_config(port, &cfg, &err), 0, "%s", err.msg);
	cr_expect_eq(shunt_xdp_resume(port, &err), 0, "%s", err.msg);
	xdp_rig_expect(port, &f, SHUNT_STEER_NO_SOCKET);
	stop();
}

Test(helper, anothers_program_stays)
{
	struct shunt_xdp_info info;
	uint32_t id;

	start(false);
	cr_expect_eq(shunt_xdp_suspend(port, &err), 0, "%s", err.msg);
	id = xdp_rig_put("somebody", 0);
	cr_expect_eq(shunt_xdp_info(port, &info, &err), 0, "%s", err.msg);
	cr_expect(info.blocked);
	cr_expect_eq(shunt_xdp_resume(port, &err), -EBUSY);
	cr_expect(strstr(err.msg, "va: "), "%s", err.msg);
	stop();
	cr_expect_eq(xdp_rig_prog_on("va"), id);
}

Test(helper, makes_arrays_for_tables)
{
	const struct shunt_xdp_delegate *delegate;
	const size_t len = 1ul << SHUNT_TABLES_CHUNK_SHIFT;
	uint8_t *at;
	int fd;

	start(true);
	delegate = shunt_helper_delegate(helper);
	fd = delegate->make_chunk(delegate->ctx);
	cr_assert_geq(fd, 0);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(at, MAP_FAILED);
	cr_expect_eq(at[0] | at[len - 1], 0);
	at[len - 1] = 1;
	munmap(at, len);
	close(fd);
	stop();
}

Test(helper, makes_and_removes_a_detour)
{
	unsigned at;

	start(false);
	at = (unsigned)shunt_helper_detour_open(helper, if_nametoindex("va"), 1500, 2, &err);
	cr_expect((int)at > 0, "%s", err.msg);
	cr_expect_eq(at, shunt_detour_find(if_nametoindex("va")));
	/* the same one again, with another MTU */
	cr_expect_eq(shunt_helper_detour_open(helper, if_nametoindex("va"), 1400, 2, &err),
		     (int)at);
	xdp_rig_shell("ip -o link show type veth | grep -q 'shunt-d.* mtu 1400 '");
	cr_expect_eq(shunt_helper_detour_close(helper, if_nametoindex("va"), &err), 0);
	cr_expect_eq(shunt_detour_find(if_nametoindex("va")), 0);
	stop();
}

/* --- what it refuses -------------------------------------------------------------------------- */

/* Sends bytes, with a descriptor where fd is one, and returns the answer's ret. */
static int send_raw(const void *bytes, size_t len, int fd, struct shunt_helper_answer *answer)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(void *)bytes, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	cr_assert_eq(sendmsg(shunt_helper_fd(helper), &msg, MSG_NOSIGNAL), (ssize_t)len);
	cr_assert_eq(recv(shunt_helper_fd(helper), answer, sizeof(*answer), 0),
		     (ssize_t)sizeof(*answer));
	return answer->ret;
}

static unsigned fd_cnt(pid_t pid)
{
	char command[64], line[16] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", (int)pid);
	pipe = popen(command, "r");
	cr_assert(pipe && fgets(line, sizeof(line), pipe));
	pclose(pipe);
	return (unsigned)atoi(line);
}

/* Nothing has changed, and it answers. */
static void expect_as_before(const char *what, uint32_t prog_id, unsigned fds)
{
	struct shunt_helper_request look = {
		.number = 77, .verb = SHUNT_HELPER_look, .ifindex = if_nametoindex("va")};
	struct shunt_helper_answer answer;

	cr_expect_eq(send_raw(&look, sizeof(look), -1, &answer), 0, "%s: %s", what, answer.err.msg);
	cr_expect_eq(answer.number, 77, "%s", what);
	cr_expect(answer.state.is_attached && !answer.state.is_suspended, "%s", what);
	cr_expect_eq(xdp_rig_prog_on("va"), prog_id, "%s", what);
	cr_expect_eq(shunt_detour_find(if_nametoindex("va")), 0, "%s", what);
	cr_expect_eq(fd_cnt(shunt_helper_pid(helper)), fds, "%s: descriptors stay open", what);
	cr_expect(!shunt_helper_is_lost(helper), "%s", what);
}

#define VA UINT32_MAX	    /* the port's number, which the test knows later */
#define VB (UINT32_MAX - 1) /* a device that is no port */

#define GOOD_TAP                                         \
	{                                                \
		.opts.snap_len = 64, .ring_bytes = 65536 \
	}

static const struct {
	const char *what;
	struct shunt_helper_request request;
	int ret;
} refused[] = {
	{"no verb", {.verb = SHUNT_HELPER_none}, -ENOSYS},
	{"a verb too many", {.verb = SHUNT_HELPER_VERB_END, .ifindex = VA}, -ENOSYS},
	{"an absurd verb", {.verb = UINT32_MAX}, -ENOSYS},
	{"suspend: no device", {.verb = SHUNT_HELPER_suspend}, -ENODEV},
	{"suspend: no port", {.verb = SHUNT_HELPER_suspend, .ifindex = VB}, -ENODEV},
	{"resume: no port", {.verb = SHUNT_HELPER_resume, .ifindex = VB}, -ENODEV},
	{"withdraw: no port", {.verb = SHUNT_HELPER_withdraw, .ifindex = VB}, -ENODEV},
	{"withdraw: lo", {.verb = SHUNT_HELPER_withdraw, .ifindex = 1}, -ENODEV},
	{"look: no port", {.verb = SHUNT_HELPER_look, .ifindex = 4000000000u}, -ENODEV},
	{"detour_open: no port",
	 {.verb = SHUNT_HELPER_detour_open, .ifindex = VB, .mtu = 1500, .queues = 1},
	 -ENODEV},
	{"ask_flows: no port", {.verb = SHUNT_HELPER_ask_flows, .ifindex = VB}, -ENODEV},
	{"detour_close: no port", {.verb = SHUNT_HELPER_detour_close, .ifindex = VB}, -ENODEV},
	{"suspend: an MTU", {.verb = SHUNT_HELPER_suspend, .ifindex = VA, .mtu = 1500}, -EINVAL},
	{"suspend: queues", {.verb = SHUNT_HELPER_suspend, .ifindex = VA, .queues = 1}, -EINVAL},
	{"withdraw: keep", {.verb = SHUNT_HELPER_withdraw, .ifindex = VA, .is_kept = 1}, -EINVAL},
	{"make_chunk: a device", {.verb = SHUNT_HELPER_make_chunk, .ifindex = VA}, -EINVAL},
	{"give_back: a device", {.verb = SHUNT_HELPER_give_back, .ifindex = VA}, -EINVAL},
	{"give_back: keep twice", {.verb = SHUNT_HELPER_give_back, .is_kept = 2}, -EINVAL},
	{"detour_open: no size", {.verb = SHUNT_HELPER_detour_open, .ifindex = VA}, -ERANGE},
	{"detour_open: MTU 67",
	 {.verb = SHUNT_HELPER_detour_open, .ifindex = VA, .mtu = 67, .queues = 1},
	 -ERANGE},
	{"detour_open: MTU 65536",
	 {.verb = SHUNT_HELPER_detour_open, .ifindex = VA, .mtu = 65536, .queues = 1},
	 -ERANGE},
	{"detour_open: no queue",
	 {.verb = SHUNT_HELPER_detour_open, .ifindex = VA, .mtu = 1500},
	 -ERANGE},
	{"detour_open: queues",
	 {.verb = SHUNT_HELPER_detour_open, .ifindex = VA, .mtu = 1500, .queues = 4097},
	 -ERANGE},
	{"suspend: a tap", {.verb = SHUNT_HELPER_suspend, .ifindex = VA, .tap = GOOD_TAP}, -EINVAL},
	{"tap: no device", {.verb = SHUNT_HELPER_tap, .tap = GOOD_TAP}, -ENODEV},
	{"tap: an MTU",
	 {.verb = SHUNT_HELPER_tap, .ifindex = VA, .mtu = 1, .tap = GOOD_TAP},
	 -EINVAL},
	{"tap: no ring",
	 {.verb = SHUNT_HELPER_tap, .ifindex = VA, .tap.opts.snap_len = 1},
	 -ERANGE},
	{"tap: no bytes",
	 {.verb = SHUNT_HELPER_tap, .ifindex = VA, .tap.ring_bytes = 65536},
	 -ERANGE},
	{"tap: a ring of three pages",
	 {.verb = SHUNT_HELPER_tap,
	  .ifindex = VA,
	  .tap = {.opts.snap_len = 1, .ring_bytes = 98304}},
	 -ERANGE},
	{"tap: instructions",
	 {.verb = SHUNT_HELPER_tap,
	  .ifindex = VA,
	  .tap = {.opts.snap_len = 1, .ring_bytes = 65536, .filter_cnt = 513}},
	 -ERANGE},
	{"suspend: a frame",
	 {.verb = SHUNT_HELPER_suspend, .ifindex = VA, .frame.len = 60},
	 -EINVAL},
	{"explain: a tap",
	 {.verb = SHUNT_HELPER_explain, .ifindex = VA, .frame.len = 60, .tap = GOOD_TAP},
	 -EINVAL},
	{"explain: no port",
	 {.verb = SHUNT_HELPER_explain, .ifindex = VB, .frame.len = 60},
	 -ENODEV},
	{"explain: no frame", {.verb = SHUNT_HELPER_explain, .ifindex = VA}, -ERANGE},
	{"explain: a byte too many",
	 {.verb = SHUNT_HELPER_explain, .ifindex = VA, .frame.len = SHUNT_XDP_FRAME_MAX + 1},
	 -ERANGE},
	/* of verbs that this daemon has no use for */
	{"explain: no captures",
	 {.verb = SHUNT_HELPER_explain, .ifindex = VA, .frame.len = SHUNT_XDP_FRAME_MIN},
	 -EPERM},
	{"tap: no captures", {.verb = SHUNT_HELPER_tap, .ifindex = VA, .tap = GOOD_TAP}, -EPERM},
	{"ask_flows: no dispatcher", {.verb = SHUNT_HELPER_ask_flows, .ifindex = VA}, -EPERM},
	{"make_chunk: no tables", {.verb = SHUNT_HELPER_make_chunk}, -EPERM},
	{"give_back: no journal", {.verb = SHUNT_HELPER_give_back}, -EPERM},
};

Test(helper, refuses_every_other_request)
{
	struct shunt_helper_answer answer;
	uint32_t id;
	unsigned i, fds;

	start(false);
	id = xdp_rig_prog_on("va");
	fds = fd_cnt(shunt_helper_pid(helper));
	for (i = 0; i < SHUNT_ARRAY_LEN(refused); i++) {
		struct shunt_helper_request r = refused[i].request;

		r.number = i + 1;
		if (r.ifindex == VA || r.ifindex == VB)
			r.ifindex = if_nametoindex(r.ifindex == VA ? "va" : "vb");
		cr_expect_eq(send_raw(&r, sizeof(r), -1, &answer), refused[i].ret, "%s: %d, %s",
			     refused[i].what, answer.ret, answer.err.msg);
		cr_expect_eq(answer.number, i + 1, "%s", refused[i].what);
		cr_expect(strncmp(answer.err.msg, "helper: ", 8) == 0, "%s: %s", refused[i].what,
			  answer.err.msg);
		expect_as_before(refused[i].what, id, fds);
	}
	stop();
}

/* A good request in everything but its length or what comes with it. */
Test(helper, refuses_what_is_malformed)
{
	static const size_t lens[] = {0,
				      1,
				      4,
				      sizeof(struct shunt_helper_request) - 1,
				      sizeof(struct shunt_helper_request) + 1,
				      4096,
				      100000};
	static char bytes[100000];
	char expected[40];
	struct shunt_helper_request good = {.number = 5, .verb = SHUNT_HELPER_suspend};
	struct shunt_helper_answer answer;
	int null_fd = open("/dev/null", O_RDONLY);
	uint32_t id;
	unsigned i, fds;

	start(false);
	id = xdp_rig_prog_on("va");
	fds = fd_cnt(shunt_helper_pid(helper));
	good.ifindex = if_nametoindex("va");
	memcpy(bytes, &good, sizeof(good));
	snprintf(expected, sizeof(expected), "bytes, expected %zu", sizeof(good));
	for (i = 0; i < SHUNT_ARRAY_LEN(lens); i++) {
		cr_expect_eq(send_raw(bytes, lens[i], -1, &answer), -EBADMSG, "%zu bytes", lens[i]);
		cr_expect(strstr(answer.err.msg, expected), "%s", answer.err.msg);
		expect_as_before("length", id, fds);
	}
	cr_expect_eq(send_raw(&good, sizeof(good), null_fd, &answer), -EBADMSG);
	cr_expect(strstr(answer.err.msg, "descriptors"), "%s", answer.err.msg);
	expect_as_before("a descriptor", id, fds);
	cr_expect_eq(send_raw(bytes, sizeof(good) + 1, null_fd, &answer), -EBADMSG);
	expect_as_before("both", id, fds);
	/* and the good one */
	cr_expect_eq(send_raw(&good, sizeof(good), -1, &answer), 0, "%s", answer.err.msg);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
	stop();
}

Test(helper, arrays_have_an_end)
{
	const struct shunt_xdp_delegate *delegate;
	unsigned cnt = 0;
	int fd;

	start(true);
	delegate = shunt_helper_delegate(helper);
	/* each goes at once: the number counts, not the memory */
	while ((fd = delegate->make_chunk(delegate->ctx)) >= 0) {
		close(fd);
		cnt++;
	}
	cr_expect_eq(fd, -ERANGE);
	cr_expect_eq(cnt, SHUNT_TABLES_CHUNKS_MAX);
	stop();
}

/* --- its end ---------------------------------------------------------------------------------- */

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

Test(helper, lost_it_is_missed_and_not_waited_for)
{
	struct shunt_xdp_info info;
	const struct shunt_xdp_delegate *delegate;
	uint64_t until_ns = 0;
	uint32_t id;

	start(true);
	id = xdp_rig_prog_on("va");
	kill(shunt_helper_pid(helper), SIGKILL);
	while (!shunt_helper_is_lost(helper))
		cr_assert(wait_a_moment(&until_ns), "not seen");
	cr_expect_eq(shunt_xdp_suspend(port, &err), -ENOTCONN);
	cr_expect(strstr(err.msg, "helper process"), "%s", err.msg);
	cr_expect_eq(shunt_helper_detour_open(helper, if_nametoindex("va"), 1500, 1, &err),
		     -ENOTCONN);
	cr_expect_eq(shunt_helper_give_back(helper, false, &err), -ENOTCONN);
	delegate = shunt_helper_delegate(helper);
	cr_expect_eq(delegate->make_chunk(delegate->ctx), -ENOTCONN);
	/* the program goes on, and is known to */
	cr_expect_eq(shunt_xdp_info(port, &info, &err), 0, "%s", err.msg);
	cr_expect(!info.suspended && info.prog_id == id);
	stop();
}

Test(helper, stopped_it_ends)
{
	pid_t pid;

	start(false);
	pid = shunt_helper_pid(helper);
	stop();
	cr_expect(is_gone(pid));
	shunt_helper_stop(NULL);
	cr_expect(!shunt_helper_is_lost(NULL));
}
