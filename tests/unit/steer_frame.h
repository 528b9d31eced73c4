/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames for the steering tests. */
#ifndef SHUNT_TESTS_STEER_FRAME_H
#define SHUNT_TESTS_STEER_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 512

struct frame {
	uint8_t data[FRAME_MAX];
	size_t len;
};

/* What the host of the tests looks like. */
#define FRAME_OWN_MAC	"\x02\x00\x00\x00\x00\x01"
#define FRAME_PEER_MAC	"\x02\x00\x00\x00\x00\x02"
#define FRAME_THIRD_MAC "\x02\x00\x00\x00\x00\x03"

/* frame_eth starts a frame: both addresses and the type. */
void frame_eth(struct frame *f, const char *dst, const char *src, uint16_t type);

/* frame_put appends bytes, frame_put16 a number in network order. */
void frame_put(struct frame *f, const void *bytes, size_t len);
void frame_put16(struct frame *f, uint16_t n);

/* frame_ipv4 appends a header without options whose total length counts
 * payload_len bytes behind it; addresses as text. */
void frame_ipv4(struct frame *f, const char *src, const char *dst, uint8_t ttl, uint8_t proto,
		size_t payload_len);
void frame_ipv6(struct frame *f, const char *src, const char *dst, uint8_t hop_limit,
		uint8_t nexthdr, size_t payload_len);

/* frame_ports appends the first eight bytes of TCP, UDP or SCTP. */
void frame_ports(struct frame *f, uint16_t sport, uint16_t dport);

/* frame_good4 and frame_good6 make UDP in transit that is good in every respect,
 * for the port's own MAC address; frame_udp4 and frame_udp6 between two addresses. */
void frame_good4(struct frame *f);
void frame_good6(struct frame *f);
void frame_udp4(struct frame *f, const char *src, const char *dst);
void frame_udp6(struct frame *f, const char *src, const char *dst);

/* frame_arp and frame_solicit ask dst_mac for an address. */
void frame_arp(struct frame *f, const char *dst_mac, const char *target);
void frame_solicit(struct frame *f, const char *dst_mac, const char *target);

#endif
