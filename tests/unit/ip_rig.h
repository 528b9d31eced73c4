/* SPDX-License-Identifier: BSD-2-Clause */
/* A router's graph between two ports of memory, driven a batch at a time: what goes in by port
 * 0 comes out as bytes on a port, or with the reason it was punted or dropped for. */
#ifndef SHUNT_TEST_IP_RIG_H
#define SHUNT_TEST_IP_RIG_H

#include <stdint.h>

#include "fib/count.h"
#include "graph/nodes.h"

#define IP_RIG_FRAME_MAX 1600u

enum ip_fate { IP_SENT, IP_PUNTED, IP_DROPPED };

struct ip_outcome {
	enum ip_fate fate;
	unsigned reason; /* enum shunt_punt or shunt_drop */
	unsigned port;	 /* sent */
	uint32_t len;
	uint8_t bytes[IP_RIG_FRAME_MAX];
};

/* What the rig's third byte of 10.N.0.0/16 and of 2001:db8:N::/48 leads to; every other
 * address of 10.0.0.0/8, 240.0.0.0/4 and 2001:db8::/32 goes by IP_RIG_FAR. */
enum ip_rig_net {
	IP_RIG_FAR,
	IP_RIG_NEAR, /* port 1, another MAC address */
	IP_RIG_GLEAN,
	IP_RIG_LOCAL,
	IP_RIG_PUNT,
	IP_RIG_BLACKHOLE,
	IP_RIG_UNREACHABLE,
	IP_RIG_PROHIBIT,
	IP_RIG_BACK,   /* port 0 again */
	IP_RIG_NARROW, /* port 1, MTU 100 */
	IP_RIG_GROUP,  /* FAR and NEAR */
	IP_RIG_NET_CNT
};

extern const uint8_t ip_rig_mac[6];			   /* of port 0 */
extern const struct shunt_adj ip_rig_adjs[IP_RIG_NET_CNT]; /* but the group's */
#define IP_RIG_OWN 0xc0000201u				   /* 192.0.2.1, this host's */

struct ip_rig;

/* ip_rig_create aborts the test when it cannot. min_len as in struct shunt_ip_params. */
struct ip_rig *ip_rig_create(uint32_t min_len);

/* ip_rig_create_counted makes one that counts what each net's adjacency was sent; ip_rig_count
 * reads it. */
struct ip_rig *ip_rig_create_counted(void);
void ip_rig_count(struct ip_rig *rig, enum ip_rig_net net, struct shunt_count *out);
void ip_rig_destroy(struct ip_rig *rig);

/* ip_rig_run sends one frame through and returns what became of it. Every frame of the pool is
 * free afterwards, or the test fails. */
const struct ip_outcome *ip_rig_run(struct ip_rig *rig, const uint8_t *frame, uint32_t len);

/* ip_rig_batch sends cnt frames in one batch; out[] is in the order sent on each port, so
 * give frames that can be told apart. Returns how many were sent. */
unsigned ip_rig_batch(struct ip_rig *rig, uint8_t (*frames)[IP_RIG_FRAME_MAX], const uint32_t *lens,
		      unsigned cnt, struct ip_outcome *out);

/* ip_rig_live is what the nodes follow of port 0: it forwards both families, no rp_filter; so
 * does 1. */
struct shunt_port_live *ip_rig_live(struct ip_rig *rig);

/* ip_rig_add_device puts a device above a port; returns its number. ip_rig_set_flags changes what
 * it forwards (enum shunt_tables_flags). */
uint32_t ip_rig_add_device(struct ip_rig *rig, const struct shunt_device *device);
void ip_rig_set_flags(struct ip_rig *rig, uint32_t device, uint32_t flags);

/* ip_rig_lost returns how many packets the graph has counted as lost so; where ports have the
 * ifindices IP_RIG_IFINDEX and one more. */
#define IP_RIG_IFINDEX 1001u
uint64_t ip_rig_lost(const struct ip_rig *rig, struct shunt_loss loss);

/* ip_rig_add_route has 10.NET.0.0/16 and 2001:db8:NET::/48 lead to an adjacency; NET:
 * IP_RIG_NET_CNT or more. ip_rig_add_route_in does so in a space, which is empty at first. */
void ip_rig_add_route(struct ip_rig *rig, unsigned net, const struct shunt_adj *adj);
void ip_rig_add_route_in(struct ip_rig *rig, unsigned space, unsigned net,
			 const struct shunt_adj *adj);

/* ip_rig_restored is how many packets were to be made what they were when they arrived. */
unsigned ip_rig_restored(const struct ip_rig *rig);

#endif
