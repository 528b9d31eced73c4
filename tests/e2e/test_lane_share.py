# SPDX-License-Identifier: BSD-2-Clause
"""A live share of the lanes, and what becomes of frames that lane xdp cannot send."""
import pytest

from shuntlab.frames import SINK, udp4
from shuntlab.lab import wait_until
from shuntlab.shuntd import Shuntd

FLOWS = 16


def quiet(lab):
    """The far hosts send nothing of their own (router solicitations, multicast reports), where every
    frame counts."""
    for host in "gen", "sink":
        lab.exec(host, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")


@pytest.fixture(name="lab")
def quiet_lab(lab):
    quiet(lab)
    return lab


def lane(shuntd, port="eth1"):
    return next(row for row in shuntd.show("lanes")["lanes"] if row["port"] == port)


def packets(shuntd, port="eth1"):
    return {name: row["packets"] for name, row in lane(shuntd, port)["lanes"].items()}


def flow(number):
    return udp4(eth_dst=SINK, sport=5000 + number)


def lane_of(shuntd, gen, sink, frame):
    """The lane that the frame took, which is to arrive."""
    before = packets(shuntd)
    gen.send(frame)
    sink.expect(frame)
    now = packets(shuntd)
    took = [name for name in now if now[name] > before[name]]
    assert len(took) == 1, (before, now)
    return took[0]


def drops(shuntd, where, port):
    return {row["name"]: row["count"] for row in shuntd.show("drops")["drops"]
            if (row["where"], row["port"]) == (where, port)}


def test_flows_are_shared_out_and_keep_their_lane(lab):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto") as shuntd:
        shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
        assert lane(shuntd)["in_use"] == "shared" and lane(shuntd, "eth2")["in_use"] == "xdp"
        first = [lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)]
        assert {"user", "xdp"} == set(first)
        assert [lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)] == first
        shares = {name: row["share_pct"] for name, row in lane(shuntd)["lanes"].items()}
        assert shares == {"user": 50, "xdp": 50, "kernel": 0, "drop": 0}
        for words, want in (["user"], "user"), (["xdp=100%"], "xdp"), (["auto"], "xdp"):
            shuntd.ctl("lane", "set", "eth1", *words)
            assert {lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)} == {want}
        assert lane(shuntd)["lanes"]["user"]["share_pct"] is None


def test_lanes_are_compared(lab):
    """What each lane does and costs stands side by side; what is not measured is null."""
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp", "--poll", "spin") as shuntd:
        assert lane(shuntd)["lanes"]["xdp"]["latency_ns"] is None, "nothing was measured yet"
        shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
        sender = lab.popen("gen", "shunt-gen", "send", "eth1", "--rate", "20k", "--flows", "64",
                           "--dst-mac", SINK)
        keys = ("pps", "bps", "latency_ns", "cpu_ns_per_packet")

        def measured():
            now = lane(shuntd)["lanes"]
            return all((now[name][key] or 0) > 0 for name in ("user", "xdp") for key in keys) and now

        now = wait_until(measured, 30, "a second of both lanes")
        assert now["kernel"]["latency_ns"] is None and now["kernel"]["cpu_ns_per_packet"] is None
        table = shuntd.ctl("show", "lanes").stdout
        assert "CPU ns/packet" in table and "is not measured" in table
        sender.terminate()


def test_far_end_without_napi_loses_no_share(lab):
    """Lane xdp's share takes the detour while the far end takes no frames from XDP."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto")
    shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", "off")
    wait_until(lambda: lane(shuntd)["xdp_transmit"] and not lane(shuntd, "eth2")["xdp_transmit"],
               what="that it is seen")
    wait_until(lambda: "shunt-d" in lane(shuntd)["why"] or lane(shuntd)["why"].startswith("set by"),
               what="the detour")
    assert {lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)} == {"user", "xdp"}
    shuntd.stop()


@pytest.mark.parametrize("words, said", [
    (["user=25%", "xdp=65%"], "the shares add up to 90%, expected 100%"),
    (["user=25%", "fast=75%"], "'fast=75%' names no lane"),
    (["user=50%", "kernel=50%"], "its share would be lost"),
])
def test_refused_and_nothing_changes(lab, words, said):
    gen, sink = lab.wire("gen"), lab.wire("sink")
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp") as shuntd:
        done = shuntd.ctl("lane", "set", "eth1", *words, check=False)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert said in done.stderr
        assert lane(shuntd)["in_use"] == "xdp"
        assert lane_of(shuntd, gen, sink, flow(0)) == "xdp"
        done = shuntd.ctl("lane", "set", "eth9", "user", check=False)
        assert done.returncode == 1 and "no port is called 'eth9'" in done.stderr
        done = shuntd.ctl("lane", "set", "eth1", check=False)
        assert done.returncode == 2


# --- what cannot be sent --------------------------------------------------------------------------

def test_no_share_of_tables_that_no_program_can_read(lab):
    """Routed, with the tables made for lane user: the frames would all be the kernel's."""
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "user") as shuntd:
        before = lane(shuntd)
        done = shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%", check=False)
        assert done.returncode == 1 and "made for lane user alone" in done.stderr
        assert lane(shuntd)["why"] == before["why"]
        shuntd.ctl("lane", "set", "eth1", "user=50%", "kernel=50%")


def test_too_big_for_the_far_port(lab):
    gen = lab.wire("gen")
    lab.exec("dut", "ip", "link", "set", "eth2", "mtu", 1280)
    lab.remember()
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp") as shuntd:
        gen.send(*3 * [udp4(1400, eth_dst=SINK)])
        wait_until(lambda: drops(shuntd, "redirect", "eth2")["too_big"] == 3, what="three seen")
        assert sum(drops(shuntd, "redirect", "eth2").values()) == 3
        assert not any(drops(shuntd, "redirect", "eth1").values())
        row = next(row for row in shuntd.show("drops")["drops"]
                   if (row["where"], row["name"]) == ("redirect", "too_big") and row["count"])
        assert row["lost"] is True


def test_every_frame_arrives_or_is_counted(make_lab):
    """At full speed into a queue that another core empties: what XDP redirected is what arrived and
    what the tracepoints saw refused."""
    lab = make_lab(static_neigh=True, threaded=1)
    quiet(lab)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp") as shuntd:
        sink = lab.sink("sink", "eth1", "--drop", "--count-only", "--idle", "2", "--duration", "60")
        lab.send("gen", "eth1", "--count", "2000000", "--rate", "max", "--dst-mac", SINK)
        arrived = sink.finish()["frames"]
        assert arrived > 1000
        assert packets(shuntd)["xdp"] == arrived + sum(drops(shuntd, "redirect", "eth2").values())
        assert packets(shuntd)["user"] == 0


def test_far_port_down(lab):
    gen = lab.wire("gen")
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp",
                check=False) as shuntd:  # its routes go with it
        lab.exec("dut", "ip", "link", "set", "eth2", "down")
        gen.send(*3 * [flow(1)])

        def seen():
            """Not sent, or, once the daemon knows, not even tried."""
            return (drops(shuntd, "redirect", "eth2")["down"] +
                    drops(shuntd, "steer", "eth1")["no_xdp_port"])

        wait_until(lambda: seen() == 3, what="three seen")
        lab.exec("dut", "ip", "link", "set", "eth2", "up")


def test_far_end_loses_its_napi(lab):
    """Before the daemon looks again, frames are refused and counted; from then on they take a detour."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp")
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", "off")
    sent = 0

    def refused():
        return drops(shuntd, "redirect", "eth2")["no_transmit"]

    while refused() == sent:
        gen.send(flow(sent))
        sent += 1
        wait_until(lambda: refused() == sent or sink.receive(lambda f: f == flow(sent - 1),
                                                             timeout=0.1),
                   what="the frame, or its being refused")
    assert "shunt-d" in lane(shuntd)["why"]
    gen.send(flow(sent))
    sink.expect(flow(sent))
    assert refused() == sent - 1
    said = shuntd.stop()
    assert "eth2 takes no frames from XDP" in said, said
