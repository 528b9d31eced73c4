/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's control socket, from the asking side. */
#ifndef SHUNT_CLIENT_CLIENT_H
#define SHUNT_CLIENT_CLIENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

/* shunt_client_open connects. Returns a descriptor, or -errno with err set: which
 * socket, and what is probably wrong. */
int shunt_client_open(const char *path, struct shunt_err *err);

/* shunt_client_ask sends a request, which it takes over, and waits up to 30 seconds for the
 * answer. *got, unless got is NULL, are the descriptors that come with it, the caller's. Returns a
 * new reference, or NULL with err set. */
struct shunt_client_fds {
	int at[65];
	unsigned cnt;
};
json_t *shunt_client_ask(int fd, json_t *request, struct shunt_client_fds *got,
			 struct shunt_err *err);

/* shunt_client_show asks for an object and waits up to 30 seconds. Returns a new
 * reference, or NULL with err set. */
json_t *shunt_client_show(int fd, const char *object, struct shunt_err *err);

/* shunt_client_flows is that for the object flows. filter: 16 hexadecimal digits an instruction of
 * classic BPF; empty: all. */
json_t *shunt_client_flows(int fd, const char *filter, struct shunt_err *err);

/* shunt_client_route asks where a packet to address would go that came in by the device iif; NULL:
 * by one that no rule and no VRF leads elsewhere. Otherwise as show. */
json_t *shunt_client_route(int fd, const char *address, const char *iif, struct shunt_err *err);

/* shunt_client_reload has the daemon read its configuration again; word is not used. */
json_t *shunt_client_reload(int fd, const char *word, struct shunt_err *err);

/* shunt_client_explain asks what would become of a frame of 14 to 2048 bytes that arrives on a
 * port's queue (explain/explain.h); otherwise as show. */
json_t *shunt_client_explain(int fd, const char *port, const uint8_t *bytes, uint32_t len,
			     unsigned queue, struct shunt_err *err);

/* shunt_client_lane asks for a share: cnt words for a port; otherwise as show. */
json_t *shunt_client_lane(int fd, const char *port, char **words, int cnt, struct shunt_err *err);

#endif
