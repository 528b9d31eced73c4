// SPDX-License-Identifier: BSD-2-Clause
#include "traffic/traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MIN 60
#define FRAME_MAX 1514

static uint16_t checksum(const void *data, size_t len)
{
	const uint16_t *word = data;
	uint32_t sum = 0;

	for (; len > 1; len -= 2)
		sum += *word++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void write_frame(uint8_t *frame, uint32_t len, uint32_t flow)
{
	static const uint8_t macs[12] = {0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2};
	const uint32_t ip_len = len - sizeof(struct ether_header);
	struct ether_header eth = {.ether_type = htons(ETHERTYPE_IP)};
	struct udphdr udp = {
		.source = htons((uint16_t)(1024 + (flow >> 16))),
		.dest = htons(9),
		.len = htons((uint16_t)(ip_len - sizeof(struct iphdr))), /* checksum 0: none */
	};
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons((uint16_t)ip_len),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(0xc6120001),		      /* 198.18.0.1 */
		.daddr = htonl(0xc6130000 + (flow & 0xffff)), /* 198.19.0.0/16 */
	};

	/* The headers lie behind 14 bytes, unaligned: they are built apart and copied. */
	memcpy(&eth, macs, sizeof(macs));
	ip.check = checksum(&ip, sizeof(ip));
	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + sizeof(eth), &ip, sizeof(ip));
	memcpy(frame + sizeof(eth) + sizeof(ip), &udp, sizeof(udp));
}

int shunt_traffic_init(struct shunt_traffic *traffic, uint32_t frame_bytes, uint32_t flow_cnt)
{
	unsigned i;

	memset(traffic, 0, sizeof(*traffic));
	if (frame_bytes < FRAME_MIN || frame_bytes > FRAME_MAX || !flow_cnt)
		return -EINVAL;
	traffic->frames = calloc(flow_cnt, sizeof(*traffic->frames));
	traffic->lens = calloc(flow_cnt, sizeof(*traffic->lens));
	for (i = 0; traffic->frames && traffic->lens && i < flow_cnt; i++) {
		traffic->frames[i] = calloc(1, frame_bytes);
		if (!traffic->frames[i])
			break;
		write_frame(traffic->frames[i], frame_bytes, i);
		traffic->lens[i] = frame_bytes;
		traffic->frame_cnt++;
	}
	if (traffic->frame_cnt == flow_cnt)
		return 0;
	shunt_traffic_fini(traffic);
	return -ENOMEM;
}

void shunt_traffic_fini(struct shunt_traffic *traffic)
{
	unsigned i;

	for (i = 0; traffic->frames && i < traffic->frame_cnt; i++)
		free(traffic->frames[i]);
	free(traffic->frames);
	free(traffic->lens);
	memset(traffic, 0, sizeof(*traffic));
}
