// SPDX-License-Identifier: BSD-2-Clause
#include "top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/client.h"
#include "rates.h"
#include "view.h"

struct screen {
	bool is_tty;   /* stdout: rewrite it */
	bool has_keys; /* stdin is a terminal, too: its keys come at once */
	struct termios saved;
};

static volatile sig_atomic_t is_over;

static void on_signal(int sig)
{
	(void)sig;
	is_over = 1;
}

/* Without SA_RESTART, so that poll and recv end. */
static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static void screen_open(struct screen *s, bool json)
{
	struct termios raw;

	memset(s, 0, sizeof(*s));
	s->is_tty = !json && isatty(STDOUT_FILENO);
	s->has_keys = s->is_tty && isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &s->saved);
	if (s->has_keys) {
		raw = s->saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 1;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	if (s->is_tty)
		fputs("\033[?1049h\033[?25l", stdout); /* other screen, no cursor */
}

static void screen_close(const struct screen *s)
{
	if (s->is_tty)
		fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (s->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

static bool is_quit_key(void)
{
	char key = 0;

	return read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q';
}

/* Returns when the interval has passed, or when top is to end. */
static void wait_interval(const struct screen *s, double seconds)
{
	uint64_t end_ns = shunt_clock_ns() + (uint64_t)(seconds * 1e9), now_ns;
	struct pollfd keys = {.fd = s->has_keys ? STDIN_FILENO : -1, .events = POLLIN};

	while (!is_over && (now_ns = shunt_clock_ns()) < end_ns) {
		int n = poll(&keys, 1, (int)((end_ns - now_ns + 999999) / 1000000));

		if (n > 0 && is_quit_key())
			is_over = 1;
	}
}

static int take_snapshot(int fd, struct shuntctl_snapshot *s, struct shunt_err *err)
{
	memset(s, 0, sizeof(*s));
	s->ports = shunt_client_show(fd, "ports", err);
	s->runtime = s->ports ? shunt_client_show(fd, "runtime", err) : NULL;
	s->drops = s->runtime ? shunt_client_show(fd, "drops", err) : NULL;
	if (s->drops)
		return 0;
	shuntctl_snapshot_fini(s);
	return -EIO;
}

static void print_header(const struct shuntctl_top_opts *opts, const json_t *rates)
{
	time_t now = time(NULL);
	struct tm tm;
	char clock[16] = "";

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	printf("%s  %s  over %.2f s\n\n", clock, opts->socket,
	       json_real_value(json_object_get(rates, "interval_s")));
}

static void print_report(const struct shuntctl_top_opts *opts, const struct screen *s,
			 const json_t *rates)
{
	if (opts->json) {
		json_dumpf(rates, stdout, opts->json_flags);
		putchar('\n');
	} else {
		if (s->is_tty)
			fputs("\033[H\033[J", stdout);
		print_header(opts, rates);
		shuntctl_view_rates(stdout, rates);
		puts(s->has_keys ? "\nq quits" : "");
	}
	fflush(stdout);
}

static int refresh(const struct shuntctl_top_opts *opts, const struct screen *s, int fd,
		   struct shunt_err *err)
{
	struct shuntctl_snapshot a, b;
	unsigned n;
	int ret;

	ret = take_snapshot(fd, &a, err);
	for (n = 0; !ret && !is_over && (!opts->iterations || n < opts->iterations); n++) {
		json_t *rates;

		wait_interval(s, opts->interval_s);
		if (is_over)
			break;
		ret = take_snapshot(fd, &b, err);
		if (ret)
			return shuntctl_snapshot_fini(&a), ret;
		rates = shuntctl_rates(&a, &b);
		print_report(opts, s, rates);
		json_decref(rates);
		shuntctl_snapshot_fini(&a);
		a = b;
	}
	if (!ret)
		shuntctl_snapshot_fini(&a);
	return ret;
}

int shuntctl_top(const struct shuntctl_top_opts *opts, struct shunt_err *err)
{
	int fd = shunt_client_open(opts->socket, err), ret;
	struct screen screen;

	if (fd < 0)
		return fd;
	catch_signals();
	screen_open(&screen, opts->json);
	ret = refresh(opts, &screen, fd, err);
	screen_close(&screen);
	close(fd);
	/* Ctrl-C in the middle of a question is no failure. */
	return is_over ? 0 : ret;
}
