# SPDX-License-Identifier: BSD-2-Clause
"""Lane xdp to ports that take no frames from XDP, where the kernel would not forward: by a veth pair
of shunt's own."""
import re

import pytest

from shuntlab.frames import DUT2, GEN, SINK, ethernet, rewritten, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd

AUTO = "xconnect", "eth1", "eth2", "--lane", "auto"


def ours(lab):
    """shunt's devices on the dut, of each pair the end that takes frames."""
    return sorted(row["ifname"] for row in lab.json("dut", "ip", "-j", "link", "show")
                  if row["ifname"].startswith("shunt-d"))


def name_of(lab, port):
    return f"shunt-d{lab.json('dut', 'ip', '-j', 'link', 'show', port)[0]['ifindex']}"


def ways(lab):
    """How many pairs the tc program of eth2's knows."""
    end = name_of(lab, "eth2").replace("-d", "-e")
    shown = lab.exec("dut", "tc", "filter", "show", "dev", end, "ingress").stdout
    program = lab.json("dut", "bpftool", "-j", "prog", "show", "id", re.search(r" id (\d+)", shown)[1])
    return len(lab.json("dut", "bpftool", "-j", "map", "dump", "id", program["map_ids"][0]))


@pytest.fixture
def net(make_lab):
    """Neither neighbour takes frames from XDP, as on any veth whose GRO nobody switched on."""
    return make_lab(static_neigh=True, gro=False)


FRAMES = [
    udp4(eth_dst=SINK), udp6(eth_dst=SINK), udp4(1514, eth_dst=SINK),
    ethernet(b"\0\x07\x08\0" + bytes(46), dst=SINK, ethertype=0x8100),  # a VLAN's
    ethernet(b"whatever" * 20, dst=SINK, ethertype=0x88b5),
    ethernet(b"to all", dst="ff:ff:ff:ff:ff:ff", ethertype=0x88b5),
    ethernet(b"to some", dst="01:00:5e:01:02:03", ethertype=0x88b5),
]


def test_crosses_as_it_came(net):
    gen, sink = net.ends()
    with Shuntd(net, *AUTO) as shuntd:
        assert shuntd.lane()["reason"] == "detour"
        for frame in FRAMES:
            gen.reaches(sink, frame)
            back = udp4(eth_src=SINK, eth_dst=GEN)
            sink.reaches(gen, back)
        assert shuntd.packets("xdp") + shuntd.packets("user") >= len(FRAMES)
        assert shuntd.packets("xdp", "eth2") >= len(FRAMES)


def test_macrewrite(net):
    gen, sink = net.ends()
    with Shuntd(net, "macrewrite", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}", "--lane", "xdp",
                check=False) as shuntd:
        gen.send(udp4(eth_dst="02:00:00:00:09:09"))
        sink.expect(rewritten(udp4(eth_dst="02:00:00:00:09:09"), SINK, DUT2))
        assert shuntd.packets("xdp") >= 1


def test_comes_and_goes(net):
    """Only while it is needed, and nothing is left."""
    assert ours(net) == []
    with Shuntd(net, *AUTO, chatty=True):
        assert ours(net) == sorted(name_of(net, port) for port in ("eth1", "eth2"))
        net.exec("sink", "ethtool", "-K", "eth1", "gro", "on")
        wait_until(lambda: ours(net) == [name_of(net, "eth1")], what="eth2's to go")
        net.exec("sink", "ethtool", "-K", "eth1", "gro", "off")
        wait_until(lambda: len(ours(net)) == 2, what="eth2's to come")
        wait_until(lambda: ways(net) == 2, what="the one that went to be forgotten")
    assert ours(net) == []


def test_killed_the_next_clears_up(net):
    shuntd = Shuntd(net, *AUTO)
    shuntd.kill()
    assert len(ours(net)) == 2
    Shuntd(net, *AUTO, "--lane", "user").stop()
    assert ours(net) == []


def test_a_wire_in_lane_user_goes_on_after_a_kill(net):
    """The pairs stand by. Without on_death there are none."""
    gen, sink = net.ends()
    with Shuntd(net, "xconnect", "eth1", "eth2", "--lane", "user", "--on-death", "kernel"):
        assert ours(net) == []
    shuntd = Shuntd(net, "xconnect", "eth1", "eth2", "--lane", "user")
    assert len(ours(net)) == 2 and shuntd.lane()["in_use"] == "user"
    shuntd.kill()
    for frame in FRAMES:
        gen.reaches(sink, frame)
        sink.reaches(gen, udp4(eth_src=SINK, eth_dst=GEN))
    with Shuntd(net, "xconnect", "eth1", "eth2", "--lane", "user", check=False):
        gen.reaches(sink, udp4(eth_dst=SINK))
    assert ours(net) == []


def test_killed_and_the_device_is_gone(net):
    shuntd = Shuntd(net, *AUTO, check=False)
    shuntd.kill()
    net.exec("dut", "ip", "link", "del", "eth2")
    net.exec("dut", "ip", "link", "add", "eth2", "type", "veth", "peer", "name", "other2")
    net.link("dut", "eth2", "up")
    net.link("dut", "other2", "up")
    Shuntd(net, *AUTO, check=False).stop()
    assert ours(net) == []


def test_taken_over_it_stays(net):
    """The same pair, through which frames go on meanwhile."""
    gen, sink = net.ends()

    def numbers():
        return [net.json("dut", "ip", "-j", "link", "show", name)[0]["ifindex"] for name in ours(net)]

    before = Shuntd(net, *AUTO, check=False)
    had = numbers()
    with Shuntd(net, *AUTO, "--takeover", check=False):
        before.process.wait(timeout=30)
        assert numbers() == had
        gen.reaches(sink, udp4(eth_dst=SINK))
    assert ours(net) == []


def test_taken_over_by_one_who_needs_none(net):
    before = Shuntd(net, *AUTO, check=False)
    with Shuntd(net, "route", "eth1", "eth2", "--lane", "auto", "--takeover", check=False):
        before.process.wait(timeout=30)
        assert ours(net) == []


def test_too_long_is_counted_as_the_ports(net):
    gen = net.wire("gen")
    net.exec("dut", "ip", "link", "set", "eth2", "mtu", "1400")
    net.remember()
    with Shuntd(net, *AUTO) as shuntd:
        gen.send(udp4(1450, eth_dst=SINK))
        wait_until(lambda: shuntd.drops("redirect", "eth2")["too_big"] == 1, what="its being seen")
        net.exec("dut", "ip", "link", "set", "eth2", "mtu", "1300")
        wait_until(lambda: net.json("dut", "ip", "-j", "link", "show", name_of(net, "eth2"))[0]["mtu"]
                   == 1300, what="the MTU to be followed")
        gen.send(udp4(1350, eth_dst=SINK))
        wait_until(lambda: shuntd.drops("redirect", "eth2")["too_big"] == 2, what="its being seen")
        net.exec("dut", "ip", "link", "set", "eth2", "mtu", "1400")


def test_anothers_device_of_that_name(net):
    """Then the worker forwards, and says why, until it goes."""
    gen, sink = net.ends()
    net.remember()
    theirs = name_of(net, "eth2")
    net.exec("dut", "ip", "link", "add", theirs, "type", "bridge")
    shuntd = Shuntd(net, *AUTO)
    assert (shuntd.lane()["in_use"], shuntd.lane()["reason"]) == ("user", "no_detour")
    gen.reaches(sink, udp4(eth_dst=SINK))
    before = shuntd.lane()["changes"]
    net.exec("dut", "ip", "link", "del", theirs)
    wait_until(lambda: shuntd.lane()["in_use"] == "xdp", what="the detour")
    assert ours(net) == sorted(name_of(net, port) for port in ("eth1", "eth2"))
    gen.reaches(sink, udp4(eth_dst=SINK))
    assert shuntd.lane()["changes"] == before + 1 and shuntd.packets("xdp") >= 1
    assert shuntd.stop().count("lane xdp") == 1


def test_bridge(net):
    """Without a kernel bridge: known stations by the program, the rest flooded by the worker."""
    gen, sink = net.ends()
    with Shuntd(net, "bridge", "eth1", "eth2", "--lane", "auto", check=False, chatty=True) as shuntd:
        there = udp4(eth_dst=SINK)
        back = udp4(eth_src=SINK, eth_dst=GEN)

        def both_ways():
            gen.reaches(sink, there)
            sink.reaches(gen, back)
            return shuntd.packets("xdp") >= 1 and shuntd.packets("xdp", "eth2") >= 1

        wait_until(both_ways, what="the stations to be known to the programs")


def test_silent(net):
    """Nothing that the kernel sends by itself on those devices leaves by the ports."""
    gen, sink = net.ends()
    with Shuntd(net, *AUTO):
        net.exec("dut", "ip", "addr", "add", "10.77.0.1/24", "dev", name_of(net, "eth2"))
        net.exec("dut", "ping", "-c", "1", "-W", "1", "10.77.0.2", check=False)
        net.exec("dut", "ip", "addr", "del", "10.77.0.1/24", "dev", name_of(net, "eth2"))
        marker = udp4(dport=9999, eth_dst=SINK)
        gen.send(marker)
        assert [frame for frame in sink.until(marker) if b"\x0a\x4d\0" in frame] == []
