# SPDX-License-Identifier: BSD-2-Clause
"""The helper process of a running shuntd: what it leaves the daemon without, when it ends, and what the
daemon does without it."""
import os
import signal

import pytest

from shuntlab.frames import SINK, routed, udp4
from shuntlab.lab import wait_until
from shuntlab.process import wait_gone
from shuntlab.programs import on_device
from shuntlab.rights import BPF, HELPER, NET_ADMIN, check_rights, helpers
from shuntlab.shuntd import Shuntd

XCONNECT = ("xconnect", "eth1", "eth2")
ROUTES = 60_000
LAST = f"20.{ROUTES - 1 >> 8}.{ROUTES - 1 & 255}.70"


def add_routes(lab, batch):
    """Each longer than /24: a line of the table for each."""
    batch.write_text("".join(f"route add 20.{n >> 8}.{n & 255}.64/26 via 10.0.2.2\n" for n in range(ROUTES)))
    lab.exec("dut", "ip", "-b", batch)


def one_helper(lab, daemon):
    """Of all processes in the lab's dut one is a helper, the daemon's."""
    (helper,) = helpers(daemon.process.pid)
    found = []
    for pid in lab.processes("dut"):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                found += [int(pid)] if comm.read().strip() == HELPER else []
        except FileNotFoundError:
            pass
    assert found == [helper]
    return helper


def test_it_ends_with_a_stop(lab):
    with Shuntd(lab, *XCONNECT) as daemon:
        helper = one_helper(lab, daemon)
    assert not os.path.exists(f"/proc/{helper}")


@pytest.mark.parametrize("user", [None, "nobody"])
def test_it_ends_with_a_kill(lab, user):
    """However the daemon ends. Another user's daemon is told apart by nothing but the socket."""
    options = {"control": "run/shuntd.sock"} if user else {}
    daemon = Shuntd(lab, *XCONNECT, *(["--user", user] if user else []), check=False, **options)
    helper = one_helper(lab, daemon)
    daemon.kill()
    wait_gone(helper)
    # gives back what was left
    Shuntd(lab, *XCONNECT, *(["--user", user] if user else []), **options).stop()


def test_a_takeover_leaves_one(lab):
    first = Shuntd(lab, *XCONNECT, check=False)
    before = one_helper(lab, first)
    with Shuntd(lab, *XCONNECT, "--takeover") as second:
        assert first.process.wait(30) == 0
        wait_gone(before)
        assert one_helper(lab, second) != before
        lab.crosses(udp4(eth_dst=SINK))


def test_none_without_a_device(lab):
    with Shuntd(lab, "xconnect", "a,kind=mem", "b,kind=mem") as daemon:
        assert helpers(daemon.process.pid) == []


def test_signals_of_a_terminal_are_the_daemons(lab):
    with Shuntd(lab, *XCONNECT) as daemon:
        helper = one_helper(lab, daemon)
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            os.kill(helper, number)
        assert daemon.notice("helper") is None
        assert one_helper(lab, daemon) == helper


def test_the_daemon_goes_on_without_it(make_lab):
    """What needs no right is as before; a program that should go stays; and that is said."""
    lab = make_lab(static_neigh=True)
    daemon = Shuntd(lab, *XCONNECT, "--lane", "user", check=False, chatty=True)
    os.kill(one_helper(lab, daemon), signal.SIGKILL)
    daemon.said_until(wait_until(lambda: daemon.notice("helper"), what="the notice")["text"])
    lab.crosses(udp4(eth_dst=SINK))
    assert "the next start gives back" in end(daemon)
    # Open for every frame: the kernel's.
    assert "steer" in on_device(lab, "eth1").get("name", "")
    assert os.path.exists(daemon.control + ".journal")
    Shuntd(lab, *XCONNECT).stop()


def lose_helper(daemon):
    os.kill(helpers(daemon.process.pid)[0], signal.SIGKILL)
    wait_until(lambda: daemon.notice("helper"), what="the notice")


def end(daemon):
    """What it says, when it cannot give back what it has borrowed."""
    daemon.process.send_signal(signal.SIGTERM)
    _, err = daemon.process.communicate(timeout=60)
    assert daemon.process.returncode == 1, err
    return err


@pytest.mark.parametrize("is_on", [True, False])
def test_without_it_lanes_still_change(make_lab, is_on):
    """The kernel has the frames where a program should go and cannot, and where it should come."""
    lab = make_lab(static_neigh=True, gro=is_on)
    gen, sink = lab.ends()
    daemon = Shuntd(lab, "route", "eth1", "eth2", "--lane", "auto", check=False, chatty=True)
    lane = "xdp" if is_on else "kernel"
    wait_until(lambda: daemon.lane()["in_use"] == lane, what=f"lane {lane}")
    wait_until(lambda: ("steer" in on_device(lab, "eth1").get("name", "")) is is_on, what="the program")
    gen.reaches(sink, udp4(), routed(udp4()))
    lose_helper(daemon)
    lab.exec("sink", "ethtool", "-K", "eth1", "gro", "off" if is_on else "on")
    wait_until(lambda: daemon.lane()["in_use"] == "kernel" if is_on else daemon.lane()["reason"] == "refused",
               what="lane kernel")
    assert daemon.lane()["in_use"] == "kernel"
    assert ("steer" in on_device(lab, "eth1").get("name", "")) is is_on
    gen.reaches(sink, udp4(), routed(udp4()))
    # It is no line a second.
    assert end(daemon).count("helper process") <= 3
    Shuntd(lab, "route", "eth1", "eth2", "--lane", "auto").stop()


def test_without_it_the_kernel_routes_what_does_not_fit(make_lab, tmp_path):
    lab = make_lab(static_neigh=True)
    gen, sink = lab.ends()
    daemon = Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp", check=False, chatty=True)
    lose_helper(daemon)
    add_routes(lab, tmp_path / "routes")
    wait_until(lambda: daemon.show("mirror")["state"] == "incomplete", 60, "a full table")
    frame = udp4(dst=LAST)
    gen.reaches(sink, frame, routed(frame))
    assert daemon.packets("xdp") == 0
    end(daemon)


# --- rights, as shuntd(8) says; under libxdp's dispatcher: tests/vm/cases/dispatcher ----------------

def test_rights_where_tables_grow(make_lab, tmp_path):
    """Routes come while it runs, and the helper makes arrays for them."""
    lab = make_lab(static_neigh=True)
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", "xdp", "--capture", "none",
                check=False) as daemon:
        helper = check_rights(daemon.process.pid, 0, NET_ADMIN, NET_ADMIN, NET_ADMIN | BPF)

        def chunks():
            with open(f"/proc/{daemon.process.pid}/maps", encoding="ascii") as maps:
                return sum("bpf-map" in line for line in maps)

        before = chunks()
        add_routes(lab, tmp_path / "routes")
        wait_until(lambda: chunks() > before, 60, "more arrays")
        frame = udp4(dst=LAST)
        daemon.until_had("xdp", lambda: gen.reaches(sink, frame, routed(frame)))
        assert check_rights(daemon.process.pid, 0, NET_ADMIN, NET_ADMIN, NET_ADMIN | BPF) == helper
