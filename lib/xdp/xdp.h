/* SPDX-License-Identifier: BSD-2-Clause */
/* The steering program on one device: open, configure, attach, count, detach. program.c alone
 * touches its skeleton. How a program is attached:
 * - through libxdp's dispatcher, where the kernel allows that. It runs after the filters that share
 *   the device.
 * - alone otherwise, and in the place of a steering program that was alone.
 * - alone and bound to the device, where it is to ask the driver for VLAN tags (asks_tags) and the
 *   device has no dispatcher yet. Where the kernel refuses such a program it asks for none.
 * - alone, where it is to change frames' lengths (changes_lengths), the device has no dispatcher,
 *   and the kernel takes no such program under one (Linux 6.14). It does under one that libxdp has
 *   marked as changing them (xdp-tools, pull request 509).
 * - external: not at all. Somebody put it on the device (`ip link set dev X xdpdrv obj
 *   shunt_steer.bpf.o sec xdp`, bpftool). It is found by its name and its maps through the kernel,
 *   pins or no pins. Detach closes the lane user and leaves the program where it is.
 *
 * Limits: the device is found in the caller's network namespace. One caller at a time may configure
 * a device. Without CAP_NET_ADMIN and CAP_SYS_ADMIN opening and cleaning end with -EPERM.
 *
 *     struct shunt_xdp_opts opts = {.ifname = "eth1", .requested = SHUNT_XDP_NATIVE};
 *     struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_XCONNECT, .mac = {...}};
 *     shunt_xdp_open(&x, &opts, &err);
 *     shunt_xdp_attach(x, &err);
 *     ... sockets into shunt_xdp_xsks_fd(x) ...
 *     shunt_xdp_set_config(x, &cfg, &err);
 *     shunt_xdp_detach(x);
 */
#ifndef SHUNT_XDP_XDP_H
#define SHUNT_XDP_XDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_count.h"
#include "shunt_flow.h"
#include "shunt_steer.h"

enum shunt_xdp_mode {
	SHUNT_XDP_NATIVE = 0, /* in the driver */
	SHUNT_XDP_GENERIC,    /* in the stack, any device, slow */
};

struct shunt_xdp_flow_counts;

struct shunt_xdp_opts {
	const char *ifname;
	enum shunt_xdp_mode requested;
	bool external;	      /* use the steering program that is on the device already */
	bool persist;	      /* leave the program on the device at the end */
	bool replace;	      /* take the device from another's program */
	bool multi_buffer;    /* packets may take several buffers (xdp.frags, Linux 5.18) */
	bool asks_tags;	      /* see reads_tags; the kernel and the driver can (native mode only) */
	bool asks_flows;      /* see shunt_xdp_asks_flows; in place of asks_tags */
	bool changes_lengths; /* it is to put tags in and cut padding off itself, where it can */
	const struct shunt_xdp_flow_counts *flow_counts; /* xdp/flow_count.h; NULL: not counted */
	bool counts;					 /* what each rule matches is counted */
	uint32_t patience; /* of the watch, 1 .. SHUNT_STEER_PATIENCE_MAX; 0: 1 */
};

struct shunt_xdp_info {
	unsigned ifindex;
	enum shunt_xdp_mode requested, in_use; /* in_use: as the kernel says */
	uint32_t prog_id;
	bool dispatcher; /* runs under libxdp's dispatcher */
	bool external;
	bool multi_buffer; /* takes packets of several buffers */
	bool reads_tags;   /* asks the driver for VLAN tags beside frames */
	bool watched;	   /* a worker that hangs loses the lane user (Linux 5.17) */
	bool suspended;	   /* shunt_xdp_suspend took it off; in_use is requested, then */
	bool blocked;	   /* suspended, and another's program has come */
};

struct shunt_xdp;
struct shunt_xdp_tap_opts; /* xdp/tap_opts.h */
struct shunt_xdp_frame;	   /* xdp/explain.h */
struct shunt_xdp_steered;

/* libxdp's name of its dispatcher. */
#define SHUNT_XDP_DISPATCHER "xdp_dispatcher"

/* shunt_xdp_is_steering says whether a program of this name is shunt's, in any of its variants.
 * Thread: any. */
bool shunt_xdp_is_steering(const char *name);

/* shunt_xdp_open loads the steering program and leaves the device as it is. A program that libxdp's
 * dispatcher will run is loaded when it is attached. It can be configured now (external: not before
 * it is attached). On success *out is the caller's until shunt_xdp_detach. On failure *out is NULL:
 * -ENODEV no such device; -EPERM a capability is missing; -ENOSYS kernel too old; -errno of a
 * program that the kernel refuses; -ENOMEM. Thread: init, control. */
int shunt_xdp_open(struct shunt_xdp **out, const struct shunt_xdp_opts *opts,
		   struct shunt_err *err);

/* shunt_xdp_asks_flows says by which of the kernel's functions the program can ask for approved
 * connections (mode LAYER3_FLOWS); NOTHING: it cannot, since the kernel or its modules have none,
 * or opts did not ask for it. Thread: any. */
enum shunt_flow_asks shunt_xdp_asks_flows(const struct shunt_xdp *x);

/* shunt_xdp_loads_later says whether another program may have to be loaded while this one serves:
 * under libxdp's dispatcher, to take it off; alone, since it changes frames' lengths, where a
 * flowtable comes late. That takes rights (serve/rights.h). Thread: control. Cost: netlink. */
bool shunt_xdp_loads_later(struct shunt_xdp *x);

/* shunt_xdp_set_flow_above says whether a flowtable has the bridge or bond that the port belongs
 * to, and not the port. Thread: control. */
void shunt_xdp_set_flow_above(struct shunt_xdp *x, bool is_above);

/* shunt_xdp_forget_flows has the program ask the kernel again about each connection, since
 * flowtables may be others. Thread: any. */
void shunt_xdp_forget_flows(struct shunt_xdp *x);

/* shunt_xdp_ask_flows has the program ask so from its next resume on, since a flowtable has come:
 * it is suspended. Nothing is done where it asks already. Returns 0, or -errno with err set and the
 * program as it was: -EOPNOTSUPP the kernel or its modules have no such function, or the program
 * was attached by hand or in generic mode; -EPERM no dispatcher of libxdp's runs it; -EBUSY there
 * is a tap. Thread: control. Cost: programs are loaded. */
int shunt_xdp_ask_flows(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_attach puts the program on the device. It steers as it was configured since open. If it
 * was not, everything goes to the kernel. A steering program that an ended daemon of any version
 * left there is replaced without a gap. Returns 0 or -errno; on failure what was there is there:
 * - -EBUSY: another's program (named in err), or a live owner's, is on the device;
 * - -EOPNOTSUPP: the driver has no native XDP; -ENODEV: the device is gone;
 * - -ENOENT (external): no steering program is there, or it lacks multi_buffer, which is asked for;
 * - -EPROTO (external): the program is of another version;
 * - -ERANGE, -EINVAL: the driver refused. Its words are in err, e.g. the MTU.
 * Thread: init, control. */
int shunt_xdp_attach(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_cross is for the time between two daemons. A configured program sends what crosses in a
 * cross-connect or a bridge without any socket, for SHUNT_STEER_HANDOVER_NS or until it is
 * configured anew. All else is the kernel's. Thread: control. */
void shunt_xdp_cross(struct shunt_xdp *x);

/* shunt_xdp_withdraw gives every frame to the kernel and takes the program off the device. It
 * leaves another's program there, and one that is external or persistent. Sockets and gates may
 * still be used. Once is enough, NULL is legal. Thread: control. */
void shunt_xdp_withdraw(struct shunt_xdp *x);

/* shunt_xdp_suspend takes the program off the device: all frames are the kernel's, as without
 * shunt. shunt_xdp_resume puts it back, with the configuration that it was given meanwhile. Neither
 * does anything where that is so already. An external program is left alone. Each returns 0 or
 * -errno. After a suspend that failed the program is where it was. After a resume that failed it is
 * still suspended. Both take CAP_NET_ADMIN, and under libxdp's dispatcher the rights of
 * shunt_xdp_attach: a running daemon has a delegate do them (xdp/delegate.h). A driver may reset
 * its device. Thread: control. Cost: setup. */
int shunt_xdp_suspend(struct shunt_xdp *x, struct shunt_err *err);
int shunt_xdp_resume(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_hand_over leaves the program on the device until a successor's takes its place. From
 * withdraw on it crosses (shunt_xdp_cross), or the kernel has all frames. Thread: control. */
void shunt_xdp_hand_over(struct shunt_xdp *x, bool crosses);

/* shunt_xdp_disown says that this process configures the device no more. It is for a worker that
 * hangs: then nothing else of x may be touched. Thread: control. */
void shunt_xdp_disown(struct shunt_xdp *x);

/* shunt_xdp_quiesce returns when all runs of steering programs that began before it have ended, and
 * what they redirected is delivered. Thread: control. Cost: a grace period, some ms. */
void shunt_xdp_quiesce(void);

/* shunt_xdp_detach withdraws, and frees x. The sockets must be closed. NULL is legal.
 * Thread: control. */
void shunt_xdp_detach(struct shunt_xdp *x);

/* shunt_xdp_set_config puts cfg in force, atomically for the program, and opens the lane user.
 * Rules and locals stay. Returns 0, or -EINVAL: there is no such mode. Thread: control. Cost:
 * setup, one grace period of the kernel's RCU. */
int shunt_xdp_set_config(struct shunt_xdp *x, const struct shunt_steer_cfg *cfg,
			 struct shunt_err *err);

/* shunt_xdp_set_rules replaces all rules by these cnt at once: no frame sees a mixture. cnt 0
 * removes them. A rule that was in force before keeps its count. Returns 0, -E2BIG above
 * SHUNT_STEER_RULES_MAX, -EINVAL for a lane that no rule can give. Thread: control. Cost: as
 * set_config. */
int shunt_xdp_set_rules(struct shunt_xdp *x, const struct shunt_steer_rule *rules, unsigned cnt,
			struct shunt_err *err);

/* shunt_xdp_rule_count says what the rule of this number (from 0) has matched since it came into
 * force. Returns false where that is not counted. Thread: control. Cost: no syscall. */
bool shunt_xdp_rule_count(const struct shunt_xdp *x, unsigned rule, struct shunt_count *out);

/* shunt_xdp_set_port lets frames of this device leave by the device ifindex in lane xdp, under the
 * number slot, below SHUNT_STEER_PORTS_MAX. ifindex 0 ends that: frames that would leave there are
 * the kernel's. Returns 0 or -errno. Thread: control. Cost: a syscall. */
int shunt_xdp_set_port(struct shunt_xdp *x, uint32_t slot, unsigned ifindex);

/* shunt_xdp_set_flood does the same for what shunt_xdp_cross floods: it goes to all devices given.
 * Returns and costs the same. Thread: control. */
int shunt_xdp_set_flood(struct shunt_xdp *x, uint32_t slot, unsigned ifindex);

/* shunt_xdp_set_locals replaces this host's addresses, its subnets' broadcast addresses included.
 * An address that is in both sets is local throughout. Network order. Returns 0, -E2BIG above
 * SHUNT_STEER_LOCALS_MAX a family, or the map's -errno. Thread: control. Cost: setup, a syscall an
 * address that comes or goes. */
int shunt_xdp_set_locals(struct shunt_xdp *x, const uint32_t *ip4_be, unsigned ip4_cnt,
			 const struct in6_addr *ip6, unsigned ip6_cnt, struct shunt_err *err);

/* shunt_xdp_set_open opens the lane user, or closes it (false). While it is closed, every frame is
 * the kernel's, reason `closed`, and the configuration waits. Before the first set_config it does
 * nothing. Thread: control. Cost: two stores, no syscall: a heartbeat watch can use it. */
void shunt_xdp_set_open(struct shunt_xdp *x, bool is_open);

/* shunt_xdp_bar keeps the lane user closed, whatever is set or configured, until the bar is taken
 * away (false). Returns whether there was one. A program that is withdrawn or handed over must not
 * be barred any more. Thread: any for true; control for false. Cost: as set_open. */
bool shunt_xdp_bar(struct shunt_xdp *x, bool is_barred);

/* shunt_xdp_xsks_fd returns the descriptor of the socket map: slot = queue index,
 * SHUNT_STEER_SOCKETS_MAX slots. x keeps it. Thread: any. */
int shunt_xdp_xsks_fd(const struct shunt_xdp *x);

/* shunt_xdp_watch_worker tells the watch that the calling thread serves the queues first, first +
 * step, ... It finds a hang sooner then. Does nothing without a watch, or where the kernel refuses.
 * Thread: a worker, before its first turn. Cost: a syscall. */
void shunt_xdp_watch_worker(const struct shunt_xdp *x, unsigned first, unsigned step);

/* shunt_xdp_gate returns the gate of a queue. Only the queue's worker writes its beat_ns and
 * is_dry. It lives as long as x. Thread: any. */
struct shunt_steer_gate *shunt_xdp_gate(const struct shunt_xdp *x, unsigned queue);

/* shunt_xdp_beat tells the watch until when (CLOCK_MONOTONIC) all that the port forwards by is as
 * the kernel has it: tables, states of a bridge's ports, firewall. 0: it goes by none of them. The
 * watch shuts both lanes when that is too long ago. Thread: the follower. Cost: a store. */
void shunt_xdp_beat(const struct shunt_xdp *x, uint64_t current_ns);

/* shunt_xdp_read_counters copies one queue's counters since the program was loaded. Queues from
 * SHUNT_STEER_QUEUES_MAX - 1 up share the last slot: each of them returns it. Returns 0.
 * Thread: any. Cost: no syscall. */
int shunt_xdp_read_counters(const struct shunt_xdp *x, unsigned queue,
			    struct shunt_steer_counters *out);

/* shunt_xdp_sample returns a queue's timed runs of the program. The program goes on writing them.
 * Queues are as in read_counters. Thread: any. */
const struct shunt_steer_sample *shunt_xdp_sample(const struct shunt_xdp *x, unsigned queue);

/* shunt_xdp_sample_ask has the program time the next SHUNT_STEER_SAMPLES frames of each queue.
 * Where it finishes checksums, it looks at those of the next SHUNT_STEER_CSUM_LOOKS. Thread:
 * control. Cost: a store a queue. */
void shunt_xdp_sample_ask(struct shunt_xdp *x);

/* shunt_xdp_tap has the program show its frames. Returns the ring's descriptor, the caller's, or
 * -errno with err set, and the program as it was: -EOPNOTSUPP see the limits; -EBUSY there is a
 * tap; -EINVAL the filter. A port whose program is off the device is tapped when it comes back.
 * Thread: control. Cost: a program is loaded. */
int shunt_xdp_tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts,
		  struct shunt_err *err);

/* shunt_xdp_untap puts the plain program back, where there is a tap. Returns 0 or -errno with err
 * set. Thread: control. Cost: a syscall. */
int shunt_xdp_untap(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_tap_lost returns how many frames that arrived had no room for their record, since the
 * maps were made; shunt_xdp_tap_lost_out how many that left by the port of this number in lane xdp.
 * Thread: control. */
uint64_t shunt_xdp_tap_lost(const struct shunt_xdp *x);
uint64_t shunt_xdp_tap_lost_out(const struct shunt_xdp *x, unsigned port);

/* shunt_xdp_explain says what the program would do with a frame that arrives now, and sends none.
 * What the port counts and remembers is left alone. Returns 0 or -errno with err set: -EOPNOTSUPP
 * an external program; -EINVAL the device has no such queue. Thread: control. Cost: a test run; the
 * first time a program is loaded. */
int shunt_xdp_explain(struct shunt_xdp *x, const struct shunt_xdp_frame *frame,
		      struct shunt_xdp_steered *out, struct shunt_err *err);

/* shunt_xdp_info asks the kernel in which mode the device runs the program. Returns 0, also where
 * the program is suspended; -ENOENT: somebody took it off; -errno of asking. Thread: control. Cost:
 * one netlink exchange. */
int shunt_xdp_info(struct shunt_xdp *x, struct shunt_xdp_info *out, struct shunt_err *err);

/* shunt_xdp_mode_name returns "native" or "generic". Thread: any. */
const char *shunt_xdp_mode_name(enum shunt_xdp_mode mode);

/* Whose program a device has. libxdp's dispatcher is nobody's: shunt's program runs under it. */
enum shunt_xdp_holder {
	SHUNT_XDP_HOLDER_NOBODY,
	SHUNT_XDP_HOLDER_SHUNT,
	SHUNT_XDP_HOLDER_OTHER,
};

/* shunt_xdp_holder says whose program is on the device. For another's, *fd is a descriptor of it,
 * which the caller closes, and *mode is its mode. Otherwise *fd is -1. Thread: init, control. */
enum shunt_xdp_holder shunt_xdp_holder(unsigned ifindex, int *fd, enum shunt_xdp_mode *mode);

/* shunt_xdp_is_on says whether a steering program is on the device, alone or under libxdp's
 * dispatcher. Returns 1, 0 or -errno. Needs CAP_SYS_ADMIN. Thread: init, control. */
int shunt_xdp_is_on(unsigned ifindex);

/* shunt_xdp_put puts a loaded program on a device that has none. Returns 0 or -errno; -EBUSY or
 * -EEXIST: it has one. Thread: init, control. */
int shunt_xdp_put(unsigned ifindex, int prog_fd, enum shunt_xdp_mode mode);

/* shunt_xdp_clean takes a steering program off that a killed daemon left on the device. It knows
 * the program by its name, and never takes another's. Returns 1 if it did, 0 if there was none,
 * -errno. A program that was attached by hand looks the same: the caller must know, by its journal,
 * that the daemon attached it. Thread: init, control. */
int shunt_xdp_clean(unsigned ifindex, struct shunt_err *err);

#endif
