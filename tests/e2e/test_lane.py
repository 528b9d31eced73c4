# SPDX-License-Identifier: BSD-2-Clause
"""The lanes: frames that XDP forwards by itself, what is left to the kernel, and who chooses."""
import os
import signal

import pytest

from shuntlab.frames import MAX, SINK, routed, udp4, udp6
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd, refused


def lane(shuntd, port="eth1"):
    return next(row for row in shuntd.show("lanes")["lanes"] if row["port"] == port)


def packets(shuntd, name, port="eth1"):
    return lane(shuntd, port)["lanes"][name]["packets"]


# --- cross-connect --------------------------------------------------------------------------------

def test_rules_choose_lanes(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    rules = ["proto udp dport 1001 lane user", "proto udp dport 1002 lane xdp",
             "proto udp dport 1003 lane drop", "proto udp dport 1004 lane auto",
             "proto udp lane kernel"]
    for own in "user", "xdp":
        choose_lanes(lab, gen, sink, own, rules)


def choose_lanes(lab, gen, sink, own, rules):
    marker = udp4(eth_dst=SINK, dport=1004)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", own,
                *[word for rule in rules for word in ("--rule", rule)]) as shuntd:
        for dport in (1001, 1002, 1004):
            gen.send(udp4(eth_dst=SINK, dport=dport))
            sink.expect(udp4(eth_dst=SINK, dport=dport))
        gen.send(udp4(eth_dst=SINK, dport=1003), udp4(eth_dst=SINK, dport=1005), marker)
        seen = sink.until(marker)
        assert udp4(eth_dst=SINK, dport=1003) not in seen
        assert udp4(eth_dst=SINK, dport=1005) not in seen
        shown = shuntd.show("rules")
        assert shown["matched"] == {"user": 1, "xdp": 1, "drop": 1, "kernel": 1}
        assert [r["lane"] for r in shown["rules"]] == ["user", "xdp", "drop", "auto", "kernel"]
        by_xdp, by_worker = (1, 3) if own == "user" else (3, 1)
        assert packets(shuntd, "xdp") == by_xdp and packets(shuntd, "user") >= by_worker


# --- routing --------------------------------------------------------------------------------------

def steered(shuntd, reason, port="eth1"):
    """The kernel lane's frames of one reason."""
    return next(d["count"] for d in shuntd.show("drops")["drops"] if d["where"] == "steer" and
                (d["port"], d["lane"], d["name"]) == (port, "kernel", reason))


def test_route(lab):
    """Bytes as the kernel's, both families; what it cannot finish is the kernel's, by reason."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        for frame in (udp4(), udp4(MAX), udp6()):
            gen.send(frame)
            sink.expect(routed(frame))
        assert packets(shuntd, "xdp") == 3
        bad = udp4()[:24] + b"\0\0" + udp4()[26:]
        gen.send(bad, udp4(dst="203.0.113.1"))
        wait_until(lambda: steered(shuntd, "bad_checksum") and steered(shuntd, "no_way"))
        lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1400)
        wait_until(lambda: gen.send(udp4(MAX)) or steered(shuntd, "too_big"))
        lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1500)
        lab.exec("dut", "ip", "route", "add", "10.0.2.2/32", "via", "10.0.1.2")
        wait_until(lambda: gen.send(udp4()) or steered(shuntd, "same_port"))
        lab.exec("dut", "ip", "route", "del", "10.0.2.2/32")
        before = packets(shuntd, "xdp")
        wait_until(lambda: gen.send(udp4()) or packets(shuntd, "xdp") > before)


def test_route_of_a_hung_daemon_is_the_kernels(lab):
    """Nobody follows the routes any more: so nobody uses them."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        gen.send(frame)
        sink.expect(routed(frame))
        os.kill(shuntd.process.pid, signal.SIGSTOP)
        try:
            lab.exec("dut", "ip", "route", "add", "blackhole", "10.0.2.2/32")
            wait_until(lambda: not passes(gen, sink, frame), timeout=20,
                       what="the kernel's blackhole")
        finally:
            os.kill(shuntd.process.pid, signal.SIGCONT)
        lab.exec("dut", "ip", "route", "del", "blackhole", "10.0.2.2/32")
        assert steered(shuntd, "stale") >= 1
        before = packets(shuntd, "xdp")
        wait_until(lambda: gen.send(frame) or packets(shuntd, "xdp") > before, timeout=20)


def passes(gen, sink, frame):
    """Whether a frame gets through, all older ones having been received."""
    while sink.receive(timeout=0.05):
        pass
    gen.send(frame)
    return sink.receive(lambda f: f == routed(frame), timeout=0.3) is not None


def test_route_killed(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4()
    shuntd = Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp")
    gen.send(frame)
    sink.expect(routed(frame))
    shuntd.kill()
    gen.send(frame)
    sink.expect(routed(frame))
    lab.exec("dut", "ip", "route", "add", "blackhole", "10.0.2.2/32")
    wait_until(lambda: not passes(gen, sink, frame), what="the kernel's blackhole")
    lab.exec("dut", "ip", "route", "del", "blackhole", "10.0.2.2/32")
    Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp").stop()


def test_route_auto_falls_back_to_the_kernel(make_lab):
    lab = make_lab(static_neigh=True, gro=False)
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "auto") as shuntd:
        assert lane(shuntd)["in_use"] == "kernel"
        assert "eth2 takes no frames from XDP" in lane(shuntd)["why"]
        gen.send(udp4())
        sink.expect(routed(udp4()))


# --- fails open -----------------------------------------------------------------------------------

def test_killed_the_kernel_forwards(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    crossing, frame = udp4(eth_dst=SINK), udp4()
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp")
    gen.send(crossing)
    sink.expect(crossing)
    shuntd.kill()
    gen.send(frame)
    sink.expect(routed(frame))
    gen.send(crossing, frame)  # nothing redirects any longer
    assert crossing not in sink.until(routed(frame))
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp"):
        gen.send(crossing)
        sink.expect(crossing)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_leaves_dut_as_it_was(lab, number):
    Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp").stop(number)


# --- auto -----------------------------------------------------------------------------------------

def test_auto_takes_xdp_where_nothing_is_zerocopy(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4(eth_dst=SINK)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto") as shuntd:
        shown = lane(shuntd)
        assert (shown["requested"], shown["in_use"]) == ("auto", "xdp")
        assert "no zero-copy on eth1" in shown["why"] and shown["xdp_transmit"] is True
        gen.send(frame)
        sink.expect(frame)
        assert packets(shuntd, "xdp") >= 1
        table = shuntd.ctl("show", "lanes").stdout
        assert "no zero-copy on eth1" in table and "xdp" in table


def test_auto_chooses_again(lab):
    """The far end's NAPI goes and comes: frames take a detour meanwhile, since no frame can be sent there
    by XDP."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4(eth_dst=SINK)
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto")
    for gro, why in (("off", "eth2 takes no frames from XDP"), ("on", "the other end takes frames")):
        lab.exec("sink", "ethtool", "-K", "eth1", "gro", gro)
        wait_until(lambda want=why: want in lane(shuntd)["why"], what=why)
        assert lane(shuntd)["in_use"] == "xdp"
        gen.send(frame)
        sink.expect(frame)
    assert lane(shuntd)["changes"] == 0
    said = shuntd.stop()
    assert "eth1: lane xdp (auto): no zero-copy on eth1; eth2 takes no frames from XDP" in said, said


def test_a_far_port_that_is_gone_is_said_to_be(lab):
    shuntd = Shuntd(lab, "route", "eth1", "eth2", "--lane", "auto", check=False)
    assert lane(shuntd)["in_use"] == "xdp"
    lab.exec("dut", "ip", "link", "del", "eth2")
    wait_until(lambda: lane(shuntd)["in_use"] == "kernel", what="lane kernel")
    assert lane(shuntd)["why"] == "no zero-copy on eth1, and eth2 is gone"
    said = shuntd.stop()
    assert "eth2 is gone; a device that takes its place is served after a restart" in said, said


def test_a_port_that_goes_to_another_namespace(lab):
    """Its steering program goes with it, out of shuntd's reach: that is said, it passes everything, and
    what sysfs has is given back."""
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", "busy", check=False)
    lab.link("dut", "eth2", "netns", f"shunt-{lab.name}-sink")
    wait_until(lambda: "is gone" in lane(shuntd, "eth2")["why"], what="eth2 to be gone")
    assert "in another network namespace it still has the program" in lane(shuntd, "eth2")["why"]
    shuntd.stop()
    link = lab.json("sink", "ip", "-d", "-j", "link", "show", "eth2")[0]
    assert "steer" in link["xdp"]["prog"]["name"], link
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
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp") as shuntd:
        assert "eth2 takes no frames from XDP, so what goes there is the kernel's" in \
            lane(shuntd)["why"]
        gen.send(frame)
        sink.expect(routed(frame))
        reasons = {(d["port"], d["lane"], d["name"]): d["count"]
                   for d in shuntd.show("drops")["drops"] if d["where"] == "steer"}
        assert reasons["eth1", "kernel", "no_xdp_port"] >= 1


# --- refusals -------------------------------------------------------------------------------------

def test_lane_kernel_where_the_kernel_forwards_nothing(lab):
    for mode, says in ("xconnect", "asked for; the kernel forwards nothing between these ports, "
                       "nothing crosses"), ("route", "asked for"):
        with Shuntd(lab, mode, "eth1", "eth2", "--lane", "kernel") as shuntd:
            assert (lane(shuntd)["in_use"], lane(shuntd)["why"]) == ("kernel", says)


def test_refused(lab):
    text = refused(lab, "xconnect", "eth1", "eth2", "--lane", "fast", code=2)
    assert text == "--lane is 'fast', expected auto, user, xdp or kernel"
    text = refused(lab, "xconnect", "eth1", "eth2", "--lane", "xdp", "--node", "discard", code=2)
    assert "node discard" in text
    text = refused(lab, "xconnect", "eth1", "eth2", "--rule", "lane quick", code=2)
    assert "xdp or auto" in text
