# SPDX-License-Identifier: BSD-2-Clause
"""Frames that shunt-gen made, known by their tag, and what arrives of them."""
import struct


def tag_of(frame):
    """(magic, run, flow, sequence, time in ns modulo 2^36) of a UDP frame over IPv4 or IPv6."""
    at = 62 if frame[12:14] == b"\x86\xdd" else 42
    magic, run, word, low = struct.unpack("!IHQI", frame[at:at + 18])
    return magic, run, word >> 4 & 0xfffff, word >> 24, (word & 15) << 32 | low


def is_generated(frame):
    """By the place of the tag: behind UDP or TCP over IPv4 or IPv6."""
    return any(frame[at:at + 4] == b"shnt" for at in (42, 54, 62, 74))


def received(lab, host="sink", dev="eth1"):
    """Frames that a device got, by the kernel's count."""
    return lab.json(host, "ip", "-s", "-j", "link", "show", dev)[0]["stats64"]["rx"]["packets"]


def send(net, count, *options, wanted=is_generated):
    """The frames that arrive at the dut, and what the generator says."""
    wire = net.wire("dut", "eth1")
    sent = net.send("gen", "eth1", "--count", count, *options)
    frames = [wire.receive(wanted) for _ in range(count)]
    wire.close()
    assert None not in frames
    assert sent["sent"] == count
    return frames, sent


def capture(path, frames, times=None, link=1, wire_lens=None, cut=0, micros=None):
    """A capture file with microseconds; times in seconds."""
    data = struct.pack("=IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    for i, frame in enumerate(frames):
        at = times[i] if times else i / 1000
        data += struct.pack("=IIII", int(at), micros or round(at % 1 * 1e6), len(frame),
                            wire_lens[i] if wire_lens else len(frame)) + bytes(frame)
    path.write_bytes(data[:len(data) - cut] if cut else data)
    return path
