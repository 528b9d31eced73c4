// SPDX-License-Identifier: BSD-2-Clause
/* What came out of the labs, compared as multisets: the order between ports and lanes is not
 * promised by either. Masked before are fields that no two Linux hosts write alike: the IP
 * identification of packets that dut itself sends, and the time of day.
 */
#include "parity.h"

#include <stdlib.h>
#include <string.h>

#define ETH	    14u
#define OPTION_TIME 68
#define ICMP_TIME   14

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Zeroes the times in IPv4 options, and the header checksum if it was right. */
static bool mask_times(uint8_t *ip, unsigned len)
{
	unsigned header_len = (ip[0] & 15u) * 4, at = 20;

	if (len < 20 || ip[0] >> 4 != 4 || header_len > len)
		return false;
	while (at + 1 < header_len && ip[at] != OPTION_TIME) {
		if (!ip[at])
			return false;
		at += ip[at] == 1 || ip[at + 1] < 2 ? 1 : ip[at + 1];
	}
	if (at + 4 > header_len)
		return false;
	memset(ip + at + 4, 0, header_len - at - 4);
	memset(ip + 10, 0, 2);
	return true;
}

static bool is_quoting(uint8_t icmp_type)
{
	return icmp_type == 3 || icmp_type == 5 || icmp_type == 11 || icmp_type == 12;
}

static void mask_icmp(uint8_t *icmp, unsigned len)
{
	if (len >= 20 && icmp[0] == ICMP_TIME) {
		memset(icmp + 12, 0, 8);
		memset(icmp + 2, 0, 2);
	} else if (len >= 28 && is_quoting(icmp[0]) && mask_times(icmp + 8, len - 8)) {
		memset(icmp + 2, 0, 2);
	}
}

/* An IPv6 host fragments what it sends itself, by a random identification. One that tracks
 * connections does so again with what it has put together. */
static void mask6(uint8_t *ip, unsigned len, bool is_tracked)
{
	if (len >= 48 && ip[6] == 44 && (is_tracked || parity_is_own(true, ip + 8)))
		memset(ip + 44, 0, 4);
}

static void mask(uint8_t *data, unsigned len, bool is_tracked)
{
	uint8_t *ip = data + ETH;
	unsigned header_len;

	if (load16(data + 12) == 0x86dd)
		mask6(ip, len - ETH, is_tracked);
	if (len < ETH + 20 || load16(data + 12) != 0x0800)
		return;
	header_len = (ip[0] & 15u) * 4;
	if (header_len < 20 || ETH + header_len > len || parity_sum(ip, header_len, 0))
		return;
	if (header_len > 20)
		mask_times(ip, len - ETH);
	/* the source of dut's own errors may be the service that it translates */
	if (!parity_is_own(false, ip + 12) && !(is_tracked && ip[9] == 1))
		return;
	memset(ip + 4, 0, 2);
	memset(ip + 10, 0, 2);
	if (ip[9] == 1)
		mask_icmp(ip + header_len, len - ETH - header_len);
}

/* ip_error() has a bucket of five for each source, whatever icmp_ratelimit says. Under rules it is
 * asked for what was not translated, to addresses that no route leads to, or an unreachable one. */
static bool is_limited(const uint8_t *ip, const uint8_t *icmp, bool is_tracked)
{
	if (icmp[0] != 3)
		return false;
	return is_tracked ? icmp[1] < 2
			  : (icmp[1] < 2 || icmp[1] == 13) && parity_is_frequent(ip + 16);
}

static enum parity_kind classify4(const uint8_t *ip, unsigned len, bool is_tracked)
{
	const uint8_t *icmp = ip + (ip[0] & 15u) * 4;

	if (len < 20 || !parity_is_own(false, ip + 12))
		return PARITY_FRAME;
	if (ip[9] == 2)
		return PARITY_TIMER;
	if (ip[9] != 1 || icmp + 28 > ip + len)
		return PARITY_FRAME;
	if (icmp[0] == 5)
		return PARITY_REDIRECT;
	if (icmp[0] == 11 && icmp[1] == 1)
		return PARITY_TIMER;
	if (icmp[0] == 3 && icmp[1] == 1 && parity_is_unresolved(false, icmp + 8 + 16))
		return PARITY_UNRESOLVED;
	if (is_limited(ip, icmp, is_tracked))
		return PARITY_LIMITED;
	return PARITY_FRAME;
}

static enum parity_kind classify6(const uint8_t *ip, unsigned len)
{
	static const uint8_t unspecified[16];
	const uint8_t *icmp = ip + 40;
	const bool is_nobodys = len >= 48 && !memcmp(ip + 8, unspecified, sizeof(unspecified));

	if (len < 48 || !(parity_is_own(true, ip + 8) || is_nobodys))
		return PARITY_FRAME;
	if (ip[6] == 0 && ip[40] == 58 && ip[24] == 0xff)
		return PARITY_TIMER; /* MLD, behind a router alert */
	if (is_nobodys)
		return PARITY_FRAME;
	if (ip[6] != 58)
		return PARITY_FRAME;
	if (icmp[0] == 135 && ip[7] == 255)
		return PARITY_ASK;
	if (icmp[0] == 137 && ip[7] == 255)
		return PARITY_REDIRECT;
	if (icmp[0] == 3 && icmp[1] == 1)
		return PARITY_TIMER;
	if (icmp[0] == 1 && icmp[1] == 3)
		return PARITY_UNRESOLVED;
	return PARITY_FRAME;
}

static enum parity_kind classify(const uint8_t *data, unsigned len, bool is_tracked)
{
	uint16_t type = load16(data + 12);

	if (type == 0x0806 && len >= ETH + 28 && load16(data + ETH + 6) == 1 && data[11] == 1)
		return PARITY_ASK;
	if (type == 0x0800)
		return classify4(data + ETH, len - ETH, is_tracked);
	return type == 0x86dd ? classify6(data + ETH, len - ETH) : PARITY_FRAME;
}

/* A neighbour's place. Two may have one, seldom: then the first is noted. */
static struct parity_asked *asked_at(struct parity_asked *asked, bool v6, const uint8_t *addr,
				     uint8_t port, uint8_t vrf)
{
	asked += (uint32_t)parity_sum(addr, v6 ? 16 : 4, port + PARITY_PORTS * vrf) * 0x9e3779b1u >>
		 22;
	if (!asked->port) {
		asked->port = port;
		asked->vrf = vrf;
		asked->v6 = v6;
		memcpy(asked->addr, addr, v6 ? 16 : 4);
	}
	return asked;
}

static void note_asked(struct parity_asked *asked, unsigned lab, const uint8_t *data, uint8_t vrf)
{
	bool v6 = load16(data + 12) == 0x86dd;

	asked_at(asked, v6, data + ETH + (v6 ? 48 : 24), data[10], vrf)->by[lab] = true;
}

void parity_match_sent(struct parity_match *match, const struct parity_frame *frame)
{
	const unsigned tags = parity_tags_len(frame->data, frame->len);
	const uint8_t *arp = frame->data + ETH + tags;
	const unsigned vrf = parity_has_vrfs(match->world) ? parity_vrf_in(match->world, frame) : 0;

	if (load16(frame->data + 12 + tags) == 0x0806 && frame->len >= ETH + tags + 28)
		asked_at(match->asked, false, arp + 14, (uint8_t)(frame->port + 1), (uint8_t)vrf)
			->spoke = true;
}

static int compare(const struct parity_out *a, const struct parity_out *b)
{
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->data, b->data, a->len);
}

static int compare_slots(const void *a, const void *b)
{
	return compare(*(struct parity_out *const *)a, *(struct parity_out *const *)b);
}

void parity_match_add(struct parity_match *match, unsigned lab, unsigned port, const uint8_t *data,
		      unsigned len)
{
	enum parity_kind kind = classify(data, len, match->is_tracked);
	const unsigned vrf = parity_vrf_out(match->world, port);
	struct parity_out *out;

	match->kinds[kind][lab]++;
	if (kind == PARITY_ASK)
		note_asked(match->asked, lab, data, (uint8_t)vrf);
	if (kind != PARITY_FRAME)
		return;
	if (vrf < PARITY_VRFS)
		match->by_vrf[parity_wire_of(match->world, port)][vrf][lab]++;
	if (match->cnt[lab] == match->cap[lab]) {
		match->cap[lab] = match->cap[lab] ? 2 * match->cap[lab] : 1024;
		match->out[lab] = realloc(match->out[lab], match->cap[lab] * sizeof(void *));
		if (!match->out[lab])
			abort(); /* a test tool out of memory has nothing to save */
	}
	out = malloc(sizeof(*out) + len);
	if (!out)
		abort();
	*out = (struct parity_out){.window = match->window,
				   .len = (uint16_t)len,
				   .port = (uint8_t)port,
				   .lab = (uint8_t)lab,
				   .vrf = (uint8_t)vrf};
	memcpy(out->data, data, len);
	mask(out->data, len, match->is_tracked);
	match->out[lab][match->cnt[lab]++] = out;
}

/* Frees the slots set to NULL's frames and closes the gaps. */
static void pack(struct parity_match *match, unsigned lab)
{
	unsigned i, n = 0;

	for (i = 0; i < match->cnt[lab]; i++)
		if (match->out[lab][i])
			match->out[lab][n++] = match->out[lab][i];
	match->cnt[lab] = n;
}

static void drop_pair(struct parity_out **a, struct parity_out **b)
{
	free(*a);
	free(*b);
	*a = *b = NULL;
}

static void drop_identical(struct parity_match *match)
{
	struct parity_out **a = match->out[0], **b = match->out[1];
	unsigned i = 0, j = 0, lab;

	for (lab = 0; lab < PARITY_LABS; lab++)
		if (match->cnt[lab])
			qsort(match->out[lab], match->cnt[lab], sizeof(void *), compare_slots);
	while (i < match->cnt[0] && j < match->cnt[1]) {
		int order = compare(a[i], b[j]);

		if (!order) {
			match->identical++;
			drop_pair(&a[i++], &b[j++]);
		} else if (order < 0) {
			i++;
		} else {
			j++;
		}
	}
	pack(match, 0);
	pack(match, 1);
}

static bool is_next_hop(const struct parity_out *out)
{
	const unsigned link = out->port % PARITY_PORTS;

	return out->data[3] == out->vrf && out->data[4] == link + 1 &&
	       (out->data[5] == 2 || out->data[5] == 3) && link < 2;
}

/* The same packet by another of its next hops: which one a flow takes is each one's own hash. */
static bool is_other_path(const struct parity_out *a, const struct parity_out *b)
{
	bool v6 = load16(a->data + 12) == 0x86dd;

	return a->vrf == b->vrf && a->len == b->len && a->len >= ETH + (v6 ? 40u : 20u) &&
	       parity_is_multipath(v6, a->data + ETH + (v6 ? 24 : 16)) &&
	       !memcmp(a->data + 12, b->data + 12, a->len - 12u) && is_next_hop(a) &&
	       is_next_hop(b);
}

/* Where the layer 4 of a whole TCP or UDP packet is. */
struct l4 {
	unsigned at, len, field; /* bytes from the frame's begin; of it; from the frame's begin */
	uint32_t pseudo;
};

static bool find_l4(const struct parity_out *out, struct l4 *l4)
{
	const uint8_t *ip = out->data + ETH;
	const bool v6 = load16(out->data + 12) == 0x86dd;
	const unsigned header_len = v6 ? 40 : (ip[0] & 15u) * 4, proto = v6 ? ip[6] : ip[9];

	l4->at = ETH + header_len;
	if (out->len < ETH + (v6 ? 40u : 20u) || (proto != 6 && proto != 17))
		return false;
	l4->len = v6 ? load16(ip + 4) : load16(ip + 2) - header_len;
	l4->field = l4->at + (proto == 6 ? 16 : 6);
	l4->pseudo = v6 ? parity_pseudo_sum(ip + 8, 32, proto, l4->len)
			: parity_pseudo_sum(ip + 12, 8, proto, l4->len);
	return l4->at + l4->len <= out->len && l4->field + 2 <= l4->at + l4->len;
}

/* A wrong checksum that is the sum of the pseudo header: as if its sender had left it to a device.
 * shunt cannot tell, and finishes it (bpf/steer/csum.bpf.h); the kernel lets it be. */
static bool is_finished(const struct parity_out *kernel, const struct parity_out *shunt)
{
	struct l4 l4;
	uint16_t left;

	if (kernel->port != shunt->port || kernel->len != shunt->len || !find_l4(kernel, &l4))
		return false;
	left = parity_sum(NULL, 0, l4.pseudo);
	return (load16(kernel->data + l4.field) ^ left) == 0xffff &&
	       !memcmp(kernel->data, shunt->data, l4.field) &&
	       !memcmp(kernel->data + l4.field + 2, shunt->data + l4.field + 2,
		       kernel->len - l4.field - 2) &&
	       !parity_sum(shunt->data + l4.at, l4.len, l4.pseudo);
}

/* The kernel's flowtables send what follows a packet along with it; the kernel itself and shunt do
 * not. */
static bool is_cut(const struct parity_out *kernel, const struct parity_out *shunt)
{
	const uint8_t *ip = shunt->data + ETH;
	const unsigned len =
		load16(shunt->data + 12) == 0x86dd ? 40u + load16(ip + 4) : load16(ip + 2);

	return kernel->port == shunt->port && shunt->len == ETH + len && kernel->len > shunt->len &&
	       !memcmp(kernel->data, shunt->data, shunt->len);
}

static void drop_explained(struct parity_match *match,
			   bool (*is_explained)(const struct parity_out *kernel,
						const struct parity_out *shunt),
			   uint64_t *cnt)
{
	unsigned i, j;

	for (i = 0; i < match->cnt[0]; i++)
		for (j = 0; j < match->cnt[1]; j++) {
			if (!match->out[1][j] || !is_explained(match->out[0][i], match->out[1][j]))
				continue;
			++*cnt;
			drop_pair(&match->out[0][i], &match->out[1][j]);
			break;
		}
	pack(match, 0);
	pack(match, 1);
}

static void drop_matching(struct parity_match *match)
{
	drop_identical(match);
	if (match->is_exact)
		return;
	drop_explained(match, is_other_path, &match->multipath);
	drop_explained(match, is_finished, &match->finished);
	drop_explained(match, is_cut, &match->cut);
}

static bool is_due(const struct parity_match *match, const struct parity_out *out, unsigned age)
{
	return out->window + age <= match->window;
}

bool parity_match_is_due(struct parity_match *match, unsigned age)
{
	unsigned lab, i;

	drop_matching(match);
	for (lab = 0; lab < PARITY_LABS; lab++)
		for (i = 0; i < match->cnt[lab]; i++)
			if (is_due(match, match->out[lab][i], age))
				return true;
	return false;
}

unsigned parity_match_settle(struct parity_match *match, unsigned age,
			     void (*differ)(void *arg, const struct parity_out *out), void *arg)
{
	unsigned lab, i, cnt = 0;

	drop_matching(match);
	for (lab = 0; lab < PARITY_LABS; lab++) {
		for (i = 0; i < match->cnt[lab]; i++) {
			if (!is_due(match, match->out[lab][i], age))
				continue;
			differ(arg, match->out[lab][i]);
			free(match->out[lab][i]);
			match->out[lab][i] = NULL;
			cnt++;
		}
		pack(match, lab);
	}
	return cnt;
}

void parity_match_fini(struct parity_match *match)
{
	unsigned lab, i;

	for (lab = 0; lab < PARITY_LABS; lab++) {
		for (i = 0; i < match->cnt[lab]; i++)
			free(match->out[lab][i]);
		free(match->out[lab]);
	}
}
