# SPDX-License-Identifier: BSD-2-Clause
"""The NIC stays the kernel's: its own traffic goes on beside the forwarder, and rules decide what
else is its."""
import json

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.trickle import served
from shuntlab.frames import DUT1, DUT2, SINK, ethernet, mac, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.modes import HOP2, PAIRS, there, to_dut

# A server of 8 MiB, with a line first as ssh has one; it says how much arrived and its digest.
SERVER = """
import hashlib, socket
server = socket.create_server(("", 2222))
print("ready", flush=True)
peer, _ = server.accept()
peer.sendall(b"SSH-2.0-lab\\r\\n")
data = hashlib.sha256()
while chunk := peer.recv(65536):
    data.update(chunk)
peer.sendall(data.hexdigest().encode())
"""
CLIENT = """
import hashlib, socket, sys
data = bytes(range(256)) * 32768
with socket.create_connection((sys.argv[1], 2222), 20) as server:
    assert server.recv(100) == b"SSH-2.0-lab\\r\\n"
    server.sendall(data)
    server.shutdown(socket.SHUT_WR)
    digest = b""
    while chunk := server.recv(100):
        digest += chunk
    assert digest.decode() == hashlib.sha256(data).hexdigest()
"""


def pings(lab, host, address, count):
    """Every one is answered. One at a time: ping waits for the last of several but twice as long as
    the others took, whatever -W says."""
    lab.exec(host, "sh", "-ec", f"for i in $(seq {count}); do ping -c 1 -W 5 {address}; done")


@pytest.mark.parametrize("mode", ["xconnect", "static3"])
def test_kernel_keeps_its_share_under_load(make_lab, mode):
    """Neighbours resolved, ping and TCP to the forwarder's own address by the NIC that transit
    traffic fills."""
    lab = make_lab()
    with Shuntd(lab, *PAIRS[mode]) as shuntd:
        load = lab.popen("gen", "shunt-gen", "send", "eth1", "-j", "--rate", "20k", "--duration",
                         "30", *(["--dst-mac", to_dut(mode)] if mode == "xconnect" else []))
        wait_until(lambda: served(shuntd) > 1000, what="transit traffic")
        for address in ("10.0.1.1", "fd00:1::1"):
            pings(lab, "gen", address, 20)
        server = lab.popen("dut", "/usr/bin/python3", "-c", SERVER)
        assert server.stdout.readline() == "ready\n"
        before = served(shuntd)
        lab.exec("gen", "/usr/bin/python3", "-c", CLIENT, "10.0.1.1", timeout=40)
        assert server.wait(60) == 0
        assert served(shuntd) > before, "transit went on meanwhile"
        wait_until(shuntd.is_balanced)
        load.send_signal(2)
        sent = json.loads(load.communicate(timeout=60)[0])["sent"]
        # Not all of them: a veth whose NAPI waits for a CPU loses frames before XDP sees them.
        assert sent > 1000 and load.returncode == 0


def test_cross_connect_with_hosts_that_resolve_each_other(make_lab):
    """ARP and neighbour discovery between the two sides cross it; the forwarder answers for its own
    addresses on the same wire."""
    lab = make_lab()
    lab.exec("gen", "ip", "addr", "add", "10.7.0.1/24", "dev", "eth1")
    lab.exec("gen", "ip", "addr", "add", "fd07::1/64", "dev", "eth1", "nodad")
    lab.exec("sink", "ip", "addr", "add", "10.7.0.2/24", "dev", "eth1")
    lab.exec("sink", "ip", "addr", "add", "fd07::2/64", "dev", "eth1", "nodad")
    with Shuntd(lab, *PAIRS["xconnect"]):
        for host, address in (("gen", "10.7.0.2"), ("gen", "fd07::2"), ("sink", "10.7.0.1"),
                              ("gen", "10.0.1.1"), ("gen", "fd00:1::1"), ("sink", "10.0.2.1"),
                              ("sink", "fd00:2::1")):
            pings(lab, host, address, 2)


# --- rules ----------------------------------------------------------------------------------------

RULES = [
    "proto udp dport 5000 lane drop",
    "proto udp dport 5000-5009 lane kernel",
    "from 10.0.1.128/25 proto udp lane kernel",
    "from 10.0.1.0/24 to 10.0.2.99/32 lane drop",
    "proto tcp sport 22 lane kernel",
    "from fd00:1::/120 to fd00:2::/64 proto udp dport 7000 lane drop",
    "ethertype 0x88b5 lane drop",
]


def tcp4(sport, dport):
    return udp4(sport=sport, dport=dport, proto=6)


# (frame, lane): static3 shows the lane by the MAC address that the frame leaves with.
CASES = {
    "first match wins": (udp4(dport=5000), "drop"),
    "range's start": (udp4(dport=5001), "kernel"),
    "range's end": (udp4(dport=5009), "kernel"),
    "behind the range": (udp4(dport=5010), "user"),
    "before the range": (udp4(dport=4999), "user"),
    "source prefix": (udp4(src="10.0.1.128"), "kernel"),
    "outside the source prefix": (udp4(src="10.0.1.127"), "user"),
    "both prefixes": (udp4(dst="10.0.2.99"), "drop"),
    "earlier rule before both prefixes": (udp4(src="10.0.1.200", dst="10.0.2.99"), "kernel"),
    "source port, protocol": (tcp4(22, 4001), "kernel"),
    "source port, another protocol": (udp4(sport=22), "user"),
    "IPv6": (udp6(dport=7000), "drop"),
    "IPv6, another port": (udp6(dport=7001), "user"),
    "IPv6, outside": (udp6(src="fd00:1::1:2", dport=7000), "user"),
    "IPv4 where IPv6 is meant": (udp4(dport=7000), "user"),
}


def test_rules(lab):
    options = [word for rule in RULES for word in ("--rule", rule)]
    lab.exec("dut", "ip", "neigh", "add", "10.0.2.99", "lladdr", SINK, "dev", "eth2")
    with Shuntd(lab, *PAIRS["static3"], *options) as shuntd:
        gen, sink = lab.ends()
        marker = udp4(dport=9999)
        lanes = {"user": lambda f: routed(f, HOP2, DUT2), "kernel": routed}
        for frame, lane in CASES.values():
            gen.send(frame)
            if lane != "drop":
                sink.expect(lanes[lane](frame))
        dropped = [frame for frame, lane in CASES.values() if lane == "drop"]
        gen.send(*dropped, ethernet(b"x" * 46, ethertype=0x88b5), marker)
        seen = {f[12:] for f in sink.until(there("static3", marker))}
        assert not seen & {routed(f)[12:] for f in dropped}
        shown = shuntd.show("rules")
        assert [rule["rule"] for rule in shown["rules"]] == RULES
        assert shown["matched"]["drop"] == 2 * len(dropped) + 1
        assert shown["matched"]["kernel"] == sum(lane == "kernel" for _, lane in CASES.values())


def test_rules_come_before_the_default(lab):
    """A rule gives the kernel what a cross-connect would pass, and passes what it would not."""
    rules = ["--rule", "ethertype 0x88cc lane user", "--rule", "proto udp dport 53 lane drop"]
    with Shuntd(lab, *PAIRS["xconnect"], *rules):
        gen, sink = lab.ends()
        lldp = ethernet(b"l" * 46, "01:80:c2:00:00:0e", ethertype=0x88cc)
        gen.reaches(sink, lldp)
        gen.send(udp4(dport=53, eth_dst=SINK), udp4(dport=54, eth_dst=SINK))
        assert [f for f in sink.until(udp4(dport=54, eth_dst=SINK)) if f[:6] == mac(SINK)] == []


def test_a_rule_for_what_cannot_be_forwarded(lab):
    """The lane user refuses it by name; nothing is lost without a reason."""
    with Shuntd(lab, *PAIRS["static3"], "--rule", "ethertype 0x88b5 lane user") as shuntd:
        gen, sink = lab.ends()
        marker = udp4(dport=9999)
        gen.send(ethernet(b"x" * 46, DUT1, ethertype=0x88b5), marker)
        sink.expect(there("static3", marker))
        assert shuntd.drops("graph")["not_forwardable"] == 1
