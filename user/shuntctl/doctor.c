// SPDX-License-Identifier: BSD-2-Clause
#include "doctor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/netns.h"
#include "client/client.h"
#include "config/config.h"

/* --- the daemon ------------------------------------------------------------------------------- */

/* What the daemon answers; NULL without a daemon. */
struct daemon {
	json_t *ports, *config;
};

static void ask_daemon(struct daemon *daemon, const char *path, struct shunt_err *err)
{
	int fd = shunt_client_open(path, err);

	memset(daemon, 0, sizeof(*daemon));
	if (fd < 0)
		return;
	daemon->ports = shunt_client_show(fd, "ports", err);
	if (daemon->ports)
		daemon->config = shunt_client_show(fd, "config", err);
	close(fd);
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static bool is_xsk(const json_t *port)
{
	const char *kind = json_string_value(json_object_get(port, "kind"));

	return kind && !strcmp(kind, "xsk");
}

/* The daemon's port of that name, NULL where it has none. */
static const json_t *served(const struct daemon *daemon, const char *ifname)
{
	json_t *port;
	size_t i;

	json_array_foreach (json_object_get(daemon->ports, "ports"), i, port) {
		const char *name = json_string_value(json_object_get(port, "name"));

		if (is_xsk(port) && name && !strcmp(name, ifname))
			return port;
	}
	return NULL;
}

static bool is_generic(const json_t *port)
{
	const json_t *requested = json_object_get(port, "requested");
	const char *mode = json_string_value(json_object_get(requested, "driver_mode"));

	return mode && !strcmp(mode, "generic");
}

/* Whether the daemon is in another network namespace: devices of the same name are others then. */
static bool is_elsewhere(const struct daemon *daemon)
{
	const uint64_t netns = (uint64_t)number(daemon->ports, "netns");

	return netns && netns != shunt_netns_number();
}

/* Fills in what the command line left open: as the daemon has it, else the default. */
static void complete(struct shunt_doctor_opts *want, const struct daemon *daemon)
{
	const json_t *workers = json_object_get(daemon->config, "workers");
	struct shunt_config defaults;

	shunt_config_init(&defaults);
	if (!want->frame_size)
		want->frame_size = (uint32_t)number(daemon->config, "frame_size");
	if (!want->frame_size)
		want->frame_size = defaults.frame_size;
	if (!want->worker_cnt)
		want->worker_cnt = (unsigned)number(workers, "count");
	if (!want->worker_cnt)
		want->worker_cnt = (unsigned)json_array_size(json_object_get(workers, "cpus"));
	if (!want->worker_cnt)
		want->worker_cnt = defaults.worker_cnt;
	want->ring_size = (uint32_t)number(daemon->config, "ring_size");
	if (!want->ring_size)
		want->ring_size = defaults.ring_size;
	shunt_config_fini(&defaults);
}

/* --- findings --------------------------------------------------------------------------------- */

static void examine(struct shunt_doctor *out, const struct shunt_doctor_opts *want,
		    const struct daemon *daemon, const char *ifname)
{
	const json_t *port = is_elsewhere(daemon) ? NULL : served(daemon, ifname);
	struct shunt_doctor_opts opts = *want;

	opts.in_use = port;
	opts.is_suspended =
		json_is_true(json_object_get(json_object_get(port, "program"), "suspended"));
	opts.generic |= is_generic(port);
	shunt_doctor_device(out, ifname, &opts);
	if (opts.in_use)
		shunt_doctor_in_use(out, daemon->ports, ifname);
}

static unsigned examine_served(struct shunt_doctor *out, const struct shunt_doctor_opts *want,
			       const struct daemon *daemon)
{
	unsigned cnt = 0;
	json_t *port;
	size_t i;

	if (is_elsewhere(daemon))
		return shunt_doctor_in_use(out, daemon->ports, NULL);
	json_array_foreach (json_object_get(daemon->ports, "ports"), i, port)
		if (is_xsk(port)) {
			examine(out, want, daemon,
				json_string_value(json_object_get(port, "name")));
			cnt++;
		}
	return cnt;
}

static void introduce(struct shunt_doctor *out, const struct daemon *daemon, const char *path,
		      const char *unheard)
{
	struct shunt_finding *finding;

	if (!daemon->ports) {
		shunt_doctor_add(out, SHUNT_DOCTOR_note, "daemon", "daemon", "%s", unheard);
		return;
	}
	shunt_doctor_add(out, SHUNT_DOCTOR_ok, "daemon", "daemon", "shuntd answers on %s", path);
	if (!is_elsewhere(daemon))
		return;
	finding = shunt_doctor_add(out, SHUNT_DOCTOR_note, "daemon", "daemon",
				   "shuntd is in another network namespace: its devices cannot be "
				   "examined from here, only what it reports of them");
	shunt_doctor_remedy(finding, "run shuntctl doctor there, by nsenter --net --target PID or "
				     "ip netns exec");
}

int shuntctl_doctor(struct shunt_doctor *out, const struct shuntctl_doctor_opts *opts,
		    char **devices, int cnt, struct shunt_err *err)
{
	struct shunt_doctor_opts want = opts->want;
	struct shunt_err unheard = {""};
	struct daemon daemon;
	int ret = 0, i;

	ask_daemon(&daemon, opts->socket, &unheard);
	complete(&want, &daemon);
	shunt_doctor_host(out, &want);
	introduce(out, &daemon, opts->socket, unheard.msg);
	for (i = 0; i < cnt; i++)
		examine(out, &want, &daemon, devices[i]);
	if (!cnt && !examine_served(out, &want, &daemon))
		ret = shunt_err_set(
			err, EINVAL,
			"doctor needs the names of devices, since no daemon on %s serves "
			"any; see shuntctl help",
			opts->socket);
	json_decref(daemon.ports);
	json_decref(daemon.config);
	return ret;
}

static const char *plural(unsigned cnt)
{
	return cnt == 1 ? "" : "s";
}

void shuntctl_doctor_print(FILE *out, const struct shunt_doctor *doctor)
{
	const unsigned errors = shunt_doctor_count(doctor, SHUNT_DOCTOR_error);
	const unsigned warnings = shunt_doctor_count(doctor, SHUNT_DOCTOR_warning);
	const unsigned notes = shunt_doctor_count(doctor, SHUNT_DOCTOR_note);
	unsigned i;

	for (i = 0; i < doctor->cnt; i++) {
		const struct shunt_finding *f = &doctor->findings[i];

		if (!i || strcmp(f->object, f[-1].object))
			fprintf(out, "%s\n", f->object);
		fprintf(out, "  %-7s  %-9s  %s\n", shunt_doctor_level_name(f->level), f->topic,
			f->sentence);
		if (*f->remedy)
			fprintf(out, "  %-7s  %-9s  -> %s\n", "", "", f->remedy);
	}
	fprintf(out, "%u error%s, %u warning%s, %u note%s\n", errors, plural(errors), warnings,
		plural(warnings), notes, plural(notes));
}
