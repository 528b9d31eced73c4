// SPDX-License-Identifier: BSD-2-Clause
/* What is between a link and its wires in worlds of other devices: the tags that a VLAN device's
 * frames carry, and the members of a bond or a bridge. What comes out is made what it would be
 * without: a frame with its link's tags loses them. That it had them, and with which priorities, by
 * which member it came, or of which VRF's device it is, is the wire's variant, which is compared
 * like the bytes. */
#include <string.h>

#include "parity.h"

#define TAG_LEN	 4u
#define MACS_LEN 12u
#define TAGS_MAX 2u
#define VRF_ID	 100u /* of the VLAN devices in no VRF; then those of red, of blue */

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

/* By link and wire: in a bridge that filters VLANs, one without tags, one with them on the first
 * wire alone; above one that does not, of a VLAN device. */
static const struct tags bridged[PARITY_PORTS][PARITY_MEMBERS] = {
	{{.cnt = 0}, {.cnt = 0}},
	{{{{0x8100, 102}}, 1}, {.cnt = 0}},
	{{{{0x8100, 33}}, 1}, {{{0x8100, 33}}, 1}},
};

bool parity_has_members(enum parity_world world)
{
	return world == PARITY_BOND || world == PARITY_BRIDGE_VLAN;
}

static const struct tags *tags_at(enum parity_world world, unsigned link, unsigned member)
{
	return world == PARITY_BRIDGE_VLAN ? &bridged[link][member] : &tags_of[link];
}

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
	if (src->world == PARITY_VRF || src->world == PARITY_BRIDGE_VLAN)
		return TAG_LEN;
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

static void tag(enum parity_world world, struct parity_rng *rng, struct parity_frame *frame)
{
	const struct tags *tags = tags_at(world, frame->port, frame->member);
	const unsigned roll = parity_below(rng, 100);
	const unsigned pcp = parity_chance(rng, 25) ? parity_below(rng, 8) : 0;

	if (roll < 90)
		push_all(frame, tags, pcp);
	else if (roll < 93)
		return;
	else if (roll < 95)
		push_all(frame, tags_at(world, (frame->port + 1) % PARITY_PORTS, frame->member),
			 pcp);
	else
		push_any(rng, frame);
	if (roll >= 98)
		push_all(frame, tags, pcp);
}

/* Those of its VRF, seldom others; rng NULL: never. */
static void tag_of_vrf(struct parity_rng *rng, struct parity_frame *frame)
{
	const unsigned roll = rng ? parity_below(rng, 100) : 0;
	const unsigned pcp = rng && parity_chance(rng, 25) ? parity_below(rng, 8) : 0;

	if (roll >= 95 && roll < 98)
		push_any(rng, frame);
	else if (frame->vrf != parity_vrf_of_port(PARITY_VRF, frame->port))
		push(frame, 0x8100, (VRF_ID + frame->vrf) | pcp << 13);
	if (roll >= 98)
		push_any(rng, frame);
}

void parity_devices_in(const struct parity_source *src, struct parity_rng *rng,
		       struct parity_frame *frame)
{
	const bool has_tags = src->world == PARITY_VLAN || src->world == PARITY_BRIDGE_VLAN;

	frame->member = 0;
	if (src->world == PARITY_BOND && rng)
		frame->member = (uint8_t)parity_below(rng, PARITY_MEMBERS);
	if (src->world == PARITY_BRIDGE_VLAN) /* stations 2 and 3: each is behind one wire */
		frame->member = frame->data[11] & 1;
	if (src->world == PARITY_VRF)
		tag_of_vrf(rng, frame);
	else if (has_tags && rng)
		tag(src->world, rng, frame);
	else if (has_tags)
		push_all(frame, tags_at(src->world, frame->port, frame->member), 0);
}

/* The variant of a frame with the link's tags, which it loses; else PARITY_OTHER. */
static unsigned untag(const struct tags *tags, uint8_t *data, unsigned *len)
{
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

/* The VRF of the link's device, its port or a VLAN device, whose tags these are, of priority 0. */
static unsigned vrf_of(unsigned link, const uint8_t *data, unsigned len)
{
	const unsigned own = parity_vrf_of_port(PARITY_VRF, link), cnt = parity_tags_len(data, len);
	unsigned vrf;

	if (!cnt)
		return own;
	vrf = (unsigned)(data[MACS_LEN + 2] << 8 | data[MACS_LEN + 3]) - VRF_ID;
	return cnt == TAG_LEN && data[MACS_LEN] == 0x81 && vrf < PARITY_VRFS && vrf != own
		       ? vrf
		       : PARITY_OTHER;
}

unsigned parity_vrf_in(const struct parity_frame *frame)
{
	uint8_t head[MACS_LEN + TAG_LEN * (TAGS_MAX + 1)] = {0};
	const unsigned len = frame->len < sizeof(head) ? frame->len : sizeof(head);

	memcpy(head, frame->data, len);
	head[MACS_LEN + 2] &= 0x1f; /* with whatever priority */
	return vrf_of(frame->port, head, len);
}

static unsigned untag_of_vrf(unsigned link, uint8_t *data, unsigned *len)
{
	const unsigned vrf = vrf_of(link, data, *len);

	if (vrf != PARITY_OTHER && vrf != parity_vrf_of_port(PARITY_VRF, link)) {
		*len -= TAG_LEN;
		memmove(data + MACS_LEN, data + MACS_LEN + TAG_LEN, *len - MACS_LEN);
	}
	return vrf;
}

/* A wire's number must stay below 256. */
static unsigned bridged_variant(unsigned variant)
{
	return variant == PARITY_OTHER ? PARITY_OTHER / PARITY_MEMBERS : variant;
}

unsigned parity_devices_out(enum parity_world world, unsigned wire, uint8_t *data, unsigned *len)
{
	const unsigned link = wire % PARITY_PORTS;
	unsigned variant = wire / PARITY_PORTS;

	if (world == PARITY_VLAN)
		variant = untag(&tags_of[link], data, len);
	else if (world == PARITY_BRIDGE_VLAN)
		variant += PARITY_MEMBERS *
			   bridged_variant(untag(tags_at(world, link, variant), data, len));
	else if (world == PARITY_VRF)
		variant = untag_of_vrf(link, data, len);
	return link + PARITY_PORTS * variant;
}

void parity_wire_print(FILE *out, enum parity_world world, unsigned wire)
{
	const unsigned variant = wire / PARITY_PORTS, link = wire % PARITY_PORTS;

	const unsigned member = parity_has_members(world) ? variant % PARITY_MEMBERS : 0;

	fprintf(out, "eth%u", link + 1 + member * PARITY_PORTS);
	if (world == PARITY_BRIDGE_VLAN &&
	    variant / PARITY_MEMBERS >= PARITY_OTHER / PARITY_MEMBERS)
		fprintf(out, " (not with its tags)");
	else if (world == PARITY_BRIDGE_VLAN)
		fprintf(out, " (as its VLAN has it, PCP %o)", variant / PARITY_MEMBERS);
	if (world == PARITY_VRF)
		fprintf(out, " (%s)", parity_vrf_name(variant));
	else if (world == PARITY_VLAN && variant == PARITY_OTHER)
		fprintf(out, " (not with its tags)");
	else if (world == PARITY_VLAN)
		fprintf(out, " (with its tags, PCP %o)", variant);
}
