// SPDX-License-Identifier: BSD-2-Clause
#include "device/rss.h"

#include <stdlib.h>
#include <string.h>

#include "device/ethtool.h"

static struct ethtool_rxfh_indir *make(uint32_t cmd, uint32_t cnt)
{
	struct ethtool_rxfh_indir *table = calloc(1, sizeof(*table) + cnt * sizeof(uint32_t));

	if (table) {
		table->cmd = cmd;
		table->size = cnt;
	}
	return table;
}

int shunt_rss_read(int fd, const char *ifname, struct shunt_rss *out)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR}, *table;
	int ret = shunt_ethtool(fd, ifname, &ask);

	if (ret)
		return ret;
	if (!ask.size || ask.size > SHUNT_RSS_MAX)
		return ask.size ? -E2BIG : -EOPNOTSUPP;
	table = make(ETHTOOL_GRXFHINDIR, ask.size);
	if (!table)
		return -ENOMEM;
	ret = shunt_ethtool(fd, ifname, table);
	out->cnt = ask.size;
	memcpy(out->queue, table->ring_index, ask.size * sizeof(uint32_t));
	free(table);
	return ret;
}

int shunt_rss_write(int fd, const char *ifname, const struct shunt_rss *rss)
{
	struct ethtool_rxfh_indir *table = make(ETHTOOL_SRXFHINDIR, rss->cnt);
	int ret;

	if (!table)
		return -ENOMEM;
	memcpy(table->ring_index, rss->queue, rss->cnt * sizeof(uint32_t));
	ret = shunt_ethtool(fd, ifname, table);
	free(table);
	return ret;
}

bool shunt_rss_is_default(int fd, const char *ifname, const struct shunt_rss *rss)
{
	struct ethtool_rxnfc rings = {.cmd = ETHTOOL_GRXRINGS};

	return !shunt_ethtool(fd, ifname, &rings) && rings.data &&
	       shunt_rss_is_spread(rss, (uint32_t)rings.data);
}

int shunt_rss_reset(int fd, const char *ifname)
{
	struct ethtool_rxfh_indir none = {.cmd = ETHTOOL_SRXFHINDIR};

	return shunt_ethtool(fd, ifname, &none);
}

void shunt_rss_spread(struct shunt_rss *rss, uint32_t cnt, uint32_t queues)
{
	uint32_t i;

	rss->cnt = cnt;
	for (i = 0; i < cnt; i++)
		rss->queue[i] = i % queues;
}

bool shunt_rss_is_spread(const struct shunt_rss *rss, uint32_t queues)
{
	uint32_t i;

	for (i = 0; i < rss->cnt; i++)
		if (rss->queue[i] != i % queues)
			return false;
	return true;
}
