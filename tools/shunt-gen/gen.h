/* SPDX-License-Identifier: BSD-2-Clause */
/* shunt-gen: sends tagged frames when they are due, and measures them elsewhere.
 *
 * main.c dispatches, opts*.c read the command line. plan.c turns what was asked for
 * into frames (frame.c), flows (flows.c), a schedule (schedule.c) or a capture
 * (capture.c); send.c runs the threads, each sending in one of three ways
 * (send_xdp.c, send_xsk.c, send_packet.c) what next.c gives it, and send_report.c
 * says what came of it. sink.c attaches and reads the counting program,
 * sink_report.c and spread.c show it, run.c does both at once. device.c asks the
 * kernel about a device. What goes over the wire is in bpf/tools/shunt_gen.h. */
#ifndef SHUNT_GEN_GEN_H
#define SHUNT_GEN_GEN_H

#include <jansson.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "io/xsk.h"
#include "traffic/arrival.h"
#include "traffic/bag.h"
#include "tools/shunt_gen.h"

#define GEN_SIZE_MAX	1514
/* A capture's frame with a VLAN tag, which the MTU does not count. */
#define GEN_VLAN_LEN	4
#define GEN_THREADS_MAX 32

/* What a frame occupies on the wire beside its own bytes: the FCS, and at layer 1
 * preamble and gap too. */
#define GEN_FCS_LEN	4
#define GEN_L1_LEN	24

/* How frames are sent. AUTO: PACKET up to GEN_PACKET_RATE_MAX, then XDP on a veth,
 * else XSK. */
enum gen_way { GEN_AUTO = 0, GEN_XDP, GEN_XSK, GEN_PACKET };

/* Up to this rate a thread that sleeps between frames keeps the time (its timer
 * wakes it some 50 us late at worst) and leaves the CPU alone; above it, the others
 * keep it to a microsecond and take a whole CPU. */
#define GEN_PACKET_RATE_MAX 2000

/* How a frame gets its flow. */
enum gen_order { GEN_COUNT = 0, GEN_RANDOM, GEN_ZIPF };

enum gen_unit { GEN_MAX = 0, GEN_PPS, GEN_BITS, GEN_PERCENT };

struct gen_rate {
	enum gen_unit unit;
	double value;
};

/* A field of the flows: an address's last 32 bits, or a port. */
struct gen_field {
	uint32_t first, cnt;
	bool is_given, is_random;
};

/* What computes the checksums of UDP and TCP. */
enum gen_checksum { GEN_CSUM_SOFTWARE, GEN_CSUM_OFFLOAD, GEN_CSUM_AUTO };

struct gen_send_opts {
	const char *dev;
	struct gen_rate rate;
	double line_bps; /* 0: what the device says */
	double duration_s;
	uint64_t count; /* 0: no limit */
	uint64_t seed;
	uint32_t flows; /* 0: as many as the fields make */
	enum gen_order order;
	double order_s;	   /* of Zipf's law */
	const char *sizes; /* as given, NULL: the shortest */
	enum shunt_arrival_kind arrival;
	uint32_t burst;
	uint32_t psi; /* largest batch */
	double nu;
	const char *capture;
	bool shapes_frames; /* an option says what frames look like */
	uint64_t loops;
	enum gen_way way;
	unsigned threads, queue;
	enum shunt_copy_mode copy_mode;
	enum gen_checksum checksum;
	int cpus[GEN_THREADS_MAX];
	unsigned cpu_cnt; /* 0: anywhere */
	bool json, progress, strict, stamped;
	bool v6, tcp, have_src_mac;
	int src_family, dst_family; /* 0: not given */
	uint8_t src_mac[ETH_ALEN], dst_mac[ETH_ALEN];
	struct in6_addr src_ip, dst_ip; /* IPv4: in the first four bytes */
	struct gen_field src, dst, sport, dport;
	uint8_t ttl;
};

struct gen_sink_opts {
	const char *dev;
	double duration_s; /* 0: until a signal */
	double interval_s; /* 0: only the total */
	double idle_s;	   /* end when nothing came for so long after the first; 0: never */
	uint64_t count;	   /* end after so many; 0: never */
	const char *plot;  /* file, or NULL */
	int cpu;
	int ready_fd; /* written to, instead of stderr, once it counts; 0: none */
	bool json, drop, generic, histogram;
	bool order, latency, gaps, verify;
};

/* A device, in a network namespace: "" for this one, a name or a path. */
struct gen_place {
	char ns[128];
	char dev[64];
};

struct gen_run_opts {
	struct gen_place tx, rx;
	struct gen_send_opts send;
	struct gen_sink_opts sink;
};

struct gen_device {
	int ifindex;
	unsigned mtu;
	uint8_t mac[ETH_ALEN];
	char driver[32];
	double line_bps; /* 0: not known */
	bool has_carrier;
};

struct gen_capture {
	uint8_t *bytes;
	size_t bytes_len, bytes_room;
	struct gen_record {
		uint64_t at; /* in bytes[] */
		uint64_t time_ns;
		uint32_t len;
	} * records;
	uint32_t cnt, room;
	uint32_t mtu; /* that all its frames want */
};

/* What all threads of a run share. */
struct gen_plan {
	const struct gen_send_opts *opts;
	struct gen_device dev;
	enum gen_way way;
	double rate_pps; /* 0: as fast as it goes; of a capture at its own pace, the mean */
	double mean_len;
	uint32_t len_min, len_max;
	struct shunt_bag sizes;
	struct shunt_gen_flow *flows;
	uint32_t flow_cnt;
	struct gen_capture capture;
	bool own_timing; /* the capture's */
	uint64_t limit;	 /* frames of all threads; 0: none */
};

struct shunt_gen; /* the skeleton */

/* A thread that sends: it runs until `stop`, the limit, or an error. The controller
 * reads the counts meanwhile. */
struct gen_sender {
	const struct gen_plan *plan;
	struct shunt_gen_frame frame;
	struct shunt_gen_pace pace;
	struct shunt_gen_slot *slots;
	uint32_t slot_cnt; /* 0: no schedule */
	uint32_t number;
	uint16_t run;
	uint64_t limit; /* frames; 0: none */
	struct shunt_gen_state own_state;
	struct shunt_gen_state *state;
	struct shunt_gen *skel; /* of the XDP way */
	struct gen_xsk *xsk;	/* of the XSK way */
	bool zerocopy;		/* as the kernel confirmed */
	const char *checksum;	/* what computes it: software, driver, kernel */
	bool is_started;
	pthread_t thread;
	atomic_bool stop, finished;
	int rc;
	struct shunt_err err;
};

struct gen_result {
	uint64_t sent, bytes, device_frames, delayed;
	double seconds, offered_pps, late_max_us;
	double asked_pps; /* 0: no rate */
	int signal;
	uint16_t run;
};

/* --- command line ----------------------------------------------------------------------------- */

/* gen_parse_* fill opts from argv, which starts at the subcommand. They return 0,
 * or -EINVAL with err filled, or 1 when help was asked for. */
int gen_parse_send(struct gen_send_opts *opts, int argc, char **argv, struct shunt_err *err);
int gen_parse_sink(struct gen_sink_opts *opts, int argc, char **argv, struct shunt_err *err);
int gen_parse_run(struct gen_run_opts *opts, int argc, char **argv, struct shunt_err *err);

/* gen_send_wants_xsk says whether an option is given that only AF_XDP has. */
bool gen_send_wants_xsk(const struct gen_send_opts *opts);

/* Pieces of it: option values, each with err filled when it returns -EINVAL. */
int gen_parse_real(double *out, const char *text, const char *name, double min, double max,
		   struct shunt_err *err);
int gen_parse_whole(uint64_t *out, const char *text, const char *name, uint64_t min, uint64_t max,
		    struct shunt_err *err);
int gen_parse_rate(struct gen_rate *out, const char *text, struct shunt_err *err);
int gen_parse_line(double *bps, const char *text, struct shunt_err *err);
int gen_parse_address(struct in6_addr *out, struct gen_field *field, const char *text,
		      const char *name, struct shunt_err *err); /* returns the family */
int gen_parse_ports(struct gen_field *field, const char *text, const char *name,
		    struct shunt_err *err);
int gen_parse_mac(uint8_t *out, const char *text, const char *name, struct shunt_err *err);
int gen_bad_option(char **argv, int opt, struct shunt_err *err);

/* gen_parse_sizes fills a bag of frame lengths. Those of an IMIX are raised to
 * `least`, others below it are an error. */
int gen_parse_sizes(struct shunt_bag *bag, const char *text, uint32_t least, struct shunt_err *err);

/* --- before sending --------------------------------------------------------------------------- */

/* gen_device_get asks the kernel about an Ethernet device that is up. Returns 0,
 * -ENODEV, -ENETDOWN, -EINVAL (not Ethernet) or what a syscall said. */
int gen_device_get(struct gen_device *d, const char *name, struct shunt_err *err);

/* gen_device_is_here says whether this network namespace has a device of that index. Cost: setup;
 * syscalls. */
bool gen_device_is_here(int ifindex);

/* gen_device_await waits up to ten seconds for a device's link: some drivers take it down when they
 * get a program or a socket, and when what had them before has ended. A signal that is there ends
 * the wait, too. Returns -ENETDOWN if the link does not come. */
int gen_device_await(const char *name, struct shunt_err *err);

/* gen_device_xdp_tx sums the driver's counters tx*_xdp_tx of a device of this network
 * namespace. Returns 0 where it has none. virtio_net counts what it sends by zero-copy
 * there only. Cost: setup; syscalls. */
uint64_t gen_device_xdp_tx(const char *name);

/* gen_plan_init decides all that is decided before the first frame; fini is legal
 * after a failure too. */
int gen_plan_init(struct gen_plan *plan, const struct gen_send_opts *opts, struct shunt_err *err);
void gen_plan_fini(struct gen_plan *plan);

/* gen_frame_init makes the frame's constant part, of the given run. */
void gen_frame_init(struct shunt_gen_frame *f, const struct gen_plan *plan, uint16_t run);

/* gen_frame_offload leaves the checksum of a written frame to the device: the field gets the sum of
 * the pseudo header, and the metadata before the frame says so. Cost: packet. */
void gen_frame_offload(struct shunt_pkt *pkt, uint8_t *base, bool v6, bool tcp);

/* gen_flows_make fills plan's flows from the fields. Returns 0 or -ENOMEM. */
int gen_flows_make(struct gen_plan *plan, struct shunt_err *err);

/* gen_schedule_make draws the sender's schedule where one is needed, lengths from
 * the plan's bag. */
int gen_schedule_make(struct gen_sender *s, struct shunt_bag *sizes, struct shunt_err *err);

/* gen_capture_load reads a capture and refuses what cannot be replayed as it was;
 * fini is legal on a zeroed one. */
int gen_capture_load(struct gen_capture *c, const char *file, bool timed, struct shunt_err *err);

/* Of a capture at its own pace, gone through again and again: gen_capture_pps returns the mean rate
 * of its first frames, 0 for less than two and where all have the same time; gen_capture_due how
 * many are due within so long of the first. */
double gen_capture_pps(const struct gen_capture *c, uint64_t frames);
uint64_t gen_capture_due(const struct gen_capture *c, uint64_t ns);
void gen_capture_fini(struct gen_capture *c);

/* --- sending ---------------------------------------------------------------------------------- */

/* gen_next_due says whether a frame may leave at now, and has moved on to the next
 * if so: gen_next_write has to follow, which writes it and returns its length.
 * gen_next_ns is when to ask again, gen_next_sleep sleeps until so many ns before, or less.
 * gen_next_sent counts one that is on its way. */
bool gen_next_due(struct gen_sender *s, uint64_t now_ns);
uint64_t gen_next_ns(const struct gen_sender *s);
void gen_next_sleep(const struct gen_sender *s, uint64_t early_ns);
uint32_t gen_next_write(struct gen_sender *s, uint8_t *buf, uint64_t now_ns);
bool gen_next_is_over(const struct gen_sender *s);

/* The sender's thread in each way: sends until s->stop or the limit and returns 0,
 * or -errno with s->err filled. Open sets it up in the controller's thread; close
 * is legal without. */
int gen_send_xdp_open(struct gen_sender *s);
int gen_send_xdp(struct gen_sender *s);
void gen_send_xdp_close(struct gen_sender *s);
int gen_send_xsk_open(struct gen_sender *s);
int gen_send_xsk(struct gen_sender *s);
void gen_send_xsk_close(struct gen_sender *s);
int gen_send_packet(struct gen_sender *s);

/* gen_send_json and gen_send_text tell what came of a run. gen_send_judge says
 * on stderr what was missed; it returns 1 when the run has failed by that. */
json_t *gen_send_json(const struct gen_plan *plan, struct gen_sender *senders,
		      const struct gen_result *r);
void gen_send_text(const struct gen_plan *plan, const struct gen_result *r);
int gen_send_judge(const struct gen_plan *plan, const struct gen_result *r);
const char *gen_way_name(enum gen_way way);
/* Writes a rate with its unit. Returns buf. */
const char *gen_rate_text(char *buf, size_t len, double pps);

/* --- sink ------------------------------------------------------------------------------------- */

struct shunt_hist;

/* What the histograms do not say. */
struct gen_spread {
	const struct shunt_hist *hist;
	uint64_t min, max, cnt, sum;
};

/* gen_spread_json gives count, quantiles and buckets; gen_spread_line is a line of
 * text; gen_spread_figure draws bars of characters; gen_spread_plot has gnuplot draw
 * an SVG or PNG of one or two. */
void gen_spread_line(FILE *out, const char *what, const struct gen_spread *s);
json_t *gen_spread_json(const struct gen_spread *s);
void gen_spread_figure(FILE *out, const char *title, const struct gen_spread *s);
int gen_spread_plot(const char *file, const struct gen_spread *latency,
		    const struct gen_spread *gaps, struct shunt_err *err);

/* The subcommands: 0 done, negative with err filled, 1 when all that went wrong has
 * been said. The result goes as JSON to `json` unless that is NULL, and as text to
 * standard output unless opts->json. */
int gen_send(const struct gen_send_opts *opts, FILE *json, struct shunt_err *err);
int gen_sink(const struct gen_sink_opts *opts, FILE *json, struct shunt_err *err);
int gen_run(const struct gen_run_opts *opts, struct shunt_err *err);

/* --- the process ------------------------------------------------------------------------------ */

/* gen_pin moves the calling thread to a CPU, -1 for none. Returns 0 or -errno. */
int gen_pin(int cpu, struct shunt_err *err);

/* gen_signals_block makes SIGINT, SIGTERM and SIGHUP wait for gen_signal_wait,
 * which returns the signal, or 0 when `seconds` passed without one. */
void gen_signals_block(void);
int gen_signal_wait(double seconds);

/* gen_signal_is_there says whether gen_signal_wait would return one at once. */
bool gen_signal_is_there(void);

/* gen_json_print writes one line. */
void gen_json_print(FILE *out, json_t *j);

#endif
