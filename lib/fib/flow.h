/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow hash: equal for all packets of a flow (addresses, protocol, ports), well spread
 * otherwise. Two 64-bit halves are multiplied to 128 bits and folded (wyhash's mixing step,
 * Wang Yi 2019): 3 to 6 multiplications, no table, the same on every CPU.
 * Limits: not symmetric; no defence against a sender that knows the seed. Two routers in a row
 * must use different seeds: with one seed the second would split unevenly what the first sends it.
 *
 *	hash = shunt_flow4_hash(ip, l3_len, seed);
 *	adj = shunt_nexthop_adj(nexthops, nh, hash);
 */
#ifndef SHUNT_FIB_FLOW_H
#define SHUNT_FIB_FLOW_H

#include <stdint.h>
#include <string.h>

/* Odd, half of the bits set: wyhash's secrets. */
#define SHUNT_FLOW_K0 0xa0761d6478bd642fULL
#define SHUNT_FLOW_K1 0xe7037ed1a0b428dbULL
#define SHUNT_FLOW_K2 0x8ebc6af09c88c6e3ULL

static inline uint64_t shunt_flow_mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t shunt_flow_load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* shunt_flow_ports returns the four bytes of ports at p if proto has ports there (TCP, UDP,
 * DCCP, SCTP, UDP-Lite) and they lie before end, else 0. Thread: any. */
static inline uint32_t shunt_flow_ports(const uint8_t *p, const uint8_t *end, unsigned proto)
{
	uint32_t ports;

	if (proto != 6 && proto != 17 && proto != 33 && proto != 132 && proto != 136)
		return 0;
	if (end - p < (int)sizeof(ports))
		return 0;
	memcpy(&ports, p, sizeof(ports));
	return ports;
}

/* shunt_flow4_hash returns the hash of an IPv4 packet: ip points to its header, of which at
 * least 20 bytes are there, of l3_len bytes in all. All fragments of a packet hash alike, by
 * addresses and protocol. Thread: any. Cost: packet, about 10 cycles. */
static inline uint32_t shunt_flow4_hash(const uint8_t *ip, uint32_t l3_len, uint64_t seed)
{
	unsigned header_len = (ip[0] & 15u) * 4, proto = ip[9];
	uint32_t fragment = (ip[6] & 0x3fu) | ip[7], ports = 0;
	uint64_t h;

	if (!fragment && header_len <= l3_len)
		ports = shunt_flow_ports(ip + header_len, ip + l3_len, proto);
	h = shunt_flow_mix(shunt_flow_load(ip + 12) ^ SHUNT_FLOW_K0, seed ^ SHUNT_FLOW_K1);
	h = shunt_flow_mix(h ^ SHUNT_FLOW_K1, ((uint64_t)ports << 8 | proto) ^ SHUNT_FLOW_K2);
	return (uint32_t)(h ^ h >> 32);
}

/* shunt_flow6_hash does the same for IPv6; at least 40 bytes are there. Behind extension
 * headers the ports are not looked for. Thread: any. Cost: packet, about 12 cycles. */
static inline uint32_t shunt_flow6_hash(const uint8_t *ip, uint32_t l3_len, uint64_t seed)
{
	unsigned proto = ip[6];
	uint32_t ports = shunt_flow_ports(ip + 40, ip + l3_len, proto);
	uint64_t h, g;

	h = shunt_flow_mix(shunt_flow_load(ip + 8) ^ SHUNT_FLOW_K0,
			   shunt_flow_load(ip + 16) ^ seed ^ SHUNT_FLOW_K1);
	g = shunt_flow_mix(shunt_flow_load(ip + 24) ^ SHUNT_FLOW_K1,
			   shunt_flow_load(ip + 32) ^ SHUNT_FLOW_K2);
	h = shunt_flow_mix(h ^ SHUNT_FLOW_K1, g ^ SHUNT_FLOW_K0);
	h = shunt_flow_mix(h ^ SHUNT_FLOW_K0, ((uint64_t)ports << 8 | proto) ^ SHUNT_FLOW_K2);
	return (uint32_t)(h ^ h >> 32);
}

#endif
