# SPDX-License-Identifier: BSD-2-Clause
"""Packets that no frame holds: over several frames, the same bytes come out, and what leaves is
what the kernel would have sent."""
import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import DUT1, GEN, SINK, back, routed, udp4, udp6
from shuntlab.lab import wait_until

MTU = 9000
# One frame of 4096 holds 3808 bytes: around every edge, and the largest.
SIZES = [60, 1514, 3808, 3809, 7616, 7617, MTU + 14]


@pytest.fixture
def jumbo(make_lab):
    return make_lab(mtu=MTU, static_neigh=True)


def data_of(size):
    """Bytes that tell where in the packet they were."""
    return b"".join(i.to_bytes(4, "big") for i in range(size // 4 + 1))[:size]


def packet(size, **options):
    return udp4(size, data=data_of(max(0, size - 42)), **options)


@pytest.mark.parametrize("options", [[], ["--frame-size", 2048], ["--driver-mode", "generic"]],
                         ids=["default", "small frames", "generic"])
def test_same_bytes_both_ways(jumbo, options):
    gen, sink = jumbo.ends()
    with Shuntd(jumbo, "xconnect", "eth1", "eth2", *options) as d:
        assert all(d.port(port)["in_use"]["frames_per_packet"] > 2 for port in ("eth1", "eth2"))
        for size in SIZES:
            frame = packet(size, eth_dst=SINK)
            gen.reaches(sink, frame)
            sink.reaches(gen, frame)


def test_many_in_order(jumbo):
    """More than the rings hold, short and long ones mixed."""
    gen, sink = jumbo.ends()
    with Shuntd(jumbo, "xconnect", "eth1", "eth2", "--ring-size", 256) as d:
        for turn in range(40):
            frames = [packet(SIZES[(turn + i) % len(SIZES)], eth_dst=SINK, ident=turn * 16 + i)
                      for i in range(16)]
            gen.send(*frames)
            for frame in frames:
                sink.expect(frame)
        total = d.show("ports")["ports"][1]["total"]
        # Every frame comes back, and most packets had several.
        assert 640 <= total["tx_packets"] < total["tx_completed"] + 256
        assert wait_until(d.is_balanced, what="the ledger to balance")


def test_route(jumbo):
    gen, sink = jumbo.ends()
    with Shuntd(jumbo, "route", "eth1", "eth2") as d:
        for frame in [packet(size) for size in SIZES] + [udp6(MTU + 14)]:
            gen.reaches(sink, frame, routed(frame))
            sink.reaches(gen, back(frame), routed(back(frame), GEN, DUT1))
        assert d.punted() == 0


def test_what_follows_the_packet_is_left_off(jumbo):
    """A trailer in frames of its own."""
    gen, sink = jumbo.ends()
    with Shuntd(jumbo, "route", "eth1", "eth2"):
        for size in 60, 3800, 7616:
            frame = packet(size)
            gen.reaches(sink, frame + b"\xee" * (9014 - size), routed(frame))


def test_all_of_it_to_the_kernel(jumbo):
    """What userspace hands back is whole: the kernel answers a ping with the same bytes."""
    with Shuntd(jumbo, "route", "eth1", "eth2", "--rule", "lane user") as d:
        for ip in "10.0.1.1", "fd00:1::1":
            jumbo.exec("gen", "ping", "-c", 1, "-W", 5, "-M", "do", "-s", MTU - 48, ip)
        assert d.punted() >= 2


@pytest.mark.parametrize("way", [[], ["--rule", "lane user"]], ids=["steered", "all-user"])
def test_mtu_edge(jumbo, way):
    """To the byte; beyond it the kernel answers, or fragments."""
    gen, sink = jumbo.ends()
    jumbo.link("dut", "eth2", "mtu", 5000)
    jumbo.remember()
    with Shuntd(jumbo, "route", "eth1", "eth2", *way) as d:
        for frame in packet(5014), udp6(5014):
            gen.reaches(sink, frame, routed(frame))
        gen.send(packet(5015))
        answer = gen.receive(lambda f: f[23] == 1 and f[34:36] == b"\x03\x04", 10)
        assert answer and answer[40:42] == (5000).to_bytes(2, "big")
        gen.send(udp6(5015))
        answer = gen.receive(lambda f: f[12:14] == b"\x86\xdd" and f[54] == 2, 10)
        assert answer and answer[58:62] == (5000).to_bytes(4, "big")
        whole = packet(9014, fragment=0)
        gen.send(whole)
        first = sink.receive(lambda f: f[12:14] == b"\x08\0" and f[23] == 17, 10)
        last = sink.receive(lambda f: f[12:14] == b"\x08\0" and f[23] == 17, 10)
        assert first[34:] + last[34:] == whole[34:]
        assert d.punted() >= 3


def test_xconnect_to_a_smaller_port(jumbo):
    """One port's packets take several frames, the other's never: what is too long is dropped, and
    counted as one packet each."""
    gen, sink = jumbo.ends()
    jumbo.link("dut", "eth2", "mtu", 1500)
    jumbo.link("sink", "eth1", "mtu", 1500)
    jumbo.remember()
    with Shuntd(jumbo, "xconnect", "eth1", "eth2") as d:
        assert [d.port(port)["in_use"]["multi_buffer"] for port in ("eth1", "eth2")] == [True, False]
        marker = packet(1514, eth_dst=SINK)
        gen.send(packet(9014, eth_dst=SINK), packet(4000, eth_dst=SINK), marker)
        sink.until(marker)
        assert d.drops()["too_big"] == 2


def test_raised_meanwhile(lab):
    """An MTU raised under a running daemon is told; a successor takes it up."""
    gen, sink = lab.ends()
    ends = [("dut", "eth1"), ("dut", "eth2"), ("gen", "eth1"), ("sink", "eth1")]

    daemon = Shuntd(lab, "xconnect", "eth1", "eth2")
    assert not daemon.notices("mtu")
    for end in ends:
        lab.link(*end, "mtu", 3000)
    for port in "eth1", "eth2":
        notice, = wait_until(lambda name=port: daemon.notices("mtu", name))
        daemon.said_until(notice["text"])
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--takeover") as second:
        daemon.process.communicate(timeout=60)
        assert daemon.process.returncode == 0 and not second.notices("mtu")
        frame = packet(2500, eth_dst=SINK)
        gen.send(frame)
        assert sink.receive(lambda got: got == frame, timeout=10)
        for end in ends:
            lab.link(*end, "mtu", 1500)
