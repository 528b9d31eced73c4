// SPDX-License-Identifier: BSD-2-Clause
#include "fib/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>

#define LINES_BYTES (SHUNT_DEVICE_LINES * SHUNT_DEVICE_LINE_WORDS * sizeof(uint64_t))

int shunt_devices_create_on(struct shunt_devices **out, const struct shunt_arena_source *source,
			    struct shunt_err *err)
{
	struct shunt_devices *devices = calloc(1, sizeof(*devices));
	int ret;

	*out = NULL;
	if (!devices)
		return shunt_err_set(err, ENOMEM, "devices: not enough memory");
	devices->budget.source = source;
	ret = shunt_arena_init_full(&devices->lines, LINES_BYTES, &devices->budget,
				    "tags of devices", err);
	if (!ret)
		ret = shunt_runs_init(&devices->runs, sizeof(struct shunt_device),
				      SHUNT_DEVICES_MAX, &devices->budget, "devices", err);
	if (ret) {
		shunt_devices_destroy(devices);
		return ret;
	}
	devices->words = (const uint64_t *)devices->lines.base;
	devices->at = (const struct shunt_device *)devices->runs.arena.base;
	*out = devices;
	return 0;
}

void shunt_devices_destroy(struct shunt_devices *devices)
{
	if (!devices)
		return;
	shunt_runs_fini(&devices->runs);
	shunt_arena_fini(&devices->lines);
	free(devices);
}

static uint32_t bits_of(const struct shunt_vlan_tag *tag)
{
	return shunt_device_tag_bits(tag->type_be == htons(ETH_P_8021AD), ntohs(tag->tci_be));
}

uint32_t shunt_devices_key_of(const struct shunt_device *device, unsigned member)
{
	return shunt_device_key(device->members[member], bits_of(&device->tags[0]),
				device->tag_cnt > 1 ? bits_of(&device->tags[1])
						    : SHUNT_DEVICE_NO_TAG);
}

/* A bond's own frames have no tags to be found by, and by a leg none comes in. */
static unsigned key_cnt(const struct shunt_device *device, uint32_t number)
{
	return device->tag_cnt && device->base == number ? device->member_cnt : 0;
}

static uint64_t new_word(uint32_t key, uint32_t flags, uint32_t number)
{
	return (uint64_t)key << SHUNT_DEVICE_WORD_KEY_SHIFT |
	       (flags & 0xffff) << SHUNT_DEVICE_WORD_FLAGS_SHIFT | number;
}

/* The word of that key, or an empty one where there is none; NULL: the line is full. */
static uint64_t *word_of(const struct shunt_devices *devices, uint32_t key)
{
	uint64_t *words =
		(uint64_t *)devices->lines.base + shunt_device_line(key) * SHUNT_DEVICE_LINE_WORDS;
	uint64_t *empty = NULL;
	unsigned i;

	for (i = 0; i < SHUNT_DEVICE_LINE_WORDS; i++) {
		if (!words[i] && !empty)
			empty = &words[i];
		if (words[i] && words[i] >> SHUNT_DEVICE_WORD_KEY_SHIFT == key)
			return &words[i];
	}
	return empty;
}

/* false: there is no room, or another device has its tags on a member. */
static bool put_words(struct shunt_devices *devices, const struct shunt_device *device,
		      uint32_t number)
{
	unsigned i;

	for (i = 0; i < key_cnt(device, number); i++) {
		const uint32_t key = shunt_devices_key_of(device, i);
		uint64_t *word = word_of(devices, key);

		if (!word || *word)
			return false;
		__atomic_store_n(word, new_word(key, device->flags, number), __ATOMIC_RELEASE);
		devices->cnts[device->members[i]]++;
	}
	return true;
}

uint32_t shunt_devices_add(struct shunt_devices *devices, const struct shunt_device *device)
{
	struct shunt_device *at;
	uint32_t number;

	number = shunt_runs_alloc(&devices->runs, 1, false);
	if (number >= SHUNT_DEVICES_MAX) {
		shunt_runs_free(&devices->runs, number, 1);
		return 0;
	}
	if (!number)
		return 0;
	at = &((struct shunt_device *)devices->runs.arena.base)[number];
	*at = *device;
	if (!at->base)
		at->base = (uint16_t)number;
	if (put_words(devices, at, number))
		return number;
	shunt_devices_hide(devices, number);
	shunt_devices_del(devices, number);
	return 0;
}

/* The word by which frames find the device on a member; NULL: it has none. */
static uint64_t *word_on(const struct shunt_devices *devices, uint32_t number, unsigned member)
{
	const struct shunt_device *device = shunt_devices_at(devices, number);
	uint64_t *word = word_of(devices, shunt_devices_key_of(device, member));

	return word && shunt_device_number(*word) == number ? word : NULL;
}

void shunt_devices_hide(struct shunt_devices *devices, uint32_t number)
{
	const struct shunt_device *device = shunt_devices_at(devices, number);
	uint64_t *word;
	unsigned i;

	for (i = 0; i < key_cnt(device, number); i++) {
		word = word_on(devices, number, i);
		if (!word)
			continue;
		__atomic_store_n(word, 0, __ATOMIC_RELEASE);
		devices->cnts[device->members[i]]--;
	}
}

void shunt_devices_del(struct shunt_devices *devices, uint32_t number)
{
	shunt_runs_retire(&devices->runs, number, 1);
}

void shunt_devices_set_flags(struct shunt_devices *devices, uint32_t number, uint32_t flags)
{
	struct shunt_device *device = &((struct shunt_device *)devices->runs.arena.base)[number];
	uint64_t *word;
	unsigned i;

	__atomic_store_n(&device->flags, flags, __ATOMIC_RELAXED);
	for (i = 0; i < key_cnt(device, number); i++) {
		word = word_on(devices, number, i);
		if (word)
			__atomic_store_n(word,
					 new_word(shunt_devices_key_of(device, i), flags, number),
					 __ATOMIC_RELEASE);
	}
}
