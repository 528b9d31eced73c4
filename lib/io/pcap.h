/* SPDX-License-Identifier: BSD-2-Clause */
/* The capture-file port, over libpcap: receive replays a file, once or for ever,
 * transmit writes one. For tests, and to see what the graph makes of a capture.
 * The input is read into memory at open, so receive does no file I/O; transmit
 * does (buffered), and is no measure of speed.
 *
 * Limits: Ethernet captures; packets longer than a pool frame less its headroom, or
 * than SHUNT_CHAIN_MAX of them in a pool with links, are refused at open.
 */
#ifndef SHUNT_IO_PCAP_H
#define SHUNT_IO_PCAP_H

#include "io/queue.h"

struct shunt_pcap_opts {
	uint16_t port;
	uint16_t queue;
	const char *in;	 /* file to replay, or NULL */
	const char *out; /* file to write, or NULL: what is sent is only freed */
	bool repeat;	 /* replay for ever */
};

/* shunt_pcap_open reads opts->in and creates opts->out. Returns 0 with *out set,
 * or -errno with err set (file, cause). Thread: init. */
int shunt_pcap_open(struct shunt_queue **out, struct shunt_pool *pool,
		    const struct shunt_pcap_opts *opts, struct shunt_err *err);

#endif
