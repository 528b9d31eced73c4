# SPDX-License-Identifier: BSD-2-Clause
"""shuntd on a lab's dut: started, asked, stopped, and held to what it must leave behind: nothing."""
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess

from lab import BIN, ENV, OPTIONS, wait_until

_numbers = itertools.count()
# Where others have the processors a worker may get none for a second, which he says; whether one hangs
# shows in what is forwarded.
OF_THE_MACHINE = re.compile(r"^shuntd: warning: worker \d+ (has given no sign of life for|is at work again).*\n",
                            re.M)


def with_lane(args):
    """The command line with the lane under test, unless it names one: by itself shuntd would
    choose xdp on a veth, and the tests of rings, workers and graph would test nothing."""
    args = [str(arg) for arg in args]
    if any(arg.startswith("--lane") for arg in args):
        return args
    return [*args, "--lane", os.environ.get("SHUNT_TEST_LANE", "user")]


class Shuntd:
    """Starts shuntd on dut and waits until it forwards:

        with Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", "spin") as d: ...

    Leaving the block stops it; all that it said must have been asked for until then, unless it is
    chatty. check=False: dut need not be as it was before. All daemons of a lab have the same control
    socket, as an operator's have, unless `control` names another one."""

    STOP_S = 60

    def __init__(self, lab, *args, control="shuntd.sock", program="shuntd", check=True,
                 chatty=False):
        self.lab, self.check, self.chatty = lab, check, chatty
        self.control = os.path.join("/run/shunt-lab", lab.name, control)
        self.process = lab.popen("dut", program, *with_lane(args), *OPTIONS, "--control",
                                 self.control)
        self.log = []  # what it said until it forwarded
        while not any("forwarding on" in line for line in self.log):
            line = self.process.stderr.readline()
            assert line, f"shuntd {args} ended with {self.process.wait(60)}: " + "".join(self.log)
            self.log.append(line)
        lab.carriers()

    def ctl(self, *words, check=True):
        """shuntctl's CompletedProcess. All it wants is the socket, so it need not run in the lab."""
        done = subprocess.run([os.path.join(BIN, "shuntctl"), "-s", self.control,
                               *map(str, words)], capture_output=True, text=True, env=ENV,
                              timeout=120, stdin=subprocess.DEVNULL, check=False)
        assert not check or done.returncode == 0, done
        return done

    def ask(self, *words):
        """What shuntctl answers, as an object."""
        return json.loads(self.ctl("-j", *words).stdout)

    def show(self, what):
        return self.ask("show", what)

    def stop(self, number=signal.SIGTERM):
        """Ends it as an operator does, and returns what it said since it forwarded. The exit code is
        1 when the ledger did not balance."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=self.STOP_S)
        assert self.process.returncode == 0, f"ended with {self.process.returncode}: {err}"
        for path in (self.control, self.control + ".journal"):
            assert not os.path.exists(path), path
        changes = self.lab.changes() if self.check else []
        assert changes == [], changes
        return err

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.kill()
        elif self.process.returncode is None:
            said = OF_THE_MACHINE.sub("", self.stop())
            assert self.chatty or said == "", said


def refused(lab, *args, wrap=(), code=1):
    """Runs a shuntd that must not start: returns its one sentence. What it did to the machine is
    for the caller to see (unchanged())."""
    control = f"/run/shunt-lab/{lab.name}/shuntd{next(_numbers)}.sock"
    # where there are two, the last --control counts
    done = lab.exec("dut", *wrap, "shuntd", "--control", control, *args, check=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("shuntd: ") and done.stderr.count("\n") == 1, done.stderr
    for path in (control, control + ".journal"):
        assert not os.path.exists(path), path
    return done.stderr[len("shuntd: "):].strip()


@contextlib.contextmanager
def unchanged(lab):
    """dut is as it was when this ends."""
    before = lab.snapshot("dut")
    yield
    now = lab.snapshot("dut")
    for what in before.keys() | now.keys():
        assert before.get(what) == now.get(what), what


def totals(shown, key):
    """Sum of a counter over all queues of `show ports`, by port."""
    return {port["name"]: sum(queue[key] for queue in port["queues"]) for port in shown["ports"]}


def steered(daemon, reason, port="eth1"):
    """Frames of a port that the steering program gave to the kernel for a reason."""
    return sum(row["count"] for row in daemon.show("drops")["drops"]
               if (row["where"], row["port"], row["name"]) == ("steer", port, reason))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid):
    wait_until(lambda: not is_alive(pid), what=f"the end of process {pid}")

