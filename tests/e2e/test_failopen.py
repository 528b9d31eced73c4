# SPDX-License-Identifier: BSD-2-Clause
"""shuntd fails open: whatever happens to it, the kernel forwards."""
import concurrent.futures
import contextlib
import os
import shutil
import signal
import socket

import pytest

from shuntlab.frames import routed
from shuntlab.lab import BIN, wait_until
from shuntlab.modes import STATIC3
from shuntlab.process import arguments, owner_of, wait_gone
from shuntlab.programs import attach, on_device
from shuntlab.ptrace import EndlessLoop, is_possible
from shuntlab.shuntd import Shuntd, Watched, with_lane
from shuntlab.trickle import Trickle, numbered, served, to_sink


@pytest.mark.parametrize("poll", ["spin", "interrupt"])
def test_stopped(lab, poll):
    """While the daemon is stopped the kernel forwards. What lies in its rings by then never leaves: the
    kernel has overtaken it, and no flow is reordered. tests/timing/test_death.py says how soon."""
    trickle = Trickle(lab)
    with Watched(lab, *STATIC3, "--poll", poll) as daemon:
        trickle.until_served(daemon)
        hangs = daemon.worker()["hangs"]
        daemon.process.send_signal(signal.SIGSTOP)
        stopped = len(trickle.sent)
        trickle.send()
        assert trickle.run(60, trickle.is_last_there), "the kernel does not forward"
        held = trickle.lost()
        daemon.process.send_signal(signal.SIGCONT)
        assert not held or held[0] >= stopped
        before = served(daemon)
        assert trickle.run(30, lambda: served(daemon) > before)
        lost = trickle.lost()
        # who waits for a processor again is taken for hung again
        assert lost == held or daemon.worker()["hangs"] > hangs + 1
        assert trickle.order == sorted(trickle.order)
        assert daemon.drops()["late"] >= len(lost)  # and sink's answers to them
        assert daemon.steered("hung") > 0


@pytest.mark.skipif(not is_possible(), reason="the endless loop is x86-64's")
@pytest.mark.parametrize("mode", ["static3", "route"])
def test_stop_and_takeover_while_a_worker_hangs(lab, mode):
    """An end comes all the same, is no success, and leaves nothing behind; a successor forwards."""
    args = STATIC3 if mode == "static3" else ("route", "eth1", "eth2")
    stuck = Shuntd(lab, *args)
    with EndlessLoop(stuck.process.pid, "shunt-w0", f"{BIN}/shuntd"):
        if mode == "static3":
            stuck.process.terminate()
        else:
            with Shuntd(lab, *args, "--takeover") as next_one:
                gen, sink = lab.ends()
                before = served(next_one)
                gen.send(numbered(1))
                assert sink.receive(lambda frame: frame == routed(numbered(1)), timeout=10)
                assert served(next_one) > before
        _, err = stuck.process.communicate(timeout=60)
        assert stuck.process.returncode == 1 and "worker 0 hangs and does not stop" in err, err
    assert lab.changes() == []


@pytest.mark.skipif(not is_possible(), reason="the endless loop is x86-64's")
def test_control_waits_for_no_worker(lab, tmp_path):
    """A worker hangs in mode route, and addresses and a good many routes come and go: the control thread
    answers and follows, says once that it hangs and once that it is back, and stops in order."""
    with Watched(lab, "route", "eth1", "eth2", "--poll", "spin", chatty=True) as daemon:
        gen, sink = lab.ends()
        with EndlessLoop(daemon.process.pid, "shunt-w0", f"{BIN}/shuntd"):
            lab.exec("dut", "ip", "addr", "add", "10.0.9.1/32", "dev", "eth2")
            for word in "replace", "del":
                batch = tmp_path / word
                batch.write_text("".join(f"route {word} 10.{64 + n // 256}.{n % 256}.0/24 via "
                                         "10.0.2.2\n" for n in range(12000)))
                lab.exec("dut", "ip", "-b", batch)
            lab.exec("dut", "ip", "addr", "del", "10.0.9.1/32", "dev", "eth2")
            daemon.said_until("worker 0")
            wait_until(lambda: daemon.worker()["heartbeat_age_ns"] > 4e9)
            lab.exec("dut", "ip", "route", "add", "10.77.0.0/16", "via", "10.0.2.2")
            wait_until(lambda: daemon.ask("route", "get", "10.77.0.1")["prefix"] == "10.77.0.0/16")
            lab.exec("dut", "ip", "route", "del", "10.77.0.0/16")
        daemon.said_until("worker 0")
        before = served(daemon)
        wait_until(lambda: gen.send(numbered(1)) or served(daemon) > before)
        sink.expect(routed(numbered(1)))


def test_killed_under_a_stream(lab):
    """What is lost was sent between the signal and the end of the process, when its sockets go, or
    lay in its rings when the signal came; from then on the kernel forwards every frame."""
    trickle = Trickle(lab)
    daemon = Shuntd(lab, *STATIC3)
    trickle.until_served(daemon)
    trickle.send()
    unsure = len(trickle.arrived)
    daemon.process.kill()
    trickle.run(10, lambda: daemon.process.poll() is not None)
    gone = len(trickle.sent)
    assert daemon.process.returncode == -signal.SIGKILL
    trickle.send()
    lost = trickle.lost()
    assert all(unsure <= number < gone for number in lost)
    daemon.process.communicate(timeout=20)
    assert not Shuntd(lab, *STATIC3).stop().strip()


def in_driver(daemon):
    """Frames sent whose completions are withheld; the ledger balances with them. None when the
    worker did not answer in time."""
    ledger, = daemon.show("ledger")["ledger"]
    assert ledger["balanced"] is not False, ledger
    return ledger["driver_tx"] if ledger["balanced"] else None


def withheld(trickle, daemon):
    """The most of them seen while the trickle goes on."""
    seen = []

    def look():
        if len(trickle.sent) % 50 == 0:
            seen.append(in_driver(daemon) or 0)
        return max(seen, default=0) >= 20

    trickle.run(30, look)
    return max(seen)


def test_dry_pool(lab):
    """While the frames of the pool are all out, the kernel forwards; when they come back, shuntd
    does. The far end is made to hold what it gets for a second, and the frames with it: no
    completion comes meanwhile."""
    trickle = Trickle(lab)
    knobs = "echo 1000000 >/sys/class/net/eth1/napi_defer_hard_irqs;" \
        "echo 1000000000 >/sys/class/net/eth1/gro_flush_timeout"
    with Shuntd(lab, *STATIC3, "--ring-size", 64, "--frames", 128) as daemon:
        lab.exec("sink", "sh", "-c", knobs)
        trickle.run(5, lambda: len(trickle.sent) == 200)
        wait_until(lambda: daemon.steered("dry") > 20)
        assert withheld(trickle, daemon) >= 20
        lab.exec("sink", "sh", "-c", knobs.replace("1000000000", "0").replace("1000000", "0"))
        assert not trickle.lost()
        trickle.until_served(daemon)
        wait_until(lambda: in_driver(daemon) == 0)


def test_persist(lab):
    """The program stays at stop, passes everything, and the next daemon's takes its place."""
    trickle = Trickle(lab)
    first = Shuntd(lab, *STATIC3, "--persist")
    program = first.port()["program"]["id"]
    trickle.send()
    first.process.send_signal(signal.SIGTERM)
    trickle.send()
    assert first.process.wait(20) == 0
    trickle.send()
    assert not trickle.lost()
    assert on_device(lab)
    second = Shuntd(lab, *STATIC3, "--persist")
    assert second.port()["program"]["id"] != program
    trickle.send()
    assert served(second) > 0
    assert not trickle.lost()
    second.kill()
    trickle.send()
    trickle.take(range(len(trickle.sent)))
    third = Shuntd(lab, *STATIC3)
    assert third.port()["program"]["id"] != program
    third.stop()


def test_takeover_under_a_stream(lab):
    """Nothing is lost while one daemon takes over from another, with a program of its own."""
    trickle = Trickle(lab)
    first = Shuntd(lab, *STATIC3)
    program = first.port()["program"]["id"]
    trickle.send()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, lab, *STATIC3, "--takeover")
        trickle.run(20, starting.done)
        second = starting.result()
    assert first.process.wait(20) == 0
    assert second.port()["program"]["id"] != program
    trickle.until_served(second)
    second.stop()


def test_takeover_of_programs_attached_by_hand(lab):
    """Twice, so that each of the program's two configurations is the one handed over."""
    args = ("xconnect", "eth1", "eth2", "--attach", "external")
    for device in "eth1", "eth2":
        attach(lab, device)
    lab.remember()
    trickle = Trickle(lab, to_sink, to_sink)
    daemon = Shuntd(lab, *args, chatty=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for _ in range(2):
            before, starting = daemon, pool.submit(Shuntd, lab, *args, "--takeover", chatty=True)
            trickle.run(20, starting.done)
            daemon = starting.result()
            assert before.process.wait(20) == 0
    trickle.send()
    assert not trickle.lost()
    daemon.stop()


def test_handed_over_to_nobody(lab):
    """A successor that never comes: what crossed is the kernel's in the end, as all else."""
    trickle = Trickle(lab, to_sink, to_sink)
    first = Shuntd(lab, "xconnect", "eth1", "eth2")
    with socket.socket(socket.AF_UNIX) as successor:
        successor.connect(first.control)
        successor.sendall(b'{"cmd": "handover"}\n')
        assert first.process.wait(20) == 0
    trickle.send()
    assert not trickle.lost()

    def is_over():
        trickle.send(1)
        return not trickle.is_last_there()

    wait_until(is_over, 60)
    with Shuntd(lab, "xconnect", "eth1", "eth2"):  # takes the program off
        pass


@pytest.mark.parametrize("how", ["no pid file", "replaced binary"])
def test_takeover_that_fails_is_taken_back(lab, tmp_path, how):
    """The new daemon ends with its one sentence, and the old one runs again as it was started, even
    if its file is gone by now. What is sent meanwhile the kernel forwards."""
    trickle = Trickle(lab)
    program = "shuntd"
    if how == "replaced binary":
        program = shutil.copy(os.path.join(BIN, "shuntd"), tmp_path / "old-shuntd")
    first = Shuntd(lab, *STATIC3, "--batch", 17, program=program)
    before = arguments(first.process.pid)
    if how == "replaced binary":
        os.unlink(program)
    trickle.send()
    options = ["--pidfile", "/nix/pid"] if how == "no pid file" else ["--user", "nix"]
    done = lab.popen("dut", "shuntd", *with_lane(STATIC3), *options, "--takeover", "--control",
                     first.control)
    trickle.run(60, lambda: done.poll() is not None)
    said = done.communicate(timeout=60)[1].splitlines()
    assert done.returncode == 1, said
    assert said[-1] == "shuntd: the daemon before was started again, and answers", said
    assert ("user 'nix'" if how != "no pid file" else "/nix/pid") in said[-2], said
    assert first.process.wait(60) == 0
    pid = owner_of(first.control)
    assert pid > 0 and pid != first.process.pid
    try:
        assert arguments(pid) == before + ["--takeover"]
        assert first.show("config")["batch"] == 17
        trickle.until_served(first)
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_gone(pid)
    assert lab.changes() == []


def test_takeover_by_one_that_is_killed_half_way(lab):
    """A daemon that dies before it forwards is succeeded by the one before."""
    first = Shuntd(lab, *STATIC3)
    second = lab.popen("dut", "shuntd", *with_lane(STATIC3), "--takeover", "--control",
                       first.control)
    assert first.process.wait(60) == 0
    second.kill()
    second.communicate(timeout=60)
    # Unless it was quicker than the signal: then it has its own end.
    with contextlib.suppress(AssertionError):
        wait_until(lambda: owner_of(first.control) >= 0, 5)
    pid = owner_of(first.control)
    if pid < 0:
        pytest.skip("it forwarded before the signal came")
    wait_until(lambda: on_device(lab))
    os.kill(pid, signal.SIGTERM)
    wait_gone(pid)
    assert lab.changes() == []


STRANGER = """
import os, socket, sys
with open(sys.argv[1], "a") as file:
    file.write(f"{os.geteuid()}\\n")
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
os.chmod(sys.argv[2], 0o777)
listener.listen()
while True:
    client, _ = listener.accept()
    data = client.recv(4096)
    if b"handover" in data:
        client.sendall(b'{"result": true}\\n')
        os.unlink(sys.argv[2])
        sys.exit()
"""


def test_a_stranger_is_not_started_as_root(lab):
    """Whoever listens on the control socket without having been root is no daemon to come back to: root's
    takeover fails, and runs nothing of it."""
    folder = f"/run/shunt-lab/{lab.name}/stranger"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    path, marks = f"{folder}/s", f"{folder}/marks"
    stranger = lab.popen("dut", "setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3", "-c",
                         STRANGER, marks, path)
    wait_until(lambda: os.path.exists(path), 10)
    done = lab.exec("dut", "shuntd", *with_lane(STATIC3), "--pidfile", "/nix/pid", "--takeover", "--control",
                    path, check=False)
    assert done.returncode == 1 and "/nix/pid" in done.stderr, done
    assert "started again" not in done.stderr
    stranger.wait(10)
    with open(marks, encoding="ascii") as file:
        assert file.read() == "65534\n"
    assert lab.changes() == []


def test_takeover_from_nobody(lab):
    daemon = Shuntd(lab, *STATIC3, "--takeover")
    assert any("no daemon runs" in line for line in daemon.log)
    daemon.stop()


@pytest.mark.parametrize("poll", ["busy", "interrupt"])
def test_all_is_given_back_after_a_kill(lab, poll):
    """By the next daemon, which need not poll the same way, also what it changes itself."""
    first = Shuntd(lab, *STATIC3, "--poll", poll)
    borrowed = lab.changes()
    assert borrowed, "a program at least"
    first.kill()
    # 2 and 200000 are what shuntd sets: as if it had been killed before it got there.
    if poll == "busy":
        assert any("200000" in line for line in borrowed)
        lab.exec("dut", "sh", "-c", "echo 0 >/sys/class/net/eth2/gro_flush_timeout")
    Shuntd(lab, *STATIC3, "--poll", "interrupt").stop()


def test_what_others_changed_since_stays(lab):
    first = Shuntd(lab, *STATIC3, "--poll", "busy")
    lab.exec("dut", "sh", "-c", "echo 12345 >/sys/class/net/eth2/gro_flush_timeout")
    first.kill()
    second = Shuntd(lab, *STATIC3)
    second.process.terminate()
    assert second.process.wait(20) == 0
    changes = [line for line in lab.changes() if line.startswith("eth")]
    assert changes == ["eth2: - 0", "eth2: + 12345"]
    lab.exec("dut", "sh", "-c", "echo 0 >/sys/class/net/eth2/gro_flush_timeout")


def test_journal_of_another_boot_is_left_alone(lab):
    """What it says is not done, and it is gone afterwards."""
    daemon = Shuntd(lab, *STATIC3)
    index = lab.exec("dut", "cat", "/sys/class/net/eth2/ifindex").stdout.strip()
    path = daemon.control + ".journal"
    with open(path, encoding="ascii") as file:
        netns = file.read().split("xdp ")[1].split()[0]
    daemon.stop()
    with open(path, "w", encoding="ascii") as file:
        file.write("boot 00000000-0000-0000-0000-000000000000\n"
                   f"knob {netns} {index} eth2 gro_flush_timeout 777 0\n")
    Shuntd(lab, *STATIC3).stop()
    with open(path, "w", encoding="ascii") as file:
        file.write(f"nonsense\nknob {netns} {index} eth2 ../../x 1 2\nknob {netns} {index} eth2 gro_")
    Shuntd(lab, *STATIC3).stop()
