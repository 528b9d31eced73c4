# SPDX-License-Identifier: BSD-2-Clause
"""The kernel forwards in a lab: what every comparison with it rests on."""
from shuntlab.frames import DUT1, GEN, MAX, back, routed, udp4, udp6

TRANSIT = [udp4(), udp4(61), udp4(MAX), udp4(ttl=2), udp4(80, options=b"\x01\x01\x01\x00"), udp4(tos=0xb8),
           udp6(), udp6(MAX), udp6(flow=0x12345)]
# TTL 1, to the dut, without a route
STAYS = [udp4(ttl=1), udp4(dst="10.0.1.1"), udp4(dst="203.0.113.1")]


def test_forwards(lab):
    gen, sink = lab.ends()
    for frame in TRANSIT:
        gen.reaches(sink, frame, routed(frame))
        sink.reaches(gen, back(frame), routed(back(frame), GEN, DUT1))
    marker = udp4(dport=9999)
    gen.send(*STAYS, marker)
    assert [f for f in sink.until(routed(marker)) if f[12:14] == b"\x08\x00"] == []


def test_resolves_neighbours(make_lab):
    lab = make_lab()
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.2.2")
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "fd00:2::2")


def test_two_hosts(make_lab):
    lab = make_lab(hosts=2, static_neigh=True)
    here, there = lab.wire("gen", "eth1"), lab.wire("gen", "eth2")
    frame = udp4(dst="198.19.1.1")
    here.reaches(there, frame, routed(frame))


def test_tcp_passes(make_lab):
    lab = make_lab()
    server = lab.popen("sink", "iperf3", "-s", "-1", "--forceflush")
    while "listening" not in server.stdout.readline():
        assert server.poll() is None
    result = lab.json("gen", "iperf3", "-c", "10.0.2.2", "-n", "20M", "-J")
    assert result["end"]["sum_sent"]["bytes"] >= 20 << 20
