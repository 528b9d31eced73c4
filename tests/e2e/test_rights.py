# SPDX-License-Identifier: BSD-2-Clause
"""What is left to a running shuntd: rights of every thread, its user, and what it tells a service
manager."""
import os
import pwd
import signal
import socket
import subprocess

import pytest

from shuntlab.process import wait_gone
from shuntlab.ptrace import Stopped
from shuntlab.rights import NET_ADMIN, check_at_work, check_rights
from shuntlab.shuntd import Shuntd
from shuntlab.frames import SINK, routed, udp4
from shuntlab.lab import BIN, wait_until


@pytest.mark.parametrize("poll", ["busy", "adaptive"])
def test_root_without_its_power(lab, poll):
    frame = udp4(eth_dst=SINK)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", poll) as daemon:
        check_rights(daemon.process.pid, 0)
        check_at_work(lab, daemon, frame)


def as_member(daemon, *words):
    """shuntctl by nobody, who is in the group daemon; its CompletedProcess."""
    return subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "daemon", "--clear-groups",
                           os.path.join(BIN, "shuntctl"), "-s", daemon.control, *words],
                          capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def test_a_group_reads(lab):
    """Its members are told all, and change nothing; they capture where the configuration says so."""
    frame = udp4()
    gen, sink = lab.ends()
    with Shuntd(lab, "route", "eth1", "eth2", "--group", "daemon") as daemon:
        gen.reaches(sink, frame, routed(frame))
        for words in (["show", "ports"], ["metrics"], ["route", "get", "10.0.2.2"],
                      ["explain", "eth1", "udp 10.0.1.2:5 > 10.0.2.2:53"]):
            done = as_member(daemon, *words)
            assert done.returncode == 0 and done.stdout, (words, done)
        for words in (["lane", "set", "eth1", "kernel"], ["reload"], ["capture", "-c", "1"],
                      ["trace", "-c", "1"]):
            done = as_member(daemon, *words)
            assert done.returncode == 1 and "only root" in done.stderr, (words, done)
        assert daemon.show("lanes")["lanes"][0]["in_use"] != "kernel"
        stranger = subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                                   os.path.join(BIN, "shuntctl"), "-s", daemon.control, "show", "ports"],
                                  capture_output=True, text=True, timeout=60, check=False)
        assert stranger.returncode == 1 and "no right to ask" in stranger.stderr, stranger
    with Shuntd(lab, "route", "eth1", "eth2", "--group", "daemon", "--capture", "group") as daemon:
        with subprocess.Popen(["setpriv", "--reuid", "nobody", "--regid", "daemon", "--clear-groups",
                               os.path.join(BIN, "shuntctl"), "-s", daemon.control, "capture", "-c", "2",
                               "udp and dst port 5353"], stdout=subprocess.PIPE, text=True) as process:
            wait_until(lambda: gen.send(udp4(dport=5353)) or process.poll() is not None)
            lines = process.stdout.read().splitlines()
        assert process.returncode == 0 and len(lines) == 2, lines
        assert as_member(daemon, "reload").returncode == 1


def test_without_captures(lab):
    """The helper loads nothing then, and keeps no right to."""
    frame = udp4(eth_dst=SINK)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--capture", "none") as daemon:
        check_rights(daemon.process.pid, 0, helper_caps=NET_ADMIN)
        check_at_work(lab, daemon, frame)


def test_a_user_of_its_own(lab):
    """Everything goes back to as it was, although root is gone: Shuntd checks that."""
    frame = udp4()
    folder = f"/run/shunt-lab/{lab.name}/run"
    with Shuntd(lab, "route", "eth1", "eth2", "--user", "nobody",
                control="run/shuntd.sock") as daemon:
        # A worker that punts marks what it sends.
        check_rights(daemon.process.pid, pwd.getpwnam("nobody").pw_uid, NET_ADMIN, NET_ADMIN)
        check_at_work(lab, daemon, frame, routed(frame))
        # What the kernel has to answer gets to it.
        lab.exec("dut", "ip", "route", "add", "unreachable", "203.0.113.0/24")
        lab.exec("gen", "ip", "route", "add", "203.0.113.0/24", "via", "10.0.1.1")
        said = lab.exec("gen", "ping", "-c", 1, "-W", 5, "203.0.113.9", check=False).stdout
        assert "Unreachable" in said, said
        lab.exec("dut", "ip", "route", "del", "unreachable", "203.0.113.0/24")
        # Addresses are followed all the same.
        lab.exec("dut", "ip", "addr", "add", "10.0.1.77/32", "dev", "eth1")
        lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.1.77")
        lab.exec("dut", "ip", "addr", "del", "10.0.1.77/32", "dev", "eth1")
    assert os.listdir(folder) == []
    os.rmdir(folder)


def test_the_user_of_the_file(lab, tmp_path):
    file = tmp_path / "shuntd.yaml"
    file.write_text("ports: [{name: eth1}, {name: eth2}]\n"
                    "forward: [{mode: xconnect, ports: [eth1, eth2]}]\nuser: nobody\n")
    with Shuntd(lab, "-c", file, control="run/shuntd.sock") as daemon:
        check_rights(daemon.process.pid, pwd.getpwnam("nobody").pw_uid)
        assert daemon.show("config")["user"] == "nobody"


def test_background_and_pidfile(lab, tmp_path):
    """-d and --pidfile write before the right to goes."""
    pidfile, control = tmp_path / "pid", tmp_path / "sock"
    lab.exec("dut", "shuntd", "xconnect", "eth1", "eth2", "-d", "--pidfile", pidfile,
             "--control", control)
    pid = int(pidfile.read_text())
    check_rights(pid, 0)
    os.kill(pid, signal.SIGTERM)
    wait_gone(pid)
    assert list(tmp_path.iterdir()) == []
    assert lab.changes() == []


# --- the service manager --------------------------------------------------------------------------

class Manager:
    """What systemd is to shuntd: a socket that gets datagrams."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.env = [f"NOTIFY_SOCKET={path}", "WATCHDOG_USEC=300000"]

    def next(self, timeout):
        """The next message, None when none comes in time."""
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(256).decode()
        except TimeoutError:
            return None

    def silent_for(self, seconds):
        """Whether, once what was sent before is read, nothing more comes."""
        while self.next(0.05):
            pass
        return self.next(seconds) is None


class ManagedShuntd(Shuntd):
    def __init__(self, lab, manager, *args):
        popen = lab.popen
        lab.popen = lambda host, *cmd: popen(host, "env", *manager.env, *cmd)
        try:
            super().__init__(lab, *args)
        finally:
            del lab.popen


@pytest.fixture(name="manager")
def fixture_manager(tmp_path):
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.socket.close()


def test_notify_ready_watchdog_stopping(lab, manager):
    daemon = ManagedShuntd(lab, manager, "xconnect", "eth1", "eth2")
    assert manager.next(5) == "READY=1"
    assert [manager.next(5) for _ in range(5)] == ["WATCHDOG=1"] * 5
    pid = daemon.process.pid
    os.kill(pid, signal.SIGSTOP)
    assert manager.silent_for(1)
    os.kill(pid, signal.SIGCONT)
    assert manager.next(5) == "WATCHDOG=1"
    daemon.stop()
    last = "WATCHDOG=1"
    while last == "WATCHDOG=1":
        last = manager.next(1)
    assert last == "STOPPING=1"


def test_watchdog_hangs_on_the_workers(lab, manager):
    """With the control thread well and the worker stopped nothing is told."""
    daemon = ManagedShuntd(lab, manager, "xconnect", "eth1", "eth2", "--poll", "spin")
    assert [manager.next(5), manager.next(5)] == ["READY=1", "WATCHDOG=1"]
    with Stopped(daemon.process.pid, "shunt-w0"):
        # For a second its latest beat counts as fresh.
        wait_until(lambda: not manager.next(0.6), what="silence")
        assert daemon.show("workers")["workers"]
    assert manager.next(5) == "WATCHDOG=1"
    daemon.stop()
