/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures written as pcapng (draft-ietf-opsawg-pcapng): a section, interfaces, packets with
 * direction, queue, verdict and comment, and what was lost at the end. Times are nanoseconds since
 * 1970. Numbers are the host's, as the format allows.
 *
 * Limits: what is written is complete after every pcapng_flush; an error of the file is told by
 * that and by close. */
#ifndef SHUNTCTL_PCAPNG_H
#define SHUNTCTL_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum pcapng_direction { PCAPNG_UNKNOWN = 0, PCAPNG_IN = 1, PCAPNG_OUT = 2 };

struct pcapng_packet {
	uint32_t interface; /* from 0, in the order in which they were added */
	uint64_t time_ns;
	uint32_t len, cap_len; /* of the packet; of bytes */
	const uint8_t *bytes;
	enum pcapng_direction direction;
	int queue;	     /* -1: unknown */
	int verdict;	     /* of the XDP program (enum xdp_action); -1: unknown */
	const char *comment; /* NULL: none */
};

/* pcapng_begin writes the head of a section. Each returns the bytes that it wrote, or -errno of the
 * file. */
int pcapng_begin(FILE *file, const char *program);
int pcapng_add_interface(FILE *file, const char *name, uint32_t snap_len);
int pcapng_write(FILE *file, const struct pcapng_packet *packet);

/* pcapng_end_interface writes an interface's count of packets that were captured, and of those that
 * were lost, at time_ns. */
int pcapng_end_interface(FILE *file, uint32_t interface, uint64_t time_ns, uint64_t captured,
			 uint64_t lost);

#endif
