# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl capture: what it shows is what came and what left, and nobody else notices it."""
import json
import mmap
import os
import signal
import struct
import subprocess

import pytest

from shuntlab.capture import IN, OUT, PACKET, Capture, blocks
from shuntlab.frames import DUT1, GEN, SINK, mac, routed, udp4, udp6
from shuntlab.generated import is_generated, tag_of
from shuntlab.lab import BIN, ENV, wait_until
from shuntlab.modes import PAIRS, STATIC3
from shuntlab.shuntd import Shuntd

XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4


def route(lab, *args):
    return Shuntd(lab, "route", "eth1", "eth2", *args, chatty=True)


def numbered(number, size=100):
    return udp4(size, sport=1000 + number % 50, data=number.to_bytes(8, "big") + bytes(size - 50))


def send(gen, sink, frames, last=udp4(dport=9999)):
    """Frames, so few at a time that each finds room, then the last one; what arrives until that."""
    seen = []
    for at in range(0, len(frames), 100):
        some = [*frames[at:at + 100], *([] if at + 100 < len(frames) else [last])]
        gen.send(*some)
        seen += [*sink.until(routed(some[-1])), routed(some[-1])]
    return [frame for frame in seen if frame[:6] == mac(SINK)]


@pytest.fixture(name="lanes", params=["user", "xdp"])
def fixture_lanes(request):
    return request.param


def test_what_comes_and_what_leaves(lab, tmp_path, lanes):
    gen, sink = lab.ends()
    frames = [numbered(n) for n in range(1000)]
    with route(lab, "--lane", lanes) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        with Capture(daemon, folder=tmp_path) as capture:
            gen.send(udp4(ttl=1), udp4(dport=9, dst="10.0.2.2", eth_dst=SINK))
            gen.reaches(sink, udp6(200), routed(udp6(200)))
            arrived = [routed(udp6(200)), *send(gen, sink, frames)]
        assert [p.data for p in capture.of("eth2", OUT)] == arrived and len(arrived) == len(frames) + 2
        came = capture.of("eth1", IN, lane=lanes, reason="forward4")
        assert [p.data for p in came] == [*frames, udp4(dport=9999)]
        assert {(p.lane, p.reason, p.verdict) for p in capture.of("eth1", IN)} >= {
            (lanes, "forward4", XDP_REDIRECT), (lanes, "forward6", XDP_REDIRECT),
            ("kernel", "ttl", XDP_PASS), ("kernel", "other_mac", XDP_PASS)}
        assert capture.lost() == 0 and {p.queue for p in capture.of("eth1", IN)} == {0}
        times = [p.time_ns for p in capture.packets]
        assert max(times) - min(times) < 60e9


def numbers_in(path):
    """{interface: {flow: numbers}} of generated frames, as captured: a million of them, so field by field."""
    found = {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for kind, body in blocks(data):
            if kind != PACKET or not is_generated(body[20:]):
                continue
            _, _, flow, number, _ = tag_of(body[20:])
            found.setdefault(struct.unpack_from("<I", body)[0], {}).setdefault(flow, []).append(number)
    return found


# What each is started with, and the MAC address that its frames are sent to.
MODES = {"route": (["route", "eth1", "eth2"], DUT1), "xconnect": (["xconnect", "eth1", "eth2"], SINK),
         "static3": (STATIC3, DUT1), "bridge": (["bridge", "eth1", "eth2"], SINK)}


@pytest.mark.limit(400)
@pytest.mark.parametrize("mode", MODES)
def test_a_million_frames(lab, tmp_path, lanes, mode):
    """The capture loses none of them; what it says that left is what arrived, in order by flow."""
    gen, sink = lab.ends()
    words, to = MODES[mode]
    with Shuntd(lab, *words, "--lane", lanes, chatty=True) as daemon:
        sink.send(udp4(eth_dst=GEN, eth_src=SINK))  # a bridge knows both stations then
        first = udp4(eth_dst=to)
        gen.reaches(sink, first, routed(first) if to == DUT1 else first)
        with Capture(daemon, "-s", 64, "-B", 64, folder=tmp_path, is_read=False) as capture:
            done = subprocess.run(
                [os.path.join(BIN, "shunt-gen"), "run", "-j", "--tx", f"shunt-{lab.name}-gen/eth1", "--rx",
                 f"shunt-{lab.name}-sink/eth1",
                 "--rate", "50k", "--dst-mac", to, "--count", "1000000", "--flows", "50",
                 "--sport", "1000-1049", "--count-only", "--order", "--idle", "5"],
                env=ENV, capture_output=True, text=True, timeout=200, check=True)
        told = json.loads(done.stdout)
    assert " 0 lost" in capture.said, capture.said
    came, left = (numbers_in(capture.path)[at] for at in (0, 1))
    for flows in came, left:
        assert all(numbers == sorted(set(numbers)) for numbers in flows.values())
    count = sum(map(len, left.values()))
    assert sum(map(len, came.values())) == told["sent"] == 1000000
    assert count == told["received"] > 900000, (count, told)
    assert told["rx"]["reordered"] == told["rx"]["duplicates"] == 0, told


def test_drops_and_what_the_kernel_gets_back(lab, tmp_path):
    gen, sink = lab.ends()
    with route(lab, "--lane", "user", "--rule", "proto udp dport 6666 lane drop") as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        lab.exec("dut", "ip", "route", "add", "blackhole", "10.9.0.0/16")
        wait_until(lambda: daemon.ask("route", "get", "10.9.0.1")["prefix"] == "10.9.0.0/16")
        with Capture(daemon, "eth1", folder=tmp_path) as capture:
            gen.send(udp4(dport=6666), udp4(dst="10.9.0.1"), udp4(dst="10.77.0.1"))
            gen.reaches(sink, udp4(dport=9999), routed(udp4(dport=9999)))
        lab.exec("dut", "ip", "route", "del", "blackhole", "10.9.0.0/16")
        said = {(p.lane, p.reason, p.direction) for p in capture.packets}
        assert said >= {("drop", "rule", IN), ("drop", "blackhole", 0), ("kernel", "noroute", 0)}
        assert capture.of("eth1", IN, lane="drop")[0].verdict == XDP_DROP
        assert {p.port for p in capture.packets} == {"eth1"}


def test_filter(lab, tmp_path, lanes):
    """It decides before a byte is copied, also on what a packet leaves as; of a port alone what leaves by it
    is seen though it came in by another one."""
    gen, sink = lab.ends()
    with route(lab, "--lane", lanes) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        for words, seen in [(["udp", "port", "53"], {("eth1", IN), ("eth2", OUT)}),
                            (["eth2", "udp port 53"], {("eth2", OUT)}),
                            (["ip[8] = 63 and udp port 53"], {("eth2", OUT)}),
                            (["eth1", "eth2", "ip[8] = 64 and udp port 53"], {("eth1", IN)}),
                            ([f"ether dst {SINK} and udp port 53"], {("eth2", OUT)})]:
            with Capture(daemon, *words, folder=tmp_path) as capture:
                send(gen, sink, [udp4(dport=53), udp4(dport=54), udp4(dport=53)])
            assert {(p.port, p.direction) for p in capture.packets} == seen, words
            assert len(capture.packets) == 2 * len(seen), words


def test_cross_connect(lab, tmp_path, lanes):
    gen, sink = lab.ends()
    frames = [udp4(60 + n % 500, eth_dst=SINK, data=n.to_bytes(4, "big") * 4) for n in range(500)]
    with Shuntd(lab, *PAIRS["xconnect"], "--lane", lanes, chatty=True) as daemon:
        gen.reaches(sink, frames[0], frames[0])
        with Capture(daemon, "-s", 40, folder=tmp_path) as capture:
            gen.send(*frames)
            gen.reaches(sink, frames[0], frames[0])
        for port, direction in [("eth1", IN), ("eth2", OUT)]:
            got = [p for p in capture.of(port, direction, lane=lanes) if p.data[:6] == mac(SINK)]
            assert [p.data for p in got] == [f[:40] for f in [*frames, frames[0]]]
            assert [p.length for p in got] == [len(f) for f in [*frames, frames[0]]]


def test_ends(lab, tmp_path):
    """After so many packets; with the daemon; killed: the daemon goes on as if nothing had been."""
    gen, sink = lab.ends()
    plain = udp4()
    with route(lab) as daemon:
        gen.reaches(sink, plain, routed(plain))
        before = daemon.port()["program"]
        with Capture(daemon, "-c", 10, folder=tmp_path) as capture:
            wait_until(lambda: gen.send(plain) or capture.process.poll() is not None)
        assert len(capture.packets) == 10
        wait_until(lambda: daemon.port()["program"] == before)
        killed = Capture(daemon, folder=tmp_path)
        assert daemon.port()["program"] != before
        refused = subprocess.run([os.path.join(BIN, "shuntctl"), "-s", daemon.control, "capture"], env=ENV,
                                 capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 1 and "another capture is under way" in refused.stderr
        killed.process.kill()
        killed.process.communicate(timeout=60)
        wait_until(lambda: daemon.port()["program"] == before)
        gen.reaches(sink, plain, routed(plain))
        last = Capture(daemon, folder=tmp_path, check=False)
        late = udp4(sport=99)  # none of those that may still be on their way
        gen.reaches(sink, late, routed(late))
        daemon.stop()
        last.stop()
        assert last.process.returncode == 1 and "the daemon ended" in last.said
        assert routed(late) in [p.data for p in last.packets]


def test_takeover_ends_it(lab, tmp_path):
    gen, sink = lab.ends()
    with route(lab) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        capture = Capture(daemon, folder=tmp_path, check=False)
        with route(lab, "--takeover") as successor:
            capture.stop()
            assert capture.process.returncode == 1
            wait_until(lambda: gen.send(udp4()) or successor.packets("user") > 0)


def test_a_reader_that_stops(lab, tmp_path, lanes):
    """Its own copies are lost, and counted; every frame arrives."""
    gen, sink = lab.ends()
    frames = [numbered(n, 1000) for n in range(3000)]
    with route(lab, "--lane", lanes) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        with Capture(daemon, "-B", 1, folder=tmp_path) as capture:
            capture.process.send_signal(signal.SIGSTOP)
            arrived = send(gen, sink, frames)
            assert [f for f in arrived if len(f) == 1000] == [routed(f) for f in frames]
            capture.process.send_signal(signal.SIGCONT)
        assert capture.lost() > 0
        seen = len(capture.of("eth1", IN)) + len(capture.of("eth2", OUT))
        assert 0 < seen < 2 * len(frames)
        for port in "eth1", "eth2":
            received, lost = capture.counts[port]
            assert lost > 0 and received == lost + len([p for p in capture.packets if p.port == port])
            # each frame once, and what hosts say of their own accord
            assert len(frames) + 1 <= received < len(frames) + 50, (port, received)


def test_a_full_disk(lab):
    gen, sink = lab.ends()
    with route(lab) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        command = [os.path.join(BIN, "shuntctl"), "-s", daemon.control, "capture", "-w", "/dev/full"]
        with subprocess.Popen(command,
                              env=ENV, stderr=subprocess.PIPE, text=True) as process:
            assert "No space left on device" in process.communicate(timeout=60)[1]
            assert process.returncode == 1
        gen.reaches(sink, udp4(), routed(udp4()))


def test_new_files(lab, tmp_path):
    gen, sink = lab.ends()
    big = udp4(1400)
    with route(lab) as daemon:
        gen.reaches(sink, big, routed(big))
        with Capture(daemon, "-C", 1, folder=tmp_path) as capture:
            for _ in range(10):
                gen.send(*[big] * 100)
            gen.reaches(sink, udp4(), routed(udp4()))
        names = sorted(os.listdir(tmp_path))
        assert names == ["capture.pcapng", "capture.pcapng1", "capture.pcapng2"], names
        assert 1.0e6 <= os.path.getsize(capture.path) < 1.01e6
        named = tmp_path / "named"
        named.mkdir()
        with Capture(daemon, "-C", 1, "-G", 3600, "-w", named / "%%.pcapng", folder=tmp_path, is_read=False):
            for _ in range(10):
                gen.send(*[big] * 100)
            gen.reaches(sink, udp4(), routed(udp4()))
        assert sorted(os.listdir(named)) == ["%.pcapng", "%.pcapng1", "%.pcapng2"]


def test_lines_and_tshark(lab, tmp_path):
    """A line a packet for people; live for tshark, which understands comment, direction and verdict."""
    gen, sink = lab.ends()
    frame = udp4(sport=5, dport=53)
    with route(lab, "--lane", "xdp") as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        command = [os.path.join(BIN, "shuntctl"), "-s", daemon.control, "capture"]
        with subprocess.Popen([*command, "-c", "2", "udp", "port", "53"], env=ENV, stdout=subprocess.PIPE,
                              text=True) as process:
            wait_until(lambda: gen.send(frame) or process.poll() is not None)
            lines = process.communicate(timeout=60)[0].splitlines()
        assert "eth1 in  lane=xdp reason=forward4" in lines[0]
        assert "UDP 10.0.1.2:5 > 10.0.2.2:53 ttl 64" in lines[0]
        assert "eth2 out lane=xdp reason=forward4" in lines[1] and "ttl 63" in lines[1]
        reader = ["tshark", "-r", "-", "-Y", 'frame.comment contains "lane=xdp"', "-T", "fields",
                  "-e", "frame.interface_name", "-e", "frame.packet_flags_direction", "-e", "udp.dstport"]
        with subprocess.Popen([*command, "-w", "-", "-c", "4", "udp"], env=ENV,
                              stdout=subprocess.PIPE) as process, \
                subprocess.Popen(reader, stdin=process.stdout, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) as tshark:
            wait_until(lambda: gen.send(frame) or process.poll() is not None)
            seen, complaints = tshark.communicate(timeout=60)
        assert seen.splitlines() == ["eth1\t0x00000001\t53", "eth2\t0x00000002\t53"] * 2, (seen, complaints)


def test_refused(lab):
    with route(lab) as daemon:
        for words, why in [(["-s", "0"], "expected a whole number from 1 to 65536"),
                           (["-B", "3"], "expected 1, 2, 4"),
                           (["udp", "prot", "53"], "syntax error"),
                           (["-w", "/nowhere/x"], "No such file or directory"),
                           (["-G", "5"], "give their name with -w"),
                           (["-C", "5", "-w", "-"], "give their name"),
                           (["ip6", "protochain", "17"], "protochain")]:
            done = daemon.ctl("capture", *words, check=False)
            assert done.returncode in (1, 2) and why in done.stderr, done


def test_the_operators_word(lab):
    with route(lab, "--capture", "none") as daemon:
        done = daemon.ctl("capture", check=False)
        assert done.returncode == 1 and "capture: none" in done.stderr
