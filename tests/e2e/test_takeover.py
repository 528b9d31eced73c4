# SPDX-License-Identifier: BSD-2-Clause
"""An upgrade in place: the next daemon's own program takes the place of the one before, another
version's, under a stream of numbered frames. What a takeover loses between equals, and how it fails,
is in test_failopen.py; libxdp's dispatcher is in tests/vm/cases/dispatcher."""
import concurrent.futures
import json
import os
import re

import pytest

from shuntlab.shuntd import Shuntd, with_lane
from shuntlab.lab import BIN, OPTIONS, wait_until
from test_failopen import STATIC3, Stream, numbered, numbered_to_sink, rewritten, served
from shuntlab.frames import GEN, SINK, udp4

OTHER = os.path.join(BIN, "..", "tests", "other", "shuntd")
XCONNECT = ("xconnect", "eth1", "eth2")


def tags(lab, daemon):
    """The kernel's hash over the instructions of each port's program."""
    return [json.loads(lab.exec("dut", "bpftool", "-j", "prog", "show", "id",
                                str(port["program"]["id"])).stdout)["tag"]
            for port in daemon.show("ports")["ports"]]


def ids_on(lab):
    """What the ports have, whoever put it there."""
    shown = lab.exec("dut", "ip", "link").stdout
    return [int(number) for number in re.findall(r"prog/xdp id (\d+)", shown)]


def succeeds(lab, stream, *args, program="shuntd"):
    """Starts the next one under the stream and returns it."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, lab, *args, program=program, chatty=True)
        stream.run(60, starting.done)
        return starting.result()


@pytest.mark.parametrize("lane, args, arrives", [
    ("user", XCONNECT, numbered_to_sink),
    ("xdp", XCONNECT, numbered_to_sink),
    ("auto", (*XCONNECT, "--transparent"), numbered_to_sink),
    ("user", (*XCONNECT, "--rule", "proto udp lane xdp"), numbered_to_sink),
    ("xdp", ("macrewrite", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}"), rewritten),
    ("user", (*XCONNECT, "--driver-mode", "generic"), numbered_to_sink),
], ids=["user", "xdp", "transparent", "rule", "macrewrite", "generic"])
def test_by_another_program_and_back(lab, lane, args, arrives):
    """Of what the kernel knows nothing, nothing is lost: the old program crosses until the new one,
    which does so from its first frame, is there in its place."""
    stream = Stream(lab, numbered_to_sink, arrives)
    args = (*args, "--lane", lane)
    daemon = Shuntd(lab, *args, chatty=True)
    stream.run(0.05)
    for program in OTHER, "shuntd":
        before, old, daemon = daemon, tags(lab, daemon), succeeds(lab, stream, *args, "--takeover",
                                                                  program=program)
        assert before.process.wait(20) == 0
        assert not set(tags(lab, daemon)) & set(old), "the same program"
        assert ids_on(lab) == [port["program"]["id"] for port in daemon.show("ports")["ports"]]
        stream.run(0.05)
        assert not stream.lost()
    daemon.stop()


BRIDGE = ("bridge", "eth1", "eth2")


def to_nobody(number):
    return numbered(number, eth_dst="02:00:00:00:0f:0f")


def to_all(number):
    return numbered(number, eth_dst="ff:ff:ff:ff:ff:ff")


@pytest.mark.parametrize("lane, args, sends", [
    ("user", BRIDGE, numbered_to_sink),
    ("xdp", BRIDGE, numbered_to_sink),
    ("user", BRIDGE, to_nobody),
    ("xdp", BRIDGE, to_all),
    ("user", (*BRIDGE, "--rule", "proto udp lane xdp"), numbered_to_sink),
    ("auto", ("mix", "eth1", "eth2"), numbered_to_sink),
], ids=["user", "xdp", "unknown", "group", "rule", "mix"])
def test_of_a_bridge(lab, lane, args, sends):
    """One without a kernel bridge beneath: to stations, and where the station is unknown or all are
    meant, to everybody. The next one knows the stations of the one before."""
    stream = Stream(lab, sends, sends)
    args = (*args, "--lane", lane)
    daemon = Shuntd(lab, *args, chatty=True)
    lab.wire("sink").send(udp4(60, eth_src=SINK, eth_dst=GEN))
    wait_until(lambda: SINK in [row["mac"] for row in daemon.show("macs")["macs"]])
    stream.run(0.05)
    for program in OTHER, "shuntd":
        before, daemon = daemon, succeeds(lab, stream, *args, "--takeover", program=program)
        known = {row["mac"]: row["port"] for row in daemon.show("macs")["macs"]}
        assert before.process.wait(20) == 0
        assert known[GEN] == "eth1" and known[SINK] == "eth2"
        stream.run(0.05)
        assert not stream.lost()
    daemon.stop()


def test_of_shares(lab):
    """Also while both lanes have a part of it."""
    stream = Stream(lab, numbered_to_sink, numbered_to_sink)
    first = Shuntd(lab, *XCONNECT, "--lane", "user", chatty=True)
    first.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
    stream.run(0.05)
    second = succeeds(lab, stream, *XCONNECT, "--lane", "user", "--takeover", program=OTHER)
    assert first.process.wait(20) == 0
    stream.run(0.05)
    assert not stream.lost()
    second.stop()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_of_a_program_that_was_left(lab, end):
    """One that --persist left on the device, another version's: what the kernel forwards meanwhile
    goes on, and the next daemon serves."""
    stream = Stream(lab)
    first = Shuntd(lab, *STATIC3, "--persist", program=OTHER)
    was, old = ids_on(lab), tags(lab, first)
    if end == "kill":
        first.kill()
    else:
        first.process.terminate()
        assert first.process.wait(20) == 0
    assert ids_on(lab) == was
    second = succeeds(lab, stream, *STATIC3, "--persist")
    assert not set(ids_on(lab)) & set(was)
    assert not set(tags(lab, second)) & set(old)
    before = served(second)
    stream.run(5, lambda: served(second) > before)
    assert served(second) > before
    assert not stream.lost()
    second.kill()
    third = Shuntd(lab, *STATIC3)  # without --persist
    third.stop()


@pytest.mark.parametrize("wrap, args, says", [
    (("setpriv", "--bounding-set=-sys_admin"), XCONNECT, "CAP_SYS_ADMIN"),
    ((), ("xconnect", "eth1", "nix"), "nix"),
    ((), (*XCONNECT, "--frames", "64"), "frames is 64, and the fill rings of worker 0's"),
    ((), (*XCONNECT, "--cpu", "1023"), "CPU 1023 is not there"),
], ids=["program", "device", "frames", "cpu"])
def test_one_that_cannot_does_not_ask(lab, wrap, args, says):
    """Where the next one's program is refused, or a device, a CPU or room for its rings is not there,
    the running daemon was not asked, and serves on with all that it has."""
    stream = Stream(lab, numbered_to_sink, numbered_to_sink)
    with Shuntd(lab, *XCONNECT) as daemon:
        was = ids_on(lab)
        stream.run(0.05)
        done = lab.popen("dut", *wrap, "shuntd", *with_lane(args), *OPTIONS, "--takeover",
                         "--control", daemon.control)
        stream.run(60, lambda: done.poll() is not None)
        said = done.communicate(timeout=60)[1]
        assert done.returncode == 1 and says in said and said.count("\n") == 1, said
        assert ids_on(lab) == was
        before = served(daemon)
        stream.run(5, lambda: served(daemon) > before)
        assert served(daemon) > before
        assert not stream.lost()
