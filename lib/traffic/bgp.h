/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic routing tables that look like the Internet's: the prefix lengths follow
 * the shares that public BGP collectors show, most long prefixes lie inside shorter ones
 * of the same table or beside another of their length, and the rest fall anywhere in
 * the space that is handed out. Distinct prefixes, the order that of a shuffled dump.
 * Limits: next hops are drawn evenly, so that neighbouring prefixes rarely share one; a
 * real table has more that do, and is kinder to a compressed FIB.
 *
 *	struct shunt_bgp4 *routes = calloc(n, sizeof(*routes));
 *	shunt_bgp4_generate(routes, n, 64, seed);
 */
#ifndef SHUNT_TRAFFIC_BGP_H
#define SHUNT_TRAFFIC_BGP_H

#include <stdint.h>

struct shunt_bgp4 {
	uint32_t addr; /* host order, host bits zero */
	uint32_t nh;
	uint8_t len;
};

struct shunt_bgp6 {
	uint64_t hi, lo; /* host order, host bits zero */
	uint32_t nh;
	uint8_t len;
};

/* shunt_bgp4_generate fills out[cnt] with distinct routes with next hops in 1..nh_cnt.
 * cnt up to 4 million. Returns 0 or -ENOMEM. Thread: any. Cost: setup, about 0.3 us a
 * route. */
int shunt_bgp4_generate(struct shunt_bgp4 *out, uint32_t cnt, uint32_t nh_cnt, uint64_t seed);

/* shunt_bgp6_generate does the same for IPv6; cnt up to 4 million. */
int shunt_bgp6_generate(struct shunt_bgp6 *out, uint32_t cnt, uint32_t nh_cnt, uint64_t seed);

/* shunt_bgp4_dests fills out[cnt] with addresses in network order, each a random host of a
 * random one of routes[route_cnt]. Thread: any. */
void shunt_bgp4_dests(const struct shunt_bgp4 *routes, uint32_t route_cnt, uint32_t *out_be,
		      uint32_t cnt, uint64_t seed);

/* shunt_bgp6_dests does the same for IPv6; each address takes 16 bytes in out. */
void shunt_bgp6_dests(const struct shunt_bgp6 *routes, uint32_t route_cnt, uint8_t (*out)[16],
		      uint32_t cnt, uint64_t seed);

#endif
