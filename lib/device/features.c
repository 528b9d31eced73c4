// SPDX-License-Identifier: BSD-2-Clause
#include "device/features.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/ethtool.h"

static unsigned feature_cnt(int fd, const char *ifname)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t len;
	} sset = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};

	return shunt_ethtool(fd, ifname, &sset) || !sset.info.sset_mask ? 0 : sset.len;
}

static const char *name_of(const struct ethtool_gstrings *names, unsigned i)
{
	return (const char *)names->data + i * ETH_GSTRING_LEN;
}

/* Returns 0 with *out the caller's to free, or -errno. */
static int read_names(int fd, const char *ifname, struct ethtool_gstrings **out)
{
	const unsigned cnt = feature_cnt(fd, ifname);
	int ret;

	*out = cnt ? calloc(1, sizeof(**out) + cnt * ETH_GSTRING_LEN) : NULL;
	if (!*out)
		return cnt ? -ENOMEM : -EOPNOTSUPP;
	**out = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = cnt};
	ret = shunt_ethtool(fd, ifname, *out);
	if (!ret)
		return 0;
	free(*out);
	*out = NULL;
	return ret;
}

int shunt_features_each(int fd, const char *ifname, shunt_features_fn *fn, void *data)
{
	struct ethtool_gfeatures *values = NULL;
	struct ethtool_gstrings *names;
	int ret = read_names(fd, ifname, &names);
	unsigned blocks, i;

	if (ret)
		return ret;
	blocks = (names->len + 31) / 32;
	values = calloc(1, sizeof(*values) + blocks * sizeof(values->features[0]));
	ret = -ENOMEM;
	if (!values)
		goto out;
	*values = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
	ret = shunt_ethtool(fd, ifname, values);
	for (i = 0; !ret && i < names->len; i++) {
		const struct ethtool_get_features_block *b = &values->features[i / 32];

		fn(name_of(names, i), b->active >> i % 32 & 1,
		   b->available & ~b->never_changed & 1u << i % 32, data);
	}
out:
	free(names);
	free(values);
	return ret;
}

int shunt_features_turn(int fd, const char *ifname, const char *name, bool is_on)
{
	struct ethtool_sfeatures *wanted = NULL;
	struct ethtool_gstrings *names;
	int ret = read_names(fd, ifname, &names);
	unsigned blocks, i = 0;

	if (ret)
		return ret;
	while (i < names->len && strncmp(name_of(names, i), name, ETH_GSTRING_LEN) != 0)
		i++;
	blocks = (names->len + 31) / 32;
	wanted = calloc(1, sizeof(*wanted) + blocks * sizeof(wanted->features[0]));
	ret = i == names->len ? -ENOENT : -ENOMEM;
	if (i == names->len || !wanted)
		goto out;
	*wanted = (struct ethtool_sfeatures){.cmd = ETHTOOL_SFEATURES, .size = blocks};
	wanted->features[i / 32] = (struct ethtool_set_features_block){
		.valid = 1u << i % 32, .requested = is_on ? 1u << i % 32 : 0};
	ret = shunt_ethtool(fd, ifname, wanted);
out:
	free(names);
	free(wanted);
	return ret;
}
