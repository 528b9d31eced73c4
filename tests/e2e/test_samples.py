# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl show drops --samples: the last packet of each reason."""
import json
import os
import subprocess

from shuntlab.capture import Capture
from shuntlab.frames import routed, udp4
from shuntlab.lab import BIN, ENV, wait_until
from shuntlab.shuntd import Shuntd


def sampled(daemon, words, send):
    """What shuntctl prints, while that is sent again and again."""
    with subprocess.Popen([os.path.join(BIN, "shuntctl"), "-s", daemon.control, *words], env=ENV,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while process.poll() is None:
            send()
            try:
                process.wait(0.02)  # between two packets
            except subprocess.TimeoutExpired:
                pass
        assert process.returncode == 0, process.stdout.read()
        return process.stdout.read()


def test_the_last_packet_of_each_reason(lab, tmp_path):
    gen, sink = lab.ends()
    mine = udp4(dport=6666), udp4(dst="10.9.0.1"), udp4(dst="10.77.0.1"), udp4(ttl=1, data=b"last")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "user", "--rule", "proto udp dport 6666 lane drop",
                chatty=True) as daemon:
        gen.reaches(sink, udp4(), routed(udp4()))
        lab.exec("dut", "ip", "route", "add", "blackhole", "10.9.0.0/16")
        wait_until(lambda: daemon.ask("route", "get", "10.9.0.1")["prefix"] == "10.9.0.0/16")
        said = json.loads(sampled(daemon, ["-j", "show", "drops", "--samples"], lambda: gen.send(*mine)))
        rows = {(row["where"], row["name"]): row for row in said["samples"]}
        text = sampled(daemon, ["show", "drops", "--samples", "1"], lambda: gen.send(*mine))
        with Capture(daemon, folder=tmp_path):
            done = daemon.ctl("show", "drops", "--samples", "1", check=False)
        assert daemon.ctl("show", "rules", "--samples=2", check=False).returncode == 2
        lab.exec("dut", "ip", "route", "del", "blackhole", "10.9.0.0/16")
    assert said["drops"]
    for key, frame in zip([("steer", "rule"), ("graph", "blackhole"), ("punt", "noroute"), ("steer", "ttl")],
                          mine):
        row = rows[key]
        assert row["port"] == "eth1" and row["bytes"] == frame[:64].hex(), key
        assert 0 <= row["age_ns"] < 10e9 and f"length {len(frame)}" in row["packet"], key
    below = text.partition("last packet\n")[2]
    assert any(line.split()[:3] == ["steer", "ttl", "eth1"] for line in below.splitlines()), text
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "another capture is under way" in done.stderr
