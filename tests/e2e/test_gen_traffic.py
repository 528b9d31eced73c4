# SPDX-License-Identifier: BSD-2-Clause
"""What shunt-gen can be told to send: each option by the bytes that arrive, captures, rates."""
import collections
import ipaddress
import json
import os
import re
import struct
import subprocess

import pytest

from shuntlab.frames import DUT1, GEN, checksum, mac, udp4
from shuntlab.generated import capture, send, tag_of
from shuntlab.lab import BIN

TOOL = os.path.join(BIN, "shunt-gen")
QUEUES = 2
# Weights of the simple IMIX, twice over, and of CSIT's.
IMIX = {60: 14, 590: 8, 1514: 2}
CSIT = {60: 28, 566: 16, 1514: 1}


def headers(frame):
    """(source, destination, source port, destination port) of UDP or TCP; its checksums hold."""
    v6 = frame[12:14] == b"\x86\xdd"
    l4 = 54 if v6 else 34
    proto, length = frame[20 if v6 else 23], len(frame) - l4
    addresses = frame[22:54] if v6 else frame[26:34]
    if not v6:
        assert checksum(frame[14:34]) == 0
        assert struct.unpack("!H", frame[16:18])[0] == len(frame) - 14
    assert checksum(addresses + struct.pack("!HH", proto, length) + frame[l4:]) == 0
    half = len(addresses) // 2
    return (ipaddress.ip_address(addresses[:half]), ipaddress.ip_address(addresses[half:]),
            *struct.unpack("!HH", frame[l4:l4 + 4]))


def sizes(frames):
    return collections.Counter(len(frame) for frame in frames)


# --- sizes and protocols --------------------------------------------------------------------------

@pytest.mark.parametrize("way", ["xdp", "xsk", "packet"])
def test_sizes(net, way):
    for spec, count, expected in [("60:2,100,1514", 8, {60: 4, 100: 2, 1514: 2}),
                                  ("60-70", 11, {size: 1 for size in range(60, 71)}),
                                  ("imix", 24, IMIX), ("imix-csit", 45, CSIT)]:
        frames, sent = send(net, count, "--way", way, "--size", spec)
        assert sizes(frames) == expected, spec
        assert sent["sizes"] == sorted(expected)
        assert sent["bytes"] == sum(map(len, frames))
        for frame in frames:
            assert frame[:12] == mac(DUT1) + mac(GEN)
            headers(frame)


def test_an_imix_has_room_for_ipv6(net):
    frames, _ = send(net, 24, "--ipv6", "--size", "imix")
    assert sizes(frames) == {80: 14, 590: 8, 1514: 2}


@pytest.mark.parametrize("way", ["xdp", "xsk"])
@pytest.mark.parametrize("options, size, at", [([], 72, 34), (["--ipv6"], 92, 54)],
                         ids=["v4", "v6"])
def test_tcp_syn(net, way, options, size, at):
    frames, _ = send(net, 3, "--way", way, "--proto", "tcp-syn", "--dport", 443, *options)
    for frame in frames:
        assert len(frame) == size
        assert frame[20 if at == 54 else 23] == 6
        assert frame[at + 13] == 0x02, "SYN and nothing else"
        assert headers(frame)[3] == 443


# --- addresses, ports, flows ----------------------------------------------------------------------

@pytest.mark.parametrize("way", ["xdp", "xsk"])
def test_fields(net, way):
    frames, sent = send(net, 12, "--way", way, "--dst-ip", "198.19.4.0/30", "--sport", "1000-1002",
                        "--dport", "53")
    assert sent["flows"] == 4
    assert [headers(f) for f in frames] == [
        (ipaddress.ip_address("198.18.0.1"), ipaddress.ip_address(f"198.19.4.{i % 4}"),
         1000 + i % 4 % 3, 53) for i in range(12)]
    frames, _ = send(net, 6, "--way", way, "--src-ip", "2001:2:0:1::fffe-2001:2:0:1::1:1")
    assert [headers(f)[0] for f in frames] == [
        ipaddress.ip_address("2001:2:0:1::fffe") + i % 4 for i in range(6)]


def test_random_fields(net):
    options = ["--src-ip", "random:198.18.8.0/24", "--sport", "random:2000-2999", "--flows", 200]
    frames, _ = send(net, 400, *options)
    seen = [headers(f) for f in frames]
    assert seen[:200] == seen[200:], "a flow keeps its fields"
    sources, ports = {f[0] for f in seen}, {f[2] for f in seen}
    assert all(source in ipaddress.ip_network("198.18.8.0/24") for source in sources)
    assert ports <= set(range(2000, 3000))
    # Of 200 draws from 256 and from 1000, 139 and 181 differ on average.
    assert 110 < len(sources) < 170 and 160 < len(ports) < 200
    again, _ = send(net, 200, *options)
    other, _ = send(net, 200, *options, "--seed", 2)
    assert [headers(f) for f in again] == seen[:200] != [headers(f) for f in other]


@pytest.mark.parametrize("way", ["xdp", "xsk"])
def test_flow_order(net, way):
    count, flows = 4000, 10
    frames, _ = send(net, count, "--way", way, "--flows", flows, "--flow-order", "zipf")
    seen = collections.Counter(tag_of(f)[2] for f in frames)
    harmonic = sum(1 / k for k in range(1, flows + 1))
    chi2 = sum((seen[k] - count / harmonic / (k + 1)) ** 2 / (count / harmonic / (k + 1))
               for k in range(flows))
    assert chi2 < 33.7, seen  # of 9 degrees, one in 10,000
    assert all(headers(f)[2] == 1024 + tag_of(f)[2] for f in frames)
    assert [tag_of(f)[3] for f in frames] == list(range(count))
    frames, _ = send(net, count, "--way", way, "--flows", flows, "--flow-order", "random")
    seen = collections.Counter(tag_of(f)[2] for f in frames)
    chi2 = sum((seen[k] - count / flows) ** 2 / (count / flows) for k in range(flows))
    assert chi2 < 33.7, seen


# --- when -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", ["xdp", "xsk", "packet"])
@pytest.mark.parametrize("arrival", ["constant", "burst:50", "compound"])
def test_a_rate_is_held_or_said_to_be_missed(net, way, arrival):
    done = net.exec("gen", "shunt-gen", "send", "eth1", "-j", "--way", way, "--arrival", arrival,
                    "--rate", "10k", "--duration", 0.5, "--strict", check=False)
    sent = json.loads(done.stdout)
    assert sent["requested_pps"] == 10_000
    assert sent["rate_error"] == pytest.approx(sent["pps"] / 10_000 - 1, abs=1e-6)
    assert sent["rate_held"] == (abs(sent["rate_error"]) <= 0.01)
    assert sent["rate_error"] < 0.01, "never faster"
    assert done.returncode == (not sent["rate_held"])
    assert ("missed" in done.stderr) == (not sent["rate_held"])


def test_a_rate_out_of_reach_is_said_to_be_missed(net):
    sent = net.send("gen", "eth1", "--rate", "500M", "--duration", 0.2)
    assert sent["rate_held"] is False and sent["pps"] < 495e6
    done = net.exec("gen", "shunt-gen", "send", "eth1", "--rate", "500M", "--duration", 0.2,
                    "--strict", check=False)
    assert done.returncode == 1 and "the rate was missed" in done.stderr


def test_rates_in_bits_and_percent(net):
    for options, pps in [(["--rate", "1Mbit"], 1e6 / 64 / 8),
                         (["--rate", "1Mbit/s", "--size", "1514"], 1e6 / 1518 / 8),
                         (["--rate", "1Mbit", "--size", "imix"],
                          1e6 / ((7 * 64 + 4 * 594 + 1518) / 12) / 8),
                         (["--rate", "0.1%", "--line", "1G"], 1e6 / 84 / 8)]:
        sent = net.send("gen", "eth1", "--count", 12, *options)
        assert sent["requested_pps"] == pytest.approx(pps, rel=1e-9), options


def test_line_is_a_limit(net):
    done = net.exec("gen", "shunt-gen", "send", "eth1", "--rate", "2M", "--line", "1G", check=False)
    assert done.returncode == 1 and "at most 1488095 fit" in done.stderr


def without_stamp(frame):
    """All but what differs between two runs: run, sequence, time, and the checksum over them."""
    at = frame.index(b"shnt")
    l4 = 54 if frame[12:14] == b"\x86\xdd" else 34
    proto = frame[20 if l4 == 54 else 23]
    bare = bytearray(frame)
    bare[at + 4:at + 18] = bytes(14)
    where = l4 + (16 if proto == 6 else 6)
    bare[where:where + 2] = bytes(2)
    return bytes(bare)


@pytest.mark.parametrize("options", [[], ["--ipv6"], ["--proto", "tcp-syn"],
                                     ["--ipv6", "--proto", "tcp-syn"]], ids=lambda o: " ".join(o))
def test_checksums_by_others(net, options):
    """The kernel's are as good as shunt-gen's own: every byte but the stamps is the same, and the
    checksum holds, for lengths odd and even."""
    made = {}
    for who in ("software", "offload"):
        frames, sent = send(net, 40, "--way", "xsk", "--rate", 2000, "--checksum", who, "--flows",
                            4, "--size", "100,101,1514", *options)
        assert sent["checksum"] == ("kernel" if who == "offload" else "software")
        for frame in frames:
            headers(frame)
        made[who] = [without_stamp(frame) for frame in frames]
    assert made["software"] == made["offload"]
    # veth has none of its own: auto stays with shunt-gen's
    assert send(net, 1, "--way", "xsk", "--checksum", "auto", *options)[1]["checksum"] == "software"


@pytest.mark.parametrize("way", ["xdp", "xsk", "packet"])
def test_threads(net, way):
    sink = net.sink("sink", "eth1", "--count", 4001)
    sent = net.send("gen", "eth1", "--way", way, "--threads", 2, "--count", 4001, "--rate", "20k",
                    "--flows", 6)
    got = sink.finish()
    assert (sent["sent"], sent["threads"]) == (4001, 2)
    assert (got["frames"], got["runs"], got["lost"], got["late"]) == (4001, 2, 0, 0)
    assert (got["corrupt"], got["unjudged"]) == (0, 0)


@pytest.mark.parametrize("rate", ["20k", "max"])
def test_a_rate_of_threads_is_that_of_the_device(net, rate):
    """Not the sum of what each reached in its own time: on one CPU they get their turns one by one."""
    sent = net.send("gen", "eth1", "--way", "xdp", "--threads", 8, "--cpu", 0, "--duration", 0.5,
                    "--rate", rate)
    assert sent["pps"] <= 1.001 * sent["device_frames"] / sent["seconds"]
    assert sent["seconds"] >= 0.49


def test_progress(net):
    done = net.exec("gen", "shunt-gen", "send", "eth1", "-j", "--rate", 100, "--duration", 2,
                    "--progress")
    assert re.search(r"eth1: [12] s of 2, \d+ frames, [\d.]+ pps made", done.stderr)
    quiet = net.exec("gen", "shunt-gen", "send", "eth1", "-j", "--rate", 100, "--duration", 0.2)
    assert "made" not in quiet.stderr


# --- captures -------------------------------------------------------------------------------------

FRAMES = [udp4(60 + 100 * i, sport=7000 + i) for i in range(5)]


@pytest.mark.parametrize("way", ["xsk", "packet"])
def test_capture(net, way, tmp_path):
    file = capture(tmp_path / "x.pcap", FRAMES, times=[5, 5.01, 5.01, 5.06, 5.2])
    wire = net.wire("dut", "eth1")
    sent = net.send("gen", "eth1", "--pcap", file, "--way", way)
    assert [wire.receive(lambda f: f in FRAMES) for _ in FRAMES] == FRAMES
    assert (sent["sent"], sent["proto"], sent["arrival"]) == (5, "capture", "capture")
    assert sent["seconds"] >= 0.2
    sent = net.send("gen", "eth1", "--pcap", file, "--way", way, "--loop", 3, "--rate", "5k")
    assert [wire.receive(lambda f: f in FRAMES) for _ in range(15)] == FRAMES * 3
    assert (sent["sent"], sent["requested_pps"], sent["arrival"]) == (15, 5000, "constant")
    sent = net.send("gen", "eth1", "--pcap", file, "--way", way, "--count", 7, "--rate", "5k")
    assert [wire.receive(lambda f: f in FRAMES) for _ in range(7)] == (FRAMES * 2)[:7]


@pytest.mark.parametrize("way", ["xsk", "packet"])
def test_a_captures_longest_frame_has_a_tag(net, way, tmp_path):
    """The MTU does not count the tag of a VLAN."""
    tagged = FRAMES[0][:12] + b"\x81\0\0\5" + FRAMES[0][12:]
    tagged += bytes(1518 - len(tagged))
    wire = net.wire("dut", "eth1")
    sent = net.send("gen", "eth1", "--pcap", capture(tmp_path / "x.pcap", [tagged]), "--way", way)
    assert sent["bytes"] == 1518 and wire.receive(lambda f: f == tagged) == tagged


def test_a_capture_of_bursts_for_a_time(net, tmp_path):
    """As long as was asked for, not as many frames as its mean rate makes in it; and the rate that is
    judged is that of the frames sent."""
    file = capture(tmp_path / "x.pcap", FRAMES * 20, times=[i / 1000 for i in range(99)] + [9.9])
    sent = net.send("gen", "eth1", "--pcap", file, "--duration", 0.4)
    assert sent["sent"] == 99 and 0.35 < sent["seconds"] < 5, "not until the last one is due, at 9.9"
    assert sent["requested_pps"] == pytest.approx(98 / sent["seconds"], rel=1e-6) and sent["rate_held"]
    sent = net.send("gen", "eth1", "--pcap", file, "--count", 50)
    assert sent["sent"] == 50 and sent["requested_pps"] == pytest.approx(1000, rel=1e-3)


def block(kind, body):
    length = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + length + body + length


def test_a_capture_of_two_links(net, tmp_path):
    """pcapng: an interface of Ethernet, one of raw IP."""
    data = block(0x0a0d0d0a, struct.pack("=IHHq", 0x1a2b3c4d, 1, 0, -1))
    data += block(1, struct.pack("=HHI", 1, 0, 0))
    for frame, interface in ((FRAMES[0], 0), (FRAMES[1], 1)):
        if interface:
            data += block(1, struct.pack("=HHI", 101, 0, 0))
        data += block(6, struct.pack("=5I", interface, 0, 0, len(frame), len(frame)) + bytes(frame))
    file = tmp_path / "x.pcapng"
    file.write_bytes(data)
    done = net.exec("gen", "shunt-gen", "send", "eth1", "--pcap", file, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "several interfaces that differ" in done.stderr and "damaged" not in done.stderr


def test_a_capture_without_times(net, tmp_path):
    """pcapng: simple packets have none."""
    data = block(0x0a0d0d0a, struct.pack("=IHHq", 0x1a2b3c4d, 1, 0, -1))
    data += block(1, struct.pack("=HHI", 1, 0, 0))
    for frame in FRAMES:
        data += block(3, struct.pack("=I", len(frame)) + bytes(frame))
    file = tmp_path / "x.pcapng"
    file.write_bytes(data)
    done = net.exec("gen", "shunt-gen", "send", "eth1", "--pcap", file, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "its frames have no times: give a --rate" in done.stderr
    assert net.send("gen", "eth1", "--pcap", file, "--rate", "1k")["sent"] == 5


def test_an_unsorted_capture_at_a_rate(net, tmp_path):
    file = capture(tmp_path / "x.pcap", FRAMES, times=[3, 2, 1, 2, 3])
    assert net.send("gen", "eth1", "--pcap", file, "--rate", "1k")["sent"] == 5


@pytest.mark.parametrize("made, says", [
    (dict(frames=FRAMES, times=[1, 2, 3, 2.5, 4]), "frame 4 is 0.500000 s older"),
    (dict(frames=FRAMES, times=[0, 1, 2, 3, 1e9]), "frame 5 comes 11574 days after the first"),
    (dict(frames=FRAMES, cut=10), "cut short or damaged after 4 frames"),
    (dict(frames=FRAMES, wire_lens=[60, 160, 1000, 360, 460]), "frame 3 has 260 of its 1000 bytes"),
    (dict(frames=FRAMES, link=113), "only Ethernet"),
    (dict(frames=FRAMES, micros=1_000_000), "frame 1 has no time of day"),
    (dict(frames=[]), "no frame in it"),
    (dict(frames=[b"x" * 1515]), "frame 1 has 1515 bytes"),
    (dict(frames=[b"x" * 12 + b"\x81\0" + b"x" * 1505]), "frame 1 has 1519 bytes"),
    (None, "No such file"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_bad_captures(net, made, says, tmp_path):
    file = tmp_path / "bad.pcap"
    if made is not None:
        capture(file, **made)
    done = net.exec("gen", "shunt-gen", "send", "eth1", "--pcap", file, check=False)
    assert done.returncode == 1
    assert says in done.stderr and f"{file}: " in done.stderr and done.stderr.count("\n") == 1


# --- bad input ------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, says", [
    (["--rate", "-5"], "impossible"),
    (["--rate", "5furlongs"], "not '5furlongs'"),
    (["--size", "70-60"], "--size"),
    (["--size", "60", "--proto", "tcp-syn"], "from 72"),
    (["--arrival", "poisson"], "wants a --rate"),
    (["--arrival", "often", "--rate", "5"], "constant, burst, poisson or compound"),
    (["--arrival", "compound:0,1", "--rate", "5"], "PSI,NU"),
    (["--arrival", "burst", "--rate", "5"], "burst:FRAMES"),
    (["--arrival", "burst:0", "--rate", "5"], "1 to 65536"),
    (["--flow-order", "zipf:-1"], "zipf"),
    (["--flows", "1048577"], "1048576"),
    (["--sport", "70000"], "--sport"),
    (["--sport", "65000", "--flows", "2"], "at most 49152"),
    (["--src-ip", "10.0.0.9-10.0.0.1"], "--src-ip"),
    (["--threads", "0"], "--threads"),
    (["--proto", "sctp"], "udp or tcp-syn"),
    (["--copy-mode", "some"], "auto, zerocopy or copy"),
    (["--loop", "2"], "--pcap"),
    (["--pcap", "x", "--size", "60"], "as they are"),
    (["--pcap", "x", "--arrival", "poisson"], "a capture has its own times"),
    (["--pcap", "x", "--way", "xdp"], "xsk or packet"),
    (["--way", "packet", "--checksum", "offload"], "of --way xsk alone"),
    (["--pcap", "x", "--checksum", "offload"], "not a capture's"),
    (["--checksum", "yes"], "software, offload or auto"),
    (["--pcap", "x", "--threads", "2"], "one thread"),
])
def test_bad_send_options(options, says):
    done = subprocess.run([TOOL, "send", "eth1", *options], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("options, says", [
    (["--count", "1", "--threads", "2"], "too few for 2 threads"),
    (["--way", "xsk", "--queue", "7"], "queue 7"),
    (["--way", "xsk", "--copy-mode", "zerocopy"], "zero-copy"),
    (["--rate", "2G"], "can be asked for"),
    (["--rate", "1k", "--duration", "1e6", "--count", "2T"], "--count"),
])
def test_what_the_device_cannot(net, options, says):
    done = net.exec("gen", "shunt-gen", "send", "eth1", *options, check=False)
    assert done.returncode in (1, 2)
    assert says in done.stderr and done.stderr.count("\n") == 1
