# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl explain and trace: what they say is what happens."""
import json
import os
import random
import socket
import subprocess
import time

import pytest

from shuntlab.capture import IN, OUT, Capture
from shuntlab.frames import DUT1, GEN, SINK, mac, routed, udp4, udp6
from shuntlab.lab import BIN, ENV, wait_until
from shuntlab.shuntd import Shuntd

MODES = {"route": ("route", "eth1", "eth2"), "xconnect": ("xconnect", "eth1", "eth2"),
         "static3": ("static3", f"eth1,next_hop={SINK}", f"eth2,next_hop={SINK}"),
         "bridge": ("bridge", "eth1", "eth2")}


class Asking:
    """Explanations by one connection."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(daemon.control)
        self.file = self.socket.makefile("rw")

    def __call__(self, frame, port="eth1"):
        print(json.dumps({"cmd": "explain", "port": port, "bytes": frame.hex()}), file=self.file, flush=True)
        return json.loads(self.file.readline())["result"]


def frames(rng, count):
    """Frames of all kinds, each with a number behind its IP header."""
    for number in range(count):
        make = rng.choice([udp4, udp4, udp4, udp6])
        v6 = make is udp6
        frame = bytearray(make(rng.choice([80, 100, 600]), dport=rng.choice([53, 80, 6666]),
                               sport=1 + number,
                               eth_dst=rng.choice([DUT1, DUT1, DUT1, SINK, "ff:ff:ff:ff:ff:ff"])))
        kind = rng.randrange(12)
        if kind == 0:
            frame[21 if v6 else 22] = rng.randrange(3)
        elif kind == 1:
            frame[14] = rng.randrange(256)
        elif kind == 2:
            frame[12:14] = rng.choice([b"\x08\x06", b"\x88\xcc", b"\x81\x00", b"\x12\x34"])
        elif kind == 3:
            frame[30 if not v6 else 38] = rng.randrange(256)
        elif kind == 4:
            frame[26 if not v6 else 22] = rng.choice([0, 127, 224, 255])
        elif kind == 5:
            frame[16:18] = rng.randrange(65536).to_bytes(2, "big")
        elif kind == 6:
            frame[24:26] = rng.randrange(65536).to_bytes(2, "big")
        frame[-8:] = number.to_bytes(8, "big")
        yield bytes(frame)


def said_of(said):
    """Lane, reason, result, outputs of an explanation."""
    steering = said["steering"]
    return (steering["lane"], steering["reason"],
            sorted((out["port"], out["bytes"]) for out in said["outputs"]),
            said["reason"] if said["result"] in ("dropped", "punted") and steering["lane"] == "user"
            else None)


def happened(capture, frame):
    """The same of a frame that was captured."""
    number = frame[-8:]
    arrived = [p for p in capture.of("eth1", IN) if p.data == frame]
    assert len(arrived) == 1
    left = sorted((p.port, p.data.hex()) for p in capture.packets
                  if p.direction == OUT and p.data[-8:] == number)
    ended = [p.reason for p in capture.packets if p.direction == 0 and p.data[-8:] == number]
    return arrived[0].lane, arrived[0].reason, left, ended[0] if ended and arrived[0].lane == "user" else None


@pytest.mark.parametrize("mode", MODES)
def test_it_is_what_happens(make_lab, tmp_path, each_lane, mode):
    lab = make_lab(static_neigh=True)
    gen, sink = lab.ends()
    rng = random.Random(1708)
    sent = list(frames(rng, 400))
    with Shuntd(lab, *MODES[mode], "--lane", each_lane, "--rule", "proto udp dport 6666 lane drop",
                chatty=True, check=False) as daemon:
        wait_until(lambda: gen.send(udp4(eth_dst=DUT1 if mode in ("route", "static3") else SINK)) or
                   daemon.packets(each_lane) + daemon.packets("user") > 0)
        if mode == "bridge":  # else it might become known in between, by what it says of its own accord
            sink.send(udp4(eth_dst=GEN, eth_src=SINK))
            wait_until(lambda: SINK in [row["mac"] for row in daemon.show("macs")["macs"]])
        asking = Asking(daemon)
        with Capture(daemon, "-B", 16, folder=tmp_path) as capture:
            for at in range(0, len(sent), 20):
                gen.send(*sent[at:at + 20])
            wait_until(lambda: daemon.port()["kernel_parts"] is not None)
            before = daemon.drops()
            explained = [asking(frame) for frame in sent]
            assert daemon.drops()["rule"] == before["rule"]
        wrong = [(frame.hex(), happened(capture, frame), said_of(said))
                 for frame, said in zip(sent, explained) if happened(capture, frame) != said_of(said)]
        assert not wrong, (len(wrong), wrong[:3])


def settle(daemon):
    """Until nothing has been on its way for a while."""
    def is_quiet():
        before = daemon.port()["lanes"], daemon.nodes()
        time.sleep(0.3)
        return (daemon.port()["lanes"], daemon.nodes()) == before

    wait_until(is_quiet)


def test_nothing_is_changed(lab):
    """No counter, no station, no neighbour; and no packet is sent."""
    gen, sink = lab.ends()
    with Shuntd(lab, "bridge", "eth1", "eth2", chatty=True) as daemon:
        gen.reaches(sink, udp4(eth_dst=SINK), udp4(eth_dst=SINK))
        asking = Asking(daemon)
        # What was sent twice, since the first was late, is through as well.
        settle(daemon)
        before = daemon.show("macs")["macs"], daemon.port()["lanes"], daemon.nodes()
        said = asking(udp4(eth_src="02:00:00:00:77:77", eth_dst="02:00:00:00:66:66"))
        assert [out["port"] for out in said["outputs"]] == ["eth2"]
        after = daemon.show("macs")["macs"], daemon.port()["lanes"], daemon.nodes()
        for row in *before[0], *after[0]:
            row.pop("age_s", None)
            row.pop("age_ns", None)
        assert before == after
        assert sink.receive(lambda frame: frame[6:12] == mac("02:00:00:00:77:77"), timeout=0.3) is None


def explain(daemon, *words):
    done = daemon.ctl("explain", *words, check=False)
    assert done.returncode == 0, done
    return done.stdout


def test_words(lab, tmp_path):
    """A packet described, as digits, and out of a capture."""
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        said = explain(daemon, "eth1", "udp 10.0.1.2:5 > 10.0.2.2:53")
        assert "eth_input > ip4_input > ip4_lookup > ip4_rewrite > tx:eth2" in said
        assert "UDP 10.0.1.2:5 > 10.0.2.2:53 ttl 63" in said and "10.0.2.2/32: rewrite by eth2" in said
        assert explain(daemon, "eth1", "udp", "10.0.1.2:5", ">", "10.0.2.2:53") == said
        assert "arrives   eth1 queue 0: " in said and "leaves    eth2 queue 0: " in said
        assert "changed   destination MAC, source MAC, TTL, IPv4 checksum\n" in said
        said = explain(daemon, "eth1", "sctp 10.0.1.2:5 > 10.0.2.2:6")
        assert "SCTP 10.0.1.2:5 > 10.0.2.2:6 ttl 63" in said
        assert "changed   destination MAC, source MAC, hop limit\n" in explain(
            daemon, "eth1", "icmpv6 fd00:1::2 > fd00:2::2")
        assert "kernel: ttl" in explain(daemon, "eth1", "-t", 1, "icmp 10.0.1.2 > 10.0.2.2")
        assert "lane kernel, reason other_mac" in explain(daemon, "eth1", "--to", SINK,
                                                          "tcp 10.0.1.2:5 > 10.0.2.2:6")
        assert "length 80" in explain(daemon, "eth1", "58 [fd00:1::2] > fd00:2::2")
        assert "result    sent" in explain(daemon, "eth1", udp4().hex())
        with Capture(daemon, "eth1", "udp", folder=tmp_path) as capture:
            gen.reaches(sink, udp4(dport=9), routed(udp4(dport=9)))
        assert "10.0.2.2:9 ttl 64" in explain(daemon, "eth1", f"{capture.path}:1")
        for words, why in [(["eth1", "udp 10.0.1.2:5 > fd00::1"], "two families"),
                           (["eth7", "00"], "no port 'eth7'"),
                           (["eth1", "00"], "expected 14 to 2048"),
                           (["eth1", f"{capture.path}:99"], "number 99"),
                           (["eth1", "icmp 10.0.0.1:5 > 10.0.0.2"], "no ports"),
                           (["eth1", "sctpp 10.0.0.1 > 10.0.0.2"], "protocol 'sctpp'"),
                           (["eth1"], "needs PORT PACKET"),
                           (["eth1", "-q", "9", udp4().hex()], "no queue 9")]:
            done = daemon.ctl("explain", *words, check=False)
            assert done.returncode in (1, 2) and why in done.stderr, (words, done)


def test_the_next_hop_taken(make_lab, each_lane):
    """Of several, the one that the packet goes to."""
    lab = make_lab(static_neigh=True)
    lab.ip("neigh", "add", "10.0.2.3", "lladdr", "02:00:00:00:02:03", "dev", "eth2")
    lab.ip("route", "add", "10.55.0.0/16", "nexthop", "via", "10.0.2.2", "nexthop", "via", "10.0.2.3")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", each_lane, check=False, chatty=True) as daemon:
        ways = set()
        for port in range(1, 40):
            said = explain(daemon, "eth1", f"udp 10.0.1.2:{port} > 10.55.0.1:53").splitlines()
            route, leaves = ([line for line in said if line.startswith(word)][0]
                             for word in ("route", "leaves"))
            to = route.split(" to ")[1].split(",")[0]
            assert route.endswith(", one of 2 next hops") and f" > {to}  UDP" in leaves
            ways.add(to)
        assert len(ways) == 2


def test_stations(lab, each_lane):
    """Where the destination of a bridged frame was heard."""
    gen, sink = lab.ends()
    with Shuntd(lab, "bridge", "eth1", "eth2", "--lane", each_lane, chatty=True) as daemon:
        wait_until(lambda: sink.send(udp4(eth_dst=GEN, eth_src=SINK)) or
                   SINK in [row["mac"] for row in daemon.show("macs")["macs"]])
        assert f"station   {SINK}: behind eth2\n" in explain(daemon, "eth1", udp4(eth_dst=SINK).hex())
        other = "02:00:00:00:77:77"
        assert f"station   {other}: not known\n" in explain(daemon, "eth1", udp4(eth_dst=other).hex())
        assert "station" not in explain(daemon, "eth1", udp4(eth_dst="ff:ff:ff:ff:ff:ff").hex())
        asking = Asking(daemon)
        said = asking(udp4(eth_dst=SINK))
        assert said["queue"] == 0 and said["station"] == {"mac": SINK, "port": "eth2"}
        assert [(out["port"], out["queue"]) for out in said["outputs"]] == \
            [("eth2", 0 if said["steering"]["lane"] == "user" else None)]


def traced(daemon, gen, frame, *words):
    """The way of one packet, as JSON."""
    command = [os.path.join(BIN, "shuntctl"), "-s", daemon.control, "trace", "-j", "-c", "1", *words]
    with subprocess.Popen(command,
                          env=ENV, stdout=subprocess.PIPE, text=True) as process:
        wait_until(lambda: gen.send(frame) or process.poll() is not None)
        rows = [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()]
    assert process.returncode == 0 and len(rows) == 1 and rows[0]["bytes"] == frame.hex()
    return rows[0]


def test_trace(lab, each_lane):
    """The way of packets as they come."""
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", each_lane, chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        good = traced(daemon, gen, udp4(sport=77), "udp and src port 77")
        assert good["result"] == "sent" and good["steering"]["lane"] == each_lane
        assert [(out["port"], out["bytes"]) for out in good["outputs"]] == \
            [("eth2", routed(udp4(sport=77)).hex())]
        assert (good["queue"], good["outputs"][0]["queue"]) == (0, {"user": 0, "xdp": None}[each_lane])
        assert bool(good["nodes"]) == (each_lane == "user") and good["route"]["prefix"] == "10.0.2.2/32"
        old = traced(daemon, gen, udp4(ttl=1), "ip[8] = 1 and udp")
        assert (old["result"], old["reason"], old["outputs"]) == ("kernel", "ttl", [])
        lost = traced(daemon, gen, udp4(dst="10.99.0.1"), "dst host 10.99.0.1")
        assert (lost["result"], lost["reason"]) == \
            {"user": ("punted", "noroute"), "xdp": ("kernel", "no_way")}[each_lane]
