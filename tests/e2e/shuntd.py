# SPDX-License-Identifier: BSD-2-Clause
"""shuntd on any host of a lab: started, asked, stopped, and held to what it must leave behind: nothing."""
import contextlib
import itertools
import json
import os
import signal

from daemon import with_lane
from lab import OPTIONS, wait_until

_numbers = itertools.count()


class Shuntd:
    """A running shuntd on dut; start() waits until it forwards."""

    def __init__(self, lab, *args, host="dut", control=None):
        self.lab, self.host = lab, host
        self.control = control or f"/run/shunt-lab/{lab.name}/shuntd{next(_numbers)}.sock"
        self.process = lab.popen(host, "shuntd", *with_lane(args), *OPTIONS, "--control", self.control)
        line = self.process.stderr.readline()
        while "shuntd: forwarding on" not in line:
            assert line, f"shuntd {args} ended with {self.process.wait(60)}"
            self.said = line
            line = self.process.stderr.readline()
        lab.carriers()

    @property
    def pid(self):
        return self.process.pid

    def ctl(self, *words, check=True):
        """shuntctl's CompletedProcess."""
        return self.lab.exec(self.host, "shuntctl", "-s", self.control, *words, check=check)

    def show(self, what):
        return json.loads(self.ctl("-j", "show", what).stdout)

    def stop(self, number=signal.SIGTERM):
        """Ends it as an operator does; the exit code is 1 when the ledger did not balance."""
        self.process.send_signal(number)
        err = self.process.communicate(timeout=60)[1]
        assert (self.process.returncode, err) == (0, ""), f"ended with {self.process.returncode}: {err}"
        assert not os.path.exists(self.control)
        assert not os.path.exists(self.control + ".journal")

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill()


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


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid):
    wait_until(lambda: not is_alive(pid), what=f"the end of process {pid}")

