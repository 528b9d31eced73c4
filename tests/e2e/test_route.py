# SPDX-License-Identifier: BSD-2-Clause
"""shuntd routes: what leaves is what the kernel would have sent, and what only the kernel can do
the kernel does, though userspace had the frame first."""
import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import GEN, DUT1, DUT2, MAX, SINK, back, routed, udp4, udp6
from shuntlab.lab import wait_until

TRANSIT = [
    ("v4 shortest", udp4()),
    ("v4 largest", udp4(MAX)),
    ("v4 ttl 2", udp4(ttl=2)),
    ("v4 fragment", udp4(fragment=0x2000)),
    ("v6", udp6()),
    ("v6 largest", udp6(MAX)),
    ("v6 hop limit 2", udp6(hops=2)),
]
# By default steering leaves to the kernel what it would have to finish; with the rule userspace
# gets everything, ARP too, and has to hand it back.
WAYS = {"steered": [], "all-user": ["--rule", "lane user"], "xdp": ["--lane", "xdp"]}

KERNEL_TOO = pytest.mark.parametrize("each_lane", ["user", "xdp", "kernel"], indirect=True)


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def icmp(kind, code, to=GEN, by=DUT1):
    """Recognises the kernel's ICMP answer, to gen."""
    return lambda frame: (frame[:14] == bytes.fromhex((to + by).replace(":", "")) + b"\x08\0"
                          and frame[23] == 1 and frame[34:36] == bytes((kind, code)))


def icmp6(kind, code):
    return lambda frame: (frame[12:14] == b"\x86\xdd" and frame[20] == 58
                          and frame[54:56] == bytes((kind, code)))


def warm(lab):
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.2.2")
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "fd00:2::2")


def answered(wire, recognise, gen=None, frame=None, seconds=10):
    """Waits for a frame on the wire. After a change of routes the frame is sent by gen again and
    again: shunt follows the kernel a moment later."""
    def try_once():
        if gen:
            gen.send(frame)
        return wire.receive(recognise, timeout=0.5)

    return wait_until(try_once, seconds, "the kernel's answer")


def packets(d, lane):
    return sum(port["lanes"][lane]["packets"] for port in d.show("lanes")["lanes"])


@KERNEL_TOO
def test_transit_both_ways(lab, each_lane):
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2") as d:
        warm(lab)
        before, crossed = d.punted(), packets(d, each_lane)
        for _, frame in TRANSIT:
            gen.reaches(sink, frame, routed(frame))
            sink.reaches(gen, back(frame), routed(back(frame), GEN, DUT1))
        assert d.punted() == before
        assert packets(d, each_lane) - crossed >= 2 * len(TRANSIT)


@KERNEL_TOO
@pytest.mark.usefixtures("each_lane")
def test_padding_is_left_off(lab):
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2"):
        warm(lab)
        short = udp4(data=b"12", size=44)
        gen.reaches(sink, short + b"\xee" * 16, routed(short))


def test_unknown_neighbour(lab, way):
    """The first packet waits in the kernel for its neighbour; the next ones do not."""
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", *way):
        for frame in udp4(), udp6():
            lab.exec("dut", "ip", "neigh", "flush", "dev", "eth2")
            gen.reaches(sink, frame, routed(frame))


def test_kernel_answers(lab, way):
    """Expired and without a route."""
    gen = lab.wire("gen")
    with Shuntd(lab, "route", "eth1", "eth2", *way):
        warm(lab)
        for frame, answer in [(udp4(ttl=1), icmp(11, 0)), (udp6(hops=1), icmp6(3, 0)),
                              (udp4(dst="10.9.9.9"), icmp(3, 0)),
                              (udp6(dst="fd09::9"), icmp6(1, 0))]:
            gen.send(frame)
            answered(gen, answer)


def test_too_big(lab, way):
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", *way):
        warm(lab)
        lab.exec("dut", "ip", "route", "add", "198.19.1.0/24", "via", "10.0.2.2", "mtu", 1000)
        lab.exec("dut", "ip", "route", "add", "2001:2:0:2:1::/80", "via", "fd00:2::2", "mtu", 1280)
        answered(gen, icmp(3, 4), gen, udp4(1200, dst="198.19.1.1"))
        answered(gen, icmp6(2, 0), gen, udp6(1400, dst="2001:2:0:2:1::1"))
        gen.send(udp4(1200, dst="198.19.1.1", fragment=0))
        for _ in range(2):
            answered(sink, lambda f: f[30:34] == bytes((198, 19, 1, 1)) and f[20:22] != b"\0\0")
        lab.exec("dut", "ip", "route", "del", "198.19.1.0/24")
        lab.exec("dut", "ip", "route", "del", "2001:2:0:2:1::/80")


def test_ipv6_has_an_mtu_of_its_own(lab, way):
    gen = lab.wire("gen")
    with Shuntd(lab, "route", "eth1", "eth2", *way):
        warm(lab)
        lab.exec("dut", "sysctl", "-qw", "net.ipv6.conf.eth2.mtu=1300")
        answered(gen, icmp6(2, 0), gen, udp6(1400))
        lab.exec("dut", "sysctl", "-qw", "net.ipv6.conf.eth2.mtu=1500")


def test_ipv6_switched_off_on_a_port(lab, way):
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", *way, check=False):
        warm(lab)
        lab.exec("dut", "sysctl", "-qw", "net.ipv6.conf.eth1.disable_ipv6=1")

        def is_off():
            gen.send(udp6(), udp4())
            return routed(udp6()) not in sink.until(routed(udp4()))
        wait_until(is_off, 10)


@pytest.mark.parametrize("each_lane", ["xdp"], indirect=True)
def test_a_neighbour_that_has_changed(lab, each_lane):
    """It has another address, and tells nobody: once nothing was heard of it for a while, it is asked."""
    gen, sink = lab.ends()
    moved = "02:00:00:00:02:99"
    times = "base_reachable_time_ms=3000", "delay_first_probe_time=1", "retrans_time_ms=100"
    for name in times:
        lab.exec("dut", "sysctl", "-qw", f"net.ipv4.neigh.eth2.{name}")
    lab.exec("dut", "ip", "neigh", "del", "10.0.2.2", "dev", "eth2")
    with Shuntd(lab, "route", "eth1", "eth2", check=False) as d:
        warm(lab)

        def in_lane():
            before = d.packets(each_lane)
            gen.reaches(sink, udp4(), routed(udp4()))
            return d.packets(each_lane) > before
        wait_until(in_lane, 10)
        wait_until(lambda: "STALE" in lab.exec("dut", "ip", "neigh", "show", "10.0.2.2").stdout, 10)
        lab.exec("sink", "ip", "link", "set", "eth1", "address", moved)
        answered(sink, lambda f: f == routed(udp4(), moved), gen, udp4(), 30)


def test_a_new_mac_address(lab, each_lane):
    """What is sent to it is routed, in the lane; what is sent to the old one not any more."""
    gen, sink = lab.ends()
    new = "02:00:00:00:01:77"
    with Shuntd(lab, "route", "eth1", "eth2", check=False) as d:
        warm(lab)
        lab.exec("dut", "ip", "link", "set", "eth1", "address", new)
        lab.exec("dut", "ip", "neigh", "replace", "10.0.1.2", "lladdr", GEN, "dev", "eth1")

        def in_lane():
            before = d.packets(each_lane)
            gen.reaches(sink, udp4(eth_dst=new), routed(udp4()))
            return d.packets(each_lane) > before
        wait_until(in_lane, 10)
        marker = udp6(eth_dst=new)
        gen.send(udp4(dport=4444), marker)
        assert routed(udp4(dport=4444)) not in sink.until(routed(marker))
    lab.exec("dut", "ip", "link", "set", "eth1", "address", DUT1)


def test_rules_of_the_host_are_the_kernels(lab, each_lane):
    """A packet whose route another table has takes that, by the kernel; and all as before when the
    rule is gone, or the operator's word is that it does not count."""
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", chatty=True) as d:
        warm(lab)
        lab.exec("dut", "ip", "rule", "add", "from", "10.0.1.2", "prohibit", "pref", 100)
        answered(gen, icmp(3, 13), gen, udp4())

        def is_left():
            return d.lane()["reason"] == "policy_routing" and d.lane()["in_use"] == "kernel"

        assert d.lane()["in_use"] == each_lane
        lab.exec("dut", "ip", "rule", "del", "pref", 100)
        arrives_by(d, each_lane, gen, sink, udp4())
        for there, gone in [(("add", "tos", "0x10", "table", 100, "pref", 90), ("del", "pref", 90)),
                            (("del", "pref", 32766), ("add", "pref", 32766, "table", "main"))]:
            lab.exec("dut", "ip", "rule", *there)
            wait_until(is_left, what=f"the kernel's turn: {there}")
            lab.exec("dut", "ip", "rule", *gone)
            wait_until(lambda: d.lane()["in_use"] == each_lane, what="the lane")
    lab.exec("dut", "ip", "-6", "rule", "add", "from", "2001:db8::/32", "table", 7, "pref", 100)
    with Shuntd(lab, "route", "eth1", "eth2", "--rule", "to 2001:db8::/32 lane kernel", check=False,
                chatty=True) as d:  # which is no word about routing rules
        assert d.lane()["reason"] == "policy_routing"
    with Shuntd(lab, "route", "eth1", "eth2", "--policy-routing", "ignore", check=False,
                chatty=True) as d:
        assert d.lane()["in_use"] == each_lane


def arrives_by(d, lane, gen, sink, frame):
    """Sends until the frame arrives by that lane and no other, since shunt follows the kernel a moment
    later. What a worker hands over is the kernel's."""
    def counts():
        return d.packets(lane), d.punted() + d.packets("kernel")

    def try_once():
        lane_had, kernel_had = counts()
        gen.send(frame)
        if not sink.receive(lambda f: f == routed(frame), timeout=0.5):
            return False
        lane_has, kernel_has = counts()
        return kernel_has > kernel_had if lane == "kernel" else \
            lane_has > lane_had and kernel_has == kernel_had

    wait_until(try_once, what=f"lane {lane}")


@pytest.mark.parametrize("ip, nets, via, frames, unreachable", [
    ("-4", ("10.77.0.0/16", "10.78.0.0/16"), ("10.0.2.2", "10.0.1.2"),
     (udp4(dst="10.77.0.1"), udp4(src="10.0.2.2", dst="10.78.0.1", eth_dst=DUT2, eth_src=SINK), udp4()),
     (icmp(3, 0), icmp(3, 0, SINK, DUT2))),
    ("-6", ("fd00:77::/64", "fd00:78::/64"), ("fd00:2::2", "fd00:1::2"),
     (udp6(dst="fd00:77::1"), udp6(src="fd00:2::2", dst="fd00:78::1", eth_dst=DUT2, eth_src=SINK), udp6()),
     (icmp6(1, 0), icmp6(1, 0)))], ids=["v4", "v6"])
def test_a_rule_by_device(lab, each_lane, ip, nets, via, frames, unreachable):
    """What comes in by the device, and by no other, goes by the table that the rule names, in the
    lane; by main, and the kernel, what the table has no route for."""
    gen, sink = lab.ends()
    there, back_there, plain = frames
    with Shuntd(lab, "route", "eth1", "eth2", check=False, chatty=True) as d:
        warm(lab)
        for net, gateway in zip(nets, via):
            lab.exec("dut", "ip", ip, "route", "add", net, "via", gateway, "table", 77)
        answered(gen, unreachable[0], gen, there)
        lab.exec("dut", "ip", ip, "rule", "add", "iif", "eth1", "lookup", 77, "pref", 100)
        arrives_by(d, each_lane, gen, sink, there)
        answered(sink, unreachable[1], sink, back_there)
        arrives_by(d, "kernel", gen, sink, plain)
        lab.exec("dut", "ip", ip, "rule", "del", "pref", 100)
        answered(gen, unreachable[0], gen, there)
        arrives_by(d, each_lane, gen, sink, plain)


def test_a_rule_by_device_among_others(lab, each_lane):
    """It decides, and the port is not the kernel's, where no rule before it may match. Where
    one before it is for a source, what comes from there is the kernel's."""
    gen, sink = lab.ends()
    frame, of_another = udp4(dst="10.77.0.1"), udp4(src="10.0.1.3", dst="10.77.0.1")

    def is_left(port):
        lane = d.lane(port)
        return lane["reason"] == "policy_routing" and lane["in_use"] == "kernel"

    with Shuntd(lab, "route", "eth1", "eth2", check=False, chatty=True) as d:
        warm(lab)
        lab.exec("dut", "ip", "route", "add", "10.77.0.0/16", "via", "10.0.2.2", "table", 77)
        lab.exec("dut", "ip", "rule", "add", "iif", "eth1", "lookup", 77, "pref", 100)
        lab.exec("dut", "ip", "rule", "add", "from", "10.0.1.2", "lookup", 78, "pref", 80)
        arrives_by(d, "kernel", gen, sink, frame)
        arrives_by(d, each_lane, gen, sink, of_another)
        lab.exec("dut", "ip", "rule", "del", "pref", 80)
        lab.exec("dut", "ip", "rule", "add", "tos", "0x10", "lookup", 78, "pref", 200)
        wait_until(lambda: is_left("eth2"), what="the rule behind it")
        assert d.lane("eth1")["in_use"] == each_lane
        arrives_by(d, each_lane, gen, sink, frame)
        arrives_by(d, "kernel", gen, sink, udp4())
        lab.exec("dut", "ip", "rule", "add", "tos", "0x10", "lookup", 78, "pref", 90)
        wait_until(lambda: is_left("eth1"), what="the rule before it")
        arrives_by(d, "kernel", gen, sink, frame)
        lab.exec("dut", "ip", "rule", "del", "pref", 90)
        arrives_by(d, each_lane, gen, sink, frame)


def test_sources_under_rules_by_device(lab, each_lane):
    """With rules the way back to a source is looked for as for what comes in by the device that the
    packet leaves by. What the table that decides there has no way to is the kernel's."""
    gen, sink = lab.ends()
    frame = udp4(dst="10.77.0.1")
    lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth1.rp_filter=1")
    with Shuntd(lab, "route", "eth1", "eth2", check=False, chatty=True) as d:
        warm(lab)
        lab.exec("dut", "ip", "route", "add", "10.77.0.0/16", "via", "10.0.2.2", "table", 77)
        lab.exec("dut", "ip", "rule", "add", "iif", "eth1", "lookup", 77, "pref", 100)
        arrives_by(d, each_lane, gen, sink, frame)
        lab.exec("dut", "ip", "rule", "add", "iif", "eth2", "lookup", 77, "pref", 101)
        arrives_by(d, "kernel", gen, sink, frame)
        lab.exec("dut", "ip", "route", "add", "10.0.1.0/24", "dev", "eth1", "table", 77)
        arrives_by(d, each_lane, gen, sink, frame)


def test_a_rule_is_no_forwarding_switched_off(lab):
    """What is left to the kernel because of a routing rule is not said to be dropped."""
    lab.exec("dut", "ip", "rule", "add", "tos", "0x10", "prohibit", "pref", 100)
    with Shuntd(lab, "route", "eth1", "eth2", check=False, chatty=True) as d:
        wait_until(lambda: d.lane()["reason"] == "policy_routing")
        lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth2.forwarding=0")
        wait_until(lambda: d.notices("ip4_forwarding", "eth2"))
        assert not d.notices("ip4_forwarding", "eth1")


@KERNEL_TOO
def test_follows_routes_and_forwarding(lab, each_lane):
    gen, sink = lab.ends()
    frame = udp4(dst="10.77.0.1")
    # chatty: the daemon looks once a second, and may find forwarding off
    with Shuntd(lab, "route", "eth1", "eth2", chatty=True) as d:
        warm(lab)
        lab.exec("dut", "ip", "route", "add", "10.77.0.0/16", "via", "10.0.2.2")
        answered(sink, lambda f: f == routed(frame), gen, frame)
        lab.exec("dut", "ip", "route", "del", "10.77.0.0/16")
        answered(gen, icmp(3, 0), gen, frame)
        lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth1.forwarding=0")
        handed = Shuntd.punted if each_lane == "user" else lambda d: packets(d, "kernel")
        before = handed(d)

        def is_handed_over():
            gen.send(udp4())
            return handed(d) > before

        wait_until(is_handed_over)
        lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.eth1.forwarding=1")


@KERNEL_TOO
@pytest.mark.usefixtures("each_lane")
def test_a_port_that_becomes_a_bridges(lab):
    """What comes in is the bridge's, which here forwards nothing, until it is a port of its own again."""
    gen, sink = lab.ends()
    frame = udp4()

    def crosses():
        gen.send(frame)
        return sink.receive(lambda got: got == routed(frame), timeout=0.2)

    with Shuntd(lab, "route", "eth1", "eth2", chatty=True) as d:
        lab.exec("dut", "ip", "link", "add", "br9", "up", "type", "bridge")
        lab.exec("dut", "sysctl", "-q", "net.ipv4.conf.br9.forwarding=0")
        warm(lab)
        gen.reaches(sink, frame, routed(frame))
        lab.exec("dut", "ip", "link", "set", "eth1", "master", "br9")
        wait_until(lambda: not crosses(), 0.8, "the port to be the bridge's")
        assert not any(crosses() for _ in range(5))
        wait_until(lambda: (d.lane()["reason"], d.lane()["in_use"]) == ("master", "kernel"))
        lab.exec("dut", "ip", "link", "set", "eth1", "nomaster")
        wait_until(crosses, 20, "the port to route again")
        lab.exec("dut", "ip", "link", "del", "br9")


def test_local_traffic_and_a_killed_daemon(lab, way):
    """The host itself answers through userspace; after a kill the next daemon removes what the
    first one made."""
    d = Shuntd(lab, "route", "eth1", "eth2", *way)
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.1.1")
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "fd00:1::1")
    d.kill()
    with Shuntd(lab, "route", "eth1", "eth2", *way):
        warm(lab)
