/* SPDX-License-Identifier: BSD-2-Clause */
/* A tap on a daemon: the rings of its ports' programs and of its workers, and the records of all of
 * them in the order of their times. */
#ifndef SHUNTCTL_TAP_H
#define SHUNTCTL_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_tap.h"

#define TAP_PORT_MAX  64
#define TAP_CPUS      512 /* numbers of CPUs in a record's number */
/* Between two looks at the rings: nobody wakes the reader, since that would cost each frame. */
#define TAP_LOOK_MS   10
/* Records this young wait: one that is older may still be on its way, by another ring. */
#define TAP_SETTLE_NS (2 * 1000 * 1000ull)

struct tap_port {
	char name[64];
	bool is_shown;
};

struct tap;

struct tap_opts {
	const char *socket;
	char **ports;
	unsigned port_cnt;
	const char *filter;
	uint32_t snap_len, ring_bytes;
};

/* tap_open asks the daemon for a capture. Returns 0 with *out the
 * caller's, or -errno with err set. tap_close(NULL) is legal. */
int tap_open(struct tap **out, const struct tap_opts *opts, struct shunt_err *err);
void tap_close(struct tap *tap);

/* tap_fd returns a descriptor that is readable when the daemon is gone. tap_ports returns the
 * daemon's ports, *cnt of them, by index. tap_lost says how many records of each port were lost so
 * far. */
int tap_fd(const struct tap *tap);
const struct tap_port *tap_ports(const struct tap *tap, unsigned *cnt);
void tap_lost(const struct tap *tap, uint64_t lost[TAP_PORT_MAX]);

/* tap_next returns the oldest record whose time (CLOCK_MONOTONIC) is until_ns at most, NULL where
 * there is none. It stays until tap_release. */
const struct shunt_tap_record *tap_next(struct tap *tap, uint64_t until_ns);
void tap_release(struct tap *tap);

/* tap_cpu returns the CPU by which a packet's ARRIVED and its STEERED find one another, 0 ..
 * TAP_CPUS - 1: it has one such packet at a time. */
static inline unsigned tap_cpu(const struct shunt_tap_record *record)
{
	return record->number >> 1 & (TAP_CPUS - 1);
}

#endif
