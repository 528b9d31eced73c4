# SPDX-License-Identifier: BSD-2-Clause
"""A NIC that takes VLAN tags off received frames: shuntd switches that off and gives it back. No veth
does so, though it says it; under another driver's name (nic.py) its features are as good as a NIC's. How a
real NIC's frames fare is in tests/vm/cases/tags."""
import os
import signal

import pytest

from shuntlab.doctor import doctor
from shuntlab.lab import wait_until
from shuntlab.process import owner_of, wait_gone
from shuntlab.programs import attach
from shuntlab.shuntd import Shuntd, refused

ON, OFF = (True, True), (False, False)
PAIR = ("xconnect", "eth1", "eth2")


@pytest.fixture(name="igb")
def _igb(nic, monkeypatch):
    nic.is_called("nic", monkeypatch)
    assert nic.takes_tags() == ON
    return nic


def warned(daemon):
    """What is said of the port's tags."""
    port = daemon.port()
    said = [row["text"] for row in port["notices"] if row["name"] == "tags"]
    assert port["in_use"]["tags_taken_off"] == bool(said)
    return said and said[0]


def test_given_back_at_stop(lab, igb):
    """With the rights and the seccomp filter of a running daemon."""
    said = lab.exec("dut", "shuntctl", "-s", "/nowhere", "doctor", "eth1", check=False).stdout
    assert "shuntd switches that off for as long as it runs" in said, said
    with Shuntd(lab, *PAIR) as daemon:
        assert igb.takes_tags() == OFF and not warned(daemon)
    assert igb.takes_tags() == ON


def test_what_was_off_stays_off(lab, igb):
    lab.exec("dut", "ethtool", "-K", "eth1", "rxvlan", "off")
    lab.remember()
    with Shuntd(lab, *PAIR):
        assert igb.takes_tags() == OFF
    assert igb.takes_tags() == (False, True)


@pytest.mark.parametrize("options", [(), ("--persist",)])
def test_given_back_after_a_kill(lab, igb, options):
    """By the stop of the next one: as it takes the program's place, nothing is switched in between."""
    Shuntd(lab, *PAIR, *options).kill()
    assert igb.takes_tags() == OFF
    with Shuntd(lab, *PAIR, *options, chatty=True, check=not options) as after:
        assert any("gave back" in line for line in after.log)
        assert igb.takes_tags() == OFF
    assert igb.takes_tags() == ON


def test_a_takeover_leaves_it_off(lab, igb):
    """What the first one found is what the last one gives back, through a kill, too."""
    with lab.popen("dut", "stdbuf", "-oL", "ethtool", "--monitor", "-k") as ear:
        assert "listening" in ear.stdout.readline()
        first = Shuntd(lab, *PAIR)
        for _ in range(2):
            second = Shuntd(lab, *PAIR, "--takeover", chatty=True)
            assert first.process.wait(60) == 0
            assert igb.takes_tags() == OFF
            first = second
        first.kill()
        last = Shuntd(lab, *PAIR, "--takeover", chatty=True)
        assert igb.takes_tags() == OFF
        ear.terminate()
        heard = ear.stdout.read()
    assert "rx-vlan-offload: off" in heard and "rx-vlan-offload: on" not in heard, heard
    last.stop()
    assert igb.takes_tags() == ON


def test_a_takeover_that_fails(lab, igb):
    """The one before runs again, and gives back what it had found at first."""
    first = Shuntd(lab, *PAIR)
    done = lab.popen("dut", "shuntd", *PAIR, "--user", "nix", "--takeover", "--control",
                     first.control)
    assert "was started again" in done.communicate(timeout=60)[1]
    assert igb.takes_tags() == OFF
    pid = owner_of(first.control)
    os.kill(pid, signal.SIGTERM)
    wait_gone(pid)
    assert igb.takes_tags() == ON


@pytest.mark.parametrize("options", [("--driver-mode", "generic"), ("--attach", "external")])
def test_however_the_program_is_attached(lab, igb, options):
    if "external" in options:
        for dev in "eth1", "eth2":
            attach(lab, dev)
    with Shuntd(lab, *PAIR, *options, check=False):
        assert igb.takes_tags() == OFF
    assert igb.takes_tags() == ON


def test_a_port_that_the_successor_leaves(lab, igb):
    first = Shuntd(lab, *PAIR)
    with Shuntd(lab, "xconnect", "eth2", "null0,kind=mem", "--takeover", chatty=True):
        assert first.process.wait(60) == 0
        assert igb.takes_tags() == ON


def test_switched_on_meanwhile(lab, igb):
    with Shuntd(lab, *PAIR, chatty=True) as daemon:
        lab.exec("dut", "ethtool", "-K", "eth1", "rxvlan", "on")
        said = wait_until(lambda: warned(daemon))
        assert "ethtool -K eth1 rxvlan off" in said, "the remedy"
        daemon.said_until(said)
        wait_until(lambda: daemon.lane()["reason"] == "tags_in_vain", what="the kernel's turn")
    assert igb.takes_tags() == ON


def test_a_driver_that_does_not_let_it(lab, nic, monkeypatch):
    """Tagged frames would leave untagged: the kernel's where it forwards, refused where it does not."""
    nic.is_called("nic", monkeypatch, fixed="rx-vlan-hw-parse")
    assert "tagged frames" in refused(lab, *PAIR)
    assert nic.takes_tags() == ON
    with Shuntd(lab, "route", "eth1", "eth2", chatty=True) as daemon:
        assert nic.takes_tags() == (True, False)
        assert (daemon.lane()["in_use"], daemon.lane()["reason"]) == ("kernel", "tags")
        assert daemon.lane("eth2")["reason"] != "tags"
        said = wait_until(lambda: warned(daemon))
        daemon.said_until(said)
        _, found = doctor(lab, "-s", daemon.control, "eth1")
        assert said in [row["sentence"] for row in found["eth1", "in use"]], found
    assert nic.takes_tags() == ON


def test_a_veth_is_left_alone(lab):
    """Its other end in the lab keeps tags where XDP sees them: what a VLAN device sends has it beside
    the frame otherwise."""
    for host, dev in ("gen", "eth1"), ("dut", "eth1"), ("dut", "eth2"), ("sink", "eth1"):
        assert "tx-vlan-offload: off" in lab.exec(host, "ethtool", "-k", dev).stdout
    with Shuntd(lab, *PAIR) as daemon:
        assert not warned(daemon)
        assert "rx-vlan-offload: on" in lab.exec("dut", "ethtool", "-k", "eth1").stdout
