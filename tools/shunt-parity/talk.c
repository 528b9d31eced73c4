// SPDX-License-Identifier: BSD-2-Clause
/* Connections, frame by frame, each a function of the seed and its number. A script says who sends
 * what; nobody answers, since what either end sees is known before (rules.c). A connection has one
 * frame in a window, so whatever ports its frames come in on, conntrack sees them in the order of
 * the script. */
#include <arpa/inet.h>
#include <string.h>

#include "talk.h"

#define ETH	  14u
#define IP4_LEN	  20u
#define IP6_LEN	  40u
#define FRAG6_LEN 8u
#define L4_MAX	  1480u
#define LINK3_LEN 1200u
#define FIN	  1u
#define SYN	  2u
#define RST	  4u
#define PSH	  8u
#define ACK	  16u

/* The client sends:  S SYN  a SYN ACK  + ACK  > data  F FIN  R RST  1 data of TTL 1  # data with a
 * wrong IPv4 checksum  c data with a wrong TCP or UDP checksum  o data out of the window  t data
 * and something behind the packet  u UDP without checksum  f, l the fragments of a packet  I an
 * ICMP error about what the server sent. The server sends:  s SYN  A SYN ACK  - ACK  < data  E FIN
 * X RST  2 data of TTL 2  U UDP without checksum i an ICMP error about what the client sent. r is
 * the frame before once more. A connection that comes again after its end sends good packets only:
 * its old entry may still be in the kernel's flowtable, for up to a second, and then the new one is
 * not looked at, so whether conntrack sees a packet is a matter of time. */
static const char tcp_scripts[][PARITY_TALK_STEPS + 1] = {
	"SA+><r>1<2t#c>fl<i<IF-E+", /* all there is */
	"SA+><>F-E+SA+><><r><>-><", /* again after FIN */
	"SA+><><><#c>o<R<>SA+><><", /* again after RST */
	"><><r><1i>fl<>t<2F-E+><>", /* begun before the rules */
	"SsaA+-><><><r><><><><F-E", /* opened by both */
	"SAX>SA+><><><><><><X<>><", /* refused, then reset */
	"SrS>S>1#cS>SrS>>t>S>>>fl", /* never answered */
};
static const char udp_scripts[][PARITY_TALK_STEPS + 1] = {
	"><><r><1t<#c>ufl<i><UI><", ">>r>1>t#c>ufl>>>>>>2>u>>", /* answered late */
};

struct talk {
	uint64_t key;
	const char *script;
	struct parity_ends ends;
};

/* What TCP or UDP is told, and how it is sent. */
struct segment {
	char how;
	bool is_back, is_again;
	unsigned step; /* whose random numbers it has */
	unsigned flags, len;
	uint32_t seq, ack;
};

static void put32(uint8_t *p, uint32_t v)
{
	parity_put16(p, v >> 16);
	parity_put16(p + 2, v);
}

static struct parity_rng rng_of(const struct talk *talk, unsigned step)
{
	return (struct parity_rng){talk->key + (step + 1) * 0xd6e8feb86659fd93ULL};
}

static uint64_t number_of(uint64_t idx)
{
	return idx / PARITY_TALK_ROUND * PARITY_WINDOW + idx % PARITY_WINDOW;
}

static unsigned step_of(uint64_t idx)
{
	return (unsigned)(idx / PARITY_WINDOW % PARITY_TALK_STEPS);
}

static struct talk talk_of(const struct parity_source *src, uint64_t idx)
{
	const uint64_t number = number_of(idx);
	struct talk talk = {.key = src->seed * 0x100000001b3ULL + number * 0x9fb21c651e98df25ULL};
	struct parity_rng rng = {talk.key};

	talk.ends.proto = parity_chance(&rng, 60) ? 6 : 17;
	if (talk.ends.proto == 6)
		talk.script =
			tcp_scripts[parity_below(&rng, sizeof(tcp_scripts) / sizeof(*tcp_scripts))];
	else
		talk.script =
			udp_scripts[parity_below(&rng, sizeof(udp_scripts) / sizeof(*udp_scripts))];
	parity_pick_ends(&rng, src, number, &talk.ends);
	return talk;
}

/* --- segments --- */

static unsigned flags_of(char how)
{
	switch (how) {
	case 'S':
	case 's':
		return SYN;
	case 'A':
	case 'a':
		return SYN | ACK;
	case 'F':
	case 'E':
		return FIN | ACK;
	case 'R':
	case 'X':
		return RST | ACK;
	default:
		return ACK;
	}
}

/* Link 3 takes no more than its MTU, and its router seldom gets more for it; never first, since an
 * answer to what the server has not got would then be a connection of its own, and in the way of
 * this one's translation. */
static unsigned pick_len(struct parity_rng *rng, const struct talk *talk,
			 const struct segment *segment)
{
	static const uint16_t lens[] = {0, 1, 2, 7, 18, 40, 100, 511, 1100, 1200, 1201, 1236, 1420};
	const unsigned len = lens[parity_below(rng, sizeof(lens) / sizeof(*lens))];
	const unsigned sender = segment->is_back ? talk->ends.to : talk->ends.from,
		       receiver = segment->is_back ? talk->ends.from : talk->ends.to;

	if (strchr("fl", segment->how))
		return 64 + parity_below(rng, 1000);
	if (sender == 2 || (receiver == 2 && (!segment->step || parity_chance(rng, 80))))
		return len > LINK3_LEN ? LINK3_LEN : len;
	return len;
}

/* Without numbers. */
static struct segment plain_segment(const struct talk *talk, unsigned step)
{
	struct segment segment = {.how = talk->script[step], .step = step};
	struct parity_rng rng;

	if (segment.how == 'r') {
		segment = plain_segment(talk, step - 1);
		segment.is_again = true;
		return segment;
	}
	if (segment.how == 'l')
		segment.step--;
	rng = rng_of(talk, segment.step);
	segment.is_back = strchr("sA-<EX2Ui", segment.how) != NULL;
	segment.flags = flags_of(segment.how);
	if (!strchr("SsAa+-FERXiI", segment.how))
		segment.len = pick_len(&rng, talk, &segment);
	if (segment.len && parity_chance(&rng, 50))
		segment.flags |= PSH;
	return segment;
}

/* What goes on by it: no number of what the router is to drop, and a fragment's with the last one.
 */
static unsigned advance_of(const struct segment *segment)
{
	if (segment->is_again || strchr("1#cofiIRX", segment->how))
		return 0;
	return segment->len + !!(segment->flags & (SYN | FIN));
}

static struct segment segment_of(const struct talk *talk, unsigned step)
{
	struct segment segment = plain_segment(talk, step), before;
	uint32_t next[2];
	unsigned i;

	if (segment.is_again)
		step--;
	next[0] = (uint32_t)talk->key;
	next[1] = (uint32_t)(talk->key >> 32);
	for (i = 0; i < step; i++) {
		before = plain_segment(talk, i);
		next[before.is_back] += advance_of(&before);
	}
	segment.seq = next[segment.is_back];
	segment.ack = segment.flags & ACK ? next[!segment.is_back] : 0;
	if (segment.how == 'o')
		segment.seq += 1u << 30;
	return segment;
}

/* --- packets --- */

/* Whose addresses and ports a packet has. */
struct way {
	const uint8_t *src, *dst;
	uint16_t sport, dport;
};

static struct way way_of(const struct talk *talk, bool is_back)
{
	const struct parity_ends *ends = &talk->ends;

	if (is_back)
		return (struct way){ends->server, ends->seen, ends->server_port, ends->sport};
	return (struct way){ends->client, ends->service, ends->sport, ends->dport};
}

/* Where a packet goes by when it is at its end. */
static struct way way_at_end(const struct talk *talk, bool is_back)
{
	const struct parity_ends *ends = &talk->ends;

	if (is_back)
		return (struct way){ends->service, ends->client, ends->dport, ends->sport};
	return (struct way){ends->seen, ends->server, ends->sport, ends->server_port};
}

static uint32_t pseudo_sum(const struct talk *talk, const struct way *way, unsigned proto,
			   unsigned len)
{
	const unsigned addr_len = talk->ends.v6 ? 16 : 4;
	uint8_t addrs[32];

	memcpy(addrs, way->src, addr_len);
	memcpy(addrs + addr_len, way->dst, addr_len);
	return parity_pseudo_sum(addrs, 2 * addr_len, proto, len);
}

/* Another than the right one, and none that looks as if a device should finish it: what shunt then
 * does is seen without translation (is_finished in match.c). */
static unsigned wrong_sum(unsigned right, uint32_t pseudo)
{
	const unsigned sum = (right + 0x0101) % 0xfffe + 1;

	return (sum ^ parity_sum(NULL, 0, pseudo)) == 0xffff ? sum % 0xfffe + 1 : sum;
}

/* TCP or UDP; returns the length. */
static unsigned write_l4(struct parity_rng *rng, const struct talk *talk,
			 const struct segment *segment, const struct way *way, uint8_t *p)
{
	const bool is_tcp = talk->ends.proto == 6;
	const unsigned header_len = is_tcp ? 20 : 8, len = header_len + segment->len;
	const unsigned field = is_tcp ? 16 : 6;
	const uint32_t pseudo = pseudo_sum(talk, way, talk->ends.proto, len);
	unsigned sum;

	memset(p, 0, header_len);
	parity_fill(rng, p + header_len, segment->len);
	parity_put16(p, way->sport);
	parity_put16(p + 2, way->dport);
	if (is_tcp) {
		put32(p + 4, segment->seq);
		put32(p + 8, segment->ack);
		p[12] = 0x50;
		p[13] = (uint8_t)segment->flags;
		parity_put16(p + 14, 0xffff);
	} else {
		parity_put16(p + 4, len);
	}
	sum = parity_sum(p, len, pseudo);
	if (!is_tcp && !sum)
		sum = 0xffff;
	if (segment->how == 'c')
		sum = wrong_sum(sum, pseudo);
	if (strchr("uU", segment->how) && !talk->ends.v6 && !is_tcp)
		sum = 0;
	parity_put16(p + field, sum);
	return len;
}

/* An IP header; IPv6 with frag has a fragment header behind it. Returns the header's length. */
static unsigned write_ip(struct parity_rng *rng, bool v6, const struct way *way, unsigned proto,
			 unsigned ttl, unsigned frag, unsigned len, uint8_t *p)
{
	const uint32_t ident = (uint32_t)parity_rand(rng);
	const unsigned tos = parity_chance(rng, 80) ? 0 : parity_below(rng, 64) << 2;
	const bool has_header = v6 && frag;

	memset(p, 0, v6 ? IP6_LEN + FRAG6_LEN : IP4_LEN);
	if (v6) {
		put32(p, 6u << 28 | tos << 20 | (ident & 0xfffff));
		parity_put16(p + 4, len + (has_header ? FRAG6_LEN : 0));
		p[6] = (uint8_t)(has_header ? 44 : proto);
		p[7] = (uint8_t)ttl;
		memcpy(p + 8, way->src, 16);
		memcpy(p + 24, way->dst, 16);
		if (!has_header)
			return IP6_LEN;
		p[IP6_LEN] = (uint8_t)proto;
		parity_put16(p + IP6_LEN + 2, (frag & 0x1fff) << 3 | !!(frag & 0x2000));
		put32(p + IP6_LEN + 4, ident);
		return IP6_LEN + FRAG6_LEN;
	}
	p[0] = 0x45;
	p[1] = (uint8_t)tos;
	parity_put16(p + 2, IP4_LEN + len);
	parity_put16(p + 4, ident);
	parity_put16(p + 6, frag ?: parity_chance(rng, 50) ? 0x4000 : 0);
	p[8] = (uint8_t)ttl;
	p[9] = (uint8_t)proto;
	memcpy(p + 12, way->src, 4);
	memcpy(p + 16, way->dst, 4);
	parity_put16(p + 10, parity_sum(p, IP4_LEN, 0));
	return IP4_LEN;
}

/* An error about a packet that came from the other end, as it was when it came. */
static unsigned write_error(struct parity_rng *rng, const struct talk *talk,
			    const struct segment *segment, uint8_t *p)
{
	static const uint8_t kinds4[][2] = {{3, 1}, {3, 3}, {3, 4}, {11, 0}, {12, 0}};
	static const uint8_t kinds6[][2] = {{1, 3}, {1, 4}, {2, 0}, {3, 0}, {4, 1}};
	const bool v6 = talk->ends.v6;
	const unsigned proto = v6 ? 58 : 1;
	const struct way about = way_at_end(talk, !segment->is_back),
			 way = way_of(talk, segment->is_back);
	const unsigned kind = parity_below(rng, sizeof(kinds4) / sizeof(*kinds4));
	struct segment quoted = {
		.how = '>', .flags = ACK, .seq = segment->ack, .ack = segment->seq};
	uint8_t l4[64], *icmp = p + (v6 ? IP6_LEN : IP4_LEN);
	unsigned len, at = 8;

	quoted.len = parity_below(rng, 40);
	len = write_l4(rng, talk, &quoted, &about, l4);
	memset(icmp, 0, 8);
	memcpy(icmp, v6 ? kinds6[kind] : kinds4[kind], 2);
	if (kind == 2)
		parity_put16(icmp + 6, 1280);
	at += write_ip(rng, v6, &about, talk->ends.proto, 62, 0, len, icmp + at);
	memcpy(icmp + at, l4, len);
	len += at;
	parity_put16(icmp + 2, parity_sum(icmp, len, v6 ? pseudo_sum(talk, &way, proto, len) : 0));
	return len + write_ip(rng, v6, &way, proto, 64, 0, len, p);
}

static unsigned write_packet(struct parity_rng *rng, const struct talk *talk,
			     const struct segment *segment, uint8_t *p)
{
	const bool v6 = talk->ends.v6;
	const struct way way = way_of(talk, segment->is_back);
	const unsigned ttl = segment->how == '1' ? 1 : segment->how == '2' ? 2 : 64;
	uint8_t l4[L4_MAX];
	unsigned len = write_l4(rng, talk, segment, &way, l4), header_len, cut, from = 0, frag = 0;

	if (strchr("fl", segment->how)) {
		cut = len / 2 & ~7u;
		frag = segment->how == 'f' ? 0x2000 : cut / 8;
		from = segment->how == 'f' ? 0 : cut;
		len = segment->how == 'f' ? cut : len - cut;
	}
	header_len = write_ip(rng, v6, &way, talk->ends.proto, ttl, frag, len, p);
	if (segment->how == '#' && !v6)
		p[10] ^= 1;
	memcpy(p + header_len, l4 + from, len);
	return header_len + len;
}

/* Seldom an established connection's packet comes in by another VRF's device, as one of a
 * connection there that looks alike may. Connection tracking takes it for the other's; it is to
 * leave by its own VRF. */
static unsigned vrf_of(const struct parity_source *src, struct parity_rng *rng,
		       const struct talk *talk, const struct segment *segment)
{
	if (src->world != PARITY_ROUTER || talk->ends.vrf || talk->ends.is_masked ||
	    !strchr("><", segment->how) || segment->step < 5 || !parity_chance(rng, 6))
		return talk->ends.vrf;
	return 1 + parity_below(rng, PARITY_VRFS - 1);
}

void parity_talk_frame(const struct parity_source *src, uint64_t idx, struct parity_frame *frame)
{
	const struct talk talk = talk_of(src, idx);
	const struct segment segment = segment_of(&talk, step_of(idx));
	struct parity_rng rng = rng_of(&talk, segment.step + PARITY_TALK_STEPS);
	const unsigned port = segment.is_back ? talk.ends.to : talk.ends.from;
	uint8_t *p = frame->data + ETH;
	unsigned len, more;

	memset(frame->data, 0, sizeof(frame->data));
	frame->port = (uint8_t)port;
	parity_put_mac(frame->data, port + 1, 1);
	parity_put_mac(frame->data + 6, port + 1, 2);
	parity_put16(frame->data + 12, talk.ends.v6 ? 0x86dd : 0x0800);
	if (strchr("iI", segment.how))
		len = write_error(&rng, &talk, &segment, p);
	else
		len = write_packet(&rng, &talk, &segment, p);
	if (segment.how == 't')
		for (more = 1 + parity_below(&rng, 20); more && len < 1200; more--)
			p[len++] = (uint8_t)parity_rand(&rng);
	frame->len = (uint16_t)(ETH + len);
	frame->vrf = frame->data[9] = (uint8_t)vrf_of(src, &rng, &talk, &segment);
	parity_devices_in(src, NULL, frame);
	if (src->world == PARITY_ROUTER && port == 1) /* its bond: a connection keeps to a member */
		frame->member = number_of(idx) % PARITY_MEMBERS;
}

void parity_talk_describe(FILE *out, const struct parity_source *src, uint64_t idx)
{
	const struct talk talk = talk_of(src, idx);

	fprintf(out, "connection %lu, step %u '%c' of \"%s\"", (unsigned long)number_of(idx),
		step_of(idx), talk.script[step_of(idx)], talk.script);
}
