# SPDX-License-Identifier: BSD-2-Clause
"""shuntd on a lab's dut: started, asked, stopped, and held to what it must leave behind: nothing."""
import collections
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess

from shuntlab.lab import BIN, ENV, OPTIONS, wait_until

_numbers = itertools.count()
# Where others have the processors a worker may get none for a second, which is said; whether one hangs
# shows in what is forwarded.
OF_THE_MACHINE = re.compile(
    r"^shuntd: warning: (worker \d+ (has given no sign of life for|is at work again)"
    r"|\w+: VLAN tags that come beside frames are not seen).*\n", re.M)


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
    # Others have the processors, too: a thread that waits for one must not count as hung (see Watched).
    PATIENCE = 50

    def __init__(self, lab, *args, control="shuntd.sock", program="shuntd", check=True,
                 chatty=False):
        self.lab, self.check, self.chatty = lab, check, chatty
        self.control = os.path.join("/run/shunt-lab", lab.name, control)
        self.process = lab.popen("dut", "nice", "-n", "-10", program, *with_lane(args), *OPTIONS,
                                 "--patience", str(self.PATIENCE), "--control", self.control)
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

    def said_until(self, words, cnt=1):
        """Lines of its log, read until so many have the words."""
        lines = []
        while sum(words in line for line in lines) < cnt:
            line = self.process.stderr.readline()
            assert line, f"shuntd ended and did not say '{words}': {lines}"
            lines.append(line)
        return lines

    # --- rows of what it shows --------------------------------------------------------------------

    def port(self, name="eth1"):
        return next(row for row in self.show("ports")["ports"] if row["name"] == name)

    def notices(self, name, port="eth1"):
        """What is the matter with a port, of one kind: the rows."""
        return [row for row in self.port(port)["notices"] if row["name"] == name]

    def notice(self, name):
        """What is the matter with the host or a port, of one kind: the first row, or None."""
        return next((row for row in self.show("notices")["notices"] if row["name"] == name), None)

    def total(self, key, port):
        """Sum of a counter over all queues of a port."""
        return sum(queue[key] for queue in self.port(port)["queues"])

    def lane(self, port="eth1"):
        return next(row for row in self.show("lanes")["lanes"] if row["port"] == port)

    def packets(self, lane, port="eth1"):
        """Frames of a port that a lane had."""
        return self.lane(port)["lanes"][lane]["packets"]

    def until_had(self, lane, send, port="eth1"):
        """Sends until a lane has had one more frame. Where others have the processors a frame may be the
        kernel's, since a worker, or what follows the kernel, got none."""
        before = self.packets(lane, port)
        wait_until(lambda: send() or self.packets(lane, port) > before)

    def drops(self, where=None, port=None):
        """Counts by reason, of a place and a port or of all."""
        counts = collections.Counter()
        for row in self.show("drops")["drops"]:
            if where in (None, row["where"]) and port in (None, row["port"]):
                counts[row["name"]] += row["count"]
        return counts

    def audit(self):
        """Has the mirror compared with the kernel, and returns how many differences that found."""
        def counters(request):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(self.control)
                sock.sendall(json.dumps(request).encode() + b"\n")
                with sock.makefile() as answers:
                    return json.loads(answers.readline())["result"]["counters"]

        show = {"cmd": "show", "object": "mirror"}
        first = counters(show)
        for _ in range(2):  # that which ends first may have begun before
            before = counters({"cmd": "audit"})
            wait_until(lambda had=before: counters(show)["audits"] > had["audits"], what="an audit")
        return counters(show)["differences"] - first["differences"]

    def lost(self, name):
        """What has been counted for a reason, by (port, device)."""
        return {(row["port"], row["device"]): row["count"] for row in self.show("drops")["drops"]
                if row["name"] == name and row["count"]}

    def steered(self, reason, port="eth1"):
        """Frames of a port that the steering program gave to the kernel for a reason."""
        return self.drops("steer", port)[reason]

    def nodes(self):
        """Packets by node."""
        return {row["name"]: row["packets"] for row in self.show("nodes")["nodes"]}

    def punted(self):
        """Packets that userspace had and gave to the kernel."""
        return sum(row["packets"] for row in self.show("nodes")["nodes"] if row["type"] == "punt")

    def worker(self, number=0):
        return self.show("workers")["workers"][number]

    def is_balanced(self):
        """Whether every worker's ledger balances; None while one has not answered, for want of a CPU."""
        rows = [row["balanced"] for row in self.show("ledger")["ledger"]]
        return None if None in rows else all(rows)

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


class Watched(Shuntd):
    """One whose threads count as hung as soon as an operator's do: where that is what is tested, or nothing
    else has the processors."""

    PATIENCE = 1


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
