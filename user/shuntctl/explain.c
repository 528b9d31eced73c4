// SPDX-License-Identifier: BSD-2-Clause
#include "explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/mac.h"
#include "client/client.h"
#include "craft.h"
#include "packet.h"

/* --- asking ----------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

/* The port's own address, to which what is routed is sent. */
static int port_mac(int fd, const char *port, uint8_t mac[6], struct shunt_err *err)
{
	json_t *ports = shunt_client_show(fd, "ports", err);
	const json_t *row;
	int ret = ports ? shunt_err_set(err, ENOENT, "there is no port '%s'", port) : -EPROTO;
	size_t i;

	json_array_foreach (json_object_get(ports, "ports"), i, row) {
		if (strcmp(text_of(row, "name"), port) != 0)
			continue;
		/* of a port in memory there is none: all zeros */
		memset(mac, 0, 6);
		(void)shunt_mac_parse(text_of(row, "mac"), mac);
		ret = 0;
	}
	json_decref(ports);
	return ret;
}

static int read_macs(int fd, const char *port, const struct shuntctl_explain_opts *opts,
		     struct craft_opts *out, struct shunt_err *err)
{
	int ret = port_mac(fd, port, out->eth_dst, err);

	memcpy(out->eth_src, "\x02\x00\x00\x00\x00\x01", 6);
	if (!ret && opts->eth_dst && shunt_mac_parse(opts->eth_dst, out->eth_dst))
		ret = shunt_err_set(err, EINVAL, "--to is '%s', expected a MAC address",
				    opts->eth_dst);
	if (!ret && opts->eth_src && shunt_mac_parse(opts->eth_src, out->eth_src))
		ret = shunt_err_set(err, EINVAL, "--from is '%s', expected a MAC address",
				    opts->eth_src);
	return ret;
}

json_t *shuntctl_explain(const struct shuntctl_explain_opts *opts, const char *port, char **words,
			 int cnt, struct shunt_err *err)
{
	struct craft_opts craft_opts = {.ttl = (uint8_t)opts->ttl,
					.is_asked = opts->eth_dst || opts->eth_src ||
						    opts->ttl != SHUNTCTL_TTL};
	struct craft *packet = malloc(sizeof(*packet));
	const int fd = shunt_client_open(opts->socket, err);
	json_t *answer = NULL;

	if (packet && fd >= 0 && !read_macs(fd, port, opts, &craft_opts, err) &&
	    !craft_packet(packet, words, cnt, &craft_opts, err))
		answer = shunt_client_explain(fd, port, packet->bytes, packet->len, opts->queue,
					      err);
	if (fd >= 0)
		close(fd);
	free(packet);
	return answer;
}

/* --- for people ------------------------------------------------------------------------------- */

/* A row has a port, a queue where it is known, and bytes. */
static void print_packet(FILE *out, const char *name, const json_t *row)
{
	const json_t *queue = json_object_get(row, "queue");
	uint8_t bytes[CRAFT_MAX];
	const uint32_t len = (uint32_t)shunt_hex_read(bytes, text_of(row, "bytes"), CRAFT_MAX);

	fprintf(out, "%-9s %s", name, text_of(row, "port"));
	if (json_is_integer(queue))
		fprintf(out, " queue %lld", (long long)json_integer_value(queue));
	fputs(": ", out);
	shuntctl_packet_print(out, bytes, len, len);
	putc('\n', out);
}

static void print_steering(FILE *out, const json_t *said)
{
	if (!json_is_object(said)) {
		fputs("steering  none: the port has no XDP program\n", out);
		return;
	}
	fprintf(out, "steering  lane %s, reason %s: %s\n", text_of(said, "lane"),
		text_of(said, "reason"), text_of(said, "why"));
	if (json_is_integer(json_object_get(said, "rule")))
		fprintf(out, "rule      %lld: %s\n",
			(long long)json_integer_value(json_object_get(said, "rule")),
			text_of(said, "rule_text"));
}

/* Of several next hops, that which the packet was sent to. */
static const json_t *hop_taken(const json_t *hops, const json_t *output)
{
	const char *bytes = text_of(output, "bytes");
	uint8_t to[6], mac[6];
	const json_t *hop;
	size_t i;

	if (shunt_hex_read(to, bytes, sizeof(to)) < sizeof(to))
		return NULL;
	json_array_foreach (hops, i, hop)
		if (!strcmp(text_of(hop, "port"), text_of(output, "port")) &&
		    !shunt_mac_parse(text_of(hop, "mac"), mac) && !memcmp(mac, to, sizeof(mac)))
			return hop;
	return NULL;
}

static void print_route(FILE *out, const json_t *route, const json_t *output)
{
	const json_t *hops = json_object_get(route, "next_hops");
	const size_t cnt = json_array_size(hops);
	const json_t *hop = cnt > 1 ? hop_taken(hops, output) : json_array_get(hops, 0);

	if (!json_is_object(route))
		return;
	fprintf(out,
		"route     %s: ", *text_of(route, "prefix") ? text_of(route, "prefix") : "none");
	if (hop)
		fputs(text_of(hop, "kind"), out);
	if (hop && *text_of(hop, "port"))
		fprintf(out, " by %s to %s", text_of(hop, "port"), text_of(hop, "mac"));
	if (cnt > 1)
		fprintf(out, hop ? ", one of %zu next hops" : "one of %zu next hops", cnt);
	putc('\n', out);
}

static void print_station(FILE *out, const json_t *station)
{
	const char *port = text_of(station, "port");

	if (!json_is_object(station))
		return;
	fprintf(out, "station   %s: ", text_of(station, "mac"));
	if (*port)
		fprintf(out, "behind %s\n", port);
	else
		fputs("not known\n", out);
}

static void print_nodes(FILE *out, const json_t *nodes)
{
	const json_t *row;
	size_t i;

	if (!json_array_size(nodes))
		return;
	fputs("nodes     ", out);
	json_array_foreach (nodes, i, row)
		fprintf(out, "%s%s", i ? " > " : "", text_of(row, "node"));
	putc('\n', out);
}

static void print_changes(FILE *out, const char *before, const char *after)
{
	uint8_t old[CRAFT_MAX], new[CRAFT_MAX];
	const size_t old_len = shunt_hex_read(old, before, CRAFT_MAX);
	const size_t new_len = shunt_hex_read(new, after, CRAFT_MAX);

	fputs("changed   ", out);
	shuntctl_packet_print_changes(out, old, (uint32_t)old_len, new, (uint32_t)new_len);
	putc('\n', out);
}

void shuntctl_explain_print(FILE *out, const json_t *answer)
{
	const char *bytes = text_of(answer, "bytes");
	const json_t *row;
	size_t i;

	print_packet(out, "arrives", answer);
	print_steering(out, json_object_get(answer, "steering"));
	print_route(out, json_object_get(answer, "route"),
		    json_array_get(json_object_get(answer, "outputs"), 0));
	print_station(out, json_object_get(answer, "station"));
	print_nodes(out, json_object_get(answer, "nodes"));
	fprintf(out, "result    %s%s%s\n", text_of(answer, "result"),
		*text_of(answer, "reason") ? ": " : "", text_of(answer, "reason"));
	json_array_foreach (json_object_get(answer, "outputs"), i, row) {
		print_packet(out, "leaves", row);
		print_changes(out, bytes, text_of(row, "bytes"));
	}
}
