/* SPDX-License-Identifier: BSD-2-Clause */
/* shunt-gen: sends tagged UDP frames at an even rate, and counts them elsewhere.
 *
 * main.c dispatches, opts.c reads the command line, frame.c makes the frame,
 * send.c runs one of the two ways to send (send_xdp.c, send_packet.c) against the
 * clock, sink.c attaches and reads the counting program, device.c asks the kernel
 * about a device. What goes over the wire is in bpf/shunt_gen.h. */
#ifndef SHUNT_GEN_GEN_H
#define SHUNT_GEN_GEN_H

#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_gen.h"

#define GEN_SIZE_MAX 1514

/* How frames are sent. AUTO is PACKET up to GEN_PACKET_RATE_MAX, else XDP. */
enum gen_way { GEN_AUTO = 0, GEN_XDP, GEN_PACKET };

/* Up to this rate a thread that sleeps between frames keeps the time (its timer
 * wakes it some 50 us late at worst) and leaves the CPU alone; above it, the XDP
 * way keeps it to a microsecond and takes a whole CPU. */
#define GEN_PACKET_RATE_MAX 2000

struct gen_send_opts {
	const char *dev;
	double rate_pps; /* 0: as fast as it goes */
	double duration_s;
	uint64_t count; /* 0: no limit */
	uint32_t flows;
	unsigned size; /* Ethernet frame without FCS */
	enum gen_way way;
	int cpu; /* -1: anywhere */
	bool json;
	bool v6, have_src_mac;
	uint8_t src_mac[ETH_ALEN], dst_mac[ETH_ALEN];
	struct in6_addr src_ip, dst_ip; /* IPv4: in the first four bytes */
	uint16_t sport, dport;
	uint8_t ttl;
};

struct gen_sink_opts {
	const char *dev;
	double duration_s; /* 0: until a signal */
	double interval_s; /* 0: only the total */
	double idle_s;	   /* end when nothing came for so long after the first; 0: never */
	uint64_t count;	   /* end after so many; 0: never */
	int cpu;
	bool json, drop, gaps, verify, generic;
};

struct gen_device {
	int ifindex;
	unsigned mtu;
	uint8_t mac[ETH_ALEN];
	uint32_t tx_frames; /* wraps */
};

struct shunt_gen; /* the skeleton */

/* A way of sending at work: run in its own thread until `stop`, the limit, or an
 * error. The controller reads the counts meanwhile. */
struct gen_sender {
	const struct gen_send_opts *opts;
	const struct shunt_gen_frame *frame;
	int ifindex;
	uint64_t limit; /* frames; 0: none */
	struct shunt_gen_state *state;
	struct shunt_gen *skel; /* of the XDP way */
	atomic_bool stop, finished;
	int rc;
	struct shunt_err err;
};

/* gen_parse_* fill opts from argv, which starts at the subcommand. They return 0,
 * or -EINVAL with err filled, or 1 when help was asked for. */
int gen_parse_send(struct gen_send_opts *opts, int argc, char **argv, struct shunt_err *err);
int gen_parse_sink(struct gen_sink_opts *opts, int argc, char **argv, struct shunt_err *err);

/* gen_device_get asks the kernel about an Ethernet device that is up. Returns 0,
 * -ENODEV, -ENETDOWN, -EINVAL (not Ethernet) or what a syscall said. */
int gen_device_get(struct gen_device *d, const char *name, struct shunt_err *err);

/* gen_frame_init makes the frame's constant part for opts, of the given run. */
void gen_frame_init(struct shunt_gen_frame *f, const struct gen_send_opts *opts, uint16_t run);

/* gen_send_xdp and gen_send_packet are the sender's thread: they send until s->stop
 * or the limit and return 0, or -errno with s->err filled. s->state must be set:
 * gen_send_xdp_open loads the program and points it there, for
 * gen_send_xdp_close to take away. */
int gen_send_xdp_open(struct gen_sender *s);
int gen_send_xdp(struct gen_sender *s);
void gen_send_xdp_close(struct gen_sender *s);
int gen_send_packet(struct gen_sender *s);

/* gen_pace gives the intervals for a rate; the XDP program and gen_send_packet
 * keep to the same. */
struct shunt_gen_pace gen_pace(double rate_pps);

/* The subcommands: 0 done, 1 failed with err filled. */
int gen_send(const struct gen_send_opts *opts, struct shunt_err *err);
int gen_sink(const struct gen_sink_opts *opts, struct shunt_err *err);

/* gen_pin moves the calling thread to a CPU, -1 for none. Returns 0 or -errno. */
int gen_pin(int cpu, struct shunt_err *err);

/* gen_signals_block makes SIGINT, SIGTERM and SIGHUP wait for gen_signal_wait,
 * which returns the signal, or 0 when `seconds` passed without one. */
void gen_signals_block(void);
int gen_signal_wait(double seconds);

#endif
