/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps: the kernel is asked for its tables, one after the other, and what it did not name is
 * swept out. A run is a list of stages (links first, routes last) done for one purpose. */
#ifndef SHUNT_MIRROR_DUMP_H
#define SHUNT_MIRROR_DUMP_H

#include <libmnl/libmnl.h>

#include "mirror/table.h"
#include "mirror/route.h"

/* Why a run is made; in order of precedence. */
enum shunt_mirror_run {
	SHUNT_MIRROR_RUN_NONE,
	SHUNT_MIRROR_RUN_AUDIT,
	SHUNT_MIRROR_RUN_SPACES, /* routes of tables that were not wanted before */
	SHUNT_MIRROR_RUN_CHECK,	 /* routes of one device, after it went down */
	SHUNT_MIRROR_RUN_FULL,	 /* the first, or after lost events */
};

#define SHUNT_MIRROR_CHECKS_MAX 16

struct shunt_mirror_dump {
	enum shunt_mirror_run run; /* under way */
	unsigned stage;
	unsigned space;	  /* that the stage is about; 0: it is not about one's table */
	uint32_t spaces;  /* RUN_SPACES: which */
	bool is_waiting;  /* a request is sent, its end has not come */
	bool is_sweeping; /* the end has come, routes are being swept */
	bool is_broken;	  /* events were lost or the stage's answer is no good: do not sweep */
	bool is_interrupted;
	unsigned retries; /* of this stage, because of interruptions */
	uint32_t seq;
	uint32_t ifindex; /* RUN_CHECK */
	uint64_t begin_ns;
	uint64_t stage_changes; /* what the dump or the sweep had to change */
	uint64_t stage_events;	/* events that came meanwhile */
	struct shunt_mirror_route_sweep sweep;
	/* wanted */
	bool want_full;
	bool want_audit;
	uint32_t want_spaces;
	uint32_t checks[SHUNT_MIRROR_CHECKS_MAX]; /* ifindexes */
	unsigned check_cnt;
};

/* The result of a step, for the counters. */
struct shunt_mirror_dump_result {
	enum shunt_mirror_run run; /* RUN_NONE: no run ended */
	uint64_t changes;	   /* this step's */
	uint64_t races;
	bool is_interrupted;
	uint64_t ns;
};

/* shunt_mirror_dump_want_check asks for a check of the device's routes; with too many waiting,
 * for an audit instead. */
void shunt_mirror_dump_want_check(struct shunt_mirror_dump *dump, uint32_t ifindex);

/* shunt_mirror_dump_step does what is next, if anything can be done without the kernel's
 * answer: send the next request, or sweep up to budget objects. Returns 1 when it did
 * something, 0 when not, -errno when a request could not be sent. */
int shunt_mirror_dump_step(struct shunt_mirror_dump *dump, struct shunt_mirror_table *table,
			   struct mnl_socket *nl, uint64_t now_ns, uint32_t budget,
			   struct shunt_mirror_dump_result *result);

/* shunt_mirror_dump_is_mine says whether the message is of the dump under way. */
bool shunt_mirror_dump_is_mine(const struct shunt_mirror_dump *dump, const struct nlmsghdr *nlh,
			       uint32_t portid);

/* shunt_mirror_dump_error returns the errno that the end of an answer says, 0 where it says none,
 * EBADMSG where what it says is no errno. Thread: any. */
int shunt_mirror_dump_error(const struct nlmsghdr *nlh);

/* shunt_mirror_dump_end takes the end of a stage's answer: error 0, or the errno. Returns
 * false when the kernel cannot do this dump. */
bool shunt_mirror_dump_end(struct shunt_mirror_dump *dump, int error);

/* shunt_mirror_dump_overrun notes that events were lost: the run under way is no good, a full
 * one is wanted. */
void shunt_mirror_dump_overrun(struct shunt_mirror_dump *dump);

static inline bool shunt_mirror_dump_has_work(const struct shunt_mirror_dump *dump)
{
	return dump->is_sweeping ||
	       (!dump->is_waiting && (dump->run || dump->want_full || dump->want_audit ||
				      dump->check_cnt || dump->want_spaces));
}

#endif
