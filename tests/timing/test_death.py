# SPDX-License-Identifier: BSD-2-Clause
"""What the daemon's death costs on veth: as good as nothing. Frames at 3,000 a second, or a hundred times as
many, and the daemon is ended by a signal that it cannot handle."""
import contextlib
import os
import signal
import statistics
import subprocess
import time

import pytest

from shuntlab.frames import DUT1, GEN, SINK, udp4
from shuntlab.lab import BIN, wait_until
from shuntlab.modes import POLLING, STATIC3
from shuntlab.ptrace import EndlessLoop
from shuntlab.shuntd import Watched
from shuntlab.stream import Stream

ROUTED = {"route": ("route", "eth1", "eth2"), "static3": STATIC3}
WIRES = {"xconnect": ("xconnect", "eth1", "eth2"), "bridge": ("bridge", "eth1", "eth2")}
RATE, FAST, RING = 3000, 300_000, 2048
PAUSE_NS = 2_000_000
HANG_NS = 12_000_000  # 10 ms, and what the kernel takes to forward the next frame
TICK_NS = 4_000_000  # by so much later the kernel may count CPU time (CONFIG_HZ=250)
IN_RINGS = 4  # of a sender that sends one every third of a millisecond
BATCH = 64  # what a worker has in hand at most, when it is stopped right then
# Spans that are measured: after a death, of a hang and after it, of a fast stream before the death.
DEATH_S, HANG_S, ALIVE_S = 0.3, 0.2, 1


def die(lab, args, number, make):
    """What one death costs: (frames lost, longest silence)."""
    with Stream(lab, RATE, make) as stream:
        daemon = Watched(lab, *args)
        wait_until(lambda: daemon.port()["lanes"]["user"] + daemon.port()["lanes"]["xdp"] > 100)
        stream.account()
        os.kill(daemon.process.pid, number)
        time.sleep(DEATH_S)
        account = stream.account()
        daemon.process.communicate(timeout=20)
        assert daemon.process.returncode == -number
    assert account.sent > 300
    return account.lost, account.still_ns


@contextlib.contextmanager
def all_stopped(daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    yield
    daemon.process.send_signal(signal.SIGCONT)


def in_a_loop(daemon):
    return EndlessLoop(daemon.process.pid, "shunt-w0", f"{BIN}/shuntd")


def hang(lab, args, poll, hanging):
    """The longest silence when the worker hangs, what was lost then and came out of order, and how often it
    was taken for hung."""
    with Stream(lab, RATE) as stream, Watched(lab, *args, "--poll", poll) as daemon:
        wait_until(lambda: daemon.port()["lanes"]["user"] > 100)
        before = daemon.worker()["hangs"]
        stream.account()
        with hanging(daemon):
            time.sleep(HANG_S)
        time.sleep(HANG_S)
        account = stream.account()
        return account.still_ns, account.lost, account.late, daemon.worker()["hangs"] - before


@pytest.mark.parametrize("poll, hanging, limit_ns, alarms",
                         [(poll, all_stopped, HANG_NS, 1) for poll in POLLING]
                         + [("adaptive", in_a_loop, HANG_NS + TICK_NS, 2)])
def test_a_hang_is_found_in_ten_milliseconds(lab, poll, hanging, limit_ns, alarms):
    """And when the worker is at work again, it sends nothing of what the kernel has overtaken, but for
    what it had in hand: of a machine that did not pause before, little. What puts the loop in stops the
    worker first, and that may take long enough to be a hang of its own."""
    seen = []
    while not seen or seen[-1][0] > limit_ns or seen[-1][2] > IN_RINGS:
        assert len(seen) < 5, seen
        seen.append(hang(lab, STATIC3, poll, hanging))
        assert seen[-1][2] <= BATCH, seen
    _, lost, _, hangs = seen[-1]
    assert 1 <= hangs <= alarms and lost <= 2 * hangs * RATE * limit_ns / 1e9, seen


def check(lab, args, make=udp4, numbers=(signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)):
    """A machine that is busy elsewhere may stop the sender or the receiver, not five times."""
    for number in numbers:
        seen = []
        while not seen or seen[-1][0] > IN_RINGS or seen[-1][1] > PAUSE_NS:
            assert len(seen) < 5, (number, seen)
            seen.append(die(lab, args, number, make))
    Watched(lab, *args).stop()


@pytest.mark.parametrize("lane", ["user", "xdp"])
@pytest.mark.parametrize("mode", ROUTED)
def test_the_kernel_routes_on(lab, mode, lane):
    check(lab, (*ROUTED[mode], "--lane", lane))


def test_by_signals_that_seldom_end_a_daemon(lab):
    check(lab, ROUTED["route"], numbers=(signal.SIGUSR1, signal.SIGRTMIN))


@pytest.mark.parametrize("lane", ["user", "xdp"])
@pytest.mark.parametrize("mode", WIRES)
def test_a_wire_goes_on(lab, mode, lane):
    check(lab, (*WIRES[mode], "--lane", lane), lambda **more: udp4(eth_dst=SINK, **more))


def die_fast(lab, args, mac, number):
    """At FAST frames a second: (frames lost, longest silence). While they flow nothing of the test's own runs
    that would take the worker's CPU. number: the signal, 0 for none."""
    daemon, sink = Watched(lab, *args, "--cpu", "1"), lab.sink("sink", "eth1", "--gaps", "--idle", "0.5")
    lab.wire("sink").send(udp4(eth_src=SINK, eth_dst=GEN))  # a bridge knows it then
    with subprocess.Popen(["sh", "-c", f"sleep {ALIVE_S}; kill -{number} {daemon.process.pid}"]):
        sent = lab.send("gen", "eth1", "--rate", str(FAST), "--duration", ALIVE_S + 0.5, "--dst-mac", mac,
                        first=("taskset", "-c", "0"))["sent"]
    got = sink.finish()
    if number:
        daemon.process.communicate(timeout=20)
    daemon = Watched(lab, *args) if number else daemon
    daemon.stop()
    return sent - got["frames"], got["gap_ns"]["max"]


@pytest.mark.parametrize("lane", ["user", "xdp"])
@pytest.mark.parametrize("mode", [*ROUTED, *WIRES])
def test_at_three_hundred_thousand(lab, mode, lane):
    """A death costs no more frames than a ring holds, and two milliseconds beside the pauses that there are
    without one, on a machine with two CPUs."""
    args, mac = (ROUTED[mode], DUT1) if mode in ROUTED else (WIRES[mode], SINK)
    args = (*args, "--lane", lane)
    alive, dead = [], []
    for _ in range(3):
        alive.append(die_fast(lab, args, mac, 0))
        dead.append(die_fast(lab, args, mac, signal.SIGKILL))
    print(f"{mode}, lane {lane}, (lost, longest silence): alive {sorted(alive)}, killed {sorted(dead)}")
    assert statistics.median(lost for lost, _ in dead) <= RING
    assert min(ns for _, ns in dead) <= min(ns for _, ns in alive) + PAUSE_NS


@pytest.mark.parametrize("lane", ["user", "xdp"])
@pytest.mark.parametrize("mode", WIRES)
def test_the_next_start_takes_a_wire_up(lab, mode, lane):
    """From a dead daemon's program, without a frame lost."""
    args = (*WIRES[mode], "--lane", lane)
    Watched(lab, *args).kill()
    with Stream(lab, RATE, lambda **more: udp4(eth_dst=SINK, **more)) as stream:
        with Watched(lab, *args, chatty=True) as daemon:
            wait_until(lambda: daemon.port()["lanes"]["user"] + daemon.port()["lanes"]["xdp"] > 300)
            account = stream.account()
    assert account.sent > 300 and account.lost == 0 and account.doubled == 0, account


def test_a_wire_that_must_not_go_on(lab):
    """on_death: kernel. The kernel has what comes, and forwards none of it."""
    args = ("xconnect", "eth1", "eth2", "--on-death", "kernel")
    Watched(lab, *args).kill()
    with Stream(lab, RATE, lambda **more: udp4(eth_dst=SINK, **more)) as stream:
        time.sleep(DEATH_S)
        account = stream.account(patience=0.5)
    assert account.sent > 100 and account.lost == account.sent
    Watched(lab, *args).stop()
