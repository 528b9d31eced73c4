# SPDX-License-Identifier: BSD-2-Clause
"""The lanes: frames that XDP forwards by itself, what is left to the kernel, and who chooses."""
import signal

import pytest

from frames import GEN, MAX, SINK, ethernet, ip4, routed, udp4
from lab import wait_until
from shuntd import Shuntd, refused

CROSSING = [
    ("v4 shortest", udp4(eth_dst=SINK)),
    ("v4 largest", udp4(MAX, eth_dst=SINK)),
    ("v4 ttl 1", udp4(ttl=1, eth_dst=SINK)),
    ("broadcast", udp4(eth_dst="ff:ff:ff:ff:ff:ff")),
    ("unknown ethertype", ethernet(bytes(range(46)), SINK, GEN, 0x88b5)),
    ("tagged", ethernet(b"\x00\x05\x08\x00" + ip4(bytes(26)), SINK, GEN, 0x8100, 64)),
]


def lane(shuntd, port="eth1"):
    return next(row for row in shuntd.show("lanes")["lanes"] if row["port"] == port)


def packets(shuntd, name, port="eth1"):
    return lane(shuntd, port)["lanes"][name]["packets"]


# --- cross-connect --------------------------------------------------------------------------------

def test_xconnect_same_bytes_both_ways(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp") as shuntd:
        for _, frame in CROSSING:
            gen.send(frame)
            sink.expect(frame)
            sink.send(frame)
            gen.expect(frame)
        lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.1.1")  # the kernel's share goes on
        for port in ("eth1", "eth2"):
            assert packets(shuntd, "xdp", port) >= len(CROSSING)
            assert packets(shuntd, "user", port) == 0
        reasons = {(d["port"], d["lane"], d["name"]): d["count"]
                   for d in shuntd.show("drops")["drops"] if d["where"] == "steer"}
        assert reasons["eth1", "kernel", "no_xdp_port"] == 0


def test_rules_choose_lanes(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    rules = ["proto udp dport 1001 lane user", "proto udp dport 1002 lane xdp",
             "proto udp dport 1003 lane drop", "proto udp dport 1004 lane auto",
             "proto udp lane kernel"]
    marker = udp4(eth_dst=SINK, dport=1004)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "user",
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
        assert packets(shuntd, "xdp") == 1 and packets(shuntd, "user") >= 3


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
    assert lab.changes() == []


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
    """The far end's NAPI goes and comes: no frame can be sent there by XDP meanwhile."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4(eth_dst=SINK)
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto")
    for gro, now in (("off", "user"), ("on", "xdp")):
        lab.exec("sink", "ethtool", "-K", "eth1", "gro", gro)
        wait_until(lambda want=now: lane(shuntd)["in_use"] == want, what=f"lane {now}")
        gen.send(frame)
        sink.expect(frame)
    assert lane(shuntd)["changes"] == 2
    shuntd.process.terminate()
    said = shuntd.process.communicate(timeout=20)[1]
    assert "eth1: lane user (auto): eth2 takes no frames from XDP" in said, said
    assert shuntd.process.returncode == 0
    assert lab.changes() == []


def test_asked_for_and_far_port_takes_none(make_lab):
    """Asked for by name the lane stays, and the frames are the kernel's, counted."""
    lab = make_lab(static_neigh=True, gro=False)
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4()
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp") as shuntd:
        assert "eth2 takes no frames from XDP" in lane(shuntd)["why"]
        gen.send(udp4(eth_dst=SINK), frame)  # to dut's own address: routed by the kernel
        assert udp4(eth_dst=SINK) not in sink.until(routed(frame))
        reasons = {(d["port"], d["lane"], d["name"]): d["count"]
                   for d in shuntd.show("drops")["drops"] if d["where"] == "steer"}
        assert reasons["eth1", "kernel", "no_xdp_port"] >= 1


# --- refusals -------------------------------------------------------------------------------------

def test_refused(lab):
    text = refused(lab, "xconnect", "eth1", "eth2", "--lane", "fast", code=2)
    assert text == "--lane is 'fast', expected auto, user, xdp or kernel"
    text = refused(lab, "static3", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}", "--lane", "xdp",
                   code=2)
    assert "mode static3" in text and "auto" in text
    text = refused(lab, "xconnect", "eth1", "eth2", "--lane", "xdp", "--node", "discard", code=2)
    assert "node discard" in text
    text = refused(lab, "xconnect", "eth1", "eth2", "--rule", "lane quick", code=2)
    assert "xdp or auto" in text
