// SPDX-License-Identifier: BSD-2-Clause
#include "steer_frame.h"

#include <arpa/inet.h>
#include <string.h>

void frame_put(struct frame *f, const void *bytes, size_t len)
{
	memcpy(f->data + f->len, bytes, len);
	f->len += len;
}

void frame_put16(struct frame *f, uint16_t n)
{
	frame_put(f, (uint8_t[]){n >> 8, n & 0xff}, 2);
}

void frame_eth(struct frame *f, const char *dst, const char *src, uint16_t type)
{
	memset(f, 0, sizeof(*f));
	frame_put(f, dst, 6);
	frame_put(f, src, 6);
	frame_put16(f, type);
}

void frame_ipv4(struct frame *f, const char *src, const char *dst, uint8_t ttl, uint8_t proto,
		size_t payload_len)
{
	uint8_t addr[4];

	frame_put(f, "\x45\0", 2);
	frame_put16(f, 20 + payload_len);
	frame_put(f, "\0\0\0\0", 4);
	frame_put(f, (uint8_t[]){ttl, proto, 0, 0}, 4);
	inet_pton(AF_INET, src, addr);
	frame_put(f, addr, 4);
	inet_pton(AF_INET, dst, addr);
	frame_put(f, addr, 4);
}

void frame_ipv6(struct frame *f, const char *src, const char *dst, uint8_t hop_limit,
		uint8_t nexthdr, size_t payload_len)
{
	uint8_t addr[16];

	frame_put(f, "\x60\0\0\0", 4);
	frame_put16(f, payload_len);
	frame_put(f, (uint8_t[]){nexthdr, hop_limit}, 2);
	inet_pton(AF_INET6, src, addr);
	frame_put(f, addr, 16);
	inet_pton(AF_INET6, dst, addr);
	frame_put(f, addr, 16);
}

void frame_ports(struct frame *f, uint16_t sport, uint16_t dport)
{
	frame_put16(f, sport);
	frame_put16(f, dport);
	frame_put(f, "\0\x08\0\0", 4);
}

void frame_good4(struct frame *f)
{
	frame_eth(f, FRAME_OWN_MAC, FRAME_PEER_MAC, 0x0800);
	frame_ipv4(f, "198.51.100.1", "203.0.113.9", 64, 17, 26);
	frame_ports(f, 1000, 53);
	f->len = 60;
}

void frame_good6(struct frame *f)
{
	frame_eth(f, FRAME_OWN_MAC, FRAME_PEER_MAC, 0x86dd);
	frame_ipv6(f, "2001:db8:1::1", "2001:db8:2::9", 64, 17, 8);
	frame_ports(f, 1000, 53);
}

void frame_udp4(struct frame *f, const char *src, const char *dst)
{
	frame_eth(f, FRAME_OWN_MAC, FRAME_PEER_MAC, 0x0800);
	frame_ipv4(f, src, dst, 64, 17, 8);
	frame_ports(f, 1, 2);
}

void frame_udp6(struct frame *f, const char *src, const char *dst)
{
	frame_eth(f, FRAME_OWN_MAC, FRAME_PEER_MAC, 0x86dd);
	frame_ipv6(f, src, dst, 64, 17, 8);
	frame_ports(f, 1, 2);
}

void frame_arp(struct frame *f, const char *dst_mac, const char *target)
{
	uint8_t addr[4];

	frame_eth(f, dst_mac, FRAME_PEER_MAC, 0x0806);
	frame_put(f, "\0\x01\x08\0\x06\x04\0\x01", 8);
	frame_put(f,
		  FRAME_PEER_MAC "\xc6\x33\x64\x01"
				 "\0\0\0\0\0\0",
		  16);
	inet_pton(AF_INET, target, addr);
	frame_put(f, addr, 4);
}

void frame_solicit(struct frame *f, const char *dst_mac, const char *target)
{
	uint8_t addr[16];

	frame_eth(f, dst_mac, FRAME_PEER_MAC, 0x86dd);
	frame_ipv6(f, "fe80::2", "ff02::1:ff00:1", 255, 58, 24);
	frame_put(f, "\x87\0\0\0\0\0\0\0", 8);
	inet_pton(AF_INET6, target, addr);
	frame_put(f, addr, 16);
}
