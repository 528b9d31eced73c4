# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl capture, started and ended by a test, and what it wrote: pcapng, read by hand, so that a format
that only its writer understands does not pass."""
import dataclasses
import os
import signal
import struct
import subprocess

from shuntlab.lab import BIN, ENV

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
IN, OUT = 1, 2


@dataclasses.dataclass
class Packet:
    """A packet as captured, and what was said of it."""

    port: str
    time_ns: int
    length: int
    data: bytes
    direction: int
    queue: int = None
    verdict: int = None
    lane: str = None
    reason: str = None


def options(data):
    """{code: value} of a block's options."""
    found, at = {}, 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def packet(body, ports):
    number, high, low, cap_len, length = struct.unpack_from("<IIIII", body)
    said = options(body[20 + (cap_len + 3) // 4 * 4:])
    words = dict(word.split("=") for word in said[1].decode().split())
    return Packet(ports[number], high << 32 | low, length, body[20:20 + cap_len],
                  struct.unpack("<I", said[2])[0] & 3,
                  queue=struct.unpack("<I", said[6])[0] if 6 in said else None,
                  verdict=struct.unpack("<Q", said[7][1:])[0] if 7 in said else None, **words)


def blocks(data):
    """(type, body) of each block of a capture's bytes, which must be whole ones."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length, f"block at {at}"
        yield kind, data[at + 8:at + length - 4]
        at += length


def read(data):
    """(packets, {port: (received, lost)}) of a capture's bytes."""
    packets, ports, counts = [], [], {}
    for kind, body in blocks(data):
        if kind == SECTION:
            assert struct.unpack_from("<IHH", body) == (0x1A2B3C4D, 1, 0)
            ports = []
        elif kind == INTERFACE:
            assert struct.unpack_from("<H", body)[0] == 1  # Ethernet
            ports.append(options(body[8:])[2].decode())
        elif kind == PACKET:
            packets.append(packet(body, ports))
        elif kind == STATISTICS:
            said = options(body[12:])
            counts[ports[struct.unpack_from("<I", body)[0]]] = tuple(
                struct.unpack("<Q", said[code])[0] for code in (4, 5))
    return packets, counts


class Capture:
    """with Capture(daemon, "eth1", "udp", folder=tmp_path) as capture: ...
    Afterwards packets and counts are there, unless is_read is false, and said is what shuntctl told."""

    def __init__(self, daemon, *args, folder, check=True, is_read=True):
        self.path, self.check, self.is_read = os.path.join(folder, "capture.pcapng"), check, is_read
        self.process = subprocess.Popen(
            [os.path.join(BIN, "shuntctl"), "-s", daemon.control, "capture", "-w", self.path,
             *map(str, args)], stderr=subprocess.PIPE, text=True, env=ENV)
        self.said = self.process.stderr.readline()
        assert self.said.startswith("capturing"), self.said
        self.packets, self.counts = [], {}

    def stop(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.said = self.process.communicate(timeout=60)[1]
        if self.is_read:
            with open(self.path, "rb") as file:
                self.packets, self.counts = read(file.read())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop(signal.SIGKILL if kind else signal.SIGINT)
        assert kind or not self.check or self.process.returncode == 0, self.said

    def lost(self):
        return sum(lost for _, lost in self.counts.values())

    def of(self, port, direction, **said):
        """The packets of a port and direction of which that is said."""
        return [p for p in self.packets if (p.port, p.direction) == (port, direction)
                and all(getattr(p, key) == value for key, value in said.items())]
