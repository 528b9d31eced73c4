# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's bridge and `shuntd bridge` given the same frames; what leaves on every port compared
byte by byte. Run by `tools/parity --bridge`.

Two equal labs, each a host dut with three ports and a host gen at their far ends. In rounds:
stations speak up, some on another port than before, until both know where they are; then frames
among them, to unknown ones, to groups, to the bridge and its ports, to what never leaves a link,
tagged or not, from 14 bytes to the most that a veth takes, from the seed."""
import argparse
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from wire import Wire  # noqa: E402 pylint: disable=wrong-import-position

BIN = os.path.join(TOP, os.environ.get("B", "build"), "bin")
LAB = os.path.join(TOP, "tools", "lab")
PORTS = (1, 2, 3)
ROUND = 200  # frames between two moves
STATIONS = [bytes([0x02, 0, 0, 0, 0x40, i]) for i in range(12)]
UNKNOWN = bytes([0x02, 0, 0, 0, 0x50, 0])
NOBODY = bytes([0x02, 0, 0, 0, 0x60, 0])
BRIDGE = bytes([0x02, 0, 0, 0, 0xBB, 0])
MTU = 1500
PATIENCE_S = 30


def sh(*cmd, **options):
    return subprocess.run(cmd, check=True, capture_output=True, text=True, timeout=60, **options)


def port_mac(port):
    return bytes([0x02, 0, 0, 0, port, 1])


class Side:
    """One of the two labs."""

    def __init__(self, name, has_bridge):
        self.name, self.dut, self.gen = name, f"shunt-{name}-dut", f"shunt-{name}-gen"
        sh(LAB, "up", "--name", name, "--hosts", "2")
        sh("ip", "-n", self.dut, "link", "add", "eth3", "type", "veth", "peer", "name", "eth3",
           "netns", self.gen)
        sh("ip", "-n", self.dut, "link", "set", "eth3", "address", port_mac(3).hex(":"))
        for netns in self.dut, self.gen:
            sh("ip", "netns", "exec", netns, "sh", "-ec", """
                echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
                for file in /proc/sys/net/bridge/bridge-nf-call-*; do
                    [ ! -e "$file" ] || echo 0 >"$file"  # a filter, no part of bridging
                done
                for dev in eth1 eth2 eth3; do
                    ethtool -K $dev tx off tso off gso off gro off >/dev/null
                    ip address flush dev $dev; ip link set $dev arp off up
                    ethtool -K $dev gro on
                done""")
        for port in PORTS:  # room for a tag's four bytes
            sh("ip", "-n", self.gen, "link", "set", f"eth{port}", "mtu", str(MTU + 4))
        if has_bridge:
            self.add_bridge()
        self.wires = {port: Wire(f"/run/netns/{self.gen}", f"eth{port}") for port in PORTS}
        self.daemon = None
        self.control = os.path.join(tempfile.gettempdir(), f"{name}.sock")

    def add_bridge(self):
        sh("ip", "-n", self.dut, "link", "add", "br0", "address", BRIDGE.hex(":"), "type",
           "bridge", "mcast_snooping", "0", "ageing_time", "360000")
        for port in PORTS:
            sh("ip", "-n", self.dut, "link", "set", f"eth{port}", "master", "br0")
        sh("ip", "-n", self.dut, "link", "set", "br0", "arp", "off", "up")

    def start(self, lane):
        self.daemon = subprocess.Popen(
            [LAB, "exec", "--name", self.name, "dut", os.path.join(BIN, "shuntd"), "bridge",
             *[f"eth{port}" for port in PORTS], "--lane", lane, "--control", self.control],
            stderr=subprocess.PIPE, text=True)
        said = ""
        while "forwarding on" not in said:
            said = self.daemon.stderr.readline()
            if not said:
                raise RuntimeError(f"shuntd ended with {self.daemon.wait()}")

    def ctl(self, *words):
        return json.loads(sh(os.path.join(BIN, "shuntctl"), "-s", self.control, "-j",
                             *words).stdout)

    def places(self):
        """Where it believes the stations to be."""
        if self.daemon:
            rows = [(row["mac"], row["port"]) for row in self.ctl("show", "macs")["macs"]]
        else:
            rows = [(row["mac"], row["ifname"]) for row in json.loads(
                sh("bridge", "-n", self.dut, "-j", "fdb", "show", "br", "br0").stdout)]
        return {bytes.fromhex(mac.replace(":", "")): int(port[3:]) for mac, port in rows
                if port in ("eth1", "eth2", "eth3")}

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.communicate(timeout=30)
        for wire in self.wires.values():
            wire.close()
        subprocess.run([LAB, "down", "--name", self.name], check=False)


# --- frames ---------------------------------------------------------------------------------------

def payload(rng, number):
    """Behind the addresses: ethertype, tags, a number that tells it from all others."""
    tags = b"".join(struct.pack("!HH", rng.choice((0x8100, 0x88A8)), rng.randrange(65536))
                    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
    ethertype = rng.choice((0x0800, 0x86DD, 0x0806, 0x88B5, 0x8847, 60))
    size = rng.choice((14, 17, 30, 59, 60, 61, 64, 128, 1000, MTU + 14, MTU + 18,
                       rng.randrange(60, MTU + 15)))
    body = tags + struct.pack("!HI", ethertype, number)
    body += rng.randbytes(max(0, size - 12 - len(body)))
    return body[:max(2, size - 12)]


def destination(rng):
    kind = rng.randrange(12)
    if kind < 6:
        return rng.choice(STATIONS)
    return (UNKNOWN, b"\xff" * 6, bytes([0x01, 0, 0x5E, rng.randrange(128), 1, 2]),
            bytes([0x33, 0x33, 0, 0, 0, rng.randrange(256)]),
            bytes([0x01, 0x80, 0xC2, 0, 0, rng.randrange(16)]),
            rng.choice((BRIDGE, *map(port_mac, PORTS))))[kind - 6]


def source(rng, at):
    if rng.randrange(20):
        return rng.choice(list(at))
    return rng.choice((b"\x01" + STATIONS[0][1:], bytes(6)))  # a group's, none's


# --- compared -------------------------------------------------------------------------------------

def explain(frame, is_alone):
    """Why what becomes of a frame may differ; None if it must not."""
    dst, src = frame[:6], frame[6:12]
    if src[0] & 1 or not any(src):
        return "from an address that no station has"
    if is_alone and dst in (BRIDGE, *map(port_mac, PORTS)):
        return "alone: to an address of a bridge, or of another port of one, that is not there"
    if is_alone and dst == b"\x01\x80\xc2\0\0\0":
        return "alone: spanning tree's group, which a bridge that does not speak it passes on"
    return None


def speak_up(sides, rng, at, numbers):
    """Stations send, from where they are now; both sides are to know."""
    for number, station in enumerate(STATIONS):
        if number < len(PORTS):
            at[station] = PORTS[number]  # no port without one
        elif station not in at or not rng.randrange(6):
            at[station] = rng.choice(PORTS)
    hello = [(at[s], b"\xff" * 6 + s + struct.pack("!HI", 0x88B5, next(numbers)) + bytes(42))
             for s in STATIONS]
    end = time.monotonic() + PATIENCE_S
    while any({s: side.places().get(s) for s in STATIONS} != at for side in sides):
        if time.monotonic() > end:
            raise RuntimeError(f"not where they are: {[side.places() for side in sides]}, {at}")
        for side in sides:
            for port, frame in hello:
                side.wires[port].send(frame)
        time.sleep(0.02)


def collect(side, at, number):
    """All that left up to the last of some markers. Frames overtake one another between lanes and
    between ports: so from each port a broadcast, a frame to nobody known, and one to each other."""
    body = struct.pack("!HI", 0x88B6, number) + bytes(42)
    speakers = {at[s]: s for s in STATIONS}
    wants = {port: set() for port in PORTS}
    for home, station in speakers.items():
        for port in set(PORTS) - {home}:
            wants[port] |= {dst + station + body for dst in (b"\xff" * 6, NOBODY, speakers[port])}
            side.wires[home].send(speakers[port] + station + body)
        side.wires[home].send(b"\xff" * 6 + station + body, NOBODY + station + body)
    seen = collections.Counter()
    for port, wire in side.wires.items():
        want = wants[port]
        while want:
            got = wire.receive(timeout=PATIENCE_S)
            if got is None:
                raise RuntimeError(f"{side.name}: a marker did not come out of eth{port}")
            if bytes(got) in want:
                want.remove(bytes(got))
            else:
                seen[port, bytes(got)] += 1
    return seen


def one_round(sides, rng, at, numbers, cnt):
    speak_up(sides, rng, at, numbers)
    number = next(numbers)
    for side in sides:
        collect(side, at, number)
    sent = []
    for _ in range(cnt):
        src = source(rng, at)
        port = at.get(src) or rng.choice(PORTS)
        sent.append((port, destination(rng) + src + payload(rng, next(numbers))))
    seen, number = [], next(numbers)
    for side in sides:
        for port, frame in sent:
            side.wires[port].send(frame)
        seen.append(collect(side, at, number))
    return sent, seen


class Tally:
    def __init__(self, show, is_alone):
        self.show, self.is_alone = show, is_alone
        self.sent = self.same = self.unexplained = 0
        self.explained = collections.Counter()

    def add(self, sent, seen):
        self.sent += len(sent)
        kernel, shunt = seen
        self.same += sum((kernel & shunt).values())
        for who, rest in (("only the kernel", kernel - shunt), ("only shunt", shunt - kernel)):
            for (port, frame), cnt in rest.items():
                why = explain(frame, self.is_alone)
                if why:
                    self.explained[f"{who}: {why}"] += cnt
                    continue
                self.unexplained += cnt
                if self.show:
                    self.show -= 1
                    print(f"{who}, eth{port}, {len(frame)} bytes: {frame[6:12].hex(':')} > "
                          f"{frame[:6].hex(':')} {frame[12:40].hex()}")


def main():
    parser = argparse.ArgumentParser(prog="parity --bridge", description=__doc__.split("\n")[0])
    parser.add_argument("--frames", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lane", choices=("user", "xdp", "auto", "kernel"), default="user")
    parser.add_argument("--alone", action="store_true",
                        help="no bridge of the kernel's beneath shunt's")
    parser.add_argument("--show", type=int, default=20)
    args = parser.parse_args()
    rng, numbers = random.Random(args.seed), iter(range(1, 1 << 32))
    sides, at, tally = [], {}, Tally(args.show, args.alone)
    try:
        sides.append(Side(f"bk{os.getpid()}", True))
        sides.append(Side(f"bs{os.getpid()}", not args.alone))
        sides[1].start(args.lane)
        while tally.sent < args.frames:
            tally.add(*one_round(sides, rng, at, numbers, min(ROUND, args.frames - tally.sent)))
        lanes = collections.Counter()
        for row in sides[1].ctl("show", "lanes")["lanes"]:
            lanes.update({name: lane["packets"] for name, lane in row["lanes"].items()})
    finally:
        for side in sides:
            side.stop()
    print(f"seed {args.seed}, lane {args.lane}{', alone' if args.alone else ''}\n"
          f"frames sent            {tally.sent}\n"
          f"left both, byte by byte {tally.same}\n"
          f"shuntd had             {lanes['user']} frames in lane user, {lanes['xdp']} xdp, "
          f"{lanes['kernel']} kernel")
    for why, cnt in sorted(tally.explained.items()):
        print(f"explained              {cnt}  {why}")
    print(f"unexplained            {tally.unexplained}")
    return 1 if tally.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
