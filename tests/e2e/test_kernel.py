# SPDX-License-Identifier: BSD-2-Clause
"""The kernel forwards in a lab: what every comparison with it rests on."""
import pytest

from shuntlab.frames import DUT1, GEN, MAX, back, routed, udp4, udp6

FRAMES = [
    ("v4 shortest", udp4()),
    ("v4 one more", udp4(61)),
    ("v4 largest", udp4(MAX)),
    ("v4 ttl 2", udp4(ttl=2)),
    ("v4 options", udp4(80, options=b"\x01\x01\x01\x00")),
    ("v4 tos", udp4(tos=0xb8)),
    ("v6 shortest", udp6()),
    ("v6 largest", udp6(MAX)),
    ("v6 flow label", udp6(flow=0x12345)),
]


@pytest.mark.parametrize("frame", [f for _, f in FRAMES], ids=[n for n, _ in FRAMES])
def test_both_ways(lab, frame):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    gen.send(frame)
    sink.expect(routed(frame))
    sink.send(back(frame))
    gen.expect(routed(back(frame), GEN, DUT1))


@pytest.mark.parametrize("frame", [udp4(ttl=1), udp4(dst="10.0.1.1"), udp4(dst="203.0.113.1")],
                         ids=["ttl 1", "to the dut", "no route"])
def test_stays(lab, frame):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    marker = udp4(dport=9999)
    gen.send(frame, marker)
    assert [f for f in sink.until(routed(marker)) if f[12:14] == b"\x08\x00"] == []


def test_resolves_neighbours(make_lab):
    lab = make_lab()
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.2.2")
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "fd00:2::2")


def test_two_hosts(make_lab):
    lab = make_lab(hosts=2, static_neigh=True)
    here, there = lab.wire("gen", "eth1"), lab.wire("gen", "eth2")
    frame = udp4(dst="198.19.1.1")
    here.send(frame)
    there.expect(routed(frame))


@pytest.mark.parametrize("address", ["10.0.2.2", "fd00:2::2"])
def test_tcp_passes(make_lab, address):
    lab = make_lab()
    server = lab.popen("sink", "iperf3", "-s", "-1", "--forceflush")
    while "listening" not in server.stdout.readline():
        assert server.poll() is None
    result = lab.json("gen", "iperf3", "-c", address, "-n", "200M", "-J")
    # iperf3 counts what was received by the moment the sender was done; the rest is in buffers.
    assert result["end"]["sum_sent"]["bytes"] >= 200 << 20
    assert result["end"]["sum_received"]["bytes"] >= 100 << 20
