// SPDX-License-Identifier: BSD-2-Clause
#include "requests.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "daemon.h"
#include "reload.h"
#include "show/show.h"

static void end_capture(void *arg)
{
	shunt_capture_end(arg);
}

static json_t *capture(struct daemon *d, const json_t *request, struct shunt_server_more *more,
		       struct shunt_err *err)
{
	struct shunt_capture *capture;
	json_t *result = NULL;

	if (d->args.config.capture == SHUNT_CAPTURE_NONE) {
		shunt_err_set(err, EPERM,
			      "nobody may capture here: the configuration says "
			      "'capture: none'");
		return NULL;
	}
	result = shunt_capture_begin(d->captures, request, more->fds, &more->fd_cnt, &capture, err);
	if (result) {
		more->ended = end_capture;
		more->ended_arg = capture;
	}
	return result;
}

static const char *const readings[] = {"show", "route", "explain"};
static const char *const capturings[] = {"capture", "captured"};

static bool is_one_of(const char *word, const char *const *words, size_t cnt)
{
	while (cnt--)
		if (!strcmp(word, words[cnt]))
			return true;
	return false;
}

/* What the group may do. */
static int check_reader(const struct shunt_config *config, const char *cmd, struct shunt_err *err)
{
	const bool captures = config->capture == SHUNT_CAPTURE_GROUP;

	if (!cmd || is_one_of(cmd, readings, SHUNT_ARRAY_LEN(readings)) ||
	    (captures && is_one_of(cmd, capturings, SHUNT_ARRAY_LEN(capturings))))
		return 0;
	return shunt_err_set(err, EPERM,
			     "only root and the daemon's own user may ask for '%.40s', group %s "
			     "for show, route%s explain%s",
			     cmd, config->group, captures ? "," : " and",
			     captures ? " and capture" : "");
}

json_t *shuntd_answer(void *arg, bool may_change, const json_t *request,
		      struct shunt_server_more *more, struct shunt_err *err)
{
	struct daemon *d = arg;
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	int ret;

	if (!may_change && check_reader(&d->args.config, cmd, err))
		return NULL;
	if (cmd && !strcmp(cmd, "handover")) {
		d->hands_over = true;
		return json_true();
	}
	if (cmd && !strcmp(cmd, "reload")) {
		ret = shuntd_reload(d->engine, d->argc, d->argv, err);
		return ret < 0 ? NULL : json_pack("{s:i}", "rules", ret);
	}
	if (cmd && !strcmp(cmd, "capture"))
		return capture(d, request, more, err);
	if (cmd && !strcmp(cmd, "explain"))
		return shunt_explain_request(d->explain, request, err);
	if (cmd && !strcmp(cmd, "captured"))
		return shunt_capture_lost(d->captures, err);
	return shunt_show_request(&(struct shunt_show){d->engine, d->notices}, request, err);
}
