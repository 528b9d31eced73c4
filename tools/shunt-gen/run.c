// SPDX-License-Identifier: BSD-2-Clause
/* Sending and counting in one command: a process for each end, each in its network
 * namespace, and one verdict from what both say. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"

/* How long frames may still be on their way after the last was sent. */
#define DRAIN_S	  0.3
#define LOOK_S	  0.01
#define CONFIRMED 0.99

struct end {
	FILE *json;
	pid_t pid;
};

static int enter(const struct gen_place *p, struct shunt_err *err)
{
	char path[160];
	int fd, rc = 0;

	if (!*p->ns)
		return 0;
	snprintf(path, sizeof(path), "%s%s", strchr(p->ns, '/') ? "" : "/run/netns/", p->ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return shunt_err_set(err, errno,
				     "%s: no such network namespace (%s); `ip netns` lists them",
				     p->ns, strerror(errno));
	if (setns(fd, CLONE_NEWNET))
		rc = shunt_err_set(err, errno, "setns(%s): %s: root is needed", p->ns,
				   strerror(errno));
	close(fd);
	return rc;
}

static int child(const struct gen_run_opts *o, bool is_sink, FILE *json)
{
	struct shunt_err err;
	int rc;

	/* A signal of the terminal goes to the parent alone, which ends the children in order. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	rc = enter(is_sink ? &o->rx : &o->tx, &err);
	if (!rc)
		rc = is_sink ? gen_sink(&o->sink, json, &err) : gen_send(&o->send, json, &err);
	if (rc < 0)
		fprintf(stderr, "shunt-gen: %s\n", err.msg);
	fflush(stdout);
	return rc ? 1 : 0;
}

static int start(struct end *e, const struct gen_run_opts *o, bool is_sink, struct shunt_err *err)
{
	e->json = tmpfile();
	if (!e->json)
		return shunt_err_set(err, errno, "tmpfile: %s", strerror(errno));
	fflush(NULL);
	e->pid = fork();
	if (e->pid < 0)
		return shunt_err_set(err, errno, "fork: %s", strerror(errno));
	if (!e->pid)
		_exit(child(o, is_sink, e->json));
	return 0;
}

/* Waits for its end and passes one signal on to it. Returns its exit status. */
static int join(struct end *e, int *passed)
{
	int status, sig;

	if (e->pid <= 0)
		return 0;
	while (!waitpid(e->pid, &status, WNOHANG)) {
		sig = gen_signal_wait(LOOK_S);
		if (sig) {
			*passed = sig;
			kill(e->pid, sig);
		}
	}
	e->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int stop(struct end *e)
{
	int sig = 0;

	if (e->pid > 0)
		kill(e->pid, SIGINT);
	return join(e, &sig);
}

/* A sink to which nothing will be sent: its totals would say nothing. The kernel takes its program
 * off with it. */
static void abandon(struct end *e)
{
	if (e->pid > 0)
		kill(e->pid, SIGKILL);
	while (e->pid > 0 && waitpid(e->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	e->pid = 0;
}

/* Whether the sink counts; false when it has failed and said so. */
static bool is_ready(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static double number(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

/* Whether the rate was held; a rate of which the sink saw nothing was not, whatever tx's device
 * took. */
static json_t *rate_held(const json_t *tx, double came)
{
	json_t *held = json_object_get(tx, "rate_held");

	return json_is_true(held) && came <= 0 ? json_false() : json_incref(held);
}

static json_t *verdict(const struct gen_run_opts *o, json_t *tx, json_t *rx)
{
	/* A capture's frames have no tag. */
	const double came = number(rx, "frames") - number(rx, "duplicates") +
			    (o->send.capture ? number(rx, "other_frames") : 0);
	const double sent = number(tx, "sent"), lost = sent > came ? sent - came : 0;

	return json_pack("{s:O, s:O, s:O, s:I, s:I, s:f, s:f, s:O, s:b, s:o}", "tx", tx, "rx", rx,
			 "sent", json_object_get(tx, "sent"), "received", (json_int_t)came, "lost",
			 (json_int_t)lost, "loss", sent > 0 ? lost / sent : 0.0, "pps",
			 sent > 0 ? number(tx, "offered_pps") * came / sent : 0.0, "requested_pps",
			 json_object_get(tx, "requested_pps"), "confirmed",
			 sent > 0 && came >= sent * CONFIRMED, "rate_held", rate_held(tx, came));
}

static int judge(const struct gen_run_opts *o, const json_t *v)
{
	const bool confirmed = json_is_true(json_object_get(v, "confirmed"));
	char pps[32];

	if (!o->send.json)
		printf("sent %.0f, received %.0f, lost %.0f (%.4f %%): %s %s\n", number(v, "sent"),
		       number(v, "received"), number(v, "lost"), 100 * number(v, "loss"),
		       gen_rate_text(pps, sizeof(pps), number(v, "pps")),
		       confirmed ? "confirmed by the sink" : "are all that the sink confirms");
	if (number(v, "sent") > 0 && number(v, "received") == 0) {
		fprintf(stderr,
			"shunt-gen: the sink confirms none of the %.0f frames sent: no rate was "
			"reached; is there a way from --tx to --rx, and --dst-mac that of the next "
			"hop?\n",
			number(v, "sent"));
		return 1;
	}
	return o->send.strict && !confirmed;
}

static int report(const struct gen_run_opts *o, struct end *tx, struct end *rx,
		  struct shunt_err *err)
{
	json_t *sent, *came, *v;
	int rc;

	rewind(tx->json);
	rewind(rx->json);
	sent = json_loadf(tx->json, 0, NULL);
	came = json_loadf(rx->json, 0, NULL);
	v = sent && came ? verdict(o, sent, came) : NULL;
	if (v && o->send.json)
		gen_json_print(stdout, v);
	rc = v ? judge(o, v) : shunt_err_set(err, EPROTO, "one end gave no result");
	json_decref(v);
	json_decref(sent);
	json_decref(came);
	return rc;
}

static bool is_empty(FILE *f)
{
	return fseek(f, 0, SEEK_END) || ftell(f) <= 0;
}

static int run(struct gen_run_opts *o, struct end *tx, struct end *rx, struct shunt_err *err)
{
	const double drain = o->sink.idle_s > 0 ? o->sink.idle_s : DRAIN_S;
	int ready[2], sig = 0, rc, sent, came;

	if (pipe2(ready, O_CLOEXEC))
		return shunt_err_set(err, errno, "pipe: %s", strerror(errno));
	o->sink.ready_fd = ready[1];
	o->sink.idle_s = 0;
	rc = start(rx, o, true, err);
	close(ready[1]);
	if (!rc && !is_ready(ready[0]))
		rc = 1;
	close(ready[0]);
	if (!rc)
		rc = start(tx, o, false, err);
	sent = rc ? 0 : join(tx, &sig);
	/* A sender without a result has said why. */
	if (rc || is_empty(tx->json)) {
		abandon(rx);
		return rc ? rc : 1;
	}
	gen_signal_wait(drain);
	came = stop(rx);
	if (is_empty(rx->json))
		return 1; /* it has said why */
	rc = report(o, tx, rx, err);
	return rc ? rc : sent || came;
}

int gen_run(const struct gen_run_opts *given, struct shunt_err *err)
{
	struct gen_run_opts o = *given;
	struct end tx = {}, rx = {};
	int rc;

	o.send.dev = o.tx.dev;
	o.sink.dev = o.rx.dev;
	gen_signals_block();
	rc = run(&o, &tx, &rx, err);
	if (tx.json)
		fclose(tx.json);
	if (rx.json)
		fclose(rx.json);
	return rc;
}
