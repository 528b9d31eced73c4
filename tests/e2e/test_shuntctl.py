# SPDX-License-Identifier: BSD-2-Clause
"""shuntctl and shuntd as programs, on in-memory ports: no rights and no network needed."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import termios
import time

import pytest

from shuntlab.lab import BIN, wait_until

SHUNTD = os.path.join(BIN, "shuntd")
SHUNTCTL = os.path.join(BIN, "shuntctl")
OBJECTS = ["ports", "workers", "runtime", "drops", "ledger", "rules", "nodes", "config"]
DEADLINE = 60


class Daemon:
    def __init__(self, path, *options):
        self.path = str(path)
        self.process = subprocess.Popen(
            [SHUNTD, "xconnect", "null0,kind=mem", "null1,kind=mem", "--control", self.path,
             *options], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: self.answers() or self.process.poll() is not None, DEADLINE, "an answer")

    def answers(self):
        return self.ctl("show", "workers").returncode == 0

    def ctl(self, *words, **kwargs):
        return subprocess.run([SHUNTCTL, "-s", self.path, *words], capture_output=True, text=True,
                              timeout=DEADLINE, check=False, **kwargs)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        err = self.process.communicate(timeout=DEADLINE)[1]
        return self.process.returncode, err


@pytest.fixture(name="daemon")
def fixture_daemon(tmp_path):
    d = Daemon(tmp_path / "sock", "--rule", "proto tcp dport 22 lane kernel")
    yield d
    d.stop()


def test_every_object_as_table_and_json(daemon):
    for name in OBJECTS:
        table = daemon.ctl("show", name)
        assert table.returncode == 0 and table.stdout and not table.stderr
        compact, pretty = daemon.ctl("-j", "show", name), daemon.ctl("-p", "show", name)
        assert compact.stdout.count("\n") == 1 and pretty.stdout.count("\n") > 5
        assert json.loads(compact.stdout).keys() == json.loads(pretty.stdout).keys()
        if name != "config":
            assert json.loads(compact.stdout)["time_ns"] > 0


def test_words_may_be_shortened(daemon):
    assert daemon.ctl("sh", "po").stdout.startswith("port null0: kind mem")
    r = daemon.ctl("s", "r")
    assert (r.returncode, r.stderr) == (2, "shuntctl: object 'r' could be any of "
                                        "runtime, rules, routes\n")


def test_shown_configuration_starts_the_same_daemon(daemon, tmp_path):
    shown = daemon.ctl("show", "config").stdout
    (tmp_path / "again.yaml").write_text(shown)
    r = subprocess.run([SHUNTD, "-c", str(tmp_path / "again.yaml"), "--check-config"],
                       capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert (r.returncode, r.stdout, r.stderr) == (0, shown, "")


def test_wrong_usage_is_2_and_a_sentence(daemon):
    for words in [[], ["show"], ["show", "ports", "drops"], ["frob"], ["show", "frob"], ["-x"],
                  ["-d", "0", "top"], ["-n", "0", "top"], ["top", "ports"], ["show", "ports", "-d"]]:
        r = daemon.ctl(*words)
        assert (r.returncode, r.stdout, r.stderr.count("\n")) == (2, "", 1), words
        r = daemon.ctl("-j", *words)
        assert (r.returncode, r.stderr) == (2, ""), words
        assert list(json.loads(r.stdout)) == ["error"]


def test_no_daemon_is_1_and_says_which_socket(daemon, tmp_path):
    path = str(tmp_path / "nobody")
    r = daemon.ctl("-s", path, "show", "ports")
    assert r.returncode == 1 and path in r.stderr and "is shuntd running" in r.stderr
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(path)
    dead.close()
    r = daemon.ctl("-s", path, "-j", "show", "ports")
    assert r.returncode == 1 and "was shuntd killed" in json.loads(r.stdout)["error"]


def test_a_full_disk_is_a_failure(daemon):
    with open("/dev/full", "w", encoding="ascii") as full:
        r = subprocess.run([SHUNTCTL, "-s", daemon.path, "show", "config"], stdout=full,
                           timeout=DEADLINE, check=False)
    assert r.returncode == 1


def test_a_second_daemon_is_refused_and_harmless(daemon):
    second = Daemon.__new__(Daemon)
    second.path = daemon.path
    second.process = subprocess.Popen([SHUNTD, "xconnect", "a,kind=mem", "b,kind=mem", "--control",
                                       daemon.path], stderr=subprocess.PIPE, text=True)
    err = second.process.communicate(timeout=DEADLINE)[1]
    assert second.process.returncode == 1
    assert f"(process {daemon.process.pid})" in err and err.count("\n") == 1
    assert "null0" in daemon.ctl("show", "ports").stdout


def test_a_killed_daemon_is_succeeded(daemon, tmp_path):
    daemon.process.kill()
    daemon.process.wait(timeout=DEADLINE)
    assert os.path.exists(daemon.path)
    successor = Daemon(tmp_path / "sock")
    assert successor.answers()
    assert successor.stop()[0] == 0
    assert not os.path.exists(daemon.path), "a clean stop leaves no socket"


def test_top_for_scripts(daemon):
    r = daemon.ctl("top", "-n", "2", "-d", "0.2")
    assert r.returncode == 0 and r.stdout.count("rx pps") == 2 and "\033" not in r.stdout
    # long enough for a worker that has to wait for a processor
    r = daemon.ctl("-j", "top", "-n", "2", "-d", "1.5")
    reports = [json.loads(line) for line in r.stdout.splitlines()]
    assert len(reports) == 2
    for report in reports:
        assert report["interval_s"] >= 1.5
        assert report["ports"][0]["rx_pps"] > 0
        assert 0 < report["workers"][0]["batch_mean"] <= 64
        assert report["workers"][0]["c_io"] > 0


def read_until(fd, text, seen=b""):
    end = time.monotonic() + DEADLINE
    while text not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
    assert text in seen
    return seen


@pytest.mark.parametrize("how", ["q", signal.SIGINT, signal.SIGTERM])
def test_top_gives_the_terminal_back(daemon, how):
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with subprocess.Popen([SHUNTCTL, "-s", daemon.path, "top", "-d", "0.2"], stdin=theirs,
                          stdout=theirs, stderr=theirs) as top:
        read_until(ours, b"q quits")
        assert termios.tcgetattr(theirs) != before
        if how == "q":
            os.write(ours, b"q")
        else:
            top.send_signal(how)
        read_until(ours, b"\033[?25h\033[?1049l")
        assert top.wait(timeout=DEADLINE) == 0
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_top_ends_when_the_daemon_does(daemon):
    with subprocess.Popen([SHUNTCTL, "-s", daemon.path, "top", "-d", "0.1"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as top:
        top.stdout.readline()
        assert daemon.stop()[0] == 0
        err = top.communicate(timeout=DEADLINE)[1]
        assert top.returncode == 1 and err.count("\n") == 1


def families_of(text):
    """The families of an exposition: {name: (type, {sample line without its value: value})}; fails
    on what Prometheus would refuse: a family twice, a sample of another one or twice."""
    families, name = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in families, line
            families[name] = (None, {})
        elif line.startswith("# TYPE "):
            assert line.split()[2] == name and line.split()[3] in ("counter", "gauge", "histogram")
            families[name] = (line.split()[3], {})
        else:
            series, value = line.rsplit(" ", 1)
            kind, samples = families[name]
            suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            assert series.split("{")[0] in [name + s for s in suffixes], line
            assert series not in samples, line
            samples[series] = float(value)
    return families


def test_metrics_are_what_show_says(daemon):
    answer = daemon.ctl("metrics")
    assert answer.returncode == 0 and not answer.stderr
    families = families_of(answer.stdout)
    for name, (kind, samples) in families.items():
        assert name.startswith("shunt_") and samples
        assert name.endswith("_total") == (kind == "counter")
    frames = families["shunt_umem_frames"][1]
    ledger = json.loads(daemon.ctl("-j", "show", "ledger").stdout)["ledger"][0]
    assert sum(frames.values()) == ledger["total"] > 0
    assert families["shunt_umem_balanced"][1] == {'shunt_umem_balanced{worker="0"}': 1}
    buckets = families["shunt_batch_packets"][1]
    counts = [v for k, v in buckets.items() if "_bucket" in k]
    assert counts == sorted(counts)
    assert counts[-1] == buckets['shunt_batch_packets_count{worker="0"}']
    assert 'shunt_rx_packets_total{interface="null0",queue="0"}' in families["shunt_rx_packets_total"][1]


def test_metrics_without_a_daemon(tmp_path):
    r = subprocess.run([SHUNTCTL, "-s", str(tmp_path / "none"), "metrics"], capture_output=True,
                       text=True, timeout=DEADLINE, check=False)
    assert r.returncode == 1 and r.stdout == "" and "there is no such socket" in r.stderr
