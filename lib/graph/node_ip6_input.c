// SPDX-License-Identifier: BSD-2-Clause
/* IPv6 input: what Linux checks in ip6_rcv_core and ip6_forward before it forwards. As in
 * IPv4 input, the loop accepts the good packet and judge() looks at every other.
 */
#include "graph/ip.h"

#define HEADER_LEN	40u
#define NEXT_HOP_BY_HOP 0

/* By the first octet: addresses under it may not be forwarded from, or to: ::/64 with
 * loopback and IPv4-mapped, fe80::/10, ff00::/8. */
static const uint8_t suspect[256] = {[0] = 1, [0xfe] = 1, [0xff] = 1};

/* RFC 4291, sections 2.5.2 to 2.5.6 and 2.7. Of ::/8 only the /64 of zeros: it holds
 * nothing that may be forwarded, while 64:ff9b::/96 may. */
static bool is_special(const uint8_t *addr)
{
	return addr[0] == 0xff || (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80) ||
	       !shunt_ip_load64(addr);
}

static __attribute__((noinline)) uint16_t judge(const struct shunt_ip *state, struct shunt_pkt *pkt,
						const uint8_t *ip)
{
	if (pkt->len < SHUNT_ETH_LEN + HEADER_LEN)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_truncated);
	if (ip[0] >> 4 != 6)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_bad_header);
	if (ip[6] == NEXT_HOP_BY_HOP) /* its option may carry the length (RFC 2675) */
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_options);
	if (is_special(ip + 8) || is_special(ip + 24))
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_address);
	if (HEADER_LEN + ntohs(shunt_ip_load16(ip + 4)) > pkt->len - SHUNT_ETH_LEN)
		return shunt_ip_drop(state, pkt, SHUNT_DROP_truncated);
	if (ip[7] <= 1)
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_expired);
	return state->on;
}

static inline bool is_good(const uint8_t *ip, uint32_t len, uint32_t total_len)
{
	return len >= SHUNT_ETH_LEN + HEADER_LEN && ip[0] >> 4 == 6 &&
	       total_len <= len - SHUNT_ETH_LEN && ip[6] != NEXT_HOP_BY_HOP && ip[7] > 1 &&
	       !suspect[ip[8]] && !suspect[ip[24]];
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *const state = node->priv;
	const uint32_t min_len = state->tables.min_len;
	const uint16_t on = state->on;
	uint8_t *const mem = node->mem;
	unsigned i, bad = 0;

	for (i = 0; i < cnt; i++) {
		uint8_t *ip = shunt_pkt_data(&pkts[i], mem) + SHUNT_ETH_LEN;
		uint32_t total_len = HEADER_LEN + ntohs(shunt_ip_load16(ip + 4));

		if (unlikely(!is_good(ip, pkts[i].len, total_len))) {
			uint16_t to = judge(state, &pkts[i], ip);

			bad += shunt_ip_divert(next, i, cnt, bad, on, to);
			if (to != on)
				continue;
		}
		pkts[i].len = shunt_ip_trim(ip, total_len, min_len);
	}
	return likely(!bad) ? on : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	return shunt_ip_init(node, params, "ip6_lookup", err);
}

const struct shunt_node_type shunt_node_ip6_input = {
	.name = "ip6_input",
	.help = "IPv6: header, length, hop limit and addresses checked as the kernel does",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
