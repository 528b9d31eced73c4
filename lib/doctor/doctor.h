/* SPDX-License-Identifier: BSD-2-Clause */
/* What a machine and its devices are fit for, before anything is attached: findings, each with an
 * object, a sentence and what to do. Nothing is changed.
 *
 * Facts (facts.h) are gathered apart from the judgement, so that tests can judge drivers and
 * kernels that are not at hand.
 *
 * Limits: what only an attempt shows is not found, as a driver that refuses an MTU, or a queue that
 * is taken. A veth's peer in another network namespace is not seen.
 *
 *     struct shunt_doctor doctor = {0};
 *     struct shunt_doctor_opts opts = {.frame_size = 2048, .worker_cnt = 1};
 *     shunt_doctor_host(&doctor, &opts);
 *     shunt_doctor_device(&doctor, "eth1", &opts);
 *     json_t *report = shunt_doctor_json(&doctor);
 *     shunt_doctor_fini(&doctor);
 */
#ifndef SHUNT_DOCTOR_DOCTOR_H
#define SHUNT_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SHUNT_DOCTOR_LEVELS(X)                                  \
	X(ok, "as it should be")                                \
	X(note, "worth knowing")                                \
	X(warning, "shunt runs, and slower or not as expected") \
	X(error, "shuntd will not start, or not forward")

enum shunt_doctor_level {
#define X(name, help) SHUNT_DOCTOR_##name,
	SHUNT_DOCTOR_LEVELS(X)
#undef X
		SHUNT_DOCTOR_LEVEL_CNT
};

struct shunt_finding {
	enum shunt_doctor_level level;
	char object[32]; /* device, "host" or "daemon" */
	char topic[16];
	char sentence[320];
	char remedy[360]; /* a command mostly; "": nothing to do */
};

struct shunt_doctor {
	struct shunt_finding *findings;
	unsigned cnt, max;
	struct shunt_finding spare; /* where findings go without memory */
};

/* What the devices are wanted for. */
struct shunt_doctor_opts {
	uint32_t frame_size; /* 2048 or 4096; 0: what the ports need */
	unsigned worker_cnt;
	uint32_t ring_size;    /* shuntd.yaml(5) */
	bool generic;	       /* --driver-mode generic */
	bool require_zerocopy; /* then its absence is an error */
	bool in_use;	       /* a daemon serves it: its program belongs there */
	bool is_suspended;     /* and it has taken the program off for a while */
};

/* shunt_doctor_add appends a finding, shunt_doctor_remedy (printf format) says
 * what to do about it. The finding is d's, valid until the next add. Never NULL.
 * Thread: control. */
struct shunt_finding *shunt_doctor_add(struct shunt_doctor *d, enum shunt_doctor_level level,
				       const char *object, const char *topic, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void shunt_doctor_remedy(struct shunt_finding *finding, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* shunt_doctor_host looks at the kernel, the caller's rights, memory, and what forwards when shunt
 * does not. It needs no rights. Thread: control. Cost: setup. */
void shunt_doctor_host(struct shunt_doctor *d, const struct shunt_doctor_opts *opts);

/* shunt_doctor_device looks at a device of the caller's network namespace. One that
 * is not there is a finding, too. Thread: control. Cost: a few syscalls. */
void shunt_doctor_device(struct shunt_doctor *d, const char *ifname,
			 const struct shunt_doctor_opts *opts);

/* shunt_doctor_in_use compares what a daemon's `show ports` (show/show.h) says is in use with what
 * was asked for; ifname NULL for all ports. Returns how many ports it found. Thread: any. */
unsigned shunt_doctor_in_use(struct shunt_doctor *d, const json_t *ports, const char *ifname);

/* shunt_doctor_count returns how many findings have the level.
 * shunt_doctor_level_name returns "ok", "note", "warning" or "error".
 * shunt_doctor_json returns a new reference, NULL without memory:
 * {"findings": [{level, object, topic, sentence, remedy}], "levels": {...}}.
 * shunt_doctor_fini frees. Thread: any. */
unsigned shunt_doctor_count(const struct shunt_doctor *d, enum shunt_doctor_level level);
const char *shunt_doctor_level_name(enum shunt_doctor_level level);
json_t *shunt_doctor_json(const struct shunt_doctor *d);
void shunt_doctor_fini(struct shunt_doctor *d);

#endif
