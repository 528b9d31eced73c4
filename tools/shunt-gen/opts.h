/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the subcommands, each once: run takes those of send and of sink. */
#ifndef SHUNT_GEN_OPTS_H
#define SHUNT_GEN_OPTS_H

#include "gen.h"

/* name, whether it has a value */
#define GEN_SEND_OPTIONS(X)            \
	X(RATE, "rate", 1)             \
	X(LINE, "line", 1)             \
	X(SIZE, "size", 1)             \
	X(FLOWS, "flows", 1)           \
	X(FLOW_ORDER, "flow-order", 1) \
	X(SRC_MAC, "src-mac", 1)       \
	X(DST_MAC, "dst-mac", 1)       \
	X(SRC_IP, "src-ip", 1)         \
	X(DST_IP, "dst-ip", 1)         \
	X(IPV6, "ipv6", 0)             \
	X(PROTO, "proto", 1)           \
	X(SPORT, "sport", 1)           \
	X(DPORT, "dport", 1)           \
	X(TTL, "ttl", 1)               \
	X(ARRIVAL, "arrival", 1)       \
	X(PCAP, "pcap", 1)             \
	X(LOOP, "loop", 1)             \
	X(WAY, "way", 1)               \
	X(COPY_MODE, "copy-mode", 1)   \
	X(CHECKSUM, "checksum", 1)     \
	X(QUEUE, "queue", 1)           \
	X(THREADS, "threads", 1)       \
	X(SEED, "seed", 1)             \
	X(PROGRESS, "progress", 0)     \
	X(STRICT, "strict", 0)         \
	X(NO_STAMP, "no-stamp", 0)

#define GEN_SINK_OPTIONS(X)            \
	X(IDLE, "idle", 1)             \
	X(INTERVAL, "interval", 1)     \
	X(DROP, "drop", 0)             \
	X(COUNT_ONLY, "count-only", 0) \
	X(ORDER, "order", 0)           \
	X(LATENCY, "latency", 0)       \
	X(GAPS, "gaps", 0)             \
	X(VERIFY, "verify", 0)         \
	X(HISTOGRAM, "histogram", 0)   \
	X(PLOT, "plot", 1)             \
	X(GENERIC, "generic", 0)

/* Of both, each for itself. */
#define GEN_BOTH_OPTIONS(X)        \
	X(DURATION, "duration", 1) \
	X(COUNT, "count", 1)       \
	X(CPU, "cpu", 1)

#define GEN_RUN_OPTIONS(X) \
	X(TX, "tx", 1)     \
	X(RX, "rx", 1)     \
	X(RX_CPU, "rx-cpu", 1)

enum gen_opt {
	OPT_NONE = 256,
#define X(id, name, value) OPT_##id,
	GEN_SEND_OPTIONS(X) GEN_SINK_OPTIONS(X) GEN_BOTH_OPTIONS(X) GEN_RUN_OPTIONS(X)
#undef X
};

#define GEN_LONG_OPTION(id, name, value) {name, value, NULL, OPT_##id},
#define GEN_LONG_OPTIONS_END                            \
	{"json", 0, NULL, 'j'}, {"help", 0, NULL, 'h'}, \
	{                                               \
	}

/* gen_*_take takes one option, its value in optarg; settle fills in what was not
 * given and checks the whole. */
void gen_send_defaults(struct gen_send_opts *o);
int gen_send_take(struct gen_send_opts *o, int opt, struct shunt_err *err);
int gen_send_settle(struct gen_send_opts *o, struct shunt_err *err);
void gen_sink_defaults(struct gen_sink_opts *o);
int gen_sink_take(struct gen_sink_opts *o, int opt, struct shunt_err *err);
int gen_sink_settle(struct gen_sink_opts *o, struct shunt_err *err);

#endif
