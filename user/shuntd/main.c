// SPDX-License-Identifier: BSD-2-Clause
/* shuntd: the daemon. Reads the command line, brings the configuration to life
 * (lib/engine/engine.h), answers shuntctl, and on SIGTERM or SIGINT takes
 * everything down again. All of this is the control thread; the engine's follower follows the
 * kernel beside it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "announce.h"
#include "args.h"
#include "background.h"
#include "base/bytes.h"
#include "bridge/brlink.h"
#include "capture/capture.h"
#include "config/print.h"
#include "daemon.h"
#include "engine/engine.h"
#include "explain/explain.h"
#include "helper/helper.h"
#include "notice/notice.h"
#include "serve/rights.h"
#include "serve/server.h"
#include "notify.h"
#include "reload.h"
#include "requests.h"
#include "rollback.h"
#include "serve/takeover.h"
#include "journal/journal.h"

static void complain(const struct shunt_err *err)
{
	fprintf(stderr, "shuntd: %s\n", err->msg);
}

/* --- event loop ------------------------------------------------------------------------------- */

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Signals are blocked before any thread starts, so that all inherit it and none
 * is interrupted. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int open_events(struct daemon *d, struct shunt_err *err)
{
	const unsigned ms = shuntd_notify_interval_ms();
	const struct timespec interval = {ms / 1000, ms % 1000 * 1000000L};
	const struct itimerspec ticks = {interval, interval};

	d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (d->timer_fd < 0 || d->epoll_fd < 0 || timerfd_settime(d->timer_fd, 0, &ticks, NULL) ||
	    watch(d->epoll_fd, d->timer_fd) || watch(d->epoll_fd, d->signal_fd) ||
	    watch(d->epoll_fd, shunt_engine_fd(d->engine)) ||
	    (d->server && watch(d->epoll_fd, shunt_server_fd(d->server))))
		return shunt_err_set(err, errno, "cannot set up the event loop: %s",
				     strerror(errno));
	return 0;
}

static void tell_notices(struct daemon *d)
{
	shunt_notices_look(d->notices);
	shunt_notices_tell(d->notices, shuntd_announce_notice, d->engine);
}

static void tick(struct daemon *d)
{
	struct shunt_err err;
	uint64_t expirations;

	if (read(d->timer_fd, &expirations, sizeof(expirations)) < 0)
		return;
	shuntd_notify_alive(d->engine);
	if (shunt_engine_refresh(d->engine, &err))
		complain(&err);
	shuntd_announce_lanes(d->engine);
	tell_notices(d);
}

/* Does what the thread that follows the kernel leaves to this one. */
static void follow(struct daemon *d)
{
	struct shunt_err err;

	if (shunt_engine_service(d->engine, &err) < 0)
		complain(&err);
}

/* Reads a signal; returns whether it ends the daemon. */
static bool is_ending(struct daemon *d)
{
	struct signalfd_siginfo info;
	struct shunt_err err;

	if (read(d->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo != SIGHUP || !*d->args.config_path)
		return true;
	if (shuntd_reload(d->engine, d->argc, d->argv, &err) < 0)
		complain(&err);
	return false;
}

static void serve(struct daemon *d)
{
	struct epoll_event event;

	for (;;) {
		int n = epoll_wait(d->epoll_fd, &event, 1, -1);

		if (n < 0 && errno != EINTR)
			return;
		if (n <= 0)
			continue;
		if (event.data.fd == shunt_engine_fd(d->engine))
			follow(d);
		else if (event.data.fd == d->timer_fd)
			tick(d);
		else if (event.data.fd != d->signal_fd)
			shunt_server_service(d->server);
		else if (is_ending(d))
			return;
		if (d->hands_over)
			return;
	}
}

/* --- start and stop --------------------------------------------------------------------------- */

static int take_over(struct daemon *d, const char *path, struct shunt_err *err)
{
	int ret;

	d->rollback_fd = shuntd_rollback_arm(path);
	d->engine->stations = shunt_takeover_stations(path);
	ret = shunt_takeover_request(path, err);
	if (ret <= 0)
		shuntd_rollback_disarm(&d->rollback_fd);
	if (ret < 0)
		return ret;
	fprintf(stderr, "shuntd: %s\n",
		ret ? "the daemon before handed over" : "no daemon runs that could hand over");
	return 0;
}

/* Must come before anything on the machine is touched: the programs of a daemon that lives on the
 * same path must not be taken for those of a killed one. */
static int listen_control(struct daemon *d, struct shunt_err *err)
{
	const struct shunt_config *config = &d->args.config;
	const char *path = config->control_path;
	int ret = 0;

	if (!*path)
		return 0;
	if (config->takeover)
		ret = take_over(d, path, err);
	if (!ret && (*config->user || !strcmp(path, SHUNT_CONTROL_PATH)))
		ret = shunt_rights_make_folder(path, config->user, err);
	if (!ret)
		ret = shunt_server_create(&d->server, path, config->group, shuntd_answer, d, err);
	if (!ret)
		shuntd_rollback_note();
	return ret;
}

static int recover(struct daemon *d, struct shunt_err *err)
{
	const struct shunt_config *config = &d->args.config;
	char path[sizeof(config->control_path) + 16] = "";
	struct shunt_journal_kept kept = {.cnt = 0};
	struct shunt_err warning = {""};
	int ret = 0;

	if (*config->control_path) {
		snprintf(path, sizeof(path), "%s.journal", config->control_path);
		ret = shunt_journal_recover(path, config, config->persist || config->takeover,
					    &kept, &warning, err);
	}
	if (*warning.msg)
		fprintf(stderr, "shuntd: warning: %s\n", warning.msg);
	if (ret > 0)
		fprintf(stderr, "shuntd: gave back what a killed daemon had changed: %d item%s\n",
			ret, ret > 1 ? "s" : "");
	return ret < 0 ? ret : shunt_journal_open(&d->journal, path, config, &kept, err);
}

/* Of the words in a row; their order is another by now (getopt). */
static size_t argv_len(const struct daemon *d)
{
	size_t len = 0;
	int i;

	for (i = 0; i < d->argc; i++)
		len = SHUNT_MAX(len, (size_t)(d->argv[i] - d->argv[0]) + strlen(d->argv[i]));
	return len;
}

/* Comes when the programs are on the devices, and before there is any socket. */
static int start_helper(struct daemon *d, struct shunt_err *err)
{
	const struct shunt_ports *ports = &d->engine->ports;
	struct shunt_helper_opts opts = {.detours = d->engine->lanes.detours,
					 .journal = d->journal,
					 .end = _exit,
					 .title = d->argv[0]};
	unsigned i;
	int ret;

	d->rights = (struct shunt_rights_opts){
		.user = d->args.config.user,
		.no_seccomp = d->args.no_seccomp,
		.loads_later = shunt_engine_loads_later(d->engine),
		.has_tables = shunt_engine_wants_tables(d->engine),
		.has_taps = d->args.config.capture != SHUNT_CAPTURE_NONE,
	};
	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp)
			opts.ports[opts.port_cnt++] = ports->at[i].xdp;
	if (!opts.port_cnt)
		return 0;
	opts.rights = d->rights;
	opts.title_len = argv_len(d);
	ret = shunt_helper_start(&d->helper, &opts, err);
	if (!ret)
		shunt_engine_set_helper(d->engine, d->helper);
	return ret;
}

/* Comes when everything is open and there is still one thread: from here on less is allowed. */
static int drop_rights(struct daemon *d, struct shunt_err *err)
{
	if (*d->args.pidfile) {
		const int ret = shuntd_background_pidfile(d->args.pidfile, err);

		if (ret)
			return ret;
		d->has_pidfile = true;
	}
	d->rights.has_network = shunt_engine_has_network(d->engine);
	d->rights.has_punt = shunt_engine_punts(d->engine);
	shunt_engine_on_worker(d->engine, shunt_rights_enter_worker, &d->rights);
	return shunt_rights_drop(&d->rights, err);
}

/* What is done when a step failed is taken down by stop(). */
static int start(struct daemon *d, struct shunt_err *err)
{
	int ret = shunt_brlink_expand(&d->args.config, shuntd_announce_left, err);

	if (!ret)
		ret = shunt_config_check(&d->args.config, err);
	if (!ret)
		ret = shunt_engine_create(&d->engine, &d->args.config, err);
	if (!ret)
		ret = shunt_notices_create(&d->notices, d->engine, err);
	if (!ret)
		ret = shunt_captures_create(&d->captures, d->engine, err);
	if (!ret)
		ret = shunt_explain_create(&d->explain, d->engine, err);
	if (!ret)
		ret = listen_control(d, err);
	if (!ret)
		ret = recover(d, err);
	if (!ret)
		ret = shunt_engine_attach(d->engine, err);
	if (!ret)
		ret = start_helper(d, err);
	if (!ret)
		ret = shunt_engine_open(d->engine, err);
	if (!ret)
		ret = open_events(d, err);
	if (!ret)
		ret = drop_rights(d, err);
	if (!ret)
		ret = shunt_engine_start(d->engine, err);
	return ret;
}

static int run(struct daemon *d, struct shunt_err *err)
{
	const int ret = start(d, err);

	if (ret)
		return ret;
	shuntd_rollback_disarm(&d->rollback_fd);
	shuntd_announce_lanes(d->engine);
	shuntd_announce_start(&d->args.config);
	if (d->args.verbose)
		shuntd_announce_ports(d->engine);
	if (shunt_journal_warning(d->journal))
		fprintf(stderr, "shuntd: warning: %s\n", shunt_journal_warning(d->journal));
	tell_notices(d);
	if (d->args.daemonise)
		shuntd_background_ready();
	shuntd_notify("READY=1");
	serve(d);
	shuntd_notify("STOPPING=1");
	return 0;
}

/* Without its helper the daemon has not the rights: the journal stays, for the next start, which
 * where it hands over is a successor's. */
static int close_journal(struct daemon *d, bool hands_over, struct shunt_err *err)
{
	struct shunt_err why;

	if (d->journal && d->helper) {
		if (shunt_helper_give_back(d->helper, hands_over, &why)) {
			shunt_journal_leave(d->journal);
			return hands_over ? 0
					  : shunt_err_set(err, ENOTCONN,
							  "programs stay on devices, and settings "
							  "as they are: %.200s; the next start "
							  "gives back what the journal says",
							  why.msg);
		}
		shunt_journal_was_given_back(d->journal);
	}
	shunt_journal_close(d->journal, hands_over);
	return 0;
}

static int stop(struct daemon *d, struct shunt_err *err)
{
	/* to a successor, or back to the daemon before */
	const bool hands_over = d->hands_over || d->rollback_fd >= 0;
	struct shunt_err ignored;
	int ret;

	shunt_server_dismiss(d->server);
	shunt_captures_destroy(d->captures);
	shunt_explain_destroy(d->explain);
	if (d->engine && hands_over)
		shunt_engine_hand_over(d->engine);
	ret = shunt_engine_destroy(d->engine, err);
	if (close_journal(d, hands_over, ret ? &ignored : err))
		ret = -ENOTCONN;
	shunt_helper_stop(d->helper);
	if (d->has_pidfile)
		unlink(d->args.pidfile);
	shunt_notices_destroy(d->notices);
	/* Last: a successor waits for its end. */
	shunt_server_destroy(d->server);
	return ret;
}

/* Starts the daemon before again, as it was. */
static void take_back(struct daemon *d)
{
	const char *path = d->args.config.control_path;

	fprintf(stderr, "shuntd: %s\n",
		shuntd_rollback_fire(&d->rollback_fd, path)
			? "the daemon before was started again, and answers"
			: "the daemon before does not start again; the kernel forwards");
}

int main(int argc, char **argv)
{
	struct daemon d = {.argc = argc,
			   .argv = argv,
			   .rollback_fd = -1,
			   .signal_fd = -1,
			   .timer_fd = -1,
			   .epoll_fd = -1};
	struct shunt_err err = {""}, stop_err = {""};
	int ret, stopped;

	shuntd_rollback_remember(argc, argv);
	ret = shuntd_args_parse(argc, argv, &d.args, &err);
	if (ret) {
		if (ret < 0)
			complain(&err);
		shunt_config_fini(&d.args.config);
		return ret < 0 ? shuntd_args_exit_code(ret) : EXIT_SUCCESS;
	}
	if (d.args.check_only) {
		ret = shunt_config_print(&d.args.config, stdout);
		shunt_config_fini(&d.args.config);
		return ret ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	shuntd_notify_open();
	d.signal_fd = open_signals();
	if (d.args.daemonise && shuntd_background_enter(&err)) {
		complain(&err);
		return EXIT_FAILURE;
	}
	ret = run(&d, &err);
	if (ret)
		complain(&err);
	stopped = stop(&d, &stop_err);
	if (stopped)
		complain(&stop_err);
	if (d.rollback_fd >= 0)
		take_back(&d);
	shunt_config_fini(&d.args.config);
	return ret || stopped ? EXIT_FAILURE : EXIT_SUCCESS;
}
