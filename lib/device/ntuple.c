// SPDX-License-Identifier: BSD-2-Clause
#include "device/ntuple.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>

#include "device/ethtool.h"
#include "device/features.h"

/* --- from a filter to what the driver is given ------------------------------------------------ */

static void mask_of(uint8_t *mask, const struct shunt_rule_prefix *prefix)
{
	unsigned i;

	for (i = 0; i < prefix->len; i++)
		mask[i / 8] |= 0x80 >> i % 8;
}

static void put_ports(const struct shunt_rule *m, struct ethtool_rx_flow_spec *spec)
{
	const bool is_4 = m->family == 4;
	__be16 *sport = is_4 ? &spec->h_u.tcp_ip4_spec.psrc : &spec->h_u.tcp_ip6_spec.psrc;
	__be16 *dport = is_4 ? &spec->h_u.tcp_ip4_spec.pdst : &spec->h_u.tcp_ip6_spec.pdst;
	__be16 *smask = is_4 ? &spec->m_u.tcp_ip4_spec.psrc : &spec->m_u.tcp_ip6_spec.psrc;
	__be16 *dmask = is_4 ? &spec->m_u.tcp_ip4_spec.pdst : &spec->m_u.tcp_ip6_spec.pdst;

	if (m->sport.min == m->sport.max) {
		*sport = htons(m->sport.min);
		*smask = 0xffff;
	}
	if (m->dport.min == m->dport.max) {
		*dport = htons(m->dport.min);
		*dmask = 0xffff;
	}
}

/* The families' specs begin with the source and then the destination, whatever the protocol. */
static void put_addresses(const struct shunt_rule *m, struct ethtool_rx_flow_spec *spec)
{
	const size_t len = m->family == 4 ? 4 : 16;

	memcpy(spec->h_u.hdata, m->src.addr, len);
	memcpy(spec->h_u.hdata + len, m->dst.addr, len);
	mask_of(spec->m_u.hdata, &m->src);
	mask_of(spec->m_u.hdata + len, &m->dst);
}

static void put_ip(const struct shunt_rule *m, struct ethtool_rx_flow_spec *spec)
{
	static const struct {
		uint8_t proto;
		uint32_t type[2];
	} flows[] = {
		{IPPROTO_TCP, {TCP_V4_FLOW, TCP_V6_FLOW}},
		{IPPROTO_UDP, {UDP_V4_FLOW, UDP_V6_FLOW}},
		{IPPROTO_SCTP, {SCTP_V4_FLOW, SCTP_V6_FLOW}},
	};
	const bool is_6 = m->family == 6;
	unsigned i;

	put_addresses(m, spec);
	for (i = 0; m->has_proto && i < 3; i++) {
		if (flows[i].proto != m->proto)
			continue;
		spec->flow_type = flows[i].type[is_6];
		put_ports(m, spec);
		return;
	}
	spec->flow_type = is_6 ? IPV6_USER_FLOW : IPV4_USER_FLOW;
	if (!is_6)
		spec->h_u.usr_ip4_spec.ip_ver = ETH_RX_NFC_IP4;
	if (m->has_proto && is_6) {
		spec->h_u.usr_ip6_spec.l4_proto = m->proto;
		spec->m_u.usr_ip6_spec.l4_proto = 0xff;
	} else if (m->has_proto) {
		spec->h_u.usr_ip4_spec.proto = m->proto;
		spec->m_u.usr_ip4_spec.proto = 0xff;
	}
}

static void put_ethernet(const struct shunt_filter *f, struct ethtool_rx_flow_spec *spec)
{
	struct ethhdr *value = &spec->h_u.ether_spec, *mask = &spec->m_u.ether_spec;

	spec->flow_type = ETHER_FLOW;
	if (f->has_src_mac) {
		memcpy(value->h_source, f->src_mac, 6);
		memset(mask->h_source, 0xff, 6);
	}
	if (f->has_dst_mac) {
		memcpy(value->h_dest, f->dst_mac, 6);
		memset(mask->h_dest, 0xff, 6);
	}
	if (f->match.has_ethertype || f->match.family) {
		value->h_proto = htons(f->match.has_ethertype ? f->match.ethertype
				       : f->match.family == 4 ? ETHERTYPE_IP
							      : ETHERTYPE_IPV6);
		mask->h_proto = 0xffff;
	}
}

static void make_spec(const struct shunt_filter *f, struct ethtool_rx_flow_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	if (shunt_filter_is_ip(f))
		put_ip(&f->match, spec);
	else
		put_ethernet(f, spec);
	if (f->has_vlan || f->has_vlan_priority) {
		spec->flow_type |= FLOW_EXT;
		spec->h_ext.vlan_tci = htons((uint16_t)(f->vlan_priority << 13 | f->vlan));
		spec->m_ext.vlan_tci = htons((uint16_t)((f->has_vlan_priority ? 7 << 13 : 0) |
							(f->has_vlan ? 0xfff : 0)));
	}
	spec->ring_cookie = f->queue;
	spec->location = (uint32_t)f->location;
}

/* Drivers give back what they compare; what is masked out may be anything. */
static bool is_same(const struct ethtool_rx_flow_spec *a, const struct ethtool_rx_flow_spec *b)
{
	size_t i;

	if (a->flow_type != b->flow_type || a->ring_cookie != b->ring_cookie ||
	    memcmp(a->m_u.hdata, b->m_u.hdata, sizeof(a->m_u.hdata)) != 0 ||
	    a->m_ext.vlan_tci != b->m_ext.vlan_tci ||
	    (a->h_ext.vlan_tci ^ b->h_ext.vlan_tci) & a->m_ext.vlan_tci)
		return false;
	for (i = 0; i < sizeof(a->h_u.hdata); i++)
		if ((a->h_u.hdata[i] ^ b->h_u.hdata[i]) & a->m_u.hdata[i])
			return false;
	return true;
}

/* --- the device's table ----------------------------------------------------------------------- */

static int list(int fd, const char *ifname, uint32_t cnt, struct shunt_ntuple *out)
{
	struct ethtool_rxnfc *all = calloc(1, sizeof(*all) + cnt * sizeof(uint32_t));
	int ret;

	if (!all)
		return -ENOMEM;
	all->cmd = ETHTOOL_GRXCLSRLALL;
	all->rule_cnt = cnt;
	ret = shunt_ethtool(fd, ifname, all);
	if (!ret) {
		out->size = (uint32_t)(all->data & ~(uint64_t)RX_CLS_LOC_SPECIAL);
		out->cnt = all->rule_cnt < cnt ? all->rule_cnt : cnt;
		memcpy(out->at, all->rule_locs, out->cnt * sizeof(uint32_t));
	}
	free(all);
	return ret;
}

/* A driver may list none and take none: igb has filters from i210 on. */
static void take_switch(const char *name, bool is_on, bool can_change, void *data)
{
	if (!strcmp(name, "rx-ntuple-filter"))
		*(bool *)data = is_on || can_change;
}

int shunt_ntuple_read(int fd, const char *ifname, struct shunt_ntuple *out)
{
	struct ethtool_rxnfc ask = {.cmd = ETHTOOL_GRXCLSRLCNT};
	bool has_switch = false;
	int ret = shunt_features_each(fd, ifname, take_switch, &has_switch);

	out->size = out->cnt = 0;
	if (ret || !has_switch)
		return ret ? ret : -EOPNOTSUPP;
	ret = shunt_ethtool(fd, ifname, &ask);
	if (ret)
		return ret == -EINVAL ? -EOPNOTSUPP : ret;
	if (ask.rule_cnt > SHUNT_NTUPLE_MAX)
		return -E2BIG;
	ret = list(fd, ifname, ask.rule_cnt, out);
	if (!ret && !out->size && !(ask.data & RX_CLS_LOC_SPECIAL))
		out->size = (uint32_t)ask.data;
	return ret || out->size ? ret : -EOPNOTSUPP;
}

static int look(int fd, const char *ifname, uint32_t location, const struct shunt_filter *filter)
{
	struct ethtool_rxnfc ask = {.cmd = ETHTOOL_GRXCLSRULE, .fs.location = location};
	struct ethtool_rx_flow_spec wanted;

	make_spec(filter, &wanted);
	if (shunt_ethtool(fd, ifname, &ask) || !is_same(&ask.fs, &wanted))
		return -ENOENT;
	return (int)location;
}

int shunt_ntuple_find(int fd, const char *ifname, const struct shunt_ntuple *table,
		      const struct shunt_filter *filter)
{
	uint32_t i;
	int ret = -ENOENT;

	for (i = 0; i < table->cnt && ret < 0; i++)
		if (filter->location == SHUNT_FILTER_ANY ||
		    (uint32_t)filter->location == table->at[i])
			ret = look(fd, ifname, table->at[i], filter);
	return ret;
}

static bool is_taken(const struct shunt_ntuple *table, uint32_t location)
{
	uint32_t i;

	for (i = 0; i < table->cnt; i++)
		if (table->at[i] == location)
			return true;
	return false;
}

int shunt_ntuple_free(const struct shunt_ntuple *table)
{
	uint32_t location = table->size;

	while (location > 0)
		if (!is_taken(table, --location))
			return (int)location;
	return -ENOSPC;
}

void shunt_ntuple_take(struct shunt_ntuple *table, uint32_t location)
{
	if (table->cnt < SHUNT_NTUPLE_MAX)
		table->at[table->cnt++] = location;
}

int shunt_ntuple_add(int fd, const char *ifname, const struct shunt_filter *filter)
{
	struct ethtool_rxnfc set = {.cmd = ETHTOOL_SRXCLSRLINS};

	make_spec(filter, &set.fs);
	return shunt_ethtool(fd, ifname, &set);
}

int shunt_ntuple_del(int fd, const char *ifname, uint32_t location)
{
	struct ethtool_rxnfc set = {.cmd = ETHTOOL_SRXCLSRLDEL, .fs.location = location};

	return shunt_ethtool(fd, ifname, &set);
}

static int get_flags(int fd, const char *ifname, uint32_t *flags)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GFLAGS};
	int ret = shunt_ethtool(fd, ifname, &value);

	*flags = ret ? 0 : value.data;
	return ret;
}

bool shunt_ntuple_is_on(int fd, const char *ifname)
{
	uint32_t flags;

	return !get_flags(fd, ifname, &flags) && flags & ETH_FLAG_NTUPLE;
}

int shunt_ntuple_turn(int fd, const char *ifname, bool is_on)
{
	struct ethtool_value value = {.cmd = ETHTOOL_SFLAGS};
	int ret = get_flags(fd, ifname, &value.data);

	value.data = is_on ? value.data | ETH_FLAG_NTUPLE : value.data & ~(uint32_t)ETH_FLAG_NTUPLE;
	return ret ? ret : shunt_ethtool(fd, ifname, &value);
}
