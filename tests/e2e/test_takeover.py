# SPDX-License-Identifier: BSD-2-Clause
"""An upgrade in place: the next daemon's own program takes the place of the one before, another
version's, under a trickle of numbered frames. What a takeover loses between equals, and how it fails,
is in test_failopen.py; libxdp's dispatcher is in tests/vm/cases/dispatcher."""
import concurrent.futures
import json
import re

import pytest

from shuntlab.frames import GEN, SINK, udp4
from shuntlab.lab import OPTIONS, OTHER, wait_until
from shuntlab.modes import MACREWRITE, STATIC3
from shuntlab.shuntd import Shuntd, with_lane
from shuntlab.trickle import Trickle, numbered, rewritten, to_sink

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


def succeeds(lab, trickle, *args, program="shuntd"):
    """Starts the next one under the trickle and returns it."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, lab, *args, program=program, chatty=True)
        trickle.run(60, starting.done)
        return starting.result()


@pytest.mark.parametrize("lane, args, arrives", [
    ("user", XCONNECT, to_sink),
    ("xdp", XCONNECT, to_sink),
    ("auto", (*XCONNECT, "--transparent"), to_sink),
    ("xdp", MACREWRITE, rewritten),
    ("user", (*XCONNECT, "--driver-mode", "generic"), to_sink),
], ids=["user", "xdp", "transparent", "macrewrite", "generic"])
def test_by_another_program_and_back(lab, lane, args, arrives):
    """Of what the kernel knows nothing, nothing is lost: the old program crosses until the new one,
    which does so from its first frame, is there in its place."""
    trickle = Trickle(lab, to_sink, arrives)
    args = (*args, "--lane", lane)
    daemon = Shuntd(lab, *args, chatty=True)
    trickle.send()
    for program in OTHER, "shuntd":
        before, old, daemon = daemon, tags(lab, daemon), succeeds(lab, trickle, *args, "--takeover",
                                                                  program=program)
        assert before.process.wait(20) == 0
        assert not set(tags(lab, daemon)) & set(old), "the same program"
        assert ids_on(lab) == [port["program"]["id"] for port in daemon.show("ports")["ports"]]
        trickle.send()
        assert not trickle.lost()
    daemon.stop()


BRIDGE = ("bridge", "eth1", "eth2")


def to_nobody(number):
    return numbered(number, eth_dst="02:00:00:00:0f:0f")


def to_all(number):
    return numbered(number, eth_dst="ff:ff:ff:ff:ff:ff")


@pytest.mark.parametrize("lane, args, sends", [
    ("user", BRIDGE, to_sink),
    ("xdp", BRIDGE, to_sink),
    ("user", BRIDGE, to_nobody),
    ("xdp", BRIDGE, to_all),
], ids=["user", "xdp", "unknown", "group"])
def test_of_a_bridge(lab, lane, args, sends):
    """One without a kernel bridge beneath: to stations, and where the station is unknown or all are
    meant, to everybody. The next one knows the stations of the one before."""
    trickle = Trickle(lab, sends, sends)
    args = (*args, "--lane", lane)
    daemon = Shuntd(lab, *args, chatty=True)
    lab.wire("sink").send(udp4(60, eth_src=SINK, eth_dst=GEN))
    wait_until(lambda: SINK in [row["mac"] for row in daemon.show("macs")["macs"]])
    trickle.send()
    for program in OTHER, "shuntd":
        before, daemon = daemon, succeeds(lab, trickle, *args, "--takeover", program=program)
        known = {row["mac"]: row["port"] for row in daemon.show("macs")["macs"]}
        assert before.process.wait(20) == 0
        assert known[GEN] == "eth1" and known[SINK] == "eth2"
        trickle.send()
        assert not trickle.lost()
    daemon.stop()


def test_of_shares(lab):
    """Also while both lanes have a part of it."""
    trickle = Trickle(lab, to_sink, to_sink)
    first = Shuntd(lab, *XCONNECT, "--lane", "user", chatty=True)
    first.ctl("lane", "set", "eth1", "user=50%", "xdp=50%")
    trickle.send()
    second = succeeds(lab, trickle, *XCONNECT, "--lane", "user", "--takeover", program=OTHER)
    assert first.process.wait(20) == 0
    trickle.send()
    assert not trickle.lost()
    second.stop()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_of_a_program_that_was_left(lab, end):
    """One that --persist left on the device, another version's: what the kernel forwards meanwhile
    goes on, and the next daemon serves."""
    trickle = Trickle(lab)
    first = Shuntd(lab, *STATIC3, "--persist", program=OTHER)
    was, old = ids_on(lab), tags(lab, first)
    if end == "kill":
        first.kill()
    else:
        first.process.terminate()
        assert first.process.wait(20) == 0
    assert ids_on(lab) == was
    second = succeeds(lab, trickle, *STATIC3, "--persist")
    assert not set(ids_on(lab)) & set(was)
    assert not set(tags(lab, second)) & set(old)
    trickle.until_served(second)
    second.kill()
    third = Shuntd(lab, *STATIC3)  # without --persist
    third.stop()


@pytest.mark.parametrize("wrap, args, says", [
    (("setpriv", "--bounding-set=-sys_admin"), XCONNECT, "CAP_SYS_ADMIN"),
    ((), ("xconnect", "eth1", "nix"), "nix"),
    ((), (*XCONNECT, "--frames", "64"), "frames is 64"),
], ids=["program", "device", "frames"])
def test_one_that_cannot_does_not_ask(lab, wrap, args, says):
    """Where the next one's program is refused, or a device or room for its rings is not there,
    the running daemon was not asked, and serves on with all that it has."""
    trickle = Trickle(lab, to_sink, to_sink)
    with Shuntd(lab, *XCONNECT) as daemon:
        was = ids_on(lab)
        trickle.send()
        done = lab.popen("dut", *wrap, "shuntd", *with_lane(args), *OPTIONS, "--takeover",
                         "--control", daemon.control)
        trickle.run(60, lambda: done.poll() is not None)
        said = done.communicate(timeout=60)[1]
        assert done.returncode == 1 and says in said and said.count("\n") == 1, said
        assert ids_on(lab) == was
        trickle.until_served(daemon)
