# SPDX-License-Identifier: BSD-2-Clause
"""shunt-bench's baselines: each forwards frames as it should and leaves dut as it was. DPDK is none of
the packages that the tests install: what is absent is skipped by name."""
import concurrent.futures
import contextlib
import glob
import os
import shutil
import socket
import subprocess

import pytest

from shuntlab.frames import DUT1, DUT2, GEN, SINK, routed, udp4
from shuntlab.lab import ROOT, wait_until

import baselines
import dpdk

CPU = max(os.sched_getaffinity(0))
ALL = {one.name: one for one in baselines.all_of(CPU, 32)}


class Place:
    """A lab as shunt-bench sees it."""
    devices = ("eth1", "eth2")
    dut_macs, gen_mac, sink_mac = (DUT1, DUT2), GEN, SINK

    def __init__(self, lab):
        self.lab = lab

    def dut(self, *cmd):
        return [os.path.join(ROOT, "tools", "lab"), "exec", "--name", self.lab.name, "dut", *cmd]

    def dut_run(self, *cmd, check=True):
        return subprocess.run(self.dut(*cmd), capture_output=True, text=True, timeout=60,
                              check=check).stdout


def left_behind():
    return glob.glob(f"{dpdk.RUN}/shunt-{os.getpid()}-*")


@contextlib.contextmanager
def running(name, place):
    """One of them, or the test is skipped with its reason."""
    try:
        ALL[name].check()
        with ALL[name].run(place) as started:
            yield started
    except dpdk.Absent as error:
        pytest.skip(f"{name}: {error}")


@pytest.mark.limit(240)  # l3fwd may have to be built
@pytest.mark.parametrize("name", ALL)
def test_forwards_and_leaves_nothing(lab, name):
    place = Place(lab)
    forwarding = lab.exec("dut", "sysctl", "-n", "net.ipv4.ip_forward").stdout
    source, sink = lab.wire("gen", "eth1"), lab.wire("sink", "eth1")
    with running(name, place) as started:
        frame = udp4(src="198.18.0.1", dst="198.19.0.1")
        frame = bytes.fromhex(started["dst_mac"].replace(":", "")) + frame[6:]
        want = routed(frame) if started["dst_mac"] == DUT1 else frame

        def crossed():
            source.send(frame)
            return sink.receive(lambda got: got[:len(want)] == want, timeout=0.2)
        wait_until(crossed, what="the frame, as it should be")
    assert lab.changes() == []
    assert lab.exec("dut", "sysctl", "-n", "net.ipv4.ip_forward").stdout == forwarding
    assert left_behind() == []


@pytest.mark.limit(240)
@pytest.mark.parametrize("name, measure, args", baselines.MEMORY,
                         ids=[row[0] for row in baselines.MEMORY])
def test_in_memory(name, measure, args):
    try:
        made = measure(CPU, 0.1, 32, *args)
        assert made["pps"] > 0 and 0 < made["cpu_share"] <= 1
    except dpdk.Absent as error:
        pytest.skip(f"{name}: {error}")
    assert left_behind() == []


def test_absent_is_skipped_by_name(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    skipped = {}
    assert baselines.usable(baselines.all_of(CPU, 32), skipped.__setitem__) == []
    assert set(skipped) == set(ALL)
    assert all("is not there" in why for why in skipped.values()), skipped
    rows, missing = baselines.memory(CPU, 0.1, 32)
    assert rows == [] and [name for name, _ in missing] == [row[0] for row in baselines.MEMORY]
    versions = {}
    baselines.version_into(versions)
    assert versions == {}


def fake(tmp_path, text):
    """A program that stands in for testpmd."""
    path = tmp_path / "dpdk-testpmd"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def why_absent(program):
    with pytest.raises(dpdk.Absent, match="dpdk-testpmd") as failed:
        with dpdk.running(lambda _: [program], "Press enter"):
            pass
    return str(failed.value)


@pytest.mark.parametrize("text, says", [
    ("echo starting; echo 'EAL: Cannot find device (eth9)'; exit 1", "Cannot find device (eth9)"),
    ("exit 3", "it said nothing"),
])
def test_what_does_not_start_says_why(tmp_path, text, says):
    assert says in why_absent(fake(tmp_path, text))


def test_what_is_never_ready_says_why(monkeypatch, tmp_path):
    """With the last that it said, if it had the time to say so."""
    program = fake(tmp_path, "echo working; exec sleep 60")
    for seconds in 1, 5, 25:
        monkeypatch.setattr(dpdk, "READY_S", seconds)
        why = why_absent(program)
        assert f"not ready within {seconds} s: " in why
        if not why.endswith("it said nothing"):
            break
    assert why.endswith("s: working")


@pytest.mark.parametrize("ends, says", [(False, "timed out"), (True, "Expecting value")])
def test_one_that_does_not_answer_says_so(monkeypatch, tmp_path, ends, says):
    """Where others have all processors, say, or it was killed meanwhile."""
    program = fake(tmp_path, "echo Press enter; exec sleep 60")
    monkeypatch.setattr(dpdk, "RUN", str(tmp_path))
    with dpdk.running(lambda _: [program], "Press enter") as process, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
        (tmp_path / process.prefix).mkdir()
        telemetry.bind(str(tmp_path / process.prefix / "dpdk_telemetry.v2"))
        telemetry.listen()
        monkeypatch.setattr(dpdk, "READY_S", 60 if ends else 0.1)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            if ends:
                pool.submit(end_at_a_request, telemetry)
            with pytest.raises(dpdk.Absent, match="does not answer /ethdev/stats,0") as failed:
                process.sent()
    assert says in str(failed.value)


def end_at_a_request(telemetry):
    with telemetry.accept()[0] as peer:
        peer.send(b"{}")
        peer.recv(1024)


def test_one_that_does_not_stop_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(dpdk, "STOP_S", 0.2)
    program = fake(tmp_path, "trap '' INT; echo Press enter; while :; do sleep 0.1; done")
    with dpdk.running(lambda _: [program], "Press enter") as process:
        assert process.process.poll() is None
    assert process.process.poll() is not None
