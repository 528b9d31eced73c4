// SPDX-License-Identifier: BSD-2-Clause
#include "gen.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

static uint32_t sum_words(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)b[i] << 8 | b[i + 1];
	return sum;
}

static void put_ethernet(uint8_t *p, const struct gen_send_opts *o)
{
	struct ether_header eth = {.ether_type = htons(o->v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)};

	memcpy(eth.ether_dhost, o->dst_mac, ETH_ALEN);
	memcpy(eth.ether_shost, o->src_mac, ETH_ALEN);
	memcpy(p, &eth, sizeof(eth));
}

/* The source address's last 32 bits are left zero, here and below. */
static void put_ip4(uint8_t *p, const struct gen_send_opts *o)
{
	struct iphdr ip = {.version = 4,
			   .ihl = 5,
			   .tot_len = htons((uint16_t)(o->size - SHUNT_GEN_ETH_LEN)),
			   .frag_off = htons(IP_DF),
			   .ttl = o->ttl,
			   .protocol = IPPROTO_UDP};

	memcpy(&ip.daddr, &o->dst_ip, sizeof(ip.daddr));
	memcpy(p, &ip, sizeof(ip));
}

static void put_ip6(uint8_t *p, const struct gen_send_opts *o, uint16_t payload_len)
{
	struct ip6_hdr ip = {.ip6_flow = htonl(6U << 28),
			     .ip6_plen = htons(payload_len),
			     .ip6_nxt = IPPROTO_UDP,
			     .ip6_hlim = o->ttl,
			     .ip6_src = o->src_ip,
			     .ip6_dst = o->dst_ip};

	memset((uint8_t *)&ip.ip6_src + 12, 0, 4);
	memcpy(p, &ip, sizeof(ip));
}

void gen_frame_init(struct shunt_gen_frame *f, const struct gen_send_opts *o, uint16_t run)
{
	const uint16_t udp_len = (uint16_t)(o->size - SHUNT_GEN_UDP_OFF(o->v6));
	const struct udphdr udp = {.dest = htons(o->dport), .len = htons(udp_len)};
	const struct shunt_gen_tag tag = {.magic_be = htonl(SHUNT_GEN_MAGIC), .run_be = htons(run)};
	uint8_t *const p = (uint8_t *)f->head, *const ip = p + SHUNT_GEN_ETH_LEN;
	uint32_t src_be;

	memset(f, 0, sizeof(*f));
	put_ethernet(p, o);
	if (o->v6)
		put_ip6(ip, o, udp_len);
	else
		put_ip4(ip, o);
	memcpy(p + SHUNT_GEN_UDP_OFF(o->v6), &udp, sizeof(udp));
	memcpy(p + SHUNT_GEN_TAG_OFF(o->v6), &tag, sizeof(tag));
	memcpy(&src_be, (const uint8_t *)&o->src_ip + (o->v6 ? 12 : 0), sizeof(src_be));
	f->src = ntohl(src_be);
	f->sport = o->sport;
	f->ip_sum = o->v6 ? 0 : sum_words(ip, SHUNT_GEN_IP4_LEN);
	/* The pseudo header: the addresses, the protocol, the length. */
	f->udp_sum = sum_words(ip + (o->v6 ? 8 : 12), o->v6 ? 32 : 8) + IPPROTO_UDP + udp_len +
		     sum_words(p + SHUNT_GEN_UDP_OFF(o->v6), SHUNT_GEN_UDP_LEN + SHUNT_GEN_TAG_LEN);
}
