// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <string.h>

#include "gen.h"

static uint32_t sum_words(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)b[i] << 8 | b[i + 1];
	return sum;
}

static void put_ethernet(uint8_t *p, const struct gen_plan *plan)
{
	const struct gen_send_opts *o = plan->opts;
	struct ether_header eth = {.ether_type = htons(o->v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)};

	memcpy(eth.ether_dhost, o->dst_mac, ETH_ALEN);
	memcpy(eth.ether_shost, o->have_src_mac ? o->src_mac : plan->dev.mac, ETH_ALEN);
	memcpy(p, &eth, sizeof(eth));
}

/* The addresses' last 32 bits and the lengths are left zero, here and below. */
static void put_ip4(uint8_t *p, const struct gen_send_opts *o)
{
	const struct iphdr ip = {.version = 4,
				 .ihl = 5,
				 .frag_off = htons(IP_DF),
				 .ttl = o->ttl,
				 .protocol = o->tcp ? IPPROTO_TCP : IPPROTO_UDP};

	memcpy(p, &ip, sizeof(ip));
}

static void put_ip6(uint8_t *p, const struct gen_send_opts *o)
{
	struct ip6_hdr ip = {.ip6_flow = htonl(6U << 28),
			     .ip6_nxt = o->tcp ? IPPROTO_TCP : IPPROTO_UDP,
			     .ip6_hlim = o->ttl,
			     .ip6_src = o->src_ip,
			     .ip6_dst = o->dst_ip};

	memset((uint8_t *)&ip.ip6_src + 12, 0, 4);
	memset((uint8_t *)&ip.ip6_dst + 12, 0, 4);
	memcpy(p, &ip, sizeof(ip));
}

static void put_tcp_syn(uint8_t *p)
{
	const struct tcphdr tcp = {
		.seq = htonl(1), .doff = SHUNT_GEN_TCP_LEN / 4, .syn = 1, .window = 0xffff};

	memcpy(p, &tcp, sizeof(tcp));
}

void gen_frame_init(struct shunt_gen_frame *f, const struct gen_plan *plan, uint16_t run)
{
	const struct gen_send_opts *o = plan->opts;
	const struct shunt_gen_tag tag = {.magic_be = htonl(SHUNT_GEN_MAGIC), .run_be = htons(run)};
	uint8_t *const p = (uint8_t *)f->head, *const ip = p + SHUNT_GEN_ETH_LEN;
	uint8_t *const l4 = p + SHUNT_GEN_L4_OFF(o->v6);

	memset(f, 0, sizeof(*f));
	put_ethernet(p, plan);
	if (o->v6)
		put_ip6(ip, o);
	else
		put_ip4(ip, o);
	if (o->tcp)
		put_tcp_syn(l4);
	memcpy(p + SHUNT_GEN_TAG_OFF(o->v6, o->tcp), &tag, sizeof(tag));
	f->ip_sum = o->v6 ? 0 : sum_words(ip, SHUNT_GEN_IP4_LEN);
	/* The pseudo header: the addresses, the protocol, the length. */
	f->l4_sum = sum_words(ip + (o->v6 ? 8 : 12), o->v6 ? 32 : 8) +
		    (o->tcp ? IPPROTO_TCP : IPPROTO_UDP) +
		    sum_words(l4, SHUNT_GEN_L4_LEN(o->tcp) + SHUNT_GEN_TAG_LEN);
}

void gen_frame_offload(struct shunt_pkt *pkt, uint8_t *base, bool v6, bool tcp)
{
	uint8_t *const p = shunt_pkt_data(pkt, base);
	const uint16_t start = SHUNT_GEN_L4_OFF(v6), offset = tcp ? 16 : 6;
	uint32_t sum = sum_words(p + SHUNT_GEN_ETH_LEN + (v6 ? 8 : 12), v6 ? 32 : 8) +
		       (tcp ? IPPROTO_TCP : IPPROTO_UDP) + pkt->len - start;

	sum = shunt_gen_fold(sum);
	p[start + offset] = (uint8_t)(sum >> 8);
	p[start + offset + 1] = (uint8_t)sum;
	shunt_xsk_tx_checksum(pkt, base, start, offset);
}
