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
#define BOND	 1u   /* links of a router that are no port alone */
#define BRIDGE	 2u

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

unsigned parity_member_cnt(enum parity_world world, unsigned link)
{
	if (world == PARITY_ROUTER)
		return link == BOND || link == BRIDGE ? PARITY_MEMBERS : 1;
	return world == PARITY_BOND || world == PARITY_BRIDGE_VLAN ? PARITY_MEMBERS : 1;
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
	if (parity_has_vrfs(src->world) || src->world == PARITY_BRIDGE_VLAN)
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
	static const uint16_t ids[] = {0, 1, 33, 100, 101, 102, 103, 4095};

	push(frame, parity_chance(rng, 70) ? 0x8100 : 0x88a8,
	     ids[parity_below(rng, 8)] | parity_below(rng, 8) << 13);
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

/* The VLAN ID that a VRF's frames have on a wire; 0: no tag. The second port of a router's bridge
 * has red without a tag, and with one what the bridge itself has, whose VLAN is 1. */
static unsigned vrf_id(enum parity_world world, unsigned link, unsigned member, unsigned vrf)
{
	const unsigned own = parity_vrf_of_port(world, link);

	if (world != PARITY_ROUTER || link != BRIDGE || !member)
		return vrf == own ? 0 : VRF_ID + vrf;
	if (vrf == own)
		return 1;
	return vrf == 1 ? 0 : VRF_ID + vrf;
}

/* Those of its VRF, seldom others; rng NULL: never. */
static void tag_of_vrf(enum parity_world world, struct parity_rng *rng, struct parity_frame *frame)
{
	const unsigned id = vrf_id(world, frame->port, frame->member, frame->vrf);
	const unsigned roll = rng ? parity_below(rng, 100) : 50;
	const unsigned pcp = rng && parity_chance(rng, 25) ? parity_below(rng, 8) : 0;

	if (roll >= 95 && roll < 98)
		push_any(rng, frame);
	else if (id || roll < 3) /* else a priority alone, which is no VLAN */
		push(frame, 0x8100, id | pcp << 13);
	if (roll >= 98)
		push_any(rng, frame);
}

static unsigned member_of(const struct parity_source *src, struct parity_rng *rng,
			  const struct parity_frame *frame)
{
	const bool is_router = src->world == PARITY_ROUTER;

	if (src->world == PARITY_BRIDGE_VLAN || (is_router && frame->port == BRIDGE))
		return frame->data[11] & 1; /* stations 2 and 3: each is behind one wire */
	if (rng && (src->world == PARITY_BOND || (is_router && frame->port == BOND)))
		return parity_below(rng, PARITY_MEMBERS);
	return 0;
}

void parity_devices_in(const struct parity_source *src, struct parity_rng *rng,
		       struct parity_frame *frame)
{
	const bool has_tags = src->world == PARITY_VLAN || src->world == PARITY_BRIDGE_VLAN;

	frame->member = (uint8_t)member_of(src, rng, frame);
	if (parity_has_vrfs(src->world))
		tag_of_vrf(src->world, rng, frame);
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

/* The VRF whose tag on the wire this is, of priority 0. */
static unsigned vrf_of(enum parity_world world, unsigned link, unsigned member, const uint8_t *data,
		       unsigned len)
{
	const unsigned cnt = parity_tags_len(data, len);
	unsigned vrf, id = 0;

	if (cnt)
		id = (unsigned)(data[MACS_LEN + 2] << 8 | data[MACS_LEN + 3]);
	if (cnt > TAG_LEN || (cnt && (data[MACS_LEN] != 0x81 || !id)))
		return PARITY_OTHER;
	for (vrf = 0; vrf < PARITY_VRFS; vrf++)
		if (vrf_id(world, link, member, vrf) == id)
			return vrf;
	return PARITY_OTHER;
}

/* With whatever priority, which may be all that there is. A bridge's port takes its own VLAN with
 * a tag, too. */
unsigned parity_vrf_in(enum parity_world world, const struct parity_frame *frame)
{
	uint8_t head[MACS_LEN + TAG_LEN * (TAGS_MAX + 1)] = {0};
	const unsigned len = frame->len < sizeof(head) ? frame->len : sizeof(head);
	const bool is_bridged = world == PARITY_ROUTER && frame->port == BRIDGE;
	unsigned id;

	memcpy(head, frame->data, len);
	head[MACS_LEN + 2] &= 0x1f;
	id = (unsigned)(head[MACS_LEN + 2] << 8 | head[MACS_LEN + 3]);
	if (parity_tags_len(head, len) == TAG_LEN && head[MACS_LEN] == 0x81) {
		if (is_bridged && id == (frame->member ? VRF_ID + 1 : 1))
			return !!frame->member;
		if (!id)
			return vrf_of(world, frame->port, frame->member, head, MACS_LEN);
	}
	return vrf_of(world, frame->port, frame->member, head, len);
}

static unsigned untag_of_vrf(enum parity_world world, unsigned link, unsigned member, uint8_t *data,
			     unsigned *len)
{
	const unsigned vrf = vrf_of(world, link, member, data, *len);

	if (vrf != PARITY_OTHER && vrf_id(world, link, member, vrf)) {
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
	const unsigned link = wire % PARITY_PORTS, member = wire / PARITY_PORTS;
	unsigned variant = member;

	if (world == PARITY_VLAN)
		variant = untag(&tags_of[link], data, len);
	else if (world == PARITY_BRIDGE_VLAN)
		variant += PARITY_MEMBERS *
			   bridged_variant(untag(tags_at(world, link, member), data, len));
	else if (world == PARITY_VRF)
		variant = untag_of_vrf(world, link, 0, data, len);
	else if (world == PARITY_ROUTER)
		variant += PARITY_MEMBERS *
			   bridged_variant(untag_of_vrf(world, link, member, data, len));
	return link + PARITY_PORTS * variant;
}

static bool has_two_variants(enum parity_world world)
{
	return world == PARITY_BRIDGE_VLAN || world == PARITY_ROUTER;
}

unsigned parity_wire_of(enum parity_world world, unsigned wire)
{
	if (world == PARITY_BOND)
		return wire;
	return wire % (has_two_variants(world) ? PARITY_WIRES : PARITY_PORTS);
}

unsigned parity_vrf_out(enum parity_world world, unsigned wire)
{
	const unsigned vrf = wire / (world == PARITY_ROUTER ? PARITY_WIRES : PARITY_PORTS);

	if (!parity_has_vrfs(world))
		return 0;
	return vrf < PARITY_VRFS ? vrf : PARITY_OTHER;
}

void parity_wire_print(FILE *out, enum parity_world world, unsigned wire)
{
	const unsigned variant = wire / (has_two_variants(world) ? PARITY_WIRES : PARITY_PORTS);

	fprintf(out, "eth%u", parity_wire_of(world, wire) + 1);
	if (parity_has_vrfs(world))
		fprintf(out, " (%s)", parity_vrf_name(parity_vrf_out(world, wire)));
	else if (world == PARITY_BRIDGE_VLAN && variant >= PARITY_OTHER / PARITY_MEMBERS)
		fprintf(out, " (not with its tags)");
	else if (world == PARITY_BRIDGE_VLAN)
		fprintf(out, " (as its VLAN has it, PCP %o)", variant);
	else if (world == PARITY_VLAN && variant == PARITY_OTHER)
		fprintf(out, " (not with its tags)");
	else if (world == PARITY_VLAN)
		fprintf(out, " (with its tags, PCP %o)", variant);
}
