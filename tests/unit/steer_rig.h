/* SPDX-License-Identifier: BSD-2-Clause */
/* The real steering program, loaded, and run on one frame at a time with
 * BPF_PROG_TEST_RUN. No socket is in its map, so what is meant for the lane user
 * comes back as no_socket; `unserved` then says what was meant. */
#ifndef SHUNT_TESTS_STEER_RIG_H
#define SHUNT_TESTS_STEER_RIG_H

#include <linux/bpf.h>

#include "shunt_count.h"
#include "shunt_steer.h"
#include "shunt_steer.skel.h"
#include "steer/rule.h"
#include "steer_frame.h"

struct steer_rig {
	struct shunt_steer *skel;
	int prog_fd;
	struct shunt_steer_ctl *ctl;
	struct shunt_steer_half *half; /* the live one */
	struct shunt_steer_slot *slots;
	uint32_t verdict; /* of the last run */
	int xsk_fd;	  /* a socket for the map, -1 where there is none to be had */
};

/* steer_rig_init loads the program, or skips the calling test by name where this
 * process or kernel cannot; all frames go to the kernel until a mode is set. */
void steer_rig_init(struct steer_rig *rig);
void steer_rig_fini(struct steer_rig *rig);

/* steer_rig_mode opens the lane user in a mode, with FRAME_OWN_MAC. */
void steer_rig_mode(struct steer_rig *rig, enum shunt_steer_mode mode);
void steer_rig_local4(struct steer_rig *rig, const uint8_t addr[4]);
void steer_rig_local6(struct steer_rig *rig, const uint8_t addr[16]);

/* steer_rig_rules parses and puts rules in force; they are left in parsed[], too,
 * for the oracle, unless it is NULL. */
void steer_rig_rules(struct steer_rig *rig, const char *const *texts, unsigned cnt,
		     struct shunt_rule *parsed);

/* steer_rig_count sums what was counted of rules, by their `count`: SHUNT_STEER_RULE_COUNTS. */
void steer_rig_count(struct steer_rig *rig, struct shunt_count *out);

/* steer_rig_slot puts a value into a slot of a map. */
void steer_rig_slot(struct bpf_map *map, unsigned slot, unsigned value);

/* steer_rig_forget has the program look again for stations, as shunt_xdp_forget_stations; a table
 * of steer_rig_macs_open calls it for its own changes (shunt_mac_watch). */
void steer_rig_forget(void *rig);

/* steer_rig_macs_open gives the program a MAC table: one port may forward, and learns. */
struct steer_rig_macs {
	struct shunt_xdp_macs *shared;
	struct shunt_mac_table *table;
};
void steer_rig_macs_open(struct steer_rig *rig, struct steer_rig_macs *macs, unsigned port);
void steer_rig_macs_close(struct steer_rig_macs *macs);

/* steer_rig_run returns the reason for which the program sent the frame to its lane,
 * and fails the test if the frame's bytes changed, or if anything but one packet
 * and its bytes was counted. Where the configuration has a short way into the lane user
 * (shunt_steer_quick_of), the frame goes it, too, and must come to the same. */
int steer_rig_run(struct steer_rig *rig, const void *data, size_t len);

/* steer_rig_send is for frames that change: *out is how it left. It goes by the long way and, where
 * the configuration has one, by the short way, which must come to the same; each counts. Returns
 * the reason. */
int steer_rig_send(struct steer_rig *rig, const struct frame *f, struct frame *out);

/* The addresses of the tests' host. */
#define STEER_LOCAL4_CNT 2
#define STEER_LOCAL6_CNT 2
extern const uint8_t steer_local4[STEER_LOCAL4_CNT][4];
extern const uint8_t steer_local6[STEER_LOCAL6_CNT][16];

/* steer_rig_start is init, these addresses and a mode. */
void steer_rig_start(struct steer_rig *rig, enum shunt_steer_mode mode);

/* steer_expect runs f and expects a reason; where names the case in the message. */
void steer_expect(struct steer_rig *rig, const char *file, int where, const struct frame *f,
		  int want);

#endif
