// SPDX-License-Identifier: BSD-2-Clause
/* What the daemon says of a frame (shuntctl explain), in the place of the kernel's lab: what it
 * says that it would send is what has to come out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "client/client.h"
#include "parity.h"

int parity_explain_open(struct parity_run *run, const char *path, struct shunt_err *err)
{
	run->daemon_fd = shunt_client_open(path, err);
	return SHUNT_MIN(run->daemon_fd, 0);
}

static void add_output(struct parity_run *run, const json_t *output)
{
	const char *port = json_string_value(json_object_get(output, "port")) ?: "";
	const char *digits = json_string_value(json_object_get(output, "bytes")) ?: "";
	uint8_t data[PARITY_LEN_MAX + 2];
	unsigned number = 0;

	sscanf(port, "eth%u", &number);
	parity_match_add(&run->match, 0, number - 1, data,
			 (unsigned)shunt_hex_read(data, digits, sizeof(data)));
}

int parity_explain(struct parity_run *run, const struct parity_frame *frame, bool is_compared,
		   struct shunt_err *err)
{
	const json_t *outputs;
	const char *result;
	char port[16];
	bool is_kernels;
	json_t *said;
	size_t i;

	snprintf(port, sizeof(port), "eth%u", frame->port + 1u);
	said = shunt_client_explain(run->daemon_fd, port, frame->data, frame->len, 0, err);
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
	json_t *said = shunt_client_show(run->daemon_fd, "ports", err), *port;
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
