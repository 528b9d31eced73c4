// SPDX-License-Identifier: BSD-2-Clause
/* The daemon's side: the process made and ended, requests sent. */
#include "helper/helper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helper/message.h"
#include "helper/process.h"

/* A driver may take seconds to reset its device. With less, such a helper is taken for lost. With
 * more, the control thread is late for the routes. */
#define ANSWER_MS 15000
#define END_MS	  2000

struct shunt_helper {
	pid_t pid;
	pthread_mutex_t lock; /* of what follows: control and the follower ask */
	int fd;		      /* -1: lost */
	uint32_t number;
	struct shunt_xdp_delegate delegate;
};

static void lose(struct shunt_helper *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

static int lost_error(const struct shunt_helper *h, struct shunt_err *err)
{
	return shunt_err_set(err, ENOTCONN,
			     "the helper process %d has ended, or does not answer; start shuntd "
			     "again",
			     (int)h->pid);
}

/* --- an exchange ------------------------------------------------------------------------------ */

/* The one descriptor of an answer, -1 where it has none. */
static int take_fd(struct msghdr *msg)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* Returns whether an answer came. *fd is the caller's. */
static bool hear(const struct shunt_helper *h, struct shunt_helper_answer *answer, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {answer, sizeof(*answer)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct pollfd pollfd = {.fd = h->fd, .events = POLLIN};
	int ret;

	*fd = -1;
	do
		ret = poll(&pollfd, 1, ANSWER_MS);
	while (ret < 0 && errno == EINTR);
	if (ret <= 0 || recvmsg(h->fd, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*answer))
		return false;
	*fd = take_fd(&msg);
	answer->err.msg[sizeof(answer->err.msg) - 1] = 0;
	return true;
}

static int ask_locked(struct shunt_helper *h, struct shunt_helper_request request,
		      struct shunt_helper_answer *answer, int *fd, struct shunt_err *err)
{
	int got = -1;

	request.number = ++h->number ?: ++h->number;
	if (h->fd < 0 ||
	    send(h->fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request) ||
	    !hear(h, answer, &got) || answer->number != request.number) {
		if (got >= 0)
			close(got);
		lose(h);
		return lost_error(h, err);
	}
	if (fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	if (answer->ret < 0 && err)
		*err = answer->err;
	return answer->ret;
}

/* Returns what the helper returned; -ENOTCONN where it gave no answer. *fd, unless it is NULL, is
 * the descriptor that came. One exchange at a time. */
static int ask(struct shunt_helper *h, struct shunt_helper_request request,
	       struct shunt_helper_answer *answer, int *fd, struct shunt_err *err)
{
	int ret;

	pthread_mutex_lock(&h->lock);
	ret = ask_locked(h, request, answer, fd, err);
	pthread_mutex_unlock(&h->lock);
	return ret;
}

/* --- requests --------------------------------------------------------------------------------- */

static int act(void *ctx, enum shunt_xdp_act what, unsigned ifindex, struct shunt_xdp_state *state,
	       struct shunt_err *err)
{
	static const enum shunt_helper_verb verbs[] = {
		[SHUNT_XDP_ACT_SUSPEND] = SHUNT_HELPER_suspend,
		[SHUNT_XDP_ACT_RESUME] = SHUNT_HELPER_resume,
		[SHUNT_XDP_ACT_WITHDRAW] = SHUNT_HELPER_withdraw,
		[SHUNT_XDP_ACT_LOOK] = SHUNT_HELPER_look,
		[SHUNT_XDP_ACT_UNTAP] = SHUNT_HELPER_untap,
		[SHUNT_XDP_ACT_ASK_FLOWS] = SHUNT_HELPER_ask_flows,
	};
	const struct shunt_helper_request request = {.verb = verbs[what], .ifindex = ifindex};
	struct shunt_helper_answer answer;
	const int ret = ask(ctx, request, &answer, NULL, err);

	if (ret != -ENOTCONN)
		*state = answer.state;
	return ret;
}

static int tap(void *ctx, unsigned ifindex, const struct shunt_xdp_tap_opts *opts,
	       struct shunt_xdp_state *state, struct shunt_err *err)
{
	const struct shunt_helper_request request = {
		.verb = SHUNT_HELPER_tap, .ifindex = ifindex, .tap = *opts};
	struct shunt_helper_answer answer;
	int fd = -1;
	const int ret = ask(ctx, request, &answer, &fd, err);

	if (ret != -ENOTCONN)
		*state = answer.state;
	if (ret < 0)
		return ret;
	return fd < 0 ? shunt_err_set(err, EPROTO, "the helper sent no ring") : fd;
}

static int explain(void *ctx, unsigned ifindex, const struct shunt_xdp_frame *frame,
		   struct shunt_xdp_steered *out, struct shunt_err *err)
{
	const struct shunt_helper_request request = {
		.verb = SHUNT_HELPER_explain, .ifindex = ifindex, .frame = *frame};
	struct shunt_helper_answer answer;
	const int ret = ask(ctx, request, &answer, NULL, err);

	if (!ret)
		*out = answer.steered;
	return ret;
}

static int make_chunk(void *ctx)
{
	const struct shunt_helper_request request = {.verb = SHUNT_HELPER_make_chunk};
	struct shunt_helper_answer answer;
	int fd = -1;
	const int ret = ask(ctx, request, &answer, &fd, NULL);

	if (!ret && fd < 0)
		return -EPROTO;
	return ret ? ret : fd;
}

int shunt_helper_detour_open(struct shunt_helper *h, unsigned far, uint32_t mtu, uint32_t queues,
			     struct shunt_err *err)
{
	const struct shunt_helper_request request = {
		.verb = SHUNT_HELPER_detour_open, .ifindex = far, .mtu = mtu, .queues = queues};
	struct shunt_helper_answer answer;

	return ask(h, request, &answer, NULL, err);
}

int shunt_helper_detour_close(struct shunt_helper *h, unsigned far, struct shunt_err *err)
{
	const struct shunt_helper_request request = {.verb = SHUNT_HELPER_detour_close,
						     .ifindex = far};
	struct shunt_helper_answer answer;

	return ask(h, request, &answer, NULL, err);
}

int shunt_helper_give_back(struct shunt_helper *h, bool keep, struct shunt_err *err)
{
	const struct shunt_helper_request request = {.verb = SHUNT_HELPER_give_back,
						     .is_kept = keep};
	struct shunt_helper_answer answer;

	return ask(h, request, &answer, NULL, err);
}

/* --- the process ------------------------------------------------------------------------------ */

static int await_first_word(struct shunt_helper *h, struct shunt_err *err)
{
	struct shunt_helper_answer first;
	int fd;

	if (!hear(h, &first, &fd))
		return shunt_err_set(err, EPIPE, "the helper process ended as it began");
	if (first.ret && err)
		*err = first.err;
	return first.ret;
}

static int fork_it(struct shunt_helper *h, const struct shunt_helper_opts *opts,
		   struct shunt_err *err)
{
	const pid_t daemon = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return shunt_err_set(err, errno, "helper: socketpair: %s", strerror(errno));
	h->pid = fork();
	if (h->pid == 0) {
		close(fds[0]);
		shunt_helper_run(fds[1], daemon, opts);
		opts->end(EXIT_SUCCESS);
	}
	close(fds[1]);
	h->fd = fds[0];
	if (h->pid < 0)
		return shunt_err_set(err, errno, "helper: fork: %s", strerror(errno));
	return await_first_word(h, err);
}

int shunt_helper_start(struct shunt_helper **out, const struct shunt_helper_opts *opts,
		       struct shunt_err *err)
{
	struct shunt_helper *h = calloc(1, sizeof(*h));
	int ret;

	*out = NULL;
	if (!h)
		return shunt_err_set(err, ENOMEM, "helper: not enough memory");
	pthread_mutex_init(&h->lock, NULL);
	h->fd = -1;
	h->delegate = (struct shunt_xdp_delegate){
		.ctx = h, .act = act, .tap = tap, .explain = explain, .make_chunk = make_chunk};
	ret = fork_it(h, opts, err);
	if (ret)
		shunt_helper_stop(h);
	else
		*out = h;
	return ret;
}

void shunt_helper_stop(struct shunt_helper *h)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	int i;

	if (!h)
		return;
	lose(h);
	for (i = 0; i < END_MS && h->pid > 0 && waitpid(h->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

const struct shunt_xdp_delegate *shunt_helper_delegate(const struct shunt_helper *h)
{
	return h ? &h->delegate : NULL;
}

bool shunt_helper_is_lost(struct shunt_helper *h)
{
	struct pollfd pollfd = {.fd = -1, .events = POLLIN};
	bool is_lost;

	if (!h)
		return false;
	pthread_mutex_lock(&h->lock);
	pollfd.fd = h->fd;
	if (h->fd >= 0 && poll(&pollfd, 1, 0) > 0)
		lose(h); /* nothing comes unasked but the end */
	is_lost = h->fd < 0;
	pthread_mutex_unlock(&h->lock);
	if (is_lost)
		waitpid(h->pid, NULL, WNOHANG);
	return is_lost;
}

pid_t shunt_helper_pid(const struct shunt_helper *h)
{
	return h->pid;
}

int shunt_helper_fd(const struct shunt_helper *h)
{
	return h->fd;
}
