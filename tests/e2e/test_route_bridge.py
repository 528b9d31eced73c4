# SPDX-License-Identifier: BSD-2-Clause
"""Mode route over a bridge of the kernel's that has addresses: what is sent to the bridge's address is
routed in the lane, and what is for a station that is known bridged there; the kernel's bridge keeps all else,
and hears who sends."""
import pytest

from shuntlab.frames import DUT1, DUT2, GEN, MAX, SINK, back, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd

THIRD = "02:00:00:00:03:02"
PORTS = ["eth1", "eth3"]
STATIONS = ["10.0.1.2", "fd00:1::2", "10.0.1.3", "fd00:1::3", "10.0.2.2", "fd00:2::2"]


@pytest.fixture
def lan(make_lab):
    """The lab with gen's and a third host's ports in a bridge that has eth1's addresses."""
    lab = make_lab()
    lab.add_third()
    lab.ip("link", "add", "br0", "type", "bridge")
    for dev in PORTS:
        lab.ip("addr", "flush", "dev", dev)
        lab.link("dut", dev, "master", "br0")
    lab.link("dut", "br0", "address", DUT1)
    lab.ip("addr", "add", "10.0.1.1/24", "dev", "br0")
    lab.ip("addr", "add", "fd00:1::1/64", "dev", "br0", "nodad")
    lab.link("dut", "br0", "up")
    lab.exec("third", "ethtool", "-K", "eth1", "gro", "on")  # else it takes nothing from XDP
    lab.ip("addr", "add", "10.0.1.3/24", "dev", "eth1", host="third")
    lab.ip("addr", "add", "fd00:1::3/64", "dev", "eth1", "nodad", host="third")
    lab.ip("route", "add", "default", "via", "10.0.1.1", host="third")
    lab.ip("-6", "route", "add", "default", "via", "fd00:1::1", host="third")
    wait_until(lambda: all(link["linkinfo"]["info_slave_data"]["state"] == "forwarding"
                           for link in lab.json("dut", "ip", "-j", "-d", "link", "show",
                                                "master", "br0")), what="ports that forward")
    lab.remember()
    return lab


def route(lab, *args, **options):
    return Shuntd(lab, "route", "br0", "eth2", *args, check=False, chatty=True, **options)


def warm(lab):
    for station in STATIONS:
        lab.exec("dut", "ping", "-q", "-c", 1, "-W", 5, station)


def ends(lab):
    return lab.wire("gen"), lab.wire("sink"), lab.wire("third")


def by_lane(d, lane, port, wire, frame, other, leaves):
    """Sends until the frame leaves as it must, by the lane alone: shunt follows the kernel a moment later."""
    def counts():
        return d.packets(lane, port), d.punted() + d.packets("kernel", port)

    def try_once():
        had = counts()
        wire.send(frame)
        if not other.receive(lambda f: f == leaves, timeout=0.5):
            return False
        has = counts()
        return has[0] > had[0] and has[1] == had[1]

    wait_until(try_once, 20, what=f"lane {lane}")


def from_third(frame4, frame6):
    return [(frame4(src="10.0.1.3", eth_src=THIRD), THIRD), (frame6(src="fd00:1::3", eth_src=THIRD), THIRD)]


def test_both_ways(lan, each_lane):
    gen, sink, third = ends(lan)
    with route(lan) as d:
        assert d.lane("eth1")["in_use"] == d.lane("eth3")["in_use"] == each_lane
        warm(lan)
        for frame in udp4(), udp4(MAX), udp4(ttl=2), udp6(), udp6(MAX):
            by_lane(d, each_lane, "eth1", gen, frame, sink, routed(frame))
            by_lane(d, each_lane, "eth2", sink, back(frame), gen, routed(back(frame), GEN, DUT1))
        for frame, _ in from_third(udp4, udp6):
            by_lane(d, each_lane, "eth3", third, frame, sink, routed(frame))
        for frame in (udp4(src="10.0.2.2", dst="10.0.1.3", eth_src=SINK, eth_dst="02:00:00:00:02:01"),
                      udp6(src="fd00:2::2", dst="fd00:1::3", eth_src=SINK, eth_dst="02:00:00:00:02:01")):
            by_lane(d, each_lane, "eth2", sink, frame, third, routed(frame, THIRD, DUT1))


def test_what_is_bridged(lan, each_lane):
    gen, sink, third = ends(lan)
    between, unknown = udp4(dst="10.0.1.3", eth_dst=THIRD), udp4(eth_dst="02:00:00:00:09:09")
    with route(lan) as d:
        warm(lan)
        by_lane(d, each_lane, "eth1", gen, between, third, between)
        gen.reaches(third, unknown)
        gen.reaches(third, udp4(eth_dst="ff:ff:ff:ff:ff:ff"))
        assert d.steered("multicast", "eth1")


def test_losses_have_the_bridges_name(lan):
    """What a worker drops or gives back, and what is counted by port alone: it is the bridge's."""
    gen, sink, _ = ends(lan)
    dropped, punted = udp4(dst="10.9.0.1"), udp4(dst="10.77.0.1")
    of_sink = udp4(src="10.0.2.2", dst="10.9.0.1", eth_src=SINK, eth_dst=DUT2)
    lan.ip("route", "add", "blackhole", "10.9.0.0/16")
    with route(lan, "--lane", "user") as d:
        warm(lan)
        by_lane(d, "user", "eth1", gen, udp4(), sink, routed(udp4()))
        wait_until(lambda: gen.send(dropped, punted) or sink.send(of_sink) or
                   d.lost("blackhole").keys() == {("eth1", "br0"), ("eth2", "eth2")} and
                   ("eth1", "br0") in d.lost("noroute"))
        rows = d.show("drops")["drops"]
        assert {row["device"] for row in rows if row["where"] == "steer" and row["port"] != "eth2"} == {"br0"}
        assert 'shunt_drops_total{place="graph",interface="eth1",device="br0",queue="",worker="0",' \
            'reason="blackhole"} ' in d.ctl("metrics").stdout
        assert any(line.split()[:3] == ["graph", "eth1", "br0"]
                   for line in d.ctl("show", "drops").stdout.splitlines())
    lan.ip("route", "del", "blackhole", "10.9.0.0/16")


def test_who_sends_is_learned(lan, each_lane):
    """A station that the bridge does not know is heard by the kernel, and routed in the lane from then on.
    One that has moved is found where it is."""
    gen, sink, third = ends(lan)
    new = "02:00:00:00:09:09"
    frame = udp4(src="10.0.1.9", eth_src=new)
    answer = udp4(src="10.0.2.2", dst="10.0.1.9", eth_src=SINK, eth_dst="02:00:00:00:02:01")
    with route(lan) as d:
        warm(lan)
        lan.exec("dut", "ip", "neigh", "replace", "10.0.1.9", "lladdr", new, "dev", "br0")
        had = d.steered("station", "eth1")
        gen.reaches(sink, frame, routed(frame))
        assert d.steered("station", "eth1") == had + 1
        by_lane(d, each_lane, "eth1", gen, frame, sink, routed(frame))
        by_lane(d, each_lane, "eth2", sink, answer, gen, routed(answer, new, DUT1))
        third.reaches(sink, frame, routed(frame))
        by_lane(d, each_lane, "eth2", sink, answer, third, routed(answer, new, DUT1))
        by_lane(d, each_lane, "eth3", third, frame, sink, routed(frame))


def test_a_port_that_may_not_forward(lan, each_lane):
    gen, sink, third = ends(lan)
    frame, of_third, marker = udp4(), udp4(src="10.0.1.3", eth_src=THIRD), udp4(dport=7)
    with route(lan) as d:
        warm(lan)
        by_lane(d, each_lane, "eth1", gen, frame, sink, routed(frame))
        lan.exec("dut", "bridge", "link", "set", "dev", "eth1", "state", 1)

        def is_barred():
            gen.send(frame)
            third.send(of_third)
            return routed(frame) not in sink.until(routed(of_third))
        wait_until(is_barred, what="the port to be barred")
        had = d.packets("kernel", "eth2")
        sink.send(back(marker))
        wait_until(lambda: d.packets("kernel", "eth2") + d.punted() > had)
        lan.exec("dut", "bridge", "link", "set", "dev", "eth1", "state", 3)
        by_lane(d, each_lane, "eth1", gen, frame, sink, routed(frame))
        by_lane(d, each_lane, "eth2", sink, back(marker), gen, routed(back(marker), GEN, DUT1))


def redirect(frame):
    return frame[12:14] == b"\x08\0" and frame[23] == 1 and frame[34] == 5


def test_from_one_port_to_the_other(lan, each_lane):
    """Routed, back by the same device: the kernel redirects."""
    gen, sink, third = ends(lan)
    frame = udp4(dst="10.0.1.3")
    with route(lan):
        warm(lan)

        def is_redirected():
            gen.send(frame)
            return gen.receive(redirect, timeout=0.5)
        gen.reaches(third, frame, routed(frame, THIRD, DUT1))
        wait_until(is_redirected, what="a redirect")


def test_sources_are_looked_for_by_the_bridge(lan, each_lane):
    """rp_filter: the way back leaves by the bridge, whichever its port."""
    gen, sink, third = ends(lan)
    lan.exec("dut", "sysctl", "-qw", "net.ipv4.conf.br0.rp_filter=1")
    by_another = udp4(src="10.0.1.3")  # gen's address, third's place: the bridge is the same
    with route(lan) as d:
        warm(lan)
        by_lane(d, each_lane, "eth1", gen, udp4(), sink, routed(udp4()))
        by_lane(d, each_lane, "eth1", gen, by_another, sink, routed(by_another))
        forged = udp4(src="10.0.2.77")
        gen.send(forged)
        gen.send(udp4(dport=9))
        assert routed(forged) not in sink.until(routed(udp4(dport=9)))


def test_a_new_address_of_the_bridge(lan, each_lane):
    gen, sink, third = ends(lan)
    new = "02:00:00:00:01:77"
    with route(lan) as d:
        warm(lan)
        lan.link("dut", "br0", "address", new)
        frame = udp4(eth_dst=new)
        by_lane(d, each_lane, "eth1", gen, frame, sink, routed(frame))
        by_lane(d, each_lane, "eth2", sink, back(udp4()), gen, routed(back(udp4()), GEN, new))


def test_a_port_that_leaves_and_comes_back(lan, each_lane):
    gen, sink, third = ends(lan)
    of_third = udp4(src="10.0.1.3", eth_src=THIRD)
    with route(lan) as d:
        warm(lan)
        by_lane(d, each_lane, "eth3", third, of_third, sink, routed(of_third))
        lan.link("dut", "eth3", "nomaster")
        wait_until(lambda: d.lane("eth3")["reason"] == "not_member")
        by_lane(d, each_lane, "eth1", gen, udp4(), sink, routed(udp4()))
        lan.link("dut", "eth3", "master", "br0")
        by_lane(d, each_lane, "eth3", third, of_third, sink, routed(of_third))


def test_rules_of_bridges_judge(lan, each_lane):
    """Those at the bridge's hooks, also its input and output, which bridged frames never meet."""
    with route(lan) as d:
        assert d.lane("eth1")["in_use"] == each_lane
        lan.exec("dut", "nft", "add table bridge t; add chain bridge t c "
                 "{ type filter hook input priority 0; policy drop; }")
        wait_until(lambda: d.lane("eth1")["reason"] == "firewall")
        lan.exec("dut", "nft", "delete table bridge t")
        wait_until(lambda: d.lane("eth1")["in_use"] == each_lane)


def test_devices_and_routes_name_the_bridge(lan, each_lane):
    with route(lan) as d:
        warm(lan)
        device = [row for row in d.show("devices")["devices"] if row["device"] == "br0"][0]
        assert device["state"] == "followed" and device["port"] == "eth1 eth3"
        assert device["ip4"] and device["ip6"]
        hops = {row["prefix"]: row["next_hops"][0] for row in d.show("routes")["routes"]}
        assert hops["10.0.1.3/32"]["device"] == "br0" and hops["10.0.1.3/32"]["port"] == "eth3"
