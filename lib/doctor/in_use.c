// SPDX-License-Identifier: BSD-2-Clause
/* A running daemon: asked for and in use. */
#include <string.h>

#include "doctor/doctor.h"
#include "device/netdev.h"

static const char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "unknown";
}

/* One mode of the port; `auto` is content with what it gets. */
static void judge_mode(struct shunt_doctor *d, const json_t *port, const char *key)
{
	const char *requested = text(json_object_get(port, "requested"), key);
	const char *in_use = text(json_object_get(port, "in_use"), key);
	const bool is_auto = !strcmp(requested, "auto");
	struct shunt_finding *f;

	if (!strcmp(in_use, "none")) /* suspended: `program` says it */
		return;
	if (!strcmp(requested, in_use) || (is_auto && !strcmp(in_use, "zerocopy"))) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, text(port, "name"), "in use",
				 "%s %s, as asked for (%s)", key, in_use, requested);
		return;
	}
	f = shunt_doctor_add(d, is_auto ? SHUNT_DOCTOR_note : SHUNT_DOCTOR_error,
			     text(port, "name"), "in use", "%s is %s, and %s was asked for", key,
			     in_use, requested);
	shunt_doctor_remedy(f, "see zerocopy and driver above");
}

static void judge_queues(struct shunt_doctor *d, const json_t *port)
{
	json_int_t served = json_integer_value(json_object_get(port, "queues_served"));
	json_int_t has = json_integer_value(json_object_get(port, "queues_of_device"));
	struct shunt_netdev netdev;

	char command[64];

	if (shunt_netdev_query(text(port, "name"), &netdev, NULL))
		netdev.is_split = false;
	shunt_netdev_channels_print(&netdev, text(port, "name"), (unsigned)served, command,
				    sizeof(command));
	if (served < has)
		shunt_doctor_remedy(
			shunt_doctor_add(d, SHUNT_DOCTOR_warning, text(port, "name"), "in use",
					 "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
					 " queues are served: what arrives on the others reaches "
					 "no worker",
					 served, has),
			"%s, or serve all: start again (--takeover), without --queues", command);
}

static void judge_ntuple(struct shunt_doctor *d, const json_t *port)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(json_object_get(port, "in_use"), "ntuple"), i, row) {
		const json_t *location = json_object_get(row, "location");

		if (json_is_integer(location))
			shunt_doctor_add(d, SHUNT_DOCTOR_ok, text(port, "name"), "in use",
					 "ntuple filter '%s' is on the device, at location "
					 "%" JSON_INTEGER_FORMAT,
					 text(row, "filter"), json_integer_value(location));
		else
			shunt_doctor_remedy(
				shunt_doctor_add(
					d, SHUNT_DOCTOR_warning, text(port, "name"), "in use",
					"ntuple filter '%s' is not on the device any more: "
					"somebody took it off",
					text(row, "filter")),
				"restart shuntd");
	}
}

static void judge_transparent(struct shunt_doctor *d, const json_t *port)
{
	if (json_is_true(json_object_get(json_object_get(port, "requested"), "transparent")))
		shunt_doctor_add(
			d, SHUNT_DOCTOR_note, text(port, "name"), "in use",
			"cross-connected transparently: every frame crosses, LLDP, LACP and "
			"what is for this host too; addresses of this port do not answer");
}

static void judge_port(struct shunt_doctor *d, const json_t *port)
{
	const json_t *program = json_object_get(port, "program");
	const char *error = json_string_value(json_object_get(program, "error"));
	const json_t *notice;
	size_t i;

	judge_mode(d, port, "driver_mode");
	judge_mode(d, port, "copy_mode");
	judge_queues(d, port);
	judge_ntuple(d, port);
	judge_transparent(d, port);
	if (error)
		shunt_doctor_remedy(shunt_doctor_add(d, SHUNT_DOCTOR_error, text(port, "name"),
						     "in use", "%s", error),
				    "restart shuntd");
	json_array_foreach (json_object_get(port, "notices"), i, notice)
		shunt_doctor_add(d, SHUNT_DOCTOR_warning, text(port, "name"), "in use", "%s",
				 text(notice, "text"));
}

unsigned shunt_doctor_in_use(struct shunt_doctor *d, const json_t *ports, const char *ifname)
{
	unsigned cnt = 0;
	json_t *port;
	size_t i;

	json_array_foreach (json_object_get(ports, "ports"), i, port) {
		if (strcmp(text(port, "kind"), "xsk") ||
		    (ifname && strcmp(text(port, "name"), ifname)))
			continue;
		judge_port(d, port);
		cnt++;
	}
	return cnt;
}
