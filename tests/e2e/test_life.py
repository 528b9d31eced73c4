# SPDX-License-Identifier: BSD-2-Clause
"""Starting, stopping, being killed: what shuntd borrowed it gives back, and the kernel forwards
whenever it does not."""
import os
import shutil
import subprocess
import signal
import threading
import traceback

import pytest

from shuntlab.frames import routed, udp4
from shuntlab.lab import wait_until
from shuntlab.modes import PAIRS, there, to_dut
from shuntlab.process import is_alive, wait_gone
from shuntlab.programs import detach, on_device
from shuntlab.shuntd import Shuntd

STARTS = 24  # of each lab: every mode and way of polling twice


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_leaves_nothing(lab, number):
    shuntd = Shuntd(lab, *PAIRS["xconnect"])
    link = lab.json("dut", "ip", "-d", "-j", "link", "show", "eth1")[0]
    assert "xdp" in link and link["promiscuity"] == 2
    assert shuntd.stop(number) == ""
    assert lab.processes("dut") == []


def starts_and_stops(lab, count, errors):
    modes = ["xconnect", "static3", "macrewrite"]
    polls = ["adaptive", "interrupt", "busy", "spin"]
    try:
        for i in range(count):
            Shuntd(lab, *PAIRS[modes[i % 3]], "--poll", polls[i % 4], "--ring-size", "256",
                   check=False).stop((signal.SIGTERM, signal.SIGINT)[i % 2])
    except BaseException:  # pylint: disable=broad-except
        errors.append(traceback.format_exc())


@pytest.mark.limit(600)
def test_starts_and_stops_under_load(make_lab):
    """In two labs at once. The exit code says that the ledger balanced each
    time; the load goes on throughout."""
    labs = [make_lab(static_neigh=True) for _ in range(2)]
    loads = [lab.popen("gen", "shunt-gen", "send", "eth1", "--way", "packet", "--rate", "10k",
                       "--duration", "590")
             for lab in labs]
    errors = []
    threads = [threading.Thread(target=starts_and_stops, args=(lab, STARTS, errors))
               for lab in labs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, "\n".join(errors)
    for lab, load in zip(labs, loads):
        assert load.poll() is None, "the load ended early"
        load.send_signal(2)
        load.communicate(timeout=60)
        assert lab.changes() == []
        assert lab.processes("dut") == []


@pytest.mark.parametrize("mode", ["static3", "xconnect"])
def test_killed(lab, mode):
    """The kernel routes on, and so does a wire. The next start's programs take the place of those that are
    left: no device is without one, which a driver would reset it for."""
    first = Shuntd(lab, *PAIRS[mode])
    gen, sink = lab.ends()
    ours, kernels = udp4(eth_dst=to_dut(mode)), udp4(sport=4003)
    gen.reaches(sink, ours, there(mode, ours))
    first.kill()
    gen.reaches(sink, kernels, routed(kernels))
    if mode == "xconnect":
        gen.reaches(sink, ours, there(mode, ours))
    assert on_device(lab), "a program without sockets is left"
    assert os.path.exists(first.control + ".journal")
    with Shuntd(lab, *PAIRS[mode]) as second:
        gave_back = [line for line in second.log if "gave back" in line]
        promiscuous = ["shuntd: gave back what a killed daemon had changed: 2 items\n"]
        assert gave_back == (promiscuous if mode == "xconnect" else [])
        gen.reaches(sink, ours, there(mode, ours))


def test_killed_and_started_elsewhere(lab):
    """A start for one port only still takes the program off the other."""
    first = Shuntd(lab, *PAIRS["static3"])
    first.kill()
    assert on_device(lab, "eth2")
    with Shuntd(lab, "xconnect", "eth1", "cap,kind=pcap,out=/dev/null"):
        assert not on_device(lab, "eth2")


def test_killed_and_another_has_the_device_by_now(lab):
    """The journal of the killed one is about nothing of its own any more: its successor elsewhere starts."""
    first = Shuntd(lab, *PAIRS["static3"])
    first.kill()
    with Shuntd(lab, *PAIRS["static3"], control="second.sock") as second:
        with Shuntd(lab, "xconnect", "null0,kind=mem", "cap,kind=pcap,out=/dev/null", check=False):
            assert on_device(lab, "eth2")
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(), there("static3", udp4()))
        assert second.process.poll() is None


def test_killed_while_the_journal_is_gone(lab):
    """A steering program whose owner is dead is replaced, journal or not."""
    first = Shuntd(lab, *PAIRS["static3"])
    first.kill()
    os.unlink(first.control + ".journal")
    os.unlink(first.control)
    with Shuntd(lab, *PAIRS["static3"]):
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(), there("static3", udp4()))


def test_killed_in_another_namespace(lab):
    """A start elsewhere with the same control socket leaves the journal for one where it belongs."""
    first = Shuntd(lab, *PAIRS["static3"], "--poll", "busy")
    assert any(line.endswith("200000") for line in lab.changes())
    first.kill()
    elsewhere = lab.popen("gen", "shuntd", "xconnect", "null0,kind=mem", "cap,kind=pcap,out=/dev/null",
                          "--control", first.control)
    said = elsewhere.stderr.readline()
    assert "about another network namespace" in said, said
    while "forwarding on" not in said:
        said = elsewhere.stderr.readline()
        assert said
    elsewhere.terminate()
    assert elsewhere.wait(60) == 0
    second = Shuntd(lab, *PAIRS["static3"])
    assert any("gave back what a killed daemon had changed: 4 items" in line for line in second.log)
    second.stop()
    assert os.listdir(f"/run/shunt-lab/{lab.name}").count("shuntd.sock") == 0


def test_damaged_journal(lab):
    """What can be read is given back, and that there was more is said."""
    first = Shuntd(lab, *PAIRS["static3"], "--poll", "busy")
    first.kill()
    with open(first.control + ".journal", "r+b") as file:
        lines = file.readlines()
        file.seek(0)
        file.write(lines[0] + b"\0\xff" + 9999 * b"x" + b"\n" + b"".join(lines[1:]) + b"knob 1")
    second = Shuntd(lab, *PAIRS["static3"])
    assert any("2 lines make no sense" in line for line in second.log), second.log
    assert any("gave back what a killed daemon had changed: 4 items" in line for line in second.log)
    second.stop()


def test_journal_in_another_users_folder(lab, tmp_path):
    """What that user puts in its place is neither written through nor waited for."""
    folder = f"/run/shunt-lab/{lab.name}/nobody"
    control, kept = f"{folder}/shuntd.sock", tmp_path / "kept"
    kept.write_text("kept")
    os.mkdir(folder)
    shutil.chown(folder, "nobody")
    os.symlink(kept, control + ".journal.new")
    with Shuntd(lab, *PAIRS["static3"], "--user", "nobody", control="nobody/shuntd.sock"):
        assert not os.path.islink(control + ".journal")
    assert kept.read_text() == "kept"
    for make in os.mkfifo, lambda path: os.symlink(kept, path), os.mkdir:
        make(control + ".journal")
        done = lab.exec("dut", "shuntd", *PAIRS["static3"], "--control", control, check=False, timeout=30)
        assert done.returncode == 1 and "is no regular file" in done.stderr, done
        subprocess.run(["rm", "-r", control + ".journal"], check=True, timeout=10)
    assert lab.changes() == []


def test_daemon(lab, tmp_path):
    """It returns once it forwards, and the pid file is there as long as the process."""
    pidfile = tmp_path / "pid"
    control = f"/run/shunt-lab/{lab.name}/daemon.sock"
    lab.exec("dut", "shuntd", *PAIRS["static3"], "-d", "--pidfile", pidfile, "--control", control)
    pid = int(pidfile.read_text())
    try:
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(), there("static3", udp4()))
        assert os.getsid(pid) == pid
        assert all(os.path.samefile(f"/proc/{pid}/fd/{fd}", "/dev/null") for fd in (0, 1, 2))
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_gone(pid)
    wait_until(lambda: not pidfile.exists(), what="the pid file's end")
    assert not os.path.exists(control)
    assert lab.changes() == []


def test_daemon_that_cannot_start_says_so(lab, tmp_path):
    done = lab.exec("dut", "shuntd", "xconnect", "eth1", "eth9", "-d", "--pidfile",
                    tmp_path / "pid", "--control", f"/run/shunt-lab/{lab.name}/daemon.sock",
                    check=False)
    assert done.returncode == 1 and "eth9: no such device" in done.stderr
    assert not (tmp_path / "pid").exists()
    assert lab.changes() == []


def test_the_second_daemon_leaves_the_first_alone(lab, tmp_path):
    """Same control socket: refused, with the first one's pid file, journal and programs as they
    were."""
    pidfile = tmp_path / "pid"
    with Shuntd(lab, *PAIRS["static3"], "--pidfile", pidfile) as first:
        done = lab.exec("dut", "shuntd", *PAIRS["static3"], "--pidfile", pidfile, "--control",
                        first.control, check=False)
        assert done.returncode == 1 and first.control in done.stderr
        assert done.stderr.count("\n") == 1
        assert int(pidfile.read_text()) == first.process.pid
        assert os.path.exists(first.control + ".journal")
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(), there("static3", udp4()))
    assert not pidfile.exists()


def test_another_program_taken_down_meanwhile(lab):
    """Somebody takes the program off by hand: the kernel forwards, which is said, and stopping is no
    failure. Somebody puts it on again: it is used again."""
    with Shuntd(lab, *PAIRS["static3"]) as daemon:
        number = daemon.show("ports")["ports"][0]["program"]["id"]
        daemon.ctl("lane", "set", "eth1", "xdp")
        before = daemon.lane()["reason"]
        detach(lab, "eth1")
        gen, sink = lab.ends()
        gen.reaches(sink, udp4(), routed(udp4()))
        daemon.said_until("eth1")
        assert (daemon.lane()["in_use"], daemon.lane()["reason"]) == ("kernel", "taken_off")
        assert daemon.lane("eth2")["in_use"] == "user"
        assert daemon.port()["program"]["error"] in daemon.ctl("show", "ports").stdout
        assert daemon.ctl("doctor", check=False).returncode == 1
        lab.exec("dut", "bpftool", "net", "attach", "xdpdrv", "id", number, "dev", "eth1")
        wait_until(lambda: daemon.lane()["in_use"] == "xdp")
        assert daemon.lane()["reason"] == before
        daemon.said_until("lane user")


def test_a_device_that_goes_away(lab):
    """The other port's device is deleted under way: stop ends in order all the same. That it is gone is
    said where a second has passed."""
    with Shuntd(lab, *PAIRS["static3"], check=False, chatty=True):
        lab.exec("sink", "ip", "link", "del", "eth1")
        gen = lab.wire("gen")
        gen.send(*[udp4(sport=5000 + n) for n in range(100)])
