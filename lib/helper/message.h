/* SPDX-License-Identifier: BSD-2-Clause */
/* What daemon and helper send each other: one request of fixed size, then one answer of fixed size,
 * over a SOCK_SEQPACKET pair. Both are of one binary, so there is no version and no byte order. A
 * request never has descriptors. An answer has one where its verb makes something.
 *
 * The helper refuses a request, and changes nothing, where
 * - it has another length, or descriptors: -EBADMSG;
 * - there is no such verb: -ENOSYS;
 * - a field is set that the verb does not have: -EINVAL;
 * - the device is none of the configured ports: -ENODEV;
 * - a size is out of bounds: -ERANGE;
 * - this daemon has no use for the verb: -EPERM. */
#ifndef SHUNT_HELPER_MESSAGE_H
#define SHUNT_HELPER_MESSAGE_H

#include <stdint.h>

#include "base/err.h"
#include "xdp/delegate.h"
#include "xdp/explain.h"
#include "xdp/tap_opts.h"

/* A verb a row: name, which fields of the request it has (below), what it does. */
#define SHUNT_HELPER_VERBS(X)                                                                   \
	X(suspend, PORT, "takes a port's steering program off its device for a while")          \
	X(resume, PORT, "puts it back")                                                         \
	X(withdraw, PORT, "takes it off for good")                                              \
	X(look, PORT, "looks whether it runs under libxdp's dispatcher, or another's is there") \
	X(tap, TAP, "exchanges it for one that shows frames to a ring")                         \
	X(untap, PORT, "puts the plain one back")                                               \
	X(ask_flows, PORT, "takes it off; the next one asks for approved connections")          \
	X(explain, FRAME, "says what it would do with a frame")                                 \
	X(make_chunk, NONE, "makes an empty BPF array for the tables of lane xdp")              \
	X(detour_open, SIZES, "makes the detour to a port, or fits the one that is there")      \
	X(detour_close, PORT, "removes it")                                                     \
	X(give_back, KEEP, "gives back what the journal says")

enum shunt_helper_verb {
	SHUNT_HELPER_none, /* nobody asks for that */
#define X(name, fields, help) SHUNT_HELPER_##name,
	SHUNT_HELPER_VERBS(X)
#undef X
		SHUNT_HELPER_VERB_END,
};

struct shunt_helper_request {
	uint32_t number;	       /* comes back with the answer */
	uint32_t verb;		       /* enum shunt_helper_verb */
	uint32_t ifindex;	       /* PORT, SIZES, TAP, FRAME: of a configured port; else 0 */
	uint32_t mtu;		       /* SIZES: bytes; else 0 */
	uint32_t queues;	       /* SIZES; else 0 */
	uint32_t is_kept;	       /* KEEP: a successor goes on, 0 or 1; else 0 */
	struct shunt_xdp_tap_opts tap; /* TAP; else all zeros */
	struct shunt_xdp_frame frame;  /* FRAME; else all zeros */
};

#define SHUNT_HELPER_MTU_MIN	68 /* of IPv4, RFC 791 3.2 */
#define SHUNT_HELPER_MTU_MAX	65535
#define SHUNT_HELPER_QUEUES_MAX 4096 /* the kernel's own bound for a new device */
#define SHUNT_HELPER_RING_MIN	65536
#define SHUNT_HELPER_RING_MAX	(64u << 20)

struct shunt_helper_answer {
	uint32_t number; /* the request's; 0: it had none, or this is the first word of all */
	int32_t ret;	 /* 0, detour_open: the detour's ifindex, or -errno */
	struct shunt_xdp_state state;	  /* of the port, where the verb is about one */
	struct shunt_xdp_steered steered; /* explain's */
	struct shunt_err err;		  /* after an -errno */
};

_Static_assert(sizeof(struct shunt_helper_request) ==
		       24 + sizeof(struct shunt_xdp_tap_opts) + sizeof(struct shunt_xdp_frame),
	       "no holes");

#endif
