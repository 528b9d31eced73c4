// SPDX-License-Identifier: BSD-2-Clause
#include "io/features.h"

#include <stdint.h>
#include <stdlib.h>

#include "io/ethtool.h"

static unsigned feature_cnt(int fd, const char *ifname)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t len;
	} sset = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};

	return shunt_ethtool(fd, ifname, &sset) || !sset.info.sset_mask ? 0 : sset.len;
}

int shunt_features_each(int fd, const char *ifname, shunt_features_fn *fn, void *data)
{
	unsigned cnt = feature_cnt(fd, ifname), blocks = (cnt + 31) / 32, i;
	struct ethtool_gstrings *names;
	struct ethtool_gfeatures *values;
	int ret = cnt ? -ENOMEM : -EOPNOTSUPP;

	names = calloc(1, sizeof(*names) + cnt * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + blocks * sizeof(values->features[0]));
	if (!cnt || !names || !values)
		goto out;
	*names = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = cnt};
	*values = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES, .size = blocks};
	ret = shunt_ethtool(fd, ifname, names);
	if (!ret)
		ret = shunt_ethtool(fd, ifname, values);
	for (i = 0; !ret && i < cnt; i++) {
		const struct ethtool_get_features_block *b = &values->features[i / 32];

		fn((const char *)names->data + i * ETH_GSTRING_LEN, b->active >> i % 32 & 1,
		   b->available & ~b->never_changed & 1u << i % 32, data);
	}
out:
	free(names);
	free(values);
	return ret;
}
