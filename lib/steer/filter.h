/* SPDX-License-Identifier: BSD-2-Clause */
/* An ntuple filter: which queue of a NIC takes the frames that match, decided by the NIC before
 * anything else sees them (`ethtool -n`). As a configuration writes it:
 *
 *     ipv4 proto udp dport 4789 queue 1
 *     from 10.0.0.0/8 to 192.0.2.1 queue 0 location 3
 *     ethertype 0x88f7 queue 1
 *     src-mac 02:00:00:00:00:01 vlan-priority 5 queue 2
 *
 * The words from, to, proto, sport, dport, ethertype, ipv4 and ipv6 are those of a rule
 * (steer/rule.h). `queue` must be there. `location` is the place in the device's table, which
 * orders filters in some drivers; without it a free one is taken.
 *
 * Limits: single ports, no ranges; Ethernet fields or IP fields, not both; which of them a NIC can
 * compare only its driver knows; it refuses the others when the filter is set. */
#ifndef SHUNT_STEER_FILTER_H
#define SHUNT_STEER_FILTER_H

#include "steer/rule.h"

#define SHUNT_FILTER_MAX      32 /* filters of a port */
#define SHUNT_FILTER_TEXT_MAX 384
#define SHUNT_FILTER_ANY      (-1) /* location: whichever is free */

struct shunt_filter {
	struct shunt_rule match; /* its lane means nothing */
	bool has_src_mac, has_dst_mac, has_vlan, has_vlan_priority;
	uint8_t src_mac[6], dst_mac[6];
	uint16_t vlan; /* 0..4095 */
	uint8_t vlan_priority;
	uint32_t queue;
	int32_t location; /* or SHUNT_FILTER_ANY */
};

/* shunt_filter_parse reads one filter from text, words between blanks. Returns 0 and fills
 * *filter, or -EINVAL with a sentence that quotes the text. Thread: control. */
int shunt_filter_parse(const char *text, struct shunt_filter *filter, struct shunt_err *err);

/* shunt_filter_print writes the text from which shunt_filter_parse reads the same filter. Returns
 * the length without its zero, as snprintf does. Thread: any. */
int shunt_filter_print(const struct shunt_filter *filter, char *buf, size_t len);

/* shunt_filter_is_ip says whether it compares more of IP than the family. Thread: any. */
bool shunt_filter_is_ip(const struct shunt_filter *filter);

#endif
