# SPDX-License-Identifier: BSD-2-Clause
"""The lanes: frames that XDP forwards by itself, what is left to the kernel, and what chooses."""
import os
import signal

from shuntlab.frames import MAX, SINK, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.programs import on_device
from shuntlab.shuntd import Shuntd, Watched


# --- cross-connect --------------------------------------------------------------------------------

def test_rules_choose_lanes(lab):
    gen, sink = lab.ends()
    rules = ["proto udp dport 1001 lane user", "proto udp dport 1002 lane xdp",
             "proto udp dport 1003 lane drop", "proto udp dport 1004 lane auto",
             "proto udp lane kernel"]
    for own in "user", "xdp":
        choose_lanes(lab, gen, sink, own, rules)


def choose_lanes(lab, gen, sink, own, rules):
    marker = udp4(eth_dst=SINK, dport=1004)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", own,
                *[word for rule in rules for word in ("--rule", rule)]) as shuntd:
        before = shuntd.packets("xdp")  # it crosses before there are sockets
        for dport in (1001, 1002, 1004):
            gen.reaches(sink, udp4(eth_dst=SINK, dport=dport))
        gen.send(udp4(eth_dst=SINK, dport=1003), udp4(eth_dst=SINK, dport=1005), marker)
        seen = sink.until(marker)
        assert udp4(eth_dst=SINK, dport=1003) not in seen
        assert udp4(eth_dst=SINK, dport=1005) not in seen
        shown = shuntd.show("rules")
        assert shown["matched"] == {"user": 1, "xdp": 1, "drop": 1, "kernel": 1}
        assert [r["lane"] for r in shown["rules"]] == ["user", "xdp", "drop", "auto", "kernel"]
        by_xdp, by_worker = (1, 3) if own == "user" else (3, 1)
        # at least: a host may say something of its own meanwhile
        assert shuntd.packets("xdp") - before >= by_xdp and shuntd.packets("user") >= by_worker


# --- routing --------------------------------------------------------------------------------------

def test_route(lab):
    """Bytes as the kernel's, both families; what it cannot finish is the kernel's, by reason."""
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        for frame in (udp4(), udp4(MAX), udp6()):
            shuntd.until_had("xdp", lambda f=frame: gen.reaches(sink, f, routed(f)))
        bad = udp4()[:24] + b"\0\0" + udp4()[26:]
        gen.send(bad, udp4(dst="203.0.113.1"))
        wait_until(lambda: shuntd.steered("bad_checksum") and shuntd.steered("no_way"))
        lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1400)
        wait_until(lambda: gen.send(udp4(MAX)) or shuntd.steered("too_big"))
        lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1500)
        lab.exec("dut", "ip", "route", "add", "10.0.2.2/32", "via", "10.0.1.2")
        wait_until(lambda: gen.send(udp4()) or shuntd.steered("same_port"))
        lab.exec("dut", "ip", "route", "del", "10.0.2.2/32")
        before = shuntd.packets("xdp")
        wait_until(lambda: gen.send(udp4()) or shuntd.packets("xdp") > before)


def test_route_of_a_hung_daemon_is_the_kernels(lab):
    """Nobody follows the routes any more: so nobody uses them."""
    gen, sink = lab.ends()
    frame = udp4()
    with Watched(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        gen.reaches(sink, frame, routed(frame))
        os.kill(shuntd.process.pid, signal.SIGSTOP)
        try:
            lab.exec("dut", "ip", "route", "add", "blackhole", "10.0.2.2/32")
            wait_until(lambda: not passes(gen, sink, frame), timeout=20,
                       what="the kernel's blackhole")
        finally:
            os.kill(shuntd.process.pid, signal.SIGCONT)
        lab.exec("dut", "ip", "route", "del", "blackhole", "10.0.2.2/32")
        assert shuntd.steered("stale") >= 1
        before = shuntd.packets("xdp")
        wait_until(lambda: gen.send(frame) or shuntd.packets("xdp") > before, timeout=20)


def passes(gen, sink, frame):
    """Whether a frame gets through, all older ones having been received."""
    while sink.receive(timeout=0.05):
        pass
    gen.send(frame)
    return sink.receive(lambda f: f == routed(frame), timeout=0.3) is not None


def test_route_killed(lab):
    gen, sink = lab.ends()
    frame = udp4()
    shuntd = Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp")
    gen.reaches(sink, frame, routed(frame))
    shuntd.kill()
    gen.reaches(sink, frame, routed(frame))
    lab.exec("dut", "ip", "route", "add", "blackhole", "10.0.2.2/32")
    wait_until(lambda: not passes(gen, sink, frame), what="the kernel's blackhole")
    lab.exec("dut", "ip", "route", "del", "blackhole", "10.0.2.2/32")
    Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp").stop()


# --- fails open -----------------------------------------------------------------------------------

def test_killed_the_wire_goes_on(lab):
    """Without a socket; what the kernel routes it routes."""
    gen, sink = lab.ends()
    crossing, frame = udp4(eth_dst=SINK), udp4()
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp")
    gen.reaches(sink, crossing)
    shuntd.kill()
    gen.reaches(sink, frame, routed(frame))
    gen.reaches(sink, crossing)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp"):
        gen.reaches(sink, crossing)


# --- auto -----------------------------------------------------------------------------------------

def test_auto_takes_xdp_where_nothing_is_zerocopy(lab):
    gen, sink = lab.ends()
    frame = udp4(eth_dst=SINK)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto") as shuntd:
        shown = shuntd.lane()
        assert (shown["requested"], shown["in_use"], shown["reason"]) == ("auto", "xdp", "xdp")
        assert shown["xdp_transmit"] is True
        gen.reaches(sink, frame)
        assert shuntd.packets("xdp") >= 1
        assert shown["why"] in " ".join(shuntd.ctl("show", "lanes").stdout.split())


def test_a_port_that_goes_to_another_namespace(lab):
    """Its steering program goes with it, out of shuntd's reach: that is said, it passes everything, and
    what sysfs has is given back."""
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", "busy", check=False)
    lab.link("dut", "eth2", "netns", f"shunt-{lab.name}-sink")
    wait_until(lambda: shuntd.lane("eth2")["reason"] == "gone_with_program", what="eth2 to be gone")
    shuntd.stop()
    assert "steer" in on_device(lab, "eth2", "sink")["name"]
    lab.link("sink", "eth2", "up")
    sink, far = lab.wire("sink", "eth2"), lab.wire("sink", "eth1")
    frame = udp4(eth_dst="02:00:00:00:02:01")

    def passes():
        far.send(frame)
        return sink.receive(lambda f: f == frame, timeout=0.2)

    wait_until(passes, what="the frame, once the link is up")
    assert lab.exec("sink", "cat", "/sys/class/net/eth2/gro_flush_timeout").stdout == "0\n"


def test_asked_for_and_far_port_takes_none(make_lab):
    """Asked for by name the lane stays, and what the kernel can forward is its, counted."""
    lab = make_lab(static_neigh=True, gro=False)
    gen, sink = lab.ends()
    frame = udp4()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        assert shuntd.lane()["reason"] == "asked_partly"
        gen.reaches(sink, frame, routed(frame))
        assert shuntd.steered("no_xdp_port") >= 1
