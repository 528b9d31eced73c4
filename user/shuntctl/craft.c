// SPDX-License-Identifier: BSD-2-Clause
#include "craft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "steer/names.h"

#define PAYLOAD 18 /* so that the shortest frame is as long as Ethernet wants it */

/* --- digits, captures ------------------------------------------------------------------------- */

static int from_hex(struct craft *out, const char *text, struct shunt_err *err)
{
	const size_t len = strlen(text) / 2;
	size_t read;

	if (!*text || text[strspn(text, "0123456789abcdefABCDEF")])
		return shunt_err_set(err, EINVAL,
				     "'%.60s' is no packet, expected one such as `udp 10.0.0.1:5 > "
				     "10.1.0.1:53`, hexadecimal digits, or FILE:N with N from 1",
				     text);
	if (strlen(text) % 2 || len < ETH_HLEN || len > CRAFT_MAX)
		return shunt_err_set(
			err, EINVAL,
			"a packet of %zu bytes in hexadecimal digits, expected %u to %u", len,
			ETH_HLEN, CRAFT_MAX);
	read = shunt_hex_read(out->bytes, text, len);
	if (read < len)
		return shunt_err_set(err, EINVAL, "byte %zu is no hexadecimal number", read);
	out->len = (uint32_t)len;
	return 0;
}

static int from_capture(struct craft *out, const char *file, unsigned long number,
			struct shunt_err *err)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap = pcap_open_offline(file, why);
	struct pcap_pkthdr *head = NULL;
	const u_char *bytes = NULL;
	unsigned long i;
	int ret = pcap ? 1 : -1;

	for (i = 0; i < number && ret == 1; i++)
		ret = pcap_next_ex(pcap, &head, &bytes);
	if (!pcap)
		ret = shunt_err_set(err, EINVAL, "%s: cannot be read as a capture: %s", file, why);
	else if (pcap_datalink(pcap) != DLT_EN10MB)
		ret = shunt_err_set(err, EINVAL, "%s: no capture of Ethernet", file);
	else if (ret != 1 || !head)
		ret = shunt_err_set(err, ENOENT, "%s: it has %lu packets, and number %lu is wanted",
				    file, i - 1, number);
	else if (head->caplen < head->len || head->len > CRAFT_MAX || head->len < ETH_HLEN)
		ret = shunt_err_set(err, EINVAL,
				    "%s: packet %lu has %u of %u bytes, expected all of %u to %u",
				    file, number, head->caplen, head->len, ETH_HLEN, CRAFT_MAX);
	else {
		memcpy(out->bytes, bytes, head->len);
		out->len = head->len;
		ret = 0;
	}
	if (pcap)
		pcap_close(pcap);
	return ret;
}

/* --- a description ---------------------------------------------------------------------------- */

struct end {
	uint8_t addr[16];
	uint16_t port;
	bool has_port, is6;
};

/* 10.0.0.1, 10.0.0.1:5, fd00::1, [fd00::1]:5 */
static int parse_end(struct end *out, const char *text, struct shunt_err *err)
{
	char addr[INET6_ADDRSTRLEN + 2];
	const char *close = strrchr(text, ']'), *colon = strrchr(text, ':');
	const bool is_bracketed = *text == '[' && close;
	unsigned long port = 0;
	char *end = "";
	size_t len;

	memset(out, 0, sizeof(*out));
	out->is6 = is_bracketed || (colon && strchr(text, ':') != colon);
	if (out->is6 && !is_bracketed)
		colon = NULL;
	if (is_bracketed && colon < close)
		colon = NULL;
	len = (size_t)((is_bracketed ? close
			: colon	     ? colon
				     : text + strlen(text)) -
		       text - is_bracketed);
	if (len >= sizeof(addr))
		len = sizeof(addr) - 1;
	memcpy(addr, text + is_bracketed, len);
	addr[len] = 0;
	out->has_port = colon;
	if (colon)
		port = strtoul(colon + 1, &end, 10);
	out->port = (uint16_t)port;
	if (inet_pton(out->is6 ? AF_INET6 : AF_INET, addr, out->addr) == 1 && !*end &&
	    port <= UINT16_MAX && (!colon || colon[1]))
		return 0;
	return shunt_err_set(err, EINVAL,
			     "'%s' is no address, expected such as 10.0.0.1:5 or [fd00::1]:5",
			     text);
}

/* By the names of rules; icmp is that of the addresses' family. */
static int parse_proto(const char *text, bool is6)
{
	unsigned proto = IPPROTO_ICMPV6;

	if (!(is6 && !strcmp(text, "icmp")) && shunt_proto_parse(text, &proto))
		return -EINVAL;
	return (int)proto;
}

static bool has_ports(int proto)
{
	return proto == IPPROTO_UDP || proto == IPPROTO_TCP || proto == IPPROTO_SCTP;
}

static uint32_t add(uint32_t sum, const uint8_t *at, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
	return sum;
}

static uint16_t finish(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Behind the IP header; returns its length. Of SCTP's checksum there is none. */
static uint32_t put_l4(uint8_t *at, int proto, const struct end *src, const struct end *dst)
{
	const uint32_t head = proto == IPPROTO_TCP    ? 20
			      : proto == IPPROTO_SCTP ? 12
						      : 8,
		       len = head + PAYLOAD;
	uint32_t addr_len = src->is6 ? 16 : 4, sum, csum_at;

	memset(at, 0, len);
	if (has_ports(proto)) {
		put16(at, src->port);
		put16(at + 2, dst->port);
	}
	switch (proto) {
	case IPPROTO_UDP:
		put16(at + 4, len);
		csum_at = 6;
		break;
	case IPPROTO_TCP:
		put16(at + 12, 0x5010); /* 20 bytes, ACK */
		put16(at + 14, 0xffff); /* window */
		csum_at = 16;
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		at[0] = proto == IPPROTO_ICMP ? 8 : 128; /* echo */
		csum_at = 2;
		break;
	default:
		return len;
	}
	sum = add(0, at, len);
	if (proto != IPPROTO_ICMP) {
		sum = add(add(sum, src->addr, addr_len), dst->addr, addr_len);
		sum += (uint32_t)proto + len;
	}
	put16(at + csum_at, finish(sum));
	return len;
}

static void put_frame(struct craft *out, int proto, const struct end *src, const struct end *dst,
		      const struct craft_opts *opts)
{
	uint8_t *eth = out->bytes, *ip = eth + ETH_HLEN;
	const uint32_t ip_len = src->is6 ? 40 : 20;
	const uint32_t len = put_l4(ip + ip_len, proto, src, dst);

	memcpy(eth, opts->eth_dst, 6);
	memcpy(eth + 6, opts->eth_src, 6);
	put16(eth + 12, src->is6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	memset(ip, 0, ip_len);
	if (src->is6) {
		ip[0] = 0x60;
		put16(ip + 4, len);
		ip[6] = (uint8_t)proto;
		ip[7] = opts->ttl;
		memcpy(ip + 8, src->addr, 16);
		memcpy(ip + 24, dst->addr, 16);
	} else {
		ip[0] = 0x45;
		put16(ip + 2, ip_len + len);
		ip[6] = 0x40; /* may not be fragmented */
		ip[8] = opts->ttl;
		ip[9] = (uint8_t)proto;
		memcpy(ip + 12, src->addr, 4);
		memcpy(ip + 16, dst->addr, 4);
		put16(ip + 10, finish(add(0, ip, ip_len)));
	}
	out->len = ETH_HLEN + ip_len + len;
}

static int describe(struct craft *out, char **words, const struct craft_opts *opts,
		    struct shunt_err *err)
{
	struct end src, dst;
	int proto, ret = parse_end(&src, words[1], err);

	if (!ret)
		ret = parse_end(&dst, words[3], err);
	if (ret)
		return ret;
	proto = parse_proto(words[0], src.is6);
	if (proto < 0)
		return shunt_err_set(err, EINVAL,
				     "protocol '%s', expected a name such as tcp, udp, sctp, icmp, "
				     "esp or a number below 256",
				     words[0]);
	if (src.is6 != dst.is6)
		return shunt_err_set(err, EINVAL, "'%s' and '%s' are of two families", words[1],
				     words[3]);
	if ((src.has_port || dst.has_port) && !has_ports(proto))
		return shunt_err_set(err, EINVAL, "'%s' has no ports", words[0]);
	put_frame(out, proto, &src, &dst, opts);
	return 0;
}

int craft_packet(struct craft *out, char **words, int cnt, const struct craft_opts *opts,
		 struct shunt_err *err)
{
	char file[4096], *colon;
	unsigned long number;
	char *end;

	memset(out, 0, sizeof(*out));
	if (cnt == 4 && !strcmp(words[2], ">"))
		return describe(out, words, opts, err);
	if (cnt != 1)
		return shunt_err_set(
			err, EINVAL,
			"a packet is such as `udp 10.0.0.1:5 > 10.1.0.1:53` (in quotes, or "
			"with the > quoted), hexadecimal digits, or FILE:N");
	if (opts->is_asked)
		return shunt_err_set(err, EINVAL,
				     "--ttl, --to and --from are for a packet that is described; "
				     "'%.60s' has its own",
				     words[0]);
	snprintf(file, sizeof(file), "%s", words[0]);
	colon = strrchr(file, ':');
	number = colon ? strtoul(colon + 1, &end, 10) : 0;
	if (!colon || *end || !number)
		return from_hex(out, words[0], err);
	*colon = 0;
	return from_capture(out, file, number, err);
}
