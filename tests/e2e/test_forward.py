# SPDX-License-Identifier: BSD-2-Clause
"""What leaves, byte for byte, for what came in: every mode of forwarding, both ways, every size."""
import random
import struct

import pytest

from shuntlab.frames import GEN, SINK, back, ethernet, ip4, mac, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.modes import HOP1, HOP2, PAIRS, POLLING, here, there, to_dut
from shuntlab.shuntd import Shuntd


def both_ways(lab, mode, frames):
    gen, sink = lab.ends()
    for frame in frames:
        gen.reaches(sink, frame, there(mode, frame))
        answer = back(frame)
        if mode != "static3":
            answer = mac(GEN) + answer[6:]
        sink.reaches(gen, answer, here(mode, answer))


EVERY_SIZE = [*range(60, 130), *range(130, 1514, 61), *range(1500, 1515)]
IN_LANES = pytest.mark.parametrize("lane, sizes", [("user", EVERY_SIZE),
                                                   ("xdp", [60, 61, 80, 129, 1000, 1513, 1514])])


@IN_LANES
@pytest.mark.parametrize("mode", PAIRS)
def test_both_ways_in_every_size(lab, mode, lane, sizes):
    with Shuntd(lab, *PAIRS[mode], "--lane", lane) as shuntd:
        both_ways(lab, mode, [udp4(size, eth_dst=to_dut(mode)) for size in sizes])
        both_ways(lab, mode, [udp6(size, eth_dst=to_dut(mode)) for size in sizes if size >= 80])
        sent = len(sizes) + sum(size >= 80 for size in sizes)
        lanes = {port["name"]: port["lanes"][lane] for port in shuntd.show("ports")["ports"]}
        assert min(lanes.values()) >= sent


@pytest.mark.parametrize("mode, lane", [("macrewrite", "xdp"), ("static3", "user")])
def test_a_new_mac_address_is_written(lab, mode, lane):
    """The output port's, in what leaves by it."""
    gen, sink = lab.ends()
    sent, new = udp4(eth_dst=to_dut(mode)), "02:00:00:00:02:77"
    with Shuntd(lab, *PAIRS[mode], "--lane", lane, check=False):
        both_ways(lab, mode, [sent])
        lab.exec("dut", "ip", "link", "set", "eth2", "address", new)
        want = mac(HOP2) + mac(new) + there(mode, sent)[12:]
        wait_until(lambda: gen.send(sent) or sink.receive(lambda got: got == want, timeout=0.1), 10)


@pytest.mark.parametrize("mode", ["macrewrite", "static3"])
def test_every_ttl_and_hop_limit(lab, mode):
    for lane, step in ("user", 1), ("xdp", 11):
        with Shuntd(lab, *PAIRS[mode], "--lane", lane):
            both_ways(lab, mode,
                      [udp4(ttl=ttl, eth_dst=to_dut(mode)) for ttl in range(2, 256, step)] +
                      [udp6(hops=hops, eth_dst=to_dut(mode)) for hops in range(2, 256, step)])


ODD = {
    "broadcast": ethernet(b"x" * 50, "ff:ff:ff:ff:ff:ff"),
    "multicast": ethernet(ip4(b"x" * 26, dst="239.1.2.3"), "01:00:5e:01:02:03"),
    "unknown ethertype": ethernet(b"x" * 46, SINK, ethertype=0x1234),
    "experimental ethertype": ethernet(b"y" * 46, SINK, ethertype=0x88b5),
    "802.3 length": ethernet(b"z" * 46, SINK, ethertype=46),
    "MPLS": ethernet(b"m" * 46, SINK, ethertype=0x8847),
    "PPPoE": ethernet(b"p" * 46, SINK, ethertype=0x8864),
    "VLAN": ethernet(struct.pack("!HH", 0x2064, 0x0800) + ip4(b"v" * 26), SINK, ethertype=0x8100),
    "VLAN, priority 7": ethernet(struct.pack("!HH", 0xe001, 0x0806) + b"a" * 28, SINK,
                                 ethertype=0x8100, size=64),
    "QinQ": ethernet(struct.pack("!HHHH", 100, 0x8100, 200, 0x0800) + ip4(b"q" * 26), SINK,
                     ethertype=0x88a8, size=68),
    "ARP request between the sides": ethernet(
        struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac(GEN) + bytes([10, 9, 9, 1]) + bytes(6) +
        bytes([10, 9, 9, 2]), "ff:ff:ff:ff:ff:ff", ethertype=0x0806),
    "ARP reply between the sides": ethernet(
        struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + mac(GEN) + bytes([10, 9, 9, 1]) + mac(SINK) +
        bytes([10, 9, 9, 2]), SINK, ethertype=0x0806),
    "IPv4 with options": udp4(80, options=b"\x01\x01\x01\x00", eth_dst=SINK),
    "IPv4 with TTL 0": udp4(ttl=0, eth_dst=SINK),
    "IPv4 with TTL 1": udp4(ttl=1, eth_dst=SINK),
    "IPv4 fragment": udp4(ident=7, fragment=0x2000, eth_dst=SINK),
    "IPv4 with a wrong checksum": udp4(eth_dst=SINK)[:24] + b"\xde\xad" + udp4(eth_dst=SINK)[26:],
    "IPv4 cut short": udp4(eth_dst=SINK)[:16] + b"\xff\xff" + udp4(eth_dst=SINK)[18:],
    "IPv6 with hop limit 0": udp6(hops=0, eth_dst=SINK),
    "neighbour solicitation between the sides": ethernet(
        struct.pack("!IHBB", 6 << 28, 24, 58, 255) + bytes.fromhex("fd09" + "00" * 13 + "01") +
        bytes.fromhex("ff0200000000000000000001ff000002") + struct.pack("!BBHI", 135, 0, 0, 0) +
        bytes.fromhex("fd09" + "00" * 13 + "02"), "33:33:ff:00:00:02", ethertype=0x86dd),
    "largest with a tag": ethernet(struct.pack("!HH", 5, 0x0800) + b"t" * 1500, SINK,
                                   ethertype=0x8100),
}


def test_cross_connect_passes_everything_else(lab):
    """In both directions and unchanged, whatever it is."""
    assert len(ODD["largest with a tag"]) == 1518
    with Shuntd(lab, *PAIRS["xconnect"]):
        gen, sink = lab.ends()
        for frame in ODD.values():
            gen.reaches(sink, frame)
            sink.reaches(gen, frame)


CONTROL = {
    "STP": ethernet(b"\x42\x42\x03" + b"s" * 40, "01:80:c2:00:00:00", ethertype=43),
    "LACP": ethernet(b"l" * 110, "01:80:c2:00:00:02", ethertype=0x8809),
    "EAPOL": ethernet(b"e" * 46, "01:80:c2:00:00:03", ethertype=0x888e),
    "LLDP": ethernet(b"l" * 46, "01:80:c2:00:00:0e", ethertype=0x88cc),
}


@pytest.mark.parametrize("mode", PAIRS)
def test_link_local_control_is_the_kernels(lab, mode):
    with Shuntd(lab, *PAIRS[mode]):
        gen, sink, kernel = lab.wire("gen"), lab.wire("sink"), lab.wire("dut", "eth1")
        marker = udp4(dport=9999, eth_dst=to_dut(mode))
        gen.send(*CONTROL.values(), marker)
        crossed = sink.until(there(mode, marker))
        assert [f for f in crossed if f[:5] == mac("01:80:c2:00:00:00")[:5]] == []
        for frame in CONTROL.values():
            kernel.expect(frame)


def test_static3_leaves_the_rest_to_the_kernel(lab):
    """What it cannot finish arrives in the kernel unchanged, and does not leave by us."""
    rest = {
        "options": udp4(80, options=b"\x01\x01\x01\x00"),
        "TTL 1": udp4(ttl=1),
        "other MAC": udp4(eth_dst=SINK),
        "broadcast": udp4(eth_dst="ff:ff:ff:ff:ff:ff"),
        "to the dut": udp4(dst="10.0.1.1"),
        "to the dut's other side": udp4(dst="10.0.2.1"),
        "hop limit 1": udp6(hops=1),
        "hop-by-hop": ethernet(struct.pack("!IHBB", 6 << 28, 40, 0, 64) +
                               udp6()[22:54] + bytes([17, 0, 5, 2, 0, 0, 1, 0]) + b"h" * 32,
                               ethertype=0x86dd, size=94),
        "wrong version": udp4()[:14] + b"\x55" + udp4()[15:],
        "unknown ethertype": ethernet(b"x" * 46, ethertype=0x1234),
    }
    for lane in "user", "xdp":
        leaves_to_the_kernel(lab, lane, rest)


def leaves_to_the_kernel(lab, lane, rest):
    with Shuntd(lab, *PAIRS["static3"], "--lane", lane):
        gen, sink, kernel = lab.wire("gen"), lab.wire("sink"), lab.wire("dut", "eth1")
        marker = udp4(dport=9999)
        gen.send(*rest.values(), marker)
        by_us = [f for f in sink.until(there("static3", marker)) if f[:6] == mac(HOP2)]
        assert by_us == []
        for frame in rest.values():
            kernel.expect(frame)


def test_longer_than_the_way_out(make_lab):
    """1514 bytes and a tag's 4 more leave a port of MTU 1500; longer ones are dropped and counted,
    the other way there is room."""
    lab = make_lab(mtu=3000, static_neigh=True)
    lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1500)
    lab.remember()
    with Shuntd(lab, *PAIRS["xconnect"], "--frame-size", 4096) as shuntd:
        gen, sink = lab.ends()
        for size in (1514, 1515, 1518):
            gen.reaches(sink, udp4(size, eth_dst=SINK))
        marker = udp4(dport=9999, eth_dst=SINK)
        gen.send(*[udp4(size, eth_dst=SINK) for size in (1519, 2000, 3014)], marker)
        assert [len(f) for f in sink.until(marker) if len(f) > 1000] == []
        assert shuntd.drops("transmit")["too_big"] == 3


def test_static3_keeps_to_the_mtu(make_lab):
    lab = make_lab(mtu=3000, static_neigh=True)
    lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1500)
    lab.remember()
    with Shuntd(lab, *PAIRS["static3"], "--frame-size", 4096) as shuntd:
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(1514), there("static3", udp4(1514)))
        gen.send(udp4(1515), udp4(1518), udp4(dport=9999))
        assert [len(f) for f in sink.until(there("static3", udp4(dport=9999))) if len(f) > 99] == []
        assert shuntd.drops("transmit")["too_big"] == 2
    with Shuntd(lab, *PAIRS["static3"], "--lane", "xdp", "--frame-size", 4096) as shuntd:
        gen.reaches(sink, udp4(1514), there("static3", udp4(1514)))
        gen.send(udp4(1515))
        wait_until(lambda: shuntd.drops("steer")["too_big"], what="that it is the kernel's")


@pytest.mark.parametrize("poll, batch", list(zip(POLLING, (1, 64, 256, 16))))
def test_polling_and_batches(lab, poll, batch):
    """A burst arrives whole and in order, and no receive took more than a batch. A lone packet leaves, for
    nothing waits for company, and has the worker sleep before and after where that is how it polls. A
    worker that got no CPU counts as hung: the frames of that time are the kernel's, and counted."""
    with Shuntd(lab, *PAIRS["static3"], "--poll", poll, "--idle-us", 10, "--batch", batch) as shuntd:
        gen, sink = lab.ends()
        frames = [udp4(data=struct.pack("!I", n) + bytes(14)) for n in range(1000)]
        gen.send(*frames)
        marker = udp4(dport=9999)
        gen.send(marker)
        got = [f for f in sink.until(there("static3", marker)) if f[:6] == mac(HOP2)]
        assert got == [f for f in (there("static3", f) for f in frames) if f in set(got)]
        assert len(got) + shuntd.steered("hung") >= len(frames)
        sizes = shuntd.show("runtime")["total"]["batch"]
        assert max(size["packets"] for size in sizes["sizes"]) <= batch
        assert sizes["packets"] >= len(got)
        gen.reaches(sink, marker, there("static3", marker))
        worker = shuntd.worker()
        assert (worker["poll"], worker["sleeps"] > 0) == (poll, poll in ("adaptive", "interrupt"))


def flows(count, **options):
    """Frames of different flows, which the sender's kernel spreads over the queues."""
    rng = random.Random(7)
    return [udp4(sport=rng.randrange(1024, 65536), dport=rng.randrange(1024, 65536),
                 src=f"10.0.1.{2 + n % 200}", **options) for n in range(count)]


@pytest.mark.parametrize("cpus", [[], ["--cpu", "0,1"]], ids=["one worker", "two workers"])
def test_every_queue_is_served(make_lab, cpus):
    lab = make_lab(queues=4, static_neigh=True)
    with Shuntd(lab, *PAIRS["xconnect"], *cpus) as shuntd:
        gen, sink = lab.ends()
        frames = flows(400, eth_dst=SINK)
        gen.send(*frames)
        left = set(frames)

        def arrived():
            left.discard(sink.receive())
            return not left

        wait_until(arrived, what="all flows")
        ports = {port["name"]: port for port in shuntd.show("ports")["ports"]}
        assert [q["queue"] for q in ports["eth1"]["queues"]] == [0, 1, 2, 3]
        assert all(q["rx_packets"] > 0 for q in ports["eth1"]["queues"])
        assert {q["worker"] for q in ports["eth1"]["queues"]} == ({0, 1} if cpus else {0})
        assert shuntd.total("tx_packets", "eth2") >= 400
        wait_until(shuntd.is_balanced)
        if cpus:
            assert [w["cpu_in_use"] for w in shuntd.show("workers")["workers"]] == [0, 1]


def test_one_queue_of_four(make_lab):
    """What arrives on a queue that is not served is the kernel's: it forwards by its routes."""
    lab = make_lab(queues=4, static_neigh=True)
    with Shuntd(lab, *PAIRS["static3"], "--queues", 1) as shuntd:
        gen, sink = lab.ends()
        frames = flows(200)
        gen.send(*frames)
        ours = {there("static3", f) for f in frames}
        kernels = {routed(f) for f in frames}
        got = set()

        def arrived():
            got.add(sink.receive())
            return len(got & (ours | kernels)) == 200

        wait_until(arrived, what="all flows, by one way or the other")
        assert got & ours and got & kernels
        assert len(shuntd.show("ports")["ports"][0]["queues"]) == 1
        assert shuntd.drops("steer")["no_socket"] >= len(got & kernels)


def second_pair(lab):
    """gen's eth2 - dut's eth3 and dut's eth4 - sink's eth2."""
    for dev, host in (("eth3", "gen"), ("eth4", "sink")):
        lab.ip("link", "add", dev, "type", "veth", "peer", "name", "eth2", "netns", lab.netns(host))
        lab.link("dut", dev, "up")
        lab.link(host, "eth2", "up")
        lab.exec(host, "ethtool", "-K", "eth2", "gro", "on")
    lab.remember()


CONFIG = f"""\
ports:
  - name: eth1
  - name: eth2
  - name: eth3
  - name: eth4
forward:
  - mode: static3
    ports: [eth1, eth2]
    next_hop: ["{HOP1}", "{HOP2}"]
  - mode: xconnect
    ports: [eth3, eth4]
"""


def test_two_pairs_of_different_modes(lab, tmp_path):
    second_pair(lab)
    path = tmp_path / "shuntd.yaml"
    path.write_text(CONFIG)
    with Shuntd(lab, "-c", path):
        both_ways(lab, "static3", [udp4(), udp6()])
        gen, sink = lab.wire("gen", "eth2"), lab.wire("sink", "eth2")
        for frame in (udp4(eth_dst=SINK), ODD["VLAN"]):
            gen.reaches(sink, frame)
            sink.reaches(gen, frame)


def test_two_daemons(lab):
    second_pair(lab)
    with Shuntd(lab, *PAIRS["static3"]):
        with Shuntd(lab, "xconnect", "eth3", "eth4", control="second.sock",
                    check=False):
            gen, sink = lab.wire("gen", "eth2"), lab.wire("sink", "eth2")
            gen.reaches(sink, ODD["QinQ"])
            both_ways(lab, "static3", [udp4()])
        both_ways(lab, "static3", [udp4(sport=4002)])
