/* SPDX-License-Identifier: GPL-2.0-only */
/* The device above the port by which a tagged frame comes in, and by which a packet leaves tagged
 * (shunt_device.h). */
#ifndef SHUNT_STEER_DEVICE_BPF_H
#define SHUNT_STEER_DEVICE_BPF_H

#include "shunt_device.h"
#include "steer/frame.bpf.h"
#include "steer/tables.bpf.h"

/* A frame's tags: bits of a key (shunt_device_tag_bits), and how many bytes they take. */
struct tags {
	__u32 outer, inner;
	__u32 len;
};

/* Whether the frame has one tag or two, each with a VLAN's ID: a priority tag (ID 0) is no VLAN's,
 * nor is ID 4095. */
static __always_inline bool read_tags(const struct eth *eth, const void *end, struct tags *out)
{
	const __be16 *at = &eth->type_be;

	if (!is_tagged(eth) || (const void *)(at + 5) > end)
		return false;
	out->outer = shunt_device_tag_bits(at[0] == bpf_htons(ETH_P_8021AD), bpf_ntohs(at[1]));
	out->inner = SHUNT_DEVICE_NO_TAG;
	out->len = sizeof(struct shunt_vlan_tag);
	if (at[2] == bpf_htons(ETH_P_8021Q) || at[2] == bpf_htons(ETH_P_8021AD)) {
		out->inner =
			shunt_device_tag_bits(at[2] == bpf_htons(ETH_P_8021AD), bpf_ntohs(at[3]));
		out->len = 2 * sizeof(struct shunt_vlan_tag);
		if (out->inner == SHUNT_DEVICE_NO_TAG)
			return false;
	}
	return out->outer & SHUNT_VLAN_VID && out->inner & SHUNT_VLAN_VID;
}

static __always_inline struct shunt_tables_answer_tags *answer_of_tags(__u32 key)
{
	return &shunt_cache_tags[(key >> 13 ^ key) & ((1 << CACHE_TAGS_BITS) - 1)];
}

static __always_inline __u64 sum_of_late(__u64 word, __u32 gen)
{
	return word + ((__u64)gen << 32);
}

/* The word of the device that has the key, 0 for none, in the table; it is then remembered. gen:
 * the tables' generation, before that was asked for. */
__noinline __u64 find_device(__u32 key, __u32 gen)
{
	const struct shunt_tables_line *line =
		line_at(SHUNT_TABLE_TAGS, (__u64)shunt_device_line(key) * sizeof(*line));
	struct shunt_tables_answer_tags *answer = answer_of_tags(key);

	if (!line)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < SHUNT_DEVICE_LINE_WORDS; i++) {
		const __u64 word = READ_ONCE(line->words[i]);

		if (word >> SHUNT_DEVICE_WORD_KEY_SHIFT == key && shunt_device_number(word)) {
			WRITE_ONCE(answer->word, word);
			WRITE_ONCE(answer->sum, sum_of_late(word, gen));
			return word;
		}
	}
	return 0;
}

/* The word of the device, 0 for none. */
static __always_inline __u64 device_of(__u32 port, const struct tags *tags)
{
	const __u32 key = shunt_device_key(port, tags->outer, tags->inner), gen = generation();
	const struct shunt_tables_answer_tags *answer = answer_of_tags(key);
	const __u64 word = READ_ONCE(answer->word);

	if (word >> SHUNT_DEVICE_WORD_KEY_SHIFT == key &&
	    READ_ONCE(answer->sum) == sum_of_late(word, gen))
		return word;
	return find_device(key, gen);
}

/* NULL without memory. */
static __always_inline const struct shunt_device *device_at(__u32 number)
{
	return (const void *)line_at(SHUNT_TABLE_DEVICES,
				     (__u64)number * sizeof(struct shunt_device));
}

#endif
