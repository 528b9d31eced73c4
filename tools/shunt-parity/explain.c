// SPDX-License-Identifier: BSD-2-Clause
/* What the daemon says of a frame (shuntctl explain), in the place of the kernel's lab: what it
 * says that it would send is what has to come out. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "parity.h"

static int fail(struct shunt_err *err, const char *what)
{
	return shunt_err_set(err, EPROTO, "the daemon's control socket: %s", what);
}

int parity_explain_open(struct parity_run *run, const char *path, struct shunt_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		const int code = errno;

		if (fd >= 0)
			close(fd);
		return shunt_err_set(err, code, "%s: %s", path, strerror(code));
	}
	run->daemon = fdopen(fd, "r+");
	return run->daemon ? 0 : fail(err, "not enough memory");
}

/* Returns a new reference, or NULL with err set. */
static json_t *ask(struct parity_run *run, json_t *request, struct shunt_err *err)
{
	char *text = json_dumps(request, JSON_COMPACT), *line = NULL;
	json_t *reply = NULL, *result;
	size_t room = 0;

	json_decref(request);
	if (text && fprintf(run->daemon, "%s\n", text) > 0 && !fflush(run->daemon) &&
	    getline(&line, &room, run->daemon) > 0)
		reply = json_loads(line, 0, NULL);
	result = json_incref(json_object_get(reply, "result"));
	if (!result)
		fail(err, json_string_value(json_object_get(reply, "error")) ?: "no answer");
	json_decref(reply);
	free(line);
	free(text);
	return result;
}

static json_t *request_of(const struct parity_frame *frame)
{
	char port[] = "eth?", digits[2 * sizeof(frame->data) + 1];
	unsigned i;

	port[3] = (char)('1' + frame->port);
	for (i = 0; i < frame->len; i++)
		snprintf(digits + 2 * i, 3, "%02x", frame->data[i]);
	return json_pack("{s:s, s:s, s:s}", "cmd", "explain", "port", port, "bytes", digits);
}

static void add_output(struct parity_run *run, const json_t *output)
{
	const char *port = json_string_value(json_object_get(output, "port")) ?: "eth?";
	const char *digits = json_string_value(json_object_get(output, "bytes")) ?: "";
	uint8_t data[PARITY_LEN_MAX + 2];
	unsigned len = (unsigned)strlen(digits) / 2, i;

	for (i = 0; i < len && i < sizeof(data); i++) {
		const char byte[] = {digits[2 * i], digits[2 * i + 1], 0};

		data[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	parity_match_add(&run->match, 0, (unsigned)(port[3] - '1'), data, i);
}

int parity_explain(struct parity_run *run, const struct parity_frame *frame, bool is_compared,
		   struct shunt_err *err)
{
	json_t *said = ask(run, request_of(frame), err), *outputs;
	const char *result;
	bool is_kernels;
	size_t i;

	if (!said)
		return -EPROTO;
	result = json_string_value(json_object_get(said, "result")) ?: "";
	outputs = json_object_get(said, "outputs");
	is_kernels = !strcmp(result, "kernel") || !strcmp(result, "punted");
	run->promised += json_array_size(outputs);
	for (i = 0; is_compared && i < json_array_size(outputs); i++)
		add_output(run, json_array_get(outputs, i));
	json_decref(said);
	return is_kernels ? 0 : 1;
}

int parity_explain_sent(struct parity_run *run, uint64_t *sent, struct shunt_err *err)
{
	json_t *said = ask(run, json_pack("{s:s, s:s}", "cmd", "show", "object", "ports"), err);
	json_t *port;
	size_t i;

	*sent = 0;
	if (!said)
		return -EPROTO;
	json_array_foreach (json_object_get(said, "ports"), i, port) {
		const json_t *total = json_object_get(port, "total"),
			     *lanes = json_object_get(port, "lanes");

		*sent += (uint64_t)(json_integer_value(json_object_get(total, "tx_packets")) +
				    json_integer_value(json_object_get(lanes, "xdp")));
	}
	json_decref(said);
	return 0;
}
