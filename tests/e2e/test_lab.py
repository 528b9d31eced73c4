# SPDX-License-Identifier: BSD-2-Clause
"""tools/lab itself: what it builds, and that it leaves nothing behind."""
import os
import signal
import subprocess

import pytest

from shuntlab.frames import routed, udp4
from shuntlab.lab import ENV, TOOL, wait_until
from shuntlab.process import is_alive


def hosts_of(name):
    return [h for h in ("gen", "dut", "sink") if os.path.exists(f"/run/netns/shunt-{name}-{h}")]


def is_gone(name):
    return not hosts_of(name) and not os.path.exists(f"/run/shunt-lab/{name}")


def start_run(*cmd):
    """`lab run` with a command that writes the lab's name first, to know it by."""
    run = subprocess.Popen([TOOL, "run", "sh", "-c", 'echo "$SHUNT_LAB"; exec "$@"', "sh", *cmd],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV,
                           start_new_session=True)
    return run, run.stdout.readline().strip()


@pytest.mark.parametrize("number, group", [
    (signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)])
def test_run_cleans_up_on_signal(number, group):
    run, name = start_run("lab", "exec", "dut", "sleep", "1000")
    wait_until(lambda: subprocess.run(["ip", "netns", "pids", f"shunt-{name}-dut"], check=False,
                                      capture_output=True).stdout, what="the command in dut")
    assert hosts_of(name) == ["gen", "dut", "sink"]
    (os.killpg if group else os.kill)(run.pid, number)
    assert run.wait(60) == 128 + number
    assert is_gone(name)
    run.communicate()


def test_run_ends_what_ignores_signals():
    run, name = start_run("lab", "exec", "dut", "sh", "-c",
                          'trap "" TERM INT; echo ready; while :; do sleep 1; done')
    assert run.stdout.readline() == "ready\n"
    run.terminate()
    assert run.wait(30) == 128 + signal.SIGTERM
    assert is_gone(name)
    run.communicate()


def test_run_kills_what_stays_in_the_background():
    run, name = start_run("lab", "exec", "sink", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(run.stdout.readline())
    assert run.wait(60) == 0
    assert is_gone(name) and not is_alive(pid)
    run.communicate()


@pytest.mark.parametrize("status", [0, 7])
def test_run_passes_the_status_on(lab_tool, status):
    done = lab_tool("run", "sh", "-c", f'echo "$SHUNT_LAB"; exit {status}')
    assert done.returncode == status
    assert is_gone(done.stdout.strip())


def test_run_says_when_the_command_is_missing(lab_tool):
    done = lab_tool("run", "no-such-command")
    assert done.returncode == 127 and "no-such-command" in done.stderr


def test_two_labs_do_not_meet(make_lab):
    one, two = make_lab(static_neigh=True), make_lab(static_neigh=True)
    sinks = [one.wire("sink"), two.wire("sink")]
    frames = [udp4(dport=1111), udp4(dport=2222)]
    for lab, frame in zip((one, two), frames):
        lab.wire("gen").send(frame)
    for wire, frame in zip(sinks, frames):
        seen = wire.until(routed(frame))
        assert [f for f in seen if f[12:14] == b"\x08\x00"] == []


def test_pins_outlive_the_command(lab):
    lab.exec("dut", "mkdir", "/sys/fs/bpf/here")
    assert "here" in lab.exec("dut", "ls", "/sys/fs/bpf").stdout
    assert "here" not in lab.exec("gen", "ls", "/sys/fs/bpf").stdout
    assert any("pins" in change for change in lab.changes())


def test_changes_are_seen(lab):
    assert lab.changes() == []
    lab.exec("dut", "ip", "link", "set", "eth1", "promisc", "on")
    assert any("-d link" in change for change in lab.changes())
    lab.exec("dut", "ip", "link", "set", "eth1", "promisc", "off")
    lab.exec("dut", "ethtool", "-K", "eth2", "gro", "off")
    assert any("eth2" in change for change in lab.changes())


def test_options(make_lab):
    lab = make_lab(queues=4, mtu=3000)
    for host in lab.hosts:
        link = lab.json(host, "ip", "-d", "-j", "link", "show", "eth1")[0]
        assert (link["mtu"], link["num_rx_queues"], link["num_tx_queues"]) == (3000, 4, 4)


@pytest.mark.parametrize("queues", [1, 2])
def test_threaded(make_lab, queues):
    lab = make_lab(queues=queues, threaded=1)
    for dev in ("eth1", "eth2"):
        path = f"/run/shunt-lab/{lab.name}/dut/threads.{dev}"
        with open(path, encoding="ascii") as file:
            pids = [int(line) for line in file]
        assert len(pids) == queues
        for pid in pids:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                assert comm.read().startswith(f"napi/{dev}-")
            assert os.sched_getaffinity(pid) == {1}
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.2.2")


@pytest.mark.parametrize("args, status, says", [
    (["up", "--name", "Bad Name"], 2, "name"),
    (["up", "--queues", "0"], 2, "--queues wants a number from 1 to 64"),
    (["up", "--queues", "x"], 2, "--queues wants"),
    (["up", "--mtu", "1279"], 2, "--mtu wants"),
    (["up", "--hosts", "4"], 2, "--hosts wants"),
    (["up", "extra"], 2, "extra"),
    (["up", "--bogus"], 2, "--bogus"),
    (["run"], 2, "wants a command"),
    (["run", "--threaded", "999", "true"], 1, "no CPU 999"),
    (["exec", "--name", "nosuchlab", "dut", "true"], 1, "lab up"),
    (["down", "--name", "nosuchlab"], 1, "lab list"),
    (["threaded", "dut"], 2, "wants a host"),
    (["bogus"], 2, "bogus"),
    ([], 2, "command is missing"),
])
def test_bad_usage(lab_tool, args, status, says):
    done = lab_tool(*args)
    assert done.returncode == status
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_name_is_taken_once(lab, lab_tool):
    done = lab_tool("up", "--name", lab.name)
    assert done.returncode == 1 and "exists" in done.stderr
    lab.exec("gen", "ping", "-c", 1, "-W", 5, "10.0.2.2")


def test_half_built_is_removed(lab_tool):
    """A namespace of that name stands in the way."""
    name = f"half{os.getpid()}"
    subprocess.run(["ip", "netns", "add", f"shunt-{name}-sink"], check=True)
    try:
        done = lab_tool("up", "--name", name)
        assert done.returncode == 1
        assert hosts_of(name) == ["sink"], "what was there before stays, nothing is added"
        assert not os.path.exists(f"/run/shunt-lab/{name}")
    finally:
        subprocess.run(["ip", "netns", "del", f"shunt-{name}-sink"], check=True)


def test_list(lab, lab_tool):
    assert f"{lab.name}: gen dut sink" in lab_tool("list").stdout.splitlines()
