/* SPDX-License-Identifier: BSD-2-Clause */
/* shunt-parity: the same frames into two labs, and what leaves them compared byte by byte.
 *
 * A frame is a function of the seed and its number (frame.c), so none is stored: a window in
 * which the labs differ is sent again, frame by frame, to find the one that they differ on.
 * world.c is the network that both labs are, places.c its addresses, wire.c the sockets, window.c
 * sends and waits, match.c compares, decode.c prints. In the place of the kernel's lab there may be
 * the daemon's own explanations (explain.c). */
#ifndef SHUNT_PARITY_H
#define SHUNT_PARITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define PARITY_PORTS   3 /* of dut, or links where its ports are members of bonds or bridges */
#define PARITY_MEMBERS 2 /* of a bond or a bridge, at most */
#define PARITY_WIRES   (PARITY_PORTS * PARITY_MEMBERS)
#define PARITY_VRFS    3 /* routing tables of dut: that of no VRF, those of VRFs red and blue */
#define PARITY_LABS    2
/* The longest frame that a veth of MTU 1500 takes: a VLAN header's four bytes over. */
#define PARITY_LEN_MAX 1518
#define PARITY_LEN_MIN 14
/* Frames of a window. A veth's ring holds 256, one window over all ports has to fit. */
#define PARITY_WINDOW  192

/* --- random numbers (splitmix64) --- */
struct parity_rng {
	uint64_t state;
};

static inline uint64_t parity_rand(struct parity_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* parity_below returns 0..n-1. */
static inline unsigned parity_below(struct parity_rng *rng, unsigned n)
{
	return (unsigned)((parity_rand(rng) >> 32) * n >> 32);
}

static inline bool parity_chance(struct parity_rng *rng, unsigned percent)
{
	return parity_below(rng, 100) < percent;
}

/* What dut's addresses and routes are on: its ports, VLAN devices above them, bonds of them, both
 * ports and VLAN devices, in VRFs, or bridges of them and VLAN devices above those. A router has
 * all of it: a port, a bond and a bridge, with VLAN devices above each, in VRFs. */
enum parity_world {
	PARITY_PLAIN,
	PARITY_VLAN,
	PARITY_BOND,
	PARITY_VRF,
	PARITY_BRIDGE_VLAN,
	PARITY_ROUTER,
};

/* --- world.c: addresses and routes --- */

/* parity_world_print writes the links, neighbours and routes of dut as `ip -batch` commands.
 * An odd variant has the IPv6 default route, an even one that of IPv4. */
void parity_world_print(FILE *out, enum parity_world world, unsigned variant);
/* parity_pick_dst and _src choose an address, network order, for a frame that comes in on
 * port, in VRF vrf: destinations of every route, and what none should be sent to. */
void parity_pick_dst(struct parity_rng *rng, bool v6, uint8_t *addr);
void parity_pick_src(struct parity_rng *rng, bool v6, unsigned port, unsigned vrf, uint8_t *addr);
/* parity_vrf_name returns static text. parity_vrf_of_port is the VRF that a link's port itself, or
 * the bond or bridge in its place, is in; its VLAN devices are in the others. */
const char *parity_vrf_name(unsigned vrf);
static inline bool parity_has_vrfs(enum parity_world world)
{
	return world == PARITY_VRF || world == PARITY_ROUTER;
}
static inline unsigned parity_vrf_of_port(enum parity_world world, unsigned link)
{
	if (world == PARITY_ROUTER)
		return link == 1 ? 2 : 0;
	return world == PARITY_VRF ? (link + 1) % PARITY_VRFS : 0;
}
/* parity_net_of is which plain network is behind a link: in each VRF another one. */
static inline unsigned parity_net_of(unsigned vrf, unsigned link)
{
	return (link + PARITY_PORTS - vrf) % PARITY_PORTS;
}
/* parity_is_own: an address of dut. parity_is_unresolved: behind a neighbour that never
 * answers. parity_is_multipath: behind more than one next hop. */
bool parity_is_own(bool v6, const uint8_t *addr);
bool parity_is_unresolved(bool v6, const uint8_t *addr);
bool parity_is_multipath(bool v6, const uint8_t *addr);
/* parity_is_frequent: an IPv4 source that comes again and again. */
bool parity_is_frequent(const uint8_t *addr);

/* --- rules.c: what judges and translates --- */
enum parity_rules {
	PARITY_NO_RULES,
	PARITY_FILTER,
	PARITY_NAT, /* and filter */
};

/* parity_rules_print writes them for `nft -f`. */
void parity_rules_print(FILE *out, enum parity_rules rules, enum parity_world world);

/* --- frame.c: the frames --- */
struct parity_frame {
	uint16_t len;
	uint8_t port, member, vrf;
	uint8_t data[PARITY_LEN_MAX + 2];
};

/* Where frames come from: a seed, as frames that have nothing to do with each other or as
 * connections that rules judge; or captures. */
struct parity_source {
	uint64_t seed;
	uint64_t cnt;
	enum parity_world world;
	enum parity_rules rules;
	uint8_t **pcap; /* NULL: from the seed */
	uint16_t *pcap_len;
	uint64_t pcap_cnt;
};

/* parity_frame_make writes frame number idx of the source. */
void parity_frame_make(const struct parity_source *src, uint64_t idx, struct parity_frame *frame);

/* parity_put16 writes in network order; parity_put_mac the station of a link. */
static inline void parity_put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void parity_put_mac(uint8_t *mac, unsigned link, unsigned host)
{
	const uint8_t bytes[6] = {2, 0, 0, 0, (uint8_t)link, (uint8_t)host};

	__builtin_memcpy(mac, bytes, sizeof(bytes));
}

/* parity_fill writes random bytes. */
void parity_fill(struct parity_rng *rng, uint8_t *p, unsigned len);
/* parity_sum is the internet checksum of len bytes, start added, in network order. */
uint16_t parity_sum(const uint8_t *p, unsigned len, uint32_t start);
/* parity_pseudo_sum is what a pseudo header of len bytes of addresses adds to one. */
uint32_t parity_pseudo_sum(const uint8_t *addrs, unsigned len, unsigned proto, unsigned l4_len);
/* parity_pcap_add appends a capture's Ethernet frames. Returns 0 or -errno. */
int parity_pcap_add(struct parity_source *src, const char *path, struct shunt_err *err);

/* --- talk.c: the frames of connections --- */

/* A window has a frame of each of PARITY_WINDOW connections, the next window each one's next, and
 * after PARITY_TALK_STEPS windows others begin. */
#define PARITY_TALK_STEPS 24
#define PARITY_TALK_ROUND ((uint64_t)PARITY_TALK_STEPS * PARITY_WINDOW)
/* Connections of a run: each has a source port of its own. */
#define PARITY_TALKS_MAX  64000u

void parity_talk_frame(const struct parity_source *src, uint64_t idx, struct parity_frame *frame);
/* parity_talk_describe writes which step of which connection a frame is. */
void parity_talk_describe(FILE *out, const struct parity_source *src, uint64_t idx);

/* --- devices.c: what is between a link and its wires --- */

/* In the place of what a wire's variant says else: a frame that does not have its link's tags. */
#define PARITY_OTHER 64u

/* parity_tags_len returns how many bytes of tags a frame has before its EtherType; _room_for_tags
 * how many one that comes in by the link should have. */
unsigned parity_tags_len(const uint8_t *data, unsigned len);
unsigned parity_room_for_tags(const struct parity_source *src, unsigned link);
/* parity_devices_in makes a frame one for the world's devices: its tags, mostly the right ones
 * (those of its VRF), or its member. rng NULL: the right ones, the first member. */
void parity_devices_in(const struct parity_source *src, struct parity_rng *rng,
		       struct parity_frame *frame);
/* parity_devices_out makes what came out by a wire what it would be without devices, and returns
 * the wire with its variant: link + PARITY_PORTS * variant. parity_wire_print says it. */
unsigned parity_devices_out(enum parity_world world, unsigned wire, uint8_t *data, unsigned *len);
void parity_wire_print(FILE *out, enum parity_world world, unsigned wire);
/* parity_vrf_in is the VRF that a frame with these tags comes in by, parity_vrf_out the one that
 * came out by a wire with its variant; PARITY_OTHER: the tags are no VRF's. */
unsigned parity_vrf_in(enum parity_world world, const struct parity_frame *frame);
unsigned parity_vrf_out(enum parity_world world, unsigned wire);

/* parity_member_cnt says how many wires a link has. parity_wire_of takes the variant off. */
unsigned parity_member_cnt(enum parity_world world, unsigned link);
unsigned parity_wire_of(enum parity_world world, unsigned wire);

/* --- wire.c: a lab's wires, seen from their far ends: eth1 to eth3; the second members of bonds
 * and bridges are eth4 to eth6 --- */
struct parity_lab {
	const char *name;
	enum parity_world world;
	int fd[PARITY_WIRES];
};

int parity_lab_open(struct parity_lab *lab, const char *netns, struct shunt_err *err);
void parity_lab_close(struct parity_lab *lab);
/* parity_lab_send sends frames[] by port; parity_lab_receive calls take for each frame that
 * has come out and returns how many; it waits up to wait_ms for the first. */
int parity_lab_send(struct parity_lab *lab, const struct parity_frame *frames, unsigned cnt,
		    struct shunt_err *err);
typedef void parity_take(void *arg, unsigned port, const uint8_t *data, unsigned len);
unsigned parity_lab_receive(struct parity_lab *lab, int wait_ms, parity_take *take, void *arg);

/* --- match.c: what came out --- */

/* What is not compared frame by frame, because a timer and not a frame decides when it is
 * sent: X(enumerator, text) */
#define PARITY_KINDS(X)                                                                         \
	X(FRAME, "compared byte by byte")                                                       \
	X(ASK, "ARP requests and neighbour solicitations of dut: retries by timer")             \
	X(UNRESOLVED, "host unreachable when a neighbour did not answer: after seconds")        \
	X(REDIRECT, "redirects: the kernel sends fewer and fewer by time")                      \
	X(LIMITED, "no route, to one source again and again: the kernel answers once a second") \
	X(TIMER, "IGMP and MLD reports, reassembly time exceeded: sent by timer")

enum parity_kind {
#define X(name, text) PARITY_##name,
	PARITY_KINDS(X)
#undef X
		PARITY_KIND_CNT
};

struct parity_out {
	uint64_t window;
	uint16_t len;
	uint8_t port, lab, vrf;
	uint8_t data[];
};

/* A neighbour that dut asked for or heard of, out of eth`port`, in a VRF; port 0: none. */
#define PARITY_ASKED_MAX 1024
struct parity_asked {
	uint8_t port, vrf, addr[16];
	bool v6, by[PARITY_LABS];
	bool spoke; /* by ARP: dut knows it without having asked */
};

struct parity_match {
	struct parity_out **out[PARITY_LABS];
	unsigned cnt[PARITY_LABS], cap[PARITY_LABS];
	uint64_t window;
	uint64_t kinds[PARITY_KIND_CNT][PARITY_LABS];
	uint64_t identical, multipath, finished, cut;
	uint64_t by_vrf[PARITY_WIRES][PARITY_VRFS][PARITY_LABS];
	enum parity_world world;
	bool is_exact;	 /* nothing is explained */
	bool is_tracked; /* connections, by conntrack */
	struct parity_asked asked[PARITY_ASKED_MAX];
};

/* parity_match_sent notes what a frame tells dut, before it is sent. parity_match_add takes a frame
 * that came out of a lab. */
void parity_match_sent(struct parity_match *match, const struct parity_frame *frame);
void parity_match_add(struct parity_match *match, unsigned lab, unsigned port, const uint8_t *data,
		      unsigned len);
/* parity_match_is_due says whether something that came out of one lab, and not of the other, is
 * older than `age` windows. What is equal or explained is removed before. */
bool parity_match_is_due(struct parity_match *match, unsigned age);
/* parity_match_settle removes what is equal and what is explained. What is left and older
 * than `age` windows is given to differ, of which it returns the count. */
unsigned parity_match_settle(struct parity_match *match, unsigned age,
			     void (*differ)(void *arg, const struct parity_out *out), void *arg);
void parity_match_fini(struct parity_match *match);

/* --- decode.c --- */

/* parity_decode writes one line about a frame. */
void parity_decode(FILE *out, const uint8_t *data, unsigned len);

/* --- window.c: the run --- */
struct parity_run {
	struct parity_lab lab[PARITY_LABS];
	struct parity_source src;
	struct parity_match match;
	uint64_t sent, resent, difference_cnt, unattributed;
	/* of the differences: by shunt alone, from one VRF into another; by the wire */
	uint64_t leaked[PARITY_WIRES];
	uint32_t epoch;	    /* number of the last sentinels */
	bool is_explained;  /* by the daemon; else the kernel's lab is what shunt's is compared with
			     */
	int daemon_fd;	    /* its control socket */
	bool is_deaf;	    /* what comes out is the kernel's, and no explanation's */
	uint64_t left;	    /* frames that are the kernel's by their explanations */
	uint64_t promised;  /* packets sent by the explanations, sentinels included */
	unsigned show;	    /* differences printed in full */
	uint64_t *suspects; /* windows in which the labs differed */
	unsigned suspect_cnt, suspect_cap;
};

/* --- explain.c --- */

/* parity_explain_open connects to the daemon's control socket; parity_explain then asks what
 * becomes of a frame. Returns 1 when shunt sends or drops it, 0 when it is the kernel's, or -errno.
 * What is sent is promised and, where is_compared, lab 0's. parity_explain_sent is what the daemon
 * counted as sent. */
int parity_explain_open(struct parity_run *run, const char *path, struct shunt_err *err);
int parity_explain(struct parity_run *run, const struct parity_frame *frame, bool is_compared,
		   struct shunt_err *err);
int parity_explain_sent(struct parity_run *run, uint64_t *sent, struct shunt_err *err);

/* parity_run sends every frame of the source to both labs and compares; parity_run_blame then
 * sends those of suspect windows again one by one. Return 0 or -errno: a lab went silent. */
int parity_run_all(struct parity_run *run, struct shunt_err *err);
int parity_run_blame(struct parity_run *run, struct shunt_err *err);

#endif
