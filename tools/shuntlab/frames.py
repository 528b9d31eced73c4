# SPDX-License-Identifier: BSD-2-Clause
"""Frames as bytes, between the addresses that tools/lab gives, and what a router makes of them.

Written out by hand on purpose: neither shunt's nor the kernel's code judges itself here.
"""
import ipaddress
import struct

GEN = "02:00:00:00:01:02"
DUT1 = "02:00:00:00:01:01"
DUT2 = "02:00:00:00:02:01"
SINK = "02:00:00:00:02:02"
MAX = 1514


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(payload, dst=DUT1, src=GEN, ethertype=0x0800, size=60):
    """A frame, padded with zeros to size."""
    return (mac(dst) + mac(src) + struct.pack("!H", ethertype) + payload).ljust(size, b"\0")


def ip4(payload, src="10.0.1.2", dst="10.0.2.2", ttl=64, proto=17, options=b"", ident=0,
        fragment=0x4000, tos=0):
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, tos,
                       20 + len(options) + len(payload), ident, fragment, ttl, proto, 0,
                       ipaddress.IPv4Address(src).packed, ipaddress.IPv4Address(dst).packed)
    head += options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ip6(payload, src="fd00:1::2", dst="fd00:2::2", hops=64, proto=17, flow=0):
    return struct.pack("!IHBB", 6 << 28 | flow, len(payload), proto, hops) + \
        ipaddress.IPv6Address(src).packed + ipaddress.IPv6Address(dst).packed + payload


def udp(data, src, dst, sport=4000, dport=4001):
    """A UDP datagram with its checksum, over IPv4 or IPv6 addresses."""
    source, target = (ipaddress.ip_address(address).packed for address in (src, dst))
    head = struct.pack("!HHHH", sport, dport, 8 + len(data), 0)
    total = checksum(source + target + struct.pack("!HH", 17, 8 + len(data)) + head + data)
    return head[:6] + struct.pack("!H", total or 0xffff) + data


def udp4(size=60, data=None, src="10.0.1.2", dst="10.0.2.2", sport=4000, dport=4001,
         eth_dst=DUT1, eth_src=GEN, **ip):
    """An Ethernet frame of that size with a UDP datagram in IPv4 that fills it."""
    if data is None:
        data = bytes(i & 0xff for i in range(max(0, size - 42 - len(ip.get("options", b"")))))
    return ethernet(ip4(udp(data, src, dst, sport, dport), src, dst, **ip), eth_dst, eth_src,
                    size=size)


def udp6(size=80, data=None, src="fd00:1::2", dst="fd00:2::2", sport=4000, dport=4001,
         eth_dst=DUT1, eth_src=GEN, **ip):
    if data is None:
        data = bytes(i & 0xff for i in range(max(0, size - 62)))
    return ethernet(ip6(udp(data, src, dst, sport, dport), src, dst, **ip), eth_dst, eth_src,
                    0x86dd, size=size)


def back(frame):
    """The same frame from sink to gen: addresses, ports and MACs turned round."""
    v6 = frame[12:14] == b"\x86\xdd"
    at, length = (22, 16) if v6 else (26, 4)
    src, dst = frame[at:at + length], frame[at + length:at + 2 * length]
    after = at + 2 * length
    if not v6:
        options = frame[after:14 + (frame[14] & 15) * 4]
        src, after = src + options, after + len(options)
    return mac(DUT2) + mac(SINK) + frame[12:at] + dst + src + \
        frame[after + 2:after + 4] + frame[after:after + 2] + frame[after + 4:]


def rewritten(frame, eth_dst=SINK, eth_src=DUT2):
    """The frame with new MAC addresses and nothing else changed."""
    return mac(eth_dst) + mac(eth_src) + frame[12:]


def routed(frame, eth_dst=SINK, eth_src=DUT2):
    """What a router makes of an IPv4 or IPv6 frame: TTL or hop limit less one, the IPv4 checksum
    computed anew, new MAC addresses. (The kernel leaves off what pads a frame whose IP length is
    shorter; on a wire it is padded again. Give it frames that their IP packet fills.)"""
    frame = bytearray(rewritten(frame, eth_dst, eth_src))
    if frame[12:14] == b"\x86\xdd":
        frame[21] -= 1
        return bytes(frame)
    end = 14 + (frame[14] & 15) * 4
    frame[22] -= 1
    frame[24:26] = b"\0\0"
    frame[24:26] = struct.pack("!H", checksum(bytes(frame[14:end])))
    return bytes(frame)
