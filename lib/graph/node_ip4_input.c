// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 input: what Linux checks in ip_rcv_core, ip_route_input_slow and ip_forward before it
 * forwards. The loop accepts the good packet alone: 20 bytes of header, everything in order.
 * judge() looks at every other packet again, check by check in the kernel's order.
 *
 * What the kernel drops without an answer or a log (net/ipv4/ip_input.c) is dropped here; what it
 * answers or logs is punted.
 */
#include "graph/ip.h"

#define HEADER_LEN 20u
#define FIRST_BYTE 0x45 /* version 4, five words */

/* By the first octet: addresses under it may not be forwarded from, or to. */
static const uint8_t suspect[256] = {[0] = 1, [127] = 1, [224 ... 239] = 1, [255] = 1};

/* The sum of the header's 16-bit words, end around carry, is 0xffff if all is right, so their
 * sum in any wider ring where 2^16 = 1 is divisible by 0xffff. No version 4 header sums to 0. */
static inline bool sum_is_right(const uint8_t *ip)
{
	uint64_t a = shunt_ip_load64(ip), b = shunt_ip_load64(ip + 8);
	uint64_t sum = shunt_ip_load32(ip + 16);

	sum += (a >> 32) + (uint32_t)a;
	sum += (b >> 32) + (uint32_t)b;
	return sum % 0xffff == 0;
}

static bool long_sum_is_right(const uint8_t *ip, unsigned words)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < words; i++)
		sum += shunt_ip_load32(ip + 4 * i);
	return sum % 0xffff == 0;
}

/* ipv4_is_zeronet, _loopback, _multicast, _lbcast: never forwarded. */
static bool is_special(uint32_t addr_be)
{
	uint8_t octet = (uint8_t)(ntohl(addr_be) >> 24);

	return suspect[octet] && (octet != 255 || addr_be == UINT32_MAX);
}

static uint16_t judge_route(const struct shunt_ip *state, struct shunt_pkt *pkt, const uint8_t *ip,
			    const struct shunt_local4 *local, uint16_t on)
{
	uint32_t src_be = shunt_ip_load32(ip + 12);

	if ((ip[0] & 15) > 5)
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_options);
	if (is_special(src_be) || is_special(shunt_ip_load32(ip + 16)))
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_address);
	if (shunt_local4_has(local, src_be))
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_own_source);
	if (ip[8] <= 1)
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_expired);
	return on;
}

static __attribute__((noinline)) uint16_t judge(const struct shunt_ip *state, struct shunt_pkt *pkt,
						const uint8_t *ip, const struct shunt_local4 *local,
						uint16_t on)
{
	uint32_t len = pkt->len - SHUNT_ETH_LEN, header_len, total_len;

	if (pkt->len < SHUNT_ETH_LEN + HEADER_LEN)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_truncated);
	header_len = (ip[0] & 15u) * 4;
	total_len = ntohs(shunt_ip_load16(ip + 2));
	if (ip[0] >> 4 != 4 || header_len < HEADER_LEN)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_bad_header);
	if (header_len > len)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_truncated);
	if (!long_sum_is_right(ip, header_len / 4))
		return shunt_ip_drop(state, pkt, SHUNT_DROP_bad_checksum);
	if (total_len > len)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_truncated);
	if (total_len < header_len)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_bad_header);
	return judge_route(state, pkt, ip, local, on);
}

static inline bool is_good(const uint8_t *ip, uint32_t len, uint32_t total_len,
			   const struct shunt_local4 *local)
{
	return len >= SHUNT_ETH_LEN + HEADER_LEN && ip[0] == FIRST_BYTE &&
	       total_len >= HEADER_LEN && total_len <= len - SHUNT_ETH_LEN && ip[8] > 1 &&
	       sum_is_right(ip) && !suspect[ip[12]] && !suspect[ip[16]] &&
	       !shunt_local4_has(local, shunt_ip_load32(ip + 12));
}

static const struct shunt_local4 no_local4;

static inline bool is_approved(const struct shunt_port_live *live)
{
	return __atomic_load_n(&live->approved, __ATOMIC_RELAXED) == SHUNT_APPROVED_NOW;
}

/* Of packets whose sources are looked at. */
static inline uint16_t checked_by(const struct shunt_ip *state, unsigned port)
{
	const struct shunt_port_live *live = state->tables.live;

	return live && is_approved(&live[port]) ? state->on : state->rpf;
}

static inline uint16_t next_of(const struct shunt_ip *state, unsigned port)
{
	const struct shunt_port_live *live = state->tables.live;

	if (unlikely(live && __atomic_load_n(&live[port].rpf4, __ATOMIC_RELAXED)))
		return checked_by(state, port);
	return state->on;
}

/* Good packets of a batch go to rpf where one of them is of a device that asks: that node looks at
 * each packet's device. */
static unsigned to_rpf(const struct shunt_ip *state, unsigned port, uint16_t *next, unsigned cnt,
		       bool is_all_good)
{
	const uint16_t rpf = checked_by(state, port);
	unsigned i;

	for (i = 0; i < cnt && !is_all_good; i++)
		if (next[i] == state->on)
			next[i] = rpf;
	return is_all_good ? rpf : SHUNT_NEXT_EACH;
}

/* This host's addresses, which a source must not be. */
static inline const struct shunt_local4 *local_of(const struct shunt_ip *state, unsigned port)
{
	const struct shunt_port_live *live = state->tables.live;

	if (!state->tables.local4 || unlikely(live && is_approved(&live[port])))
		return &no_local4;
	return __atomic_load_n(state->tables.local4, __ATOMIC_ACQUIRE);
}

static __attribute__((always_inline)) inline unsigned input(struct shunt_node *node,
							    struct shunt_pkt *pkts, unsigned cnt,
							    uint16_t *next, const bool is_above)
{
	const struct shunt_ip *const state = node->priv;
	const struct shunt_local4 *const local = local_of(state, pkts[0].port);
	const uint16_t on = is_above ? state->on : next_of(state, pkts[0].port);
	const uint32_t min_len = state->tables.min_len;
	uint8_t *const mem = node->mem;
	const uint64_t *words;
	uint8_t space, checks = 0;
	unsigned i, bad = 0;

	shunt_ip_run(node, pkts, 0, 1, false, &space);
	words = shunt_fib4_words(shunt_fib4_space(state->tables.fib4, space));
	for (i = 0; i < cnt; i++) {
		uint8_t *ip = shunt_pkt_data(&pkts[i], mem) + SHUNT_ETH_LEN;
		uint32_t total_len = ntohs(shunt_ip_load16(ip + 2)), dst_be;

		if (unlikely(!is_good(ip, pkts[i].len, total_len, local))) {
			uint16_t to = judge(state, &pkts[i], ip, local, on);

			bad += shunt_ip_divert(next, i, cnt, bad, on, to);
			if (to != on)
				continue;
		}
		pkts[i].len = shunt_ip_trim(ip, total_len, min_len);
		dst_be = shunt_ip_load32(ip + 16);
		pkts[i].dst_be = dst_be;
		shunt_fib4_prefetch(words, dst_be);
		if (is_above)
			checks |= shunt_tag_of(ip - SHUNT_ETH_LEN)->checks_source;
	}
	if (is_above && checks)
		return to_rpf(state, pkts[0].port, next, cnt, !bad);
	return likely(!bad) ? on : SHUNT_NEXT_EACH;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return input(node, pkts, cnt, next, false);
}

static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	return input(node, pkts, cnt, next, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	if (((const struct shunt_ip_params *)params)->is_above)
		node->fn = run_above;
	return shunt_ip_init(node, params, "ip4_lookup", err);
}

const struct shunt_node_type shunt_node_ip4_input = {
	.name = "ip4_input",
	.help = "IPv4: header, checksum, lengths, TTL and addresses checked as the kernel does",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
