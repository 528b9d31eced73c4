# SPDX-License-Identifier: BSD-2-Clause
"""shunt-gen: every frame whole although receivers rewrote its page, and how it starts and ends."""
import json
import signal
import struct
import subprocess

import pytest

from shuntlab.frames import DUT1, GEN, checksum, mac, routed
from shuntlab.generated import is_generated, received, tag_of
from shuntlab.lab import wait_until


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


@pytest.mark.parametrize("way, most", [("packet", 2000), ("xdp", 2001)])
def test_way_by_rate(net, way, most):
    assert net.send("gen", "eth1", "--rate", most, "--count", 1)["way"] == way


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
    wait_until(lambda: received(lab) >= 10, what="the frames")
    got = sink.stop()
    # Of the broken one nothing is believed, not even its number.
    assert got["frames"] == 8
    assert (got["duplicates"], got["reordered"], got["corrupt"]) == (1, 0, 1)
    assert (got["lost"], got["expected"]) == (2, 9)
    assert got["other_frames"] >= 1


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
    wait_until(lambda: received(lab) > 10, what="frames at the sink")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert '"interrupted": true' in out


def test_send_waits_for_a_link(lab):
    """One that is away when it starts, too, as a device's whose program has just gone."""
    lab.link("dut", "eth1", "down")
    process = lab.popen("gen", "shunt-gen", "send", "eth1", "-j", "--count", 10)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    lab.link("dut", "eth1", "up")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    sent = json.loads(out)
    assert sent["confirmed"] and sent["device_frames"] >= 10


def test_says_when_there_is_no_link(lab):
    lab.link("dut", "eth1", "down")
    done = lab.exec("gen", "shunt-gen", "send", "eth1", "--count", 10, check=False)
    assert done.returncode == 1 and "no carrier" in done.stderr
    assert done.stdout == ""


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
    (["send", "lo"], 1, "not an Ethernet device"),
    (["send", "eth1", "--cpu", "4000"], 1, "--cpu 4000"),
    (["send", "eth1", "eth2"], 2, "eth2"),
    (["send", "eth1", "--size", "59"], 2, "from 60 to 1514"),
    (["send", "eth1", "--rate", "0"], 2, "--rate"),
    (["send", "eth1", "--flows", "1.5"], 2, "whole number"),
    (["send", "eth1", "--dst-mac", "zz"], 2, "MAC address"),
    (["send", "eth1", "--dst-ip", "10.0.0.256"], 2, "IPv4 or IPv6"),
    (["send", "eth1", "--src-ip", "10.0.0.1", "--dst-ip", "fd00::1"], 2, "mixed"),
    (["send", "eth1", "--way", "pigeon"], 2, "xsk or packet"),
    (["sink", "eth1", "--bogus"], 2, "--bogus"),
    ([], 2, "send, sink or run"),
    (["send", "eth1", "--line", "10Gbit", "--rate", "20Gbit"], 1, "eth1 has 10"),
])
def test_bad_usage(net, args, status, says):
    done = net.exec("gen", "shunt-gen", *args, check=False)
    assert done.returncode == status
    assert says in done.stderr and done.stderr.count("\n") == 1
