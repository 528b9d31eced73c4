// SPDX-License-Identifier: BSD-2-Clause
/* The host's own addresses: a filter that the program asks first, and the exact sets behind it. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

static int keys_add(int fd, const uint8_t *keys, unsigned cnt, size_t key_len)
{
	const uint8_t present = 1;

	for (unsigned i = 0; i < cnt; i++) {
		if (bpf_map_update_elem(fd, keys + i * key_len, &present, BPF_ANY))
			return -errno;
	}
	return 0;
}

static bool keys_have(const uint8_t *keys, unsigned cnt, size_t key_len, const uint8_t *key)
{
	for (unsigned i = 0; i < cnt; i++) {
		if (memcmp(keys + i * key_len, key, key_len) == 0)
			return true;
	}
	return false;
}

/* Gets the next key before it deletes one: else the deletion restarts the walk. */
static void keys_keep_only(int fd, const uint8_t *keys, unsigned cnt, size_t key_len)
{
	uint8_t key[16], next[16];
	bool has_key = bpf_map_get_next_key(fd, NULL, key) == 0;

	while (has_key) {
		has_key = bpf_map_get_next_key(fd, key, next) == 0;
		if (!keys_have(keys, cnt, key_len, key))
			bpf_map_delete_elem(fd, key);
		memcpy(key, next, key_len);
	}
}

static void filter_add(struct shunt_steer_half *half, uint32_t hash)
{
	half->filter[hash / 64] |= 1ULL << hash % 64;
}

static void filter_build(struct shunt_steer_half *half, const uint32_t *ip4_be, unsigned ip4_cnt,
			 const struct in6_addr *ip6, unsigned ip6_cnt)
{
	memset(half->filter, 0, sizeof(half->filter));
	for (unsigned i = 0; i < ip4_cnt; i++)
		filter_add(half, shunt_steer_hash4(ip4_be[i]));
	for (unsigned i = 0; i < ip6_cnt; i++) {
		uint64_t words[2];

		memcpy(words, &ip6[i], sizeof(words));
		filter_add(half, shunt_steer_hash6(words[0], words[1]));
	}
}

/* While the filter changes, the exact maps hold old and new addresses. So an address of both sets
 * is local all the time. */
int shunt_xdp_set_locals(struct shunt_xdp *x, const uint32_t *ip4_be, unsigned ip4_cnt,
			 const struct in6_addr *ip6, unsigned ip6_cnt, struct shunt_err *err)
{
	const uint8_t *keys4 = (const uint8_t *)ip4_be, *keys6 = (const uint8_t *)ip6;
	int rc;

	if (ip4_cnt > SHUNT_STEER_LOCALS_MAX || ip6_cnt > SHUNT_STEER_LOCALS_MAX)
		return shunt_err_set(
			err, E2BIG,
			"%s: %u IPv4 and %u IPv6 local addresses, expected at most %u of each",
			x->ifname, ip4_cnt, ip6_cnt, SHUNT_STEER_LOCALS_MAX);
	rc = keys_add(x->local4_fd, keys4, ip4_cnt, 4);
	rc = rc ?: keys_add(x->local6_fd, keys6, ip6_cnt, 16);
	if (rc)
		return shunt_err_set(err, -rc, "%s: bpf(BPF_MAP_UPDATE_ELEM, local addresses): %s",
				     x->ifname, strerror(-rc));
	filter_build(&x->shadow, ip4_be, ip4_cnt, ip6, ip6_cnt);
	if (x->is_configured)
		shunt_xdp_publish(x);
	keys_keep_only(x->local4_fd, keys4, ip4_cnt, 4);
	keys_keep_only(x->local6_fd, keys6, ip6_cnt, 16);
	return 0;
}
