# SPDX-License-Identifier: BSD-2-Clause
"""shuntd fails open: whatever happens to it, the kernel forwards."""
import concurrent.futures
import os
import shutil
import signal
import socket
import struct
import sys
import time

import pytest

from shuntlab.shuntd import Shuntd, steered, with_lane
from shuntlab.frames import DUT2, GEN, SINK, routed, udp4
from shuntlab.lab import BIN, ROOT, wait_until

from shuntlab.ptrace import EndlessLoop, is_possible

STATIC3 = ("static3", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}")
POLLING = ["spin", "busy", "adaptive", "interrupt"]


def served(daemon):
    """Frames of eth1 that went to the worker."""
    return next(row["lanes"]["user"] for row in daemon.show("ports")["ports"]
                if row["name"] == "eth1")


def numbered(number, **eth):
    return udp4(100, data=number.to_bytes(8, "big") + bytes(50), **eth)


def numbered_to_sink(number):
    return numbered(number, eth_dst=SINK)


class Stream:
    """Numbered frames from gen to sink, one every millisecond or so, and which of them arrived. sends
    and arrives make the frame of a number."""

    def __init__(self, lab, sends=numbered, arrives=lambda number: routed(numbered(number))):
        self.sends, self.arrives = sends, arrives
        self.gen, self.sink = lab.wire("gen"), lab.wire("sink")
        self.sent = []  # when, by number
        self.order, self.arrived = [], set()

    def run(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.sent.append(time.monotonic())
            self.gen.send(self.sends(len(self.sent) - 1))
            time.sleep(0.001)

    def take(self, numbers, timeout=10):
        """Receives until all of these arrived, or nothing does any more."""
        end = time.monotonic() + timeout
        while not self.arrived.issuperset(numbers) and time.monotonic() < end:
            frame = self.sink.receive(lambda f: len(f) == 100, timeout=1.5)
            if not frame:
                break
            number = int.from_bytes(frame[42:50], "big")
            assert frame == self.arrives(number)
            self.order.append(number)
            self.arrived.add(number)

    def is_last_there(self):
        """Whether the last one arrives."""
        self.take([len(self.sent) - 1])
        return len(self.sent) - 1 in self.arrived

    def lost(self):
        """The numbers of those that did not arrive."""
        self.take(range(len(self.sent)))
        assert len(self.order) == len(self.arrived), "doubled"
        return sorted(set(range(len(self.sent))) - self.arrived)


def stop_for_a_while(stream, daemon):
    """SIGSTOP under the stream, then SIGCONT: the frames held meanwhile, and how long after the
    stop the last of them was sent."""
    before = served(daemon)
    stream.run(10, lambda: served(daemon) > before)
    assert not stream.lost()
    daemon.process.send_signal(signal.SIGSTOP)
    stopped, at = len(stream.sent), time.monotonic()
    stream.run(0.3)
    # All of that may have been sent at the beginning, by a sender that then had no CPU.
    stream.run(10, stream.is_last_there)
    held = stream.lost()
    daemon.process.send_signal(signal.SIGCONT)
    assert not held or held[0] >= stopped
    return held, stream.sent[held[-1]] - at if held else None


@pytest.mark.parametrize("poll", POLLING)
def test_hung_worker(lab, poll):
    """While the daemon is stopped the kernel forwards, within 50 ms, and takes nothing from it that
    it has: what lies in its rings leaves when it goes on. A machine that is busy elsewhere may be
    late for once, not five times."""
    stream = Stream(lab)
    late = []
    with Shuntd(lab, *STATIC3, "--poll", poll) as daemon:
        # That some are held shows that frames did go to the worker.
        while not late or late[-1] is None or late[-1] >= 0.05:
            assert len(late) < 5, f"the kernel forwards too late: {late}"
            held, seconds = stop_for_a_while(stream, daemon)
            late.append(seconds)
            before = served(daemon)
            stream.run(10, lambda before=before: served(daemon) > before)
            assert not stream.lost()
            assert served(daemon) > before, "the worker is not served again"
        assert held and steered(daemon, "hung") > 0


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
                gen, sink = lab.wire("gen"), lab.wire("sink")
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
    answers and follows, says once that he hangs and once that he is back, and stops in order."""
    with Shuntd(lab, "route", "eth1", "eth2", "--poll", "spin", chatty=True) as daemon:
        gen, sink = lab.wire("gen"), lab.wire("sink")
        with EndlessLoop(daemon.process.pid, "shunt-w0", f"{BIN}/shuntd"):
            lab.exec("dut", "ip", "addr", "add", "10.0.9.1/32", "dev", "eth2")
            for word in "replace", "del":
                batch = tmp_path / word
                batch.write_text("".join(f"route {word} 10.{64 + n // 256}.{n % 256}.0/24 via "
                                         "10.0.2.2\n" for n in range(12000)))
                lab.exec("dut", "ip", "-b", batch)
            lab.exec("dut", "ip", "addr", "del", "10.0.9.1/32", "dev", "eth2")
            log = [daemon.process.stderr.readline()]
            assert "worker 0 has given no sign of life for" in log[0]
            wait_until(lambda: daemon.show("workers")["workers"][0]["heartbeat_age_ns"] > 4e9)
            lab.exec("dut", "ip", "route", "add", "10.77.0.0/16", "via", "10.0.2.2")
            wait_until(lambda: daemon.ask("route", "get", "10.77.0.1")["prefix"] == "10.77.0.0/16")
            lab.exec("dut", "ip", "route", "del", "10.77.0.0/16")
        log.append(daemon.process.stderr.readline())
        assert log[1] == "shuntd: warning: worker 0 is at work again\n", log
        before = served(daemon)
        wait_until(lambda: gen.send(numbered(1)) or served(daemon) > before)
        sink.expect(routed(numbered(1)))


def is_attached(lab, dev="eth1"):
    return "xdp" in lab.exec("dut", "ip", "link", "show", dev).stdout


def test_killed_under_a_stream(lab):
    """What is lost was sent between the signal and the end of the process, when its sockets go, or
    lay in its rings when the signal came; from then on the kernel forwards every frame."""
    stream = Stream(lab)
    daemon = Shuntd(lab, *STATIC3)
    before = served(daemon)
    stream.run(10, lambda: served(daemon) > before)
    assert not stream.lost()
    stream.run(0.1)
    unsure = len(stream.arrived)
    daemon.process.kill()
    stream.run(10, lambda: daemon.process.poll() is not None)
    gone = len(stream.sent)
    assert daemon.process.returncode == -signal.SIGKILL
    stream.run(0.1)
    lost = stream.lost()
    print(f"killed: lost {len(lost)} of those sent until the process was gone")
    assert all(unsure <= number < gone for number in lost)
    daemon.process.communicate(timeout=20)
    assert not Shuntd(lab, *STATIC3).stop().strip()


def in_driver(daemon):
    """Frames sent whose completions are withheld; the ledger balances with them. None when the
    worker did not answer in time."""
    ledger, = daemon.show("ledger")["ledger"]
    assert ledger["balanced"] is not False, ledger
    return ledger["driver_tx"] if ledger["balanced"] else None


def withheld(stream, daemon):
    """The most of them seen while the stream goes on."""
    seen = []

    def look():
        if len(stream.sent) % 50 == 0:
            seen.append(in_driver(daemon) or 0)
        return max(seen, default=0) >= 20

    stream.run(30, look)
    return max(seen)


def test_dry_pool(lab):
    """While the frames of the pool are all out, the kernel forwards; when they come back, shuntd
    does. The far end is made to hold what it gets for a second, and the frames with it: no
    completion comes meanwhile."""
    stream = Stream(lab)
    knobs = "echo 1000000 >/sys/class/net/eth1/napi_defer_hard_irqs;" \
        "echo 1000000000 >/sys/class/net/eth1/gro_flush_timeout"
    with Shuntd(lab, *STATIC3, "--ring-size", 64, "--frames", 128) as daemon:
        lab.exec("sink", "sh", "-c", knobs)
        stream.run(5, lambda: len(stream.sent) == 200)
        wait_until(lambda: steered(daemon, "dry") > 20)
        assert withheld(stream, daemon) >= 20
        lab.exec("sink", "sh", "-c", knobs.replace("1000000000", "0").replace("1000000", "0"))
        assert not stream.lost()
        before = served(daemon)
        stream.run(5, lambda: served(daemon) > before)
        assert served(daemon) > before, "the worker is not served again"
        assert not stream.lost()
        wait_until(lambda: in_driver(daemon) == 0)


def test_persist(lab):
    """The program stays at stop, passes everything, and the next daemon's takes its place."""
    stream = Stream(lab)
    first = Shuntd(lab, *STATIC3, "--persist")
    program = first.show("ports")["ports"][0]["program"]["id"]
    stream.run(0.05)
    first.process.send_signal(signal.SIGTERM)
    stream.run(0.1)
    assert first.process.wait(20) == 0
    stream.run(0.05)
    assert not stream.lost()
    assert is_attached(lab)
    second = Shuntd(lab, *STATIC3, "--persist")
    assert second.show("ports")["ports"][0]["program"]["id"] != program
    stream.run(0.05)
    assert served(second) > 0
    assert not stream.lost()
    second.kill()
    stream.run(0.05)
    stream.take(range(len(stream.sent)))
    third = Shuntd(lab, *STATIC3)
    assert third.show("ports")["ports"][0]["program"]["id"] != program
    third.stop()


def test_takeover_under_a_stream(lab):
    """Nothing is lost while one daemon takes over from another, with a program of its own."""
    stream = Stream(lab)
    first = Shuntd(lab, *STATIC3)
    program = first.show("ports")["ports"][0]["program"]["id"]
    stream.run(0.05)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        start = time.monotonic()
        starting = pool.submit(Shuntd, lab, *STATIC3, "--takeover")
        stream.run(20, starting.done)
        second = starting.result()
        print(f"takeover: {time.monotonic() - start:.3f} s, lost {stream.lost()}")
    assert first.process.wait(20) == 0
    assert second.show("ports")["ports"][0]["program"]["id"] != program
    before = served(second)
    stream.run(5, lambda: served(second) > before)
    assert served(second) > before
    assert not stream.lost()
    second.stop()


def rewritten(number):
    return numbered(number, eth_dst=SINK, eth_src=DUT2)


@pytest.mark.parametrize("lane, args, arrives", [
    ("user", ("xconnect", "eth1", "eth2"), numbered_to_sink),
    ("xdp", ("xconnect", "eth1", "eth2"), numbered_to_sink),
    ("user", ("xconnect", "eth1", "eth2", "--transparent"), numbered_to_sink),
    ("xdp", ("xconnect", "eth1", "eth2", "--rule", "proto tcp lane drop"), numbered_to_sink),
    ("user", ("macrewrite", f"eth1,next_hop={GEN}", f"eth2,next_hop={SINK}"), rewritten),
], ids=["user", "xdp", "transparent", "rule", "macrewrite"])
def test_takeover_of_what_the_kernel_cannot(lab, lane, args, arrives):
    """Of a cross-connect the kernel knows nothing: what crosses goes on doing so, in the steering
    program, from one daemon's end until the next one serves."""
    stream = Stream(lab, numbered_to_sink, arrives)
    first = Shuntd(lab, *args, "--lane", lane, chatty=True)
    stream.run(0.05)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        starting = pool.submit(Shuntd, lab, *args, "--lane", lane, "--takeover", chatty=True)
        stream.run(20, starting.done)
        second = starting.result()
    assert first.process.wait(20) == 0
    stream.run(0.05)
    assert not stream.lost()
    second.stop()


def test_takeover_of_programs_attached_by_hand(lab):
    """Twice, so that each of the program's two configurations is the one handed over."""
    args = ("xconnect", "eth1", "eth2", "--attach", "external")
    for device in "eth1", "eth2":
        lab.exec("dut", "ip", "link", "set", "dev", device, "xdpdrv", "obj",
                 os.path.join(BIN, "..", "bpf", "shunt_steer.bpf.o"), "sec", "xdp")
    lab.remember()
    stream = Stream(lab, numbered_to_sink, numbered_to_sink)
    daemon = Shuntd(lab, *args, chatty=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for _ in range(2):
            before, starting = daemon, pool.submit(Shuntd, lab, *args, "--takeover", chatty=True)
            stream.run(20, starting.done)
            daemon = starting.result()
            assert before.process.wait(20) == 0
    stream.run(0.05)
    assert not stream.lost()
    daemon.stop()


def test_handed_over_to_nobody(lab):
    """A successor that never comes: what crossed is the kernel's in the end, as all else."""
    stream = Stream(lab, numbered_to_sink, numbered_to_sink)
    first = Shuntd(lab, "xconnect", "eth1", "eth2")
    with socket.socket(socket.AF_UNIX) as successor:
        successor.connect(first.control)
        successor.sendall(b'{"cmd": "handover"}\n')
        assert first.process.wait(20) == 0
    stream.run(0.05)
    assert not stream.lost()

    def is_over():
        stream.run(0.001)
        return not stream.is_last_there()

    wait_until(is_over, 30)
    with Shuntd(lab, "xconnect", "eth1", "eth2"):  # takes the program off
        pass


def pid_of_answer(daemon):
    """The process behind the control socket, -1 when nobody answers."""
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(daemon.control)
        except OSError:
            return -1
        return struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def arguments(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().rstrip(b"\0").decode().split("\0")


@pytest.mark.parametrize("how", ["no such user", "no pid file", "replaced binary"])
def test_takeover_that_fails_is_taken_back(lab, tmp_path, how):
    """The new daemon ends with its one sentence, and the old one runs again as it was started, even
    if its file is gone by now. What is sent meanwhile the kernel forwards."""
    stream = Stream(lab)
    program = "shuntd"
    if how == "replaced binary":
        program = shutil.copy(os.path.join(BIN, "shuntd"), tmp_path / "old-shuntd")
    first = Shuntd(lab, *STATIC3, "--batch", 17, program=program)
    before = arguments(first.process.pid)
    if how == "replaced binary":
        os.unlink(program)
    stream.run(0.05)
    options = ["--pidfile", "/nix/pid"] if how == "no pid file" else ["--user", "nix"]
    done = lab.popen("dut", "shuntd", *with_lane(STATIC3), *options, "--takeover", "--control",
                     first.control)
    stream.run(60, lambda: done.poll() is not None)
    said = done.communicate(timeout=60)[1].splitlines()
    assert done.returncode == 1, said
    assert said[-1] == "shuntd: the daemon before was started again and answers", said
    assert ("user 'nix'" if how != "no pid file" else "/nix/pid") in said[-2], said
    assert first.process.wait(60) == 0
    pid = pid_of_answer(first)
    assert pid > 0 and pid != first.process.pid
    try:
        assert arguments(pid) == before + ["--takeover"]
        assert first.show("config")["batch"] == 17
        count = served(first)
        stream.run(30, lambda: served(first) > count)
        assert served(first) > count, "it does not forward again"
        assert not stream.lost()
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 60, "its end")
    assert lab.changes() == []


def test_takeover_by_one_that_is_killed_half_way(lab):
    """Who dies before it forwards is succeeded by the one before."""
    first = Shuntd(lab, *STATIC3)
    second = lab.popen("dut", "shuntd", *with_lane(STATIC3), "--takeover", "--control",
                       first.control)
    assert first.process.wait(60) == 0
    second.kill()
    second.communicate(timeout=60)
    # Unless it was quicker than the signal: then it has its own end.
    end = time.monotonic() + 5
    while pid_of_answer(first) < 0 and time.monotonic() < end:
        time.sleep(0.01)
    pid = pid_of_answer(first)
    if pid < 0:
        pytest.skip("it forwarded before the signal came")
    wait_until(lambda: is_attached(lab))
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 60, "its end")
    assert lab.changes() == []


def test_takeover_from_nobody(lab):
    daemon = Shuntd(lab, *STATIC3, "--takeover")
    assert any("no daemon runs" in line for line in daemon.log)
    daemon.stop()


@pytest.mark.parametrize("poll", POLLING)
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


def test_stopped_asleep_behind_a_frame(lab):
    """One frame at a time, and the worker is stopped as soon as he has sent one and sleeps: the frame
    behind it wakes nobody. The one that comes two seconds later is the kernel's; promised are 50 ms, but
    a machine whose processors are taken away has its timers late."""
    gen, sink = lab.wire("gen"), lab.wire("sink")

    def arrives(number, timeout):
        return sink.receive(lambda frame: frame == routed(numbered(number)), timeout=timeout)

    stopped_in_time = 0
    with Shuntd(lab, *STATIC3, "--poll", "interrupt") as daemon:
        for first in range(0, 90, 3):
            if stopped_in_time and first >= 12:
                break
            gen.send(numbered(first))
            assert arrives(first, 30)
            daemon.process.send_signal(signal.SIGSTOP)
            gen.send(numbered(first + 1))
            # Where it arrives he was not stopped yet, or the kernel had him for hung already.
            is_waiting = not arrives(first + 1, 2)
            gen.send(numbered(first + 2))
            by_kernel = not is_waiting or arrives(first + 2, 5)
            daemon.process.send_signal(signal.SIGCONT)
            assert by_kernel, first
            assert arrives(first + 1 if is_waiting else first + 2, 30)
            stopped_in_time += is_waiting
    assert stopped_in_time
