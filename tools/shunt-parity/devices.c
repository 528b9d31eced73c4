// SPDX-License-Identifier: BSD-2-Clause
/* What is between a link and its wires in worlds of other devices: the tags that a VLAN device's
 * frames carry, and the members of a bond. What comes out is made what it would be without: a frame
 * with its link's tags loses them. That it had them, and with which priorities, or by which member
 * it came, is the wire's variant, which is compared like the bytes. */
#include <string.h>

#include "parity.h"

#define TAG_LEN	 4u
#define MACS_LEN 12u
#define TAGS_MAX 2u

struct tag {
	uint16_t type, id;
};

static const struct tags {
	struct tag at[TAGS_MAX];
	unsigned cnt;
} tags_of[PARITY_PORTS] = {
	{{{0x8100, 101}}, 1},
	{{{0x88a8, 102}}, 1},
	{{{0x88a8, 103}, {0x8100, 33}}, 2},
};

unsigned parity_tags_len(const uint8_t *data, unsigned len)
{
	unsigned at = MACS_LEN;

	while (at + TAG_LEN + 2 <= len &&
	       ((data[at] == 0x81 && !data[at + 1]) || (data[at] == 0x88 && data[at + 1] == 0xa8)))
		at += TAG_LEN;
	return at - MACS_LEN;
}

unsigned parity_room_for_tags(const struct parity_source *src, unsigned link)
{
	return src->world == PARITY_VLAN ? tags_of[link].cnt * TAG_LEN : 0;
}

/* Unless it were too long for the wire. That of link 3 has room for its tags. */
static void push(struct parity_frame *frame, unsigned type, unsigned tci)
{
	const unsigned max = frame->port == 2 ? 1280 + 8 + 18 : PARITY_LEN_MAX;

	if (frame->len + TAG_LEN > max)
		return;
	memmove(frame->data + MACS_LEN + TAG_LEN, frame->data + MACS_LEN, frame->len - MACS_LEN);
	parity_put16(frame->data + MACS_LEN, type);
	parity_put16(frame->data + MACS_LEN + 2, tci);
	frame->len += TAG_LEN;
}

/* Innermost first. */
static void push_all(struct parity_frame *frame, const struct tags *tags, unsigned pcp)
{
	unsigned i;

	for (i = tags->cnt; i--;)
		push(frame, tags->at[i].type, tags->at[i].id | pcp << 13);
}

static void push_any(struct parity_rng *rng, struct parity_frame *frame)
{
	static const uint16_t ids[] = {0, 1, 33, 101, 102, 103, 4095};

	push(frame, parity_chance(rng, 70) ? 0x8100 : 0x88a8,
	     ids[parity_below(rng, 7)] | parity_below(rng, 8) << 13);
}

static void tag(struct parity_rng *rng, struct parity_frame *frame)
{
	const unsigned roll = parity_below(rng, 100);
	const unsigned pcp = parity_chance(rng, 25) ? parity_below(rng, 8) : 0;

	if (roll < 90)
		push_all(frame, &tags_of[frame->port], pcp);
	else if (roll < 93)
		return;
	else if (roll < 95)
		push_all(frame, &tags_of[(frame->port + 1) % PARITY_PORTS], pcp);
	else
		push_any(rng, frame);
	if (roll >= 98)
		push_all(frame, &tags_of[frame->port], pcp);
}

void parity_devices_in(const struct parity_source *src, struct parity_rng *rng,
		       struct parity_frame *frame)
{
	frame->member = 0;
	if (src->world == PARITY_BOND && rng)
		frame->member = (uint8_t)parity_below(rng, PARITY_MEMBERS);
	if (src->world == PARITY_VLAN && rng)
		tag(rng, frame);
	else if (src->world == PARITY_VLAN)
		push_all(frame, &tags_of[frame->port], 0);
}

/* The variant of a frame with the link's tags, which it loses; else PARITY_OTHER. */
static unsigned untag(unsigned link, uint8_t *data, unsigned *len)
{
	const struct tags *tags = &tags_of[link];
	unsigned i, variant = 0, at = MACS_LEN;

	if (parity_tags_len(data, *len) < tags->cnt * TAG_LEN)
		return PARITY_OTHER;
	for (i = 0; i < tags->cnt; i++, at += TAG_LEN) {
		const unsigned type = (unsigned)(data[at] << 8 | data[at + 1]);
		const unsigned tci = (unsigned)(data[at + 2] << 8 | data[at + 3]);

		if (type != tags->at[i].type || (tci & 0x1fff) != tags->at[i].id)
			return PARITY_OTHER;
		variant = variant << 3 | tci >> 13;
	}
	*len -= at - MACS_LEN;
	memmove(data + MACS_LEN, data + at, *len - MACS_LEN);
	return variant;
}

unsigned parity_devices_out(enum parity_world world, unsigned wire, uint8_t *data, unsigned *len)
{
	const unsigned link = wire % PARITY_PORTS;
	const unsigned variant =
		world == PARITY_VLAN ? untag(link, data, len) : wire / PARITY_PORTS;

	return link + PARITY_PORTS * variant;
}

void parity_wire_print(FILE *out, enum parity_world world, unsigned wire)
{
	const unsigned variant = wire / PARITY_PORTS, link = wire % PARITY_PORTS;

	fprintf(out, "eth%u", link + 1 + (world == PARITY_BOND ? variant * PARITY_PORTS : 0));
	if (world == PARITY_VLAN && variant == PARITY_OTHER)
		fprintf(out, " (not with its tags)");
	else if (world == PARITY_VLAN)
		fprintf(out, " (with its tags, PCP %o)", variant);
}
