/* SPDX-License-Identifier: BSD-2-Clause */
/* shuntctl capture: what a daemon's ports receive and send, as pcapng or a line a packet. */
#ifndef SHUNTCTL_CAPTURE_H
#define SHUNTCTL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct shuntctl_capture_opts {
	const char *socket;
	char **ports; /* port_cnt names; none: all ports */
	unsigned port_cnt;
	const char *filter;  /* pcap-filter(7); "": every packet */
	const char *file;    /* NULL: lines on stdout; "-": pcapng on stdout */
	uint32_t snap_len;   /* bytes of a packet */
	uint64_t packet_max; /* end after so many; 0: no end */
	unsigned seconds;    /* a new file after so many; 0: none */
	unsigned megabytes;  /* a new file after so many millions of bytes; 0: none */
	unsigned ring_mib;   /* of each ring, a power of 2 */
};

/* shuntctl_capture runs until SIGINT or SIGTERM, the daemon's end or packet_max. It tells on stderr
 * how many packets were captured and lost. Returns 0, or -errno with err set. */
int shuntctl_capture(const struct shuntctl_capture_opts *opts, struct shunt_err *err);

#endif
