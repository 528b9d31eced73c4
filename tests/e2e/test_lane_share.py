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


def packets(shuntd, port="eth1"):
    return {name: row["packets"] for name, row in shuntd.lane(port)["lanes"].items()}


def flow(number):
    return udp4(eth_dst=SINK, sport=5000 + number)


def lane_of(shuntd, gen, sink, frame):
    """The lane that the frame took, which is to arrive."""
    before = packets(shuntd)
    gen.reaches(sink, frame)
    now = packets(shuntd)
    took = [name for name in now if now[name] > before[name]]
    assert len(took) == 1, (before, now)
    return took[0]


def test_flows_are_shared_out_and_keep_their_lane(lab):
    gen, sink = lab.ends()
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto") as shuntd:
        shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
        assert shuntd.lane()["in_use"] == "shared" and shuntd.lane("eth2")["in_use"] == "xdp"
        first = [lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)]
        assert {"user", "xdp"} == set(first)
        assert [lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)] == first
        shares = {name: row["share_pct"] for name, row in shuntd.lane()["lanes"].items()}
        assert shares == {"user": 50, "xdp": 50, "kernel": 0, "drop": 0}
        for words, want in (["user"], "user"), (["xdp=100%"], "xdp"), (["auto"], "xdp"):
            shuntd.ctl("lane", "set", "eth1", *words)
            assert {lane_of(shuntd, gen, sink, flow(n)) for n in range(FLOWS)} == {want}
        assert shuntd.lane()["lanes"]["user"]["share_pct"] is None


def test_lanes_are_compared(lab):
    """What each lane does and costs stands side by side; what is not measured is null."""
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp", "--poll", "spin") as shuntd:
        assert shuntd.lane()["lanes"]["xdp"]["latency_ns"] is None, "nothing was measured yet"
        shuntd.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
        sender = lab.popen("gen", "shunt-gen", "send", "eth1", "--rate", "20k", "--flows", "64",
                           "--dst-mac", SINK)
        keys = ("pps", "bps", "latency_ns", "cpu_ns_per_packet")

        def measured():
            now = shuntd.lane()["lanes"]
            return all((now[name][key] or 0) > 0 for name in ("user", "xdp") for key in keys) and now

        now = wait_until(measured, 30, "a second of both lanes")
        assert now["kernel"]["latency_ns"] is None and now["kernel"]["cpu_ns_per_packet"] is None
        table = shuntd.ctl("show", "lanes").stdout
        assert "CPU ns/packet" in table and "not measured" in table
        sender.terminate()


def test_refused_and_nothing_changes(lab):
    """Shares that would be lost: the kernel's of a cross-connect, and lane xdp's of tables that were made
    for lane user."""
    for mode, own, words in ("xconnect", "xdp", "kernel"), ("route", "user", "xdp"):
        with Shuntd(lab, mode, "eth1", "eth2", "--lane", own) as shuntd:
            done = shuntd.ctl("lane", "set", "eth1", "user=50%", f"{words}=50%", check=False)
            assert done.returncode == 1 and done.stderr.count("\n") == 1, done
            assert shuntd.lane()["in_use"] == own and shuntd.lane()["lanes"]["user"]["share_pct"] is None


# --- what cannot be sent --------------------------------------------------------------------------

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
        assert packets(shuntd)["xdp"] == arrived + sum(shuntd.drops("redirect", "eth2").values())
        assert packets(shuntd)["user"] == 0


def test_far_end_loses_its_napi(lab):
    """Before the daemon looks again, frames are refused and counted; from then on they take a detour."""
    gen, sink = lab.ends()
    shuntd = Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "xdp")
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", "off")
    sent = 0

    def refused():
        return shuntd.drops("redirect", "eth2")["no_transmit"]

    while refused() == sent:
        gen.send(flow(sent))
        sent += 1
        wait_until(lambda: refused() == sent or sink.receive(lambda f: f == flow(sent - 1),
                                                             timeout=0.1),
                   what="the frame, or its being refused")
    assert shuntd.lane()["reason"] == "asked_detour"
    gen.reaches(sink, flow(sent))
    assert refused() == sent - 1
    assert "eth2" in shuntd.stop(), "the change is told in the log"
