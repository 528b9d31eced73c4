/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in rules, and the names that rules have for some of them: IP protocols (IANA, Protocol
 * Numbers) and ethertypes (IEEE registration authority). All functions: thread any. */
#ifndef SHUNT_STEER_NAMES_H
#define SHUNT_STEER_NAMES_H

/* shunt_number_parse reads a number of digits, or of 0x and hexadecimal digits, from 0 to max.
 * Returns 0, or -EINVAL and leaves *out: no digit first, anything behind, or more than max. */
int shunt_number_parse(const char *text, unsigned max, unsigned *out);

/* shunt_proto_parse reads an IP protocol: tcp, udp, sctp, icmp, icmpv6, igmp, gre, esp, ah, ospf,
 * pim, vrrp, or a number below 256. Returns 0, or -EINVAL and leaves *out. */
int shunt_proto_parse(const char *text, unsigned *out);

/* shunt_proto_name returns the name that shunt_proto_parse reads, or NULL where it has none. */
const char *shunt_proto_name(unsigned proto);

/* shunt_ethertype_parse reads an ethertype in host order: arp, lldp, eapol, slow, mpls,
 * pppoe-discovery, pppoe, ptp, or a number below 65536. Returns 0, or -EINVAL and leaves *out. */
int shunt_ethertype_parse(const char *text, unsigned *out);

#endif
