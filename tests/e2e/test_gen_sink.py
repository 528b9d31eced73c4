# SPDX-License-Identifier: BSD-2-Clause
"""What shunt-gen's sink tells of frames that were delayed, exchanged, repeated, damaged, lost; and
`shunt-gen run`, both ends at once."""
import json
import os
import signal
import struct
import subprocess
import time

import pytest

from shuntlab.frames import routed, udp4
from shuntlab.generated import is_generated, received
from shuntlab.lab import BIN, ENV, wait_until

TOOL = os.path.join(BIN, "shunt-gen")


def place(net, host):
    return f"shunt-{net.name}-{host}/eth1"


def run(net, *options, check=True, env=None):
    """`shunt-gen run -j` from gen to sink; its CompletedProcess and result."""
    done = subprocess.run([TOOL, "run", "-j", "--tx", place(net, "gen"), "--rx", place(net, "sink"),
                           *map(str, options)], capture_output=True, text=True, timeout=50,
                          env=env or ENV, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done, json.loads(done.stdout or "null")


def generated(net, count, *options):
    """Frames as the dut would send them on, taken before it gets them."""
    wire = net.wire("dut", "eth1")
    net.send("gen", "eth1", "--way", "packet", "--count", count, *options)
    frames = [wire.receive(is_generated) for _ in range(count)]
    wire.close()
    assert None not in frames
    return [routed(frame) for frame in frames]


def told_of(net, frames, *options):
    """What a sink says of frames that are put on its wire by hand."""
    out = net.wire("dut", "eth2")
    sink = net.sink("sink", "eth1", *options)
    came = received(net)
    out.send(*frames)
    wait_until(lambda: received(net) >= came + len(frames), what="the frames")
    out.close()
    return sink.stop()


# --- order, loss, damage --------------------------------------------------------------------------

@pytest.mark.parametrize("order, expected", [
    ([0, 1, 2, 3], dict(frames=4, lost=0, reordered=0, duplicates=0)),
    ([0, 2, 1, 3], dict(frames=4, lost=0, reordered=1, duplicates=0)),
    ([3, 2, 1, 0], dict(frames=4, lost=0, reordered=3, duplicates=0)),
    ([0, 1, 1, 1, 2], dict(frames=5, lost=0, reordered=0, duplicates=2)),
    ([0, 3, 1, 3, 0], dict(frames=5, lost=1, reordered=1, duplicates=2)),
    ([2, 4], dict(frames=2, lost=3, reordered=0, duplicates=0)),
], ids=str)
def test_order(net, order, expected):
    frames = generated(net, 5)
    got = told_of(net, [frames[i] for i in order])
    assert {key: got[key] for key in expected} == expected
    assert got["late"] == got["reordered"] + got["duplicates"]
    assert got["expected"] == max(order) + 1
    assert got["loss"] == pytest.approx(got["lost"] / got["expected"])


def test_order_is_a_flows(net):
    """Two flows may overtake each other; within one, none may."""
    frames = generated(net, 6, "--flows", 2)
    evens_first = told_of(net, [frames[i] for i in (0, 2, 4, 1, 3, 5)])
    assert (evens_first["reordered"], evens_first["lost"]) == (0, 0)
    assert told_of(net, [frames[i] for i in (0, 4, 2, 1, 5, 3)])["reordered"] == 2


def of_run(frame, more):
    """The frame as one of another run; the source port keeps its checksum right."""
    made = bytearray(frame)
    run_, sport = (struct.unpack_from(">H", frame, at)[0] for at in (46, 34))
    more = more if run_ + more <= 65535 else -more
    struct.pack_into(">H", made, 46, run_ + more)
    struct.pack_into(">H", made, 34, sport - more)
    return bytes(made)


def test_runs_are_told_apart(net):
    """Whatever their numbers are, as long as there are not more than 64; of those before, what came is
    known, but not what did not."""
    one = generated(net, 5)
    other = [of_run(frame, 64) for frame in one]
    got = told_of(net, [one[0], other[0], other[2], other[2], one[4], one[3]])
    expected = {"frames": 6, "expected": 8, "lost": 3, "duplicates": 1, "reordered": 1, "runs": 2,
                "corrupt": 0}
    assert {key: got[key] for key in expected} == expected
    assert got["latency_ns"]["min"] <= got["latency_ns"]["mean"] <= got["latency_ns"]["max"]
    # what a damaged frame says of its run counts for nothing
    damaged = [of_run(one[1], 100 + more)[:-1] + b"\xff" for more in range(63)]
    got = told_of(net, [one[0], *damaged, other[0], other[2], one[4]])
    expected = {"frames": 4, "expected": 8, "lost": 4, "runs": 2, "corrupt": 63}
    assert {key: got[key] for key in expected} == expected
    many = [frame for more in range(70) for frame in (of_run(one[0], more), of_run(one[2], more))]
    got = told_of(net, many)
    assert (got["frames"], got["lost"], got["runs"]) == (140, 64, 64)
    assert (got["latency_ns"]["count"], got["gap_ns"]["count"]) == (140, 70)
    assert got["latency_ns"]["min"] <= got["latency_ns"]["mean"] <= got["latency_ns"]["max"]


DAMAGES = {
    "address": lambda f: f[:29] + bytes([f[29] ^ 1]) + f[30:],
    "port": lambda f: f[:36] + bytes([f[36] ^ 1]) + f[37:],
    "sequence number": lambda f: f[:50] + bytes([f[50] ^ 1]) + f[51:],
    "time": lambda f: f[:59] + bytes([f[59] ^ 1]) + f[60:],
    "payload": lambda f: f[:120] + b"\1" + f[121:],
    "last byte": lambda f: f[:-1] + b"\1",
    "cut": lambda f: f[:-1],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_corruption(net, damage):
    frames = generated(net, 3, "--size", 203)
    got = told_of(net, [frames[0], damage(frames[1]), frames[2]])
    assert (got["corrupt"], got["frames"], got["lost"], got["other_frames"]) == (1, 2, 1, 0)


def test_foreign_frames(net):
    """Neither frames without the magic, nor with it elsewhere, nor of no run are the generator's."""
    frames = generated(net, 2)
    foreign = [udp4(60), udp4(data=b"shnt" + bytes(14)), udp4(data=bytes(40) + b"shnt"),
               frames[0][:23] + bytes([132]) + frames[0][24:], b"\xff" * 12 + b"shnt" * 20]
    got = told_of(net, foreign + frames)
    assert (got["frames"], got["corrupt"]) == (2, 0)
    assert got["other_frames"] >= len(foreign)


def test_a_damaged_ip_version(net):
    """It is in no checksum of IPv6: the frame says that it is not the generator's."""
    frames = generated(net, 3, "--ipv6")
    damaged = frames[1][:14] + bytes([frames[1][14] ^ 0x10]) + frames[1][15:]
    got = told_of(net, [frames[0], damaged, frames[2]])
    assert (got["frames"], got["lost"], got["corrupt"]) == (2, 1, 0)
    assert got["other_frames"] >= 1


def test_count_only(net):
    got = told_of(net, generated(net, 3) * 2, "--count-only")
    assert (got["frames"], got["expected"]) == (6, 3)
    assert not {"duplicates", "corrupt", "latency_ns", "gap_ns"} & got.keys()
    got = told_of(net, generated(net, 3) * 2, "--count-only", "--order")
    assert got["duplicates"] == 3 and "latency_ns" not in got


# --- times ----------------------------------------------------------------------------------------

def test_latency_is_the_time_held_back(net):
    frames = generated(net, 20)
    held_from = time.monotonic_ns()
    sink = net.sink("sink", "eth1")
    out = net.wire("dut", "eth2")
    came = received(net)
    time.sleep(0.05)  # what is measured, not waited for
    held = time.monotonic_ns() - held_from
    out.send(*frames)
    wait_until(lambda: received(net) >= came + 20, what="the frames")
    latency = sink.stop()["latency_ns"]
    assert latency["count"] == 20
    assert held <= latency["min"] <= latency["mean"] <= latency["max"] < held + 30e9
    assert latency["min"] <= latency["p50"] <= latency["p99"] <= latency["p999"] <= latency["max"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU only")
def test_gaps_between_frames_on_two_cpus(net):
    """The time since the run's last frame, not since the last on that CPU."""
    frames = generated(net, 8)
    cpus = sorted(os.sched_getaffinity(0))
    sink = net.sink("sink", "eth1")
    out = net.wire("dut", "eth2")
    came = received(net)
    try:
        for i, frame in enumerate(frames):
            os.sched_setaffinity(0, {cpus[i % 2]})
            out.send(frame)
    finally:
        os.sched_setaffinity(0, cpus)
    wait_until(lambda: received(net) >= came + len(frames), what="the frames")
    out.close()
    got = sink.stop()
    assert got["gap_ns"]["count"] == len(frames) - 1
    assert got["gap_ns"]["count"] * got["gap_ns"]["mean"] <= got["seconds"] * 1e9 + 1


def test_histograms_agree_with_themselves(net):
    _, got = run(net, "--rate", "10k", "--count", 5000)
    for spread, count in ((got["rx"]["latency_ns"], 5000), (got["rx"]["gap_ns"], 4900)):
        buckets = spread["buckets"]
        # Frames of one run on another CPU have no gap before the first there.
        assert count <= spread["count"] == sum(n for _, n in buckets) <= 5000
        assert spread["error"] == 1 / 16
        assert buckets[0][0] <= spread["min"] and buckets[-1][0] <= spread["max"]
        assert spread["max"] <= buckets[-1][0] * (1 + spread["error"]) + 1
        seen, rank = 0, spread["count"] // 2
        for floor, n in buckets:
            seen += n
            if seen > rank:
                break
        assert spread["p50"] == max(floor, spread["min"])


def test_no_stamps_no_latency(net):
    _, got = run(net, "--rate", "10k", "--count", 100, "--no-stamp")
    assert got["rx"]["latency_ns"] == {"count": 0}
    assert got["rx"]["frames"] == 100


def test_figures(net, tmp_path):
    svg, png = tmp_path / "x.svg", tmp_path / "it's.png"
    for file in (svg, png):
        done = subprocess.run([TOOL, "run", "--tx", place(net, "gen"), "--rx", place(net, "sink"),
                               "--rate", "10k", "--count", "500", "--histogram", "--plot", file],
                              capture_output=True, text=True, timeout=50, env=ENV, check=False)
        assert done.returncode == 0, done.stderr
        assert "latency: median" in done.stdout and "between frames: median" in done.stdout
        assert done.stdout.count("#" * 50) >= 2 and "sent 500, received 500" in done.stdout
    drawn = svg.read_text()
    assert "<svg" in drawn and "latency" in drawn and "time between frames" in drawn
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_without_gnuplot(net, tmp_path):
    """The result comes all the same."""
    done, got = run(net, "--way", "packet", "--count", 100, "--plot", tmp_path / "x.svg",
                    check=False, env=dict(os.environ, PATH=str(tmp_path)))
    assert done.returncode == 1 and got["received"] == 100
    assert "gnuplot is not installed" in done.stderr and done.stderr.count("\n") == 1


def test_a_figure_is_whole_or_not_there(net, tmp_path):
    """Of a full disk gnuplot says nothing. (The limit is above what the run's own files need.)"""
    for name in ("x.svg", "x.png"):
        file = tmp_path / name
        file.write_bytes(b"an older run's, which gnuplot does not replace")
        done = subprocess.run(["prlimit", "--fsize=4000", TOOL, "run", "-j", "--tx", place(net, "gen"),
                               "--rx", place(net, "sink"), "--count", "100", "--rate", "1k",
                               "--plot", str(file)],
                              capture_output=True, text=True, timeout=50, check=False)
        assert done.returncode == 1 and json.loads(done.stdout)["received"] == 100
        assert f"{name}: gnuplot could not draw it" in done.stderr
        assert not file.exists()


# --- both ends ------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", ["xdp", "xsk", "packet"])
@pytest.mark.parametrize("options", [[], ["--ipv6"], ["--proto", "tcp-syn"],
                                     ["--proto", "tcp-syn", "--ipv6"]], ids=" ".join)
def test_run(net, way, options):
    _, got = run(net, "--way", way, "--rate", "10k", "--count", 600, "--size", "imix", "--arrival",
                 "poisson", *options)
    assert (got["sent"], got["received"], got["lost"], got["loss"]) == (600, 600, 0, 0)
    assert got["confirmed"] is True and got["tx"]["confirmed"] is True
    assert got["rate_held"] == got["tx"]["rate_held"]
    rx = got["rx"]
    assert (rx["frames"], rx["lost"], rx["late"], rx["corrupt"]) == (600, 0, 0, 0)
    assert rx["bytes"] == got["tx"]["bytes"]
    assert (rx["ttl_min"], rx["ttl_max"], rx["latency_ns"]["count"]) == (63, 63, 600)


def test_run_knows_what_is_lost_at_the_end(net):
    """By its highest number, the sink alone cannot: all frames are lost but the first few."""
    net.exec("dut", "ip", "route", "add", "unreachable", "198.19.0.128/25")
    try:
        _, got = run(net, "--rate", "20k", "--count", 256, "--dst-ip", "198.19.0.0/24")
    finally:
        net.exec("dut", "ip", "route", "del", "unreachable", "198.19.0.128/25")
    assert (got["sent"], got["received"], got["lost"], got["loss"]) == (256, 128, 128, 0.5)
    assert got["rx"]["lost"] == 0 and got["confirmed"] is False


def test_a_rate_that_no_sink_confirms_is_refused(net):
    done, got = run(net, "--way", "packet", "--rate", "1k", "--count", 300, "--dst-ip", "10.9.9.9",
                    check=False)
    assert done.returncode == 1
    assert (got["received"], got["pps"], got["confirmed"], got["rate_held"]) == (0, 0, False, False)
    assert "confirms none of the 300 frames" in done.stderr


def test_run_strict(net):
    done, got = run(net, "--rate", "500M", "--duration", 0.1, "--strict", check=False)
    assert done.returncode == 1 and got["rate_held"] is False
    assert "the rate was missed" in done.stderr


def test_run_counts_a_captures_frames(net, tmp_path):
    frame = udp4(100)
    file = tmp_path / "x.pcap"
    file.write_bytes(struct.pack("=IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) +
                     struct.pack("=IIII", 1, 0, len(frame), len(frame)) + frame)
    _, got = run(net, "--pcap", file, "--loop", 50, "--rate", "1k")
    assert got["sent"] == 50 and got["received"] >= 50


def test_interrupted(net):
    """Ctrl-C ends the sending; what is on its way still counts."""
    process = subprocess.Popen([TOOL, "run", "-j", "--tx", place(net, "gen"), "--rx",
                                place(net, "sink"), "--rate", "5k", "--duration", "50"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    came = received(net)
    wait_until(lambda: received(net) > came + 100, what="frames at the sink")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    got = json.loads(out)
    assert process.returncode == 0, err
    assert got["tx"]["interrupted"] and got["received"] == got["sent"] > 100


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_end_outlives_the_other(net, number):
    process = subprocess.Popen([TOOL, "run", "-j", "--tx", place(net, "gen"), "--rx",
                                place(net, "sink"), "--rate", "1k", "--duration", "50"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
    try:
        wait_until(lambda: "xdp" in net.exec("sink", "ip", "link", "show", "eth1").stdout)
    finally:
        process.send_signal(number)
        process.wait(20)
    wait_until(lambda: "xdp" not in net.exec("sink", "ip", "link", "show", "eth1").stdout,
               what="the sink gone")


@pytest.fixture
def pair(net):
    """Two devices of gen, joined, that a test may remove."""
    net.exec("gen", "ip", "link", "add", "away0", "up", "type", "veth", "peer", "name", "away1")
    net.exec("gen", "ip", "link", "set", "away1", "up")
    net.exec("gen", "ethtool", "-K", "away1", "gro", "on")
    yield "away0", "away1"
    net.exec("gen", "ip", "link", "del", "away0", check=False)


def packets(net, dev):
    return net.json("gen", "ip", "-s", "-j", "link", "show", dev)[0]["stats64"]["tx"]["packets"]


@pytest.mark.parametrize("way", ["xdp", "xsk"])
def test_sending_ends_with_its_device(net, pair, way):
    """It has no counter any more: nothing is printed as confirmed."""
    net.send("gen", pair[0], "--way", "packet", "--count", 50)
    process = net.popen("gen", "shunt-gen", "send", pair[0], "-j", "--way", way, "--rate", "5k",
                        "--duration", 50)
    wait_until(lambda: packets(net, pair[0]) > 100, what="frames sent")
    net.exec("gen", "ip", "link", "del", pair[0])
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, "")
    assert "away0 has gone from here" in err and err.count("\n") == 1


def detach(net, dev):
    prog = net.json("gen", "ip", "-j", "link", "show", dev)[0]["xdp"]["prog"]["id"]
    links = net.json("gen", "bpftool", "-j", "link")
    link = next(link["id"] for link in links if link["prog_id"] == prog)
    net.exec("gen", "bpftool", "link", "detach", "id", str(link))


@pytest.mark.parametrize("end", [lambda net, dev: net.exec("gen", "ip", "link", "del", dev), detach],
                         ids=["device removed", "detached"])
def test_a_sink_ends_when_it_counts_no_more(net, pair, end):
    sink = net.popen("gen", "shunt-gen", "sink", pair[1], "-j")
    wait_until(lambda: "xdp" in net.exec("gen", "ip", "link", "show", pair[1]).stdout)
    net.send("gen", pair[0], "--way", "packet", "--count", 50)
    end(net, pair[1])
    out, err = sink.communicate(timeout=20)
    assert sink.returncode == 1 and json.loads(out)["frames"] == 50
    assert "away1 has gone, or somebody has detached the sink" in err


def test_a_full_disk_is_a_failure(net):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([TOOL, "run", "-j", "--tx", place(net, "gen"), "--rx",
                               place(net, "sink"), "--count", "100"], stdout=full, timeout=50,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "the result is lost" in done.stderr


@pytest.mark.parametrize("argv, status, says", [
    (["--tx", "nosuchns/eth1", "--rx", "lo"], 1, "lo is not an Ethernet device"),
    (["--tx", "nosuchns/eth1", "--rx", "nosuch"], 1, "no such device"),
    (["--tx", "eth1"], 2, "--tx and --rx"),
    (["--tx", "/eth1", "--rx", "eth1"], 2, "[NAMESPACE/]DEVICE"),
    (["eth1"], 2, "not 'eth1'"),
    (["--tx", "a/b", "--rx", "a/b", "--plot", "x.pdf"], 2, ".svg or .png"),
    (["--tx", "a/b", "--rx", "a/b", "--count-only", "--histogram"], 2, "nothing to show"),
    (["--tx", "a/b", "--rx", "a/b"], 1, "no such network namespace"),
])
def test_bad_run(argv, status, says):
    done = subprocess.run([TOOL, "run", *argv], capture_output=True, text=True, timeout=20,
                          check=False)
    assert done.returncode == status
    assert says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("there, says", [("nosuchns/eth1", "nosuchns: no such network namespace"),
                                         ("{gen}/nodev", "nodev: no such device")])
def test_run_with_no_such_sender(net, there, says):
    """One sentence, and no totals of a sink that nobody sent to."""
    there = there.format(gen=f"shunt-{net.name}-gen")
    done = subprocess.run([TOOL, "run", "--tx", there, "--rx", place(net, "sink")],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert "xdp" not in net.exec("sink", "ip", "link", "show", "eth1").stdout
