// SPDX-License-Identifier: BSD-2-Clause
/* Frames: from a number, good ones and every way of being wrong; and from captures. Each
 * header is built right first and then, seldom, spoiled; frame_ip.c has IP and what it carries.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "frame_ip.h"

/* Link 3 is the one of a smaller MTU, and has room for its tags. A veth takes a VLAN header's four
 * bytes over its MTU. */
static unsigned len_max(const struct parity_source *src, const struct parity_frame *frame)
{
	return frame->port == 2 ? 1280 + 18
				: PARITY_LEN_MAX - parity_room_for_tags(src, frame->port);
}

static void write_macs(struct parity_rng *rng, struct parity_frame *frame)
{
	static const uint8_t special[][6] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0x01, 0x00, 0x5e, 0, 0, 1},
		{0x33, 0x33, 0, 0, 0, 1},
		{0x33, 0x33, 0xff, 0, 0, 1},
		{0x01, 0x80, 0xc2, 0, 0, 0},
		{0x01, 0x80, 0xc2, 0, 0, 0x0e},
		{0, 0, 0, 0, 0, 0},
		{2, 0, 0, 0, 9, 9},
	};

	parity_put_mac(frame->data, frame->port + 1u, 1);
	if (parity_chance(rng, 5))
		memcpy(frame->data, special[parity_below(rng, 8)], 6);
	parity_put_mac(frame->data + 6, frame->port + 1u, 2 + parity_below(rng, 2));
}

static unsigned write_arp(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p)
{
	unsigned link = frame->port + 1u;

	memcpy(p, (const uint8_t[]){0, 1, 8, 0, 6, 4, 0, 1}, 8);
	p[7] = (uint8_t)(1 + parity_chance(rng, 20));
	parity_put_mac(p + 8, link, 2);
	memcpy(p + 14, (const uint8_t[]){10, 0, (uint8_t)link, 2}, 4);
	memset(p + 18, 0, 6);
	if (parity_chance(rng, 60))
		memcpy(p + 24, (const uint8_t[]){10, 0, (uint8_t)link, 1}, 4);
	else
		parity_pick_dst(rng, false, p + 24);
	return 28;
}

static unsigned write_other(struct parity_rng *rng, uint8_t *ethertype, uint8_t *p)
{
	static const uint16_t types[] = {0,	 46,	 0x0500, 0x0600, 0x0806, 0x8035,
					 0x8847, 0x8848, 0x8863, 0x8864, 0x888e, 0x88cc,
					 0x8809, 0x9000, 0x88e5, 0x22f0, 0xffff};
	unsigned len = parity_below(rng, 200), i;
	uint16_t type = types[parity_below(rng, sizeof(types) / sizeof(*types))];

	ethertype[0] = (uint8_t)(type >> 8);
	ethertype[1] = (uint8_t)type;
	for (i = 0; i < len; i++)
		p[i] = (uint8_t)parity_rand(rng);
	return len;
}

/* What an EtherType says, behind the header that ends at p. Returns the length. */
static unsigned write_payload(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p,
			      unsigned max)
{
	unsigned roll = parity_below(rng, 100);
	uint16_t type = 0x0800;
	unsigned len;

	if (roll < 54) {
		len = parity_write_ip4(rng, frame, p, max);
	} else if (roll < 93) {
		type = 0x86dd;
		len = parity_write_ip6(rng, frame, p, max);
	} else if (roll < 96) {
		type = 0x0806;
		len = write_arp(rng, frame, p);
	} else {
		return write_other(rng, p - 2, p);
	}
	p[-2] = (uint8_t)(type >> 8);
	p[-1] = (uint8_t)type;
	return len;
}

static unsigned write_vlan(struct parity_rng *rng, uint8_t *p)
{
	static const uint16_t ids[] = {0, 0, 1, 2, 100, 4095};
	uint16_t tci = ids[parity_below(rng, 6)];

	memcpy(p, (const uint8_t[]){0x81, 0, (uint8_t)(tci >> 8), (uint8_t)tci}, 4);
	if (parity_chance(rng, 20))
		memcpy(p, (const uint8_t[]){0x88, 0xa8}, 2);
	return 4;
}

/* Bytes changed without repairing a checksum, cut or added at the end. */
static void spoil(struct parity_rng *rng, struct parity_frame *frame, unsigned max)
{
	unsigned roll = parity_below(rng, 100), i, more;

	if (roll < 5) {
		for (i = 1 + parity_below(rng, 3); i; i--)
			frame->data[12 +
				    parity_below(rng, frame->len < 80 ? frame->len - 12u : 68)] =
				(uint8_t)parity_rand(rng);
	} else if (roll < 9) {
		frame->len = (uint16_t)(PARITY_LEN_MIN +
					parity_below(rng, frame->len - PARITY_LEN_MIN + 1u));
	} else if (roll < 30) {
		/* Trailer: padding to 60 bytes, or any rest of what was in the buffer. */
		more = parity_chance(rng, 60) ? (frame->len < 60 ? 60u - frame->len : 0)
					      : parity_below(rng, 30);
		for (i = 0; i < more && frame->len < max; i++)
			frame->data[frame->len++] = (uint8_t)(roll & 1 ? 0 : parity_rand(rng));
	}
}

static void make(const struct parity_source *src, struct parity_rng *rng,
		 struct parity_frame *frame)
{
	const unsigned max = len_max(src, frame);
	unsigned at = 12;

	memset(frame->data, 0, sizeof(frame->data));
	if (parity_has_vrfs(src->world))
		frame->vrf = (uint8_t)parity_below(rng, PARITY_VRFS);
	write_macs(rng, frame);
	if (src->world == PARITY_ROUTER) /* what is behind its bridge speaks in one VLAN */
		frame->data[9] = frame->vrf;
	if (parity_chance(rng, 2)) {
		at += write_vlan(rng, frame->data + at);
		if (parity_chance(rng, 20))
			at += write_vlan(rng, frame->data + at);
	}
	at += 2;
	frame->len = (uint16_t)(at + write_payload(rng, frame, frame->data + at, max - at));
	spoil(rng, frame, max);
	parity_devices_in(src, rng, frame);
}

/* A captured frame comes in on each port in turn; sent to a station, it is sent to dut. */
static void replay(const struct parity_source *src, uint64_t idx, struct parity_frame *frame)
{
	uint64_t which = idx / PARITY_PORTS % src->pcap_cnt;

	frame->len = src->pcap_len[which];
	if (frame->len > len_max(src, frame))
		frame->len = (uint16_t)len_max(src, frame);
	memcpy(frame->data, src->pcap[which], frame->len);
	if (!(frame->data[0] & 1)) {
		parity_put_mac(frame->data, frame->port + 1u, 1);
		parity_put_mac(frame->data + 6, frame->port + 1u, 2);
	}
}

void parity_frame_make(const struct parity_source *src, uint64_t idx, struct parity_frame *frame)
{
	struct parity_rng rng = {src->seed * 0x100000001b3ULL + idx * 0xd6e8feb86659fd93ULL};

	frame->port = (uint8_t)(idx % PARITY_PORTS);
	frame->member = frame->vrf = 0;
	if (src->rules)
		parity_talk_frame(src, idx, frame);
	else if (src->pcap)
		replay(src, idx, frame);
	else
		make(src, &rng, frame);
}

static int keep(struct parity_source *src, const uint8_t *data, unsigned len)
{
	uint64_t n = src->pcap_cnt;
	uint8_t **frames = realloc(src->pcap, (n + 1) * sizeof(*frames));
	uint16_t *lens;

	if (!frames)
		return -ENOMEM;
	src->pcap = frames;
	lens = realloc(src->pcap_len, (n + 1) * sizeof(*lens));
	if (!lens)
		return -ENOMEM;
	src->pcap_len = lens;
	frames[n] = malloc(len);
	if (!frames[n])
		return -ENOMEM;
	memcpy(frames[n], data, len);
	lens[n] = (uint16_t)len;
	src->pcap_cnt++;
	return 0;
}

int parity_pcap_add(struct parity_source *src, const char *path, struct shunt_err *err)
{
	char said[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(path, said);
	struct pcap_pkthdr *head;
	const uint8_t *data;
	int rc = 0, got = 1;

	if (!pcap)
		return shunt_err_set(err, EINVAL, "%s: %s", path, said);
	if (pcap_datalink(pcap) != DLT_EN10MB)
		rc = shunt_err_set(err, EINVAL, "%s: not Ethernet", path);
	while (!rc && (got = pcap_next_ex(pcap, &head, &data)) == 1)
		if (head->caplen >= PARITY_LEN_MIN && head->caplen <= PARITY_LEN_MAX)
			rc = keep(src, data, head->caplen);
	if (!rc && got == PCAP_ERROR)
		rc = shunt_err_set(err, EINVAL, "%s: %s", path, pcap_geterr(pcap));
	if (!rc && !src->pcap_cnt)
		rc = shunt_err_set(err, EINVAL, "%s: no frame of %d to %d bytes", path,
				   PARITY_LEN_MIN, PARITY_LEN_MAX);
	pcap_close(pcap);
	return rc;
}
