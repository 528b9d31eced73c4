# SPDX-License-Identifier: BSD-2-Clause
"""shunt-gen: the rate asked for, evenly, every frame whole although receivers rewrote its page."""
import collections
import json
import os
import signal
import struct

import pytest

from shuntlab.frames import DUT1, GEN, checksum, mac, routed
from shuntlab.lab import FIRST, REAL_TIME, wait_until

RATES = [
    ("200", "packet", 200),
    ("1000", "packet", 1000),
    ("1000", "xdp", 1000),
    ("20k", "xdp", 20_000),
    ("100k", "xdp", 100_000),
]


def tag_of(frame):
    """(magic, run, flow, sequence, time in ns modulo 2^36) of a UDP frame over IPv4 or IPv6."""
    at = 62 if frame[12:14] == b"\x86\xdd" else 42
    magic, run, word, low = struct.unpack("!IHQI", frame[at:at + 18])
    return magic, run, word >> 4 & 0xfffff, word >> 24, (word & 15) << 32 | low


def is_generated(frame):
    return frame[42:46] == b"shnt" or frame[62:66] == b"shnt"


def check_frame(frame, size, v6):
    assert len(frame) == size
    assert frame[:12] == mac(DUT1) + mac(GEN)
    if v6:
        assert struct.unpack("!H", frame[18:20])[0] == size - 54
        pseudo = frame[22:54] + struct.pack("!HH", 17, size - 54)
    else:
        assert checksum(frame[14:34]) == 0
        assert struct.unpack("!H", frame[16:18])[0] == size - 14
        pseudo = frame[26:34] + struct.pack("!HH", 17, size - 34)
    assert checksum(pseudo + frame[54 if v6 else 34:]) == 0


@pytest.mark.alone
@pytest.mark.parametrize("rate, way, pps", RATES, ids=[f"{r} by {w}" for r, w, _ in RATES])
def test_rate(lab, rate, way, pps):
    """All arrive, at the rate asked for. A machine that others use may hold the generator up
    at the wrong moment: it is right when one of five times it is within 1 %; only the last time it shuts others out, for a second."""
    rates = []
    while not any(0.99 <= r <= 1.005 for r in rates) and len(rates) < 5:
        sink = lab.sink("sink", "eth1", "--count", pps)
        sent = lab.send("gen", "eth1", "--rate", rate, "--way", way, "--count", pps,
                        first=FIRST if len(rates) < 4 else REAL_TIME)
        got = sink.finish()
        assert (sent["sent"], sent["way"]) == (pps, way)
        assert (got["frames"], got["lost"], got["late"]) == (pps, 0, 0)
        assert (got["ttl_min"], got["ttl_max"], got["mode"]) == (63, 63, "native")
        rates.append(sent["pps"] / pps)
        assert sent["rate_held"] == (abs(rates[-1] - 1) <= 0.01)
    # what it was held up for it makes up at 5/4 of the rate, no faster
    assert max(rates) <= 1.25, rates
    if max(rates) < 0.99 and os.getloadavg()[0] > 2:
        pytest.skip(f"others use the processors, load {os.getloadavg()[0]:.1f}: at best "
                    f"{max(rates):.2f} of the rate")
    assert any(0.99 <= r <= 1.005 for r in rates), rates


@pytest.mark.parametrize("way, most", [("packet", 2000), ("xdp", 2001)])
def test_way_by_rate(net, way, most):
    assert net.send("gen", "eth1", "--rate", most, "--count", 1)["way"] == way


def test_no_bursts(lab):
    """At 50,000 a second, 250 frames in any 5 ms. A machine that others use holds the generator up
    for milliseconds; then it may make up for it at 5/4 of the rate (313), but never in a burst,
    which one kernel call for every 65,536 frames would make of all of it."""
    wire = lab.wire("dut", "eth1")
    process = lab.popen("gen", "shunt-gen", "send", "eth1", "--rate", "50k", "--count", 50_000)
    stamps = wire.stamps(50_000, is_generated)
    assert process.wait(60) == 0
    windows = collections.Counter((stamp - stamps[0]) // 5_000_000 for stamp in stamps)
    assert max(windows.values()) <= 330, sorted(windows.values())


@pytest.mark.parametrize("way", ["xdp", "packet"])
@pytest.mark.parametrize("v6, size", [(False, 60), (False, 61), (False, 1514), (True, 80),
                                      (True, 1514)])
def test_frames_on_the_wire(net, way, v6, size):
    wire = net.wire("dut", "eth1")
    count = 40
    net.send("gen", "eth1", "--way", way, "--count", count, "--size", size, "--flows", 7,
             *(["--ipv6"] if v6 else []))
    frames = [wire.receive(is_generated) for _ in range(count)]
    assert None not in frames
    for i, frame in enumerate(frames):
        check_frame(frame, size, v6)
        assert tag_of(frame)[2:4] == (i % 7, i)
        at = 54 if v6 else 34
        assert struct.unpack("!H", frame[at:at + 2])[0] == 1024 + i % 7


def test_many_flows_differ_by_address(net):
    wire = net.wire("dut", "eth1")
    net.send("gen", "eth1", "--way", "packet", "--count", 20_000, "--flows", 20_000, "--rate",
             "100k")
    frames = [wire.receive(is_generated) for _ in range(20_000)]
    assert None not in frames
    assert len({(frame[26:30], frame[34:36]) for frame in frames}) == 20_000
    for frame in (frames[0], frames[16_383], frames[16_384], frames[-1]):
        check_frame(frame, 60, False)


@pytest.mark.parametrize("v6", [False, True], ids=["v4", "v6"])
def test_pages_rewritten_by_the_kernel(lab, v6):
    """The kernel rewrites MACs, TTL and checksum in the very page; far more frames than there are
    pages arrive right, all with the TTL that one hop leaves."""
    sink = lab.sink("sink", "eth1", "--verify", "--count", 300_000)
    lab.send("gen", "eth1", "--count", 300_000, "--rate", "300k", "--flows", 100,
             *(["--ipv6"] if v6 else []))
    got = sink.finish()
    assert (got["bad"], got["lost"], got["ttl_min"], got["ttl_max"]) == (0, 0, 63, 63)


def test_sink_sees_what_is_wrong(lab):
    """Loss, repetition and broken checksums, made by hand."""
    capture = lab.wire("dut", "eth1")
    lab.send("gen", "eth1", "--way", "packet", "--count", 10)
    frames = [routed(capture.receive(is_generated)) for _ in range(10)]
    out = lab.wire("dut", "eth2")
    sink = lab.sink("sink", "eth1", "--verify")
    broken = bytearray(frames[9])
    broken[36] ^= 1
    out.send(*frames[:4], frames[2], *frames[6:9], bytes(broken), b"\xff" * 60)
    wait_until(lambda: sink_frames(lab) >= 10, what="the frames")
    got = sink.stop()
    # Of the broken one nothing is believed, not even its number.
    assert got["frames"] == 8
    assert (got["duplicates"], got["reordered"], got["corrupt"]) == (1, 0, 1)
    assert (got["lost"], got["expected"]) == (2, 9)
    assert got["other_frames"] >= 1


def sink_frames(lab):
    return lab.json("sink", "ip", "-s", "-j", "link", "show", "eth1")[0]["stats64"]["rx"]["packets"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_sink_leaves_nothing_attached(lab, number):
    sink = lab.sink("dut", "eth1")
    assert any("xdp" in change for change in lab.changes())
    sink.process.send_signal(number)
    sink.process.wait(60)
    wait_until(lambda: not lab.changes(), what="dut as it was")


@pytest.mark.parametrize("rate", ["1000", "100k", "max"])
def test_send_stops_on_signal(lab, rate):
    process = lab.popen("gen", "shunt-gen", "send", "eth1", "-j", "--rate", rate, "--duration", 50)
    wait_until(lambda: sink_frames(lab) > 10, what="frames at the sink")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert '"interrupted": true' in out


def test_duration_without_a_rate(lab):
    # On one CPU: a ring that another empties is full most of the time.
    sent = lab.send("gen", "eth1", "--duration", 1, first=("taskset", "-c", str(max(os.sched_getaffinity(0)))))
    assert sent["seconds"] == pytest.approx(1, rel=0.1)
    assert sent["sent"] / 2 < sent["device_frames"] <= sent["sent"] + 100


def test_two_generators_are_told_apart(lab):
    sink = lab.sink("sink", "eth1", "--count", 4000)
    first = lab.popen("gen", "shunt-gen", "send", "eth1", "--count", 2000, "--rate", 2000)
    lab.send("gen", "eth1", "--count", 2000, "--rate", 2000)
    assert first.wait(60) == 0
    got = sink.finish()
    assert (got["frames"], got["runs"], got["lost"], got["late"]) == (4000, 2, 0, 0)


def test_says_when_nobody_receives(make_lab):
    lab = make_lab(gro=False)
    done = lab.exec("gen", "shunt-gen", "send", "eth1", "-j", "--count", 100_000, check=False)
    assert done.returncode == 1 and "gro on" in done.stderr
    sent = json.loads(done.stdout)
    assert sent["confirmed"] is False and sent["pps"] < sent["offered_pps"] / 1000


def test_sink_refuses_a_device_in_use(lab):
    lab.sink("dut", "eth1")
    done = lab.exec("dut", "shunt-gen", "sink", "eth1", check=False)
    assert done.returncode == 1 and "another XDP program" in done.stderr


@pytest.mark.parametrize("args, status, says", [
    (["send", "nosuch"], 1, "no such device"),
    (["sink", "nosuch"], 1, "no such device"),
    (["send", "lo"], 1, "not an Ethernet device"),
    (["send", "eth1", "--cpu", "4000"], 1, "--cpu 4000"),
    (["send"], 2, "wants a device"),
    (["send", "eth1", "eth2"], 2, "eth2"),
    (["send", "eth1", "--size", "59"], 2, "from 60 to 1514"),
    (["send", "eth1", "--size", "1515"], 2, "60 to 1514"),
    (["send", "eth1", "--ipv6", "--size", "79"], 2, "from 80 to 1514"),
    (["send", "eth1", "--rate", "0"], 2, "--rate"),
    (["send", "eth1", "--rate", "1x"], 2, "--rate"),
    (["send", "eth1", "--flows", "1.5"], 2, "whole number"),
    (["send", "eth1", "--dst-mac", "zz"], 2, "MAC address"),
    (["send", "eth1", "--dst-ip", "10.0.0.256"], 2, "IPv4 or IPv6"),
    (["send", "eth1", "--src-ip", "10.0.0.1", "--dst-ip", "fd00::1"], 2, "mixed"),
    (["send", "eth1", "--way", "pigeon"], 2, "xsk or packet"),
    (["sink", "eth1", "--bogus"], 2, "--bogus"),
    (["sink", "eth1", "--duration"], 2, "wants a value"),
    (["fling"], 2, "fling"),
    ([], 2, "send, sink or run"),
    (["send", "eth1", "--dst-mac", "02:00:00:00:01:01x"], 2, "MAC address"),
    (["send", "eth1", "--line", "10Gbit", "--rate", "20Gbit"], 1, "eth1 has 10"),
    (["send", "eth1", "--line", "fast"], 2, "--line"),
])
def test_bad_usage(net, args, status, says):
    done = net.exec("gen", "shunt-gen", *args, check=False)
    assert done.returncode == status
    assert says in done.stderr and done.stderr.count("\n") == 1
