# SPDX-License-Identifier: BSD-2-Clause
"""A lab as an object: hosts to run commands on, wires to send and receive frames on, and what has
changed on a host since the lab was built."""
import difflib
import itertools
import json
import os
import re
import subprocess
import time

from shuntlab.wire import Wire

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
BIN = os.path.join(BUILD, "bin")
OTHER = os.path.join(BUILD, "tests", "other", "shuntd")  # of another version
ENV = dict(os.environ, PATH=f"{BIN}:{ROOT}/tools:{os.environ['PATH']}")
TOOL = os.path.join(ROOT, "tools", "lab")

# Real devices instead of veth (tools/lab, in a guest of tools/vmlab).
IS_REAL = bool(os.environ.get("SHUNT_LAB_NICS"))
# Given to every shuntd of a test beside its own options.
OPTIONS = os.environ.get("SHUNT_TEST_OPTIONS", "").split()
CARRIER_S = 30  # igb takes seconds after each of program and socket

# Put a command before all others: without shutting them out, and in real time, which starves whatever
# the kernel runs on its CPU if the command spins.
FIRST, REAL_TIME = ["nice", "-n", "-20"], ["chrt", "--fifo", "10"]

_numbers = itertools.count()

# One command for a whole snapshot: a test takes several. The times that addresses have left and
# the link's state, which the other end decides, and a bridge's running timers are no change; nor
# is the folder /sys/fs/bpf/xdp, which libxdp makes and leaves, while it is empty.
SNAPSHOT = r"""
for what in "-d link" "-4 addr" "-6 addr" "-4 rule" "-6 rule" \
	"-4 route show table all" "-6 route show table all"; do
	echo; echo "== $what"
	ip $what
done | sed 's/ state [A-Z]*//; s/,LOWER_UP//; s/<NO-CARRIER,/</; s/timer *[0-9.]*//g; /valid_lft/d'
echo; echo "== pins"; find /sys/fs/bpf -mindepth 1 -not -name '*.debug' -not -path /sys/fs/bpf/xdp
echo; echo "== filters"
for dev in /sys/class/net/*; do
	for at in ingress egress; do echo "filter show dev ${dev##*/} $at"; done
done | tc -force -batch - 2>&1
for dev in /sys/class/net/eth*; do
	echo; echo "== ${dev##*/}"
	ethtool -k "${dev##*/}"; ethtool -l "${dev##*/}"
	for knob in threaded napi_defer_hard_irqs gro_flush_timeout; do
		read -r value <"$dev/$knob" && echo "$value"
	done
done
"""


SETTLE_S = 3


def tool(*args, timeout=120, **options):
    """Runs tools/lab and returns its CompletedProcess, whatever its status."""
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, env=ENV,
                          timeout=timeout, stdin=subprocess.DEVNULL, check=False, **options)


def wait_until(condition, timeout=60, what=None):
    """Calls condition until it gives something true, and returns that: after 5 ms at first, and ever less
    often, since to ask may take a process, and the processors are what the others wait for."""
    end, pause = time.monotonic() + timeout, 0.005
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {timeout} s for {what or condition.__name__}"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)


def ip(*args):
    """`ip` on this machine, which is cheaper than a command in a lab."""
    done = subprocess.run(["ip", *map(str, args)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"ip {args}: {done.stderr}{done.stdout}"


def is_settled(snapshot):
    """Whether each IPv6 address is taken up, with its route, which comes a moment later."""
    addresses = re.findall(r"inet6 ([0-9a-f:]+)/", snapshot["-6 addr"])
    routes = snapshot["-6 route show table all"]
    return " tentative" not in snapshot["-6 addr"] and \
        all(f"local {address} " in routes for address in addresses)


def devices(text):
    """What `ip link` or `ip addr` says, by device."""
    blocks = (re.match(r"\d+: ([^:@]+)\S* (.*)", block, re.DOTALL)
              for block in re.split(r"\n(?=\d+: )", text.strip()))
    return {block[1]: block[2] for block in blocks if block}


def has_link_locals(snapshot):
    """Whether each link that is up and makes itself an IPv6 address has it: a kernel thread does that,
    which may have to wait for its CPU."""
    addresses = devices(snapshot["-6 addr"])
    return all("inet6 fe80:" in addresses.get(name, "")
               for name, link in devices(snapshot["-d link"]).items()
               if name != "lo" and re.match(r"<.*\bUP\b", link) and "addrgenmode eui64" in link)


class Lab:
    """gen - dut - sink, or with hosts=2 gen = dut; see `lab --help` for the addresses."""

    def __init__(self, hosts=3, queues=1, mtu=1500, static_neigh=False, gro=True, threaded=None):
        self.name = f"e2e{os.getpid()}-{next(_numbers)}"
        self.hosts = ["gen", "dut", "sink"][:hosts]
        self._wires = []
        self._processes = []
        args = ["--hosts", hosts, "--queues", queues, "--mtu", mtu]
        args += ["--static-neigh"] if static_neigh else []
        args += [] if gro else ["--no-gro"]
        args += [] if threaded is None else ["--threaded", threaded]
        try:
            up = tool("up", "--name", self.name, *args)
            assert up.returncode == 0, up.stderr
            self._settle()
            self.remember()
        except BaseException:  # interrupted: nobody else knows of it yet
            tool("down", "--name", self.name)
            raise

    def _settle(self):
        """Unlike veth, a real device drops what is for another's address and has no link at first.
        """
        if IS_REAL:
            for host in set(self.hosts) - {"dut"}:
                self.link(host, "eth1", "promisc", "on")
            self.carriers()

    def link(self, host, *what):
        """`ip link set` on a device of a host."""
        self.ip("link", "set", *what, host=host)

    def carriers(self):
        """Waits until every link of a lab of real devices is up."""
        def up():
            done = [subprocess.run(["ip", "-n", self.netns(host), "-o", "link"],
                                   capture_output=True, text=True, check=True, timeout=30).stdout
                    for host in self.hosts]
            # a veth beside them is `eth3@if4`
            return len(re.findall(r"^\d+: eth\d+: .*LOWER_UP", "".join(done), re.MULTILINE)) == 4
        if IS_REAL:
            wait_until(up, CARRIER_S, "the links to come up")

    def netns(self, host):
        return f"shunt-{self.name}-{host}"

    def add_third(self):
        """One host more, `third`, whose eth1 is at dut's eth3."""
        ip("netns", "add", self.netns("third"))
        self.hosts.append("third")
        self.ip("link", "add", "eth3", "address", "02:00:00:00:03:01", "type", "veth",
                "peer", "name", "eth1", "address", "02:00:00:00:03:02", "netns", self.netns("third"))
        self.link("dut", "eth3", "up")
        self.link("third", "eth1", "up")

    def received(self, host, dev="eth1"):
        """The packets that a device has counted."""
        return self.json(host, "ip", "-j", "-s", "link", "show", dev)[0]["stats64"]["rx"]["packets"]

    def add_way_out(self):
        """out0, a device of dut's that is no port, with a route to 10.77.0.0/16 out of it; returns a function
        that says how many packets have left by it."""
        self.ip("link", "add", "out0", "type", "veth", "peer", "name", "far0")
        for device in "out0", "far0":
            self.link("dut", device, "up")
        self.ip("addr", "add", "10.78.0.1/24", "dev", "out0")
        self.ip("neigh", "replace", "10.78.0.2", "lladdr", "02:00:00:00:78:02", "dev", "out0")
        self.ip("route", "add", "10.77.0.0/16", "via", "10.78.0.2")
        return lambda: self.json("dut", "ip", "-j", "-s", "link", "show",
                                 "out0")[0]["stats64"]["tx"]["packets"]

    # --- commands ---------------------------------------------------------------------------------

    def _argv(self, host, cmd):
        if host == "third":  # tools/lab knows nothing of it
            return ["ip", "netns", "exec", self.netns(host), *map(str, cmd)]
        return [TOOL, "exec", "--name", self.name, host, *map(str, cmd)]

    def exec(self, host, *cmd, check=True, timeout=120):
        """Runs a command on a host and returns its CompletedProcess (text)."""
        done = subprocess.run(self._argv(host, cmd), capture_output=True, text=True, env=ENV,
                              timeout=timeout, stdin=subprocess.DEVNULL, check=False)
        assert not check or done.returncode == 0, f"{cmd}: {done.returncode}: {done.stderr}"
        return done

    def json(self, host, *cmd, **options):
        return json.loads(self.exec(host, *cmd, **options).stdout or "null")

    def ip(self, *args, host="dut"):
        """`ip` on a host."""
        ip("-n", self.netns(host), *args)

    def popen(self, host, *cmd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE):
        """Starts a command on a host; its pid is the command's own. Its output is text, in pipes;
        it is killed with the lab at the latest."""
        process = subprocess.Popen(self._argv(host, cmd), stdout=subprocess.PIPE, env=ENV,
                                   stderr=stderr, stdin=stdin, text=True)
        self._processes.append(process)
        return process

    # --- traffic ----------------------------------------------------------------------------------

    def ends(self):
        """The wires of gen and sink."""
        return self.wire("gen"), self.wire("sink")

    def crosses(self, frame, leaves=None):
        """The frame, sent by gen, arrives at sink, unchanged or as it should leave."""
        gen, sink = self.ends()
        gen.reaches(sink, frame, leaves)

    def wire(self, host, dev="eth1", kind=None):
        """A raw socket on a device: what arrives there can be received, or what is of that Ethernet type;
        what is sent leaves by it."""
        wire = Wire(f"/run/netns/{self.netns(host)}", dev, kind)
        self._wires.append(wire)
        return wire

    def sink(self, host, dev, *options):
        """Starts `shunt-gen sink` and waits until it counts. finish() it for its result."""
        return Sink(self, host, dev, options)

    def send(self, host, dev, *options, first=(), timeout=120):
        """`shunt-gen send` with options, its result as a dict. With first (FIRST, REAL_TIME) it goes
        before others of the machine, which else may keep it from its rate."""
        return self.json(host, *first, "shunt-gen", "send", dev, "-j", *options,
                         timeout=timeout)

    # --- what is there ----------------------------------------------------------------------------

    def snapshot(self, host):
        """All that a forwarder might change on a host and has to put back, but for neighbours and
        counters, which change by themselves: text by subject."""
        parts = self.exec(host, "sh", "-c", SNAPSHOT).stdout.split("\n== ")
        return dict(part.split("\n", 1) for part in parts if "\n" in part)

    def remember(self):
        """Takes dut as it is for what changes() compares with; a test's own changes are none then.
        Addresses that the kernel has yet to make or take up, and their routes, are waited for."""
        patience = time.monotonic() + SETTLE_S

        def settled():
            now = self.snapshot("dut")
            if not is_settled(now):
                return None
            # a link that is down makes none: those are not waited for without end
            return now if has_link_locals(now) or time.monotonic() > patience else None
        self._before = wait_until(settled, what="dut's addresses to settle")

    def changes(self):
        """What differs on dut from what was remembered, at first the lab as it was built: lines
        `subject: -was` and `subject: +is`, none when it is as it was. What the kernel itself is
        still about to settle has some seconds for that."""
        end = time.monotonic() + SETTLE_S
        while True:
            before, now = self._before, self.snapshot("dut")
            changes = [f"{what}: {line}" for what in sorted(before.keys() | now.keys())
                       for line in difflib.ndiff(before.get(what, "").splitlines(),
                                                 now.get(what, "").splitlines())
                       if line[0] in "-+"]
            if not changes or time.monotonic() > end:
                return changes
            time.sleep(0.2)

    def processes(self, host):
        """The pids of what runs on a host."""
        done = subprocess.run(["ip", "netns", "pids", self.netns(host)],
                              capture_output=True, text=True, timeout=60, check=False)
        return [int(pid) for pid in done.stdout.split()]

    def down(self):
        """Takes the lab down and returns what it should not have left behind."""
        for process in self._processes:
            process.kill()
        for wire in self._wires:
            wire.close()
        if "third" in self.hosts:
            ip("netns", "del", self.netns("third"))
        done = tool("down", "--name", self.name)
        # not before what they left running in the lab has gone: it may have their pipes
        for process in self._processes:
            process.communicate()
        left = [done.stderr] if done.returncode else []
        left += [path for path in
                 [f"/run/shunt-lab/{self.name}"] +
                 [f"/run/netns/{self.netns(host)}" for host in self.hosts]
                 if os.path.exists(path)]
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            left += [line for line in mounts if f"shunt-lab/{self.name}/" in line]
        return left


class Sink:
    """A running `shunt-gen sink`."""

    def __init__(self, lab, host, dev, options):
        self.process = lab.popen(host, "shunt-gen", "sink", dev, "-j", "--interval", "0", *options)
        line = self.process.stderr.readline()
        assert "counting on" in line, line

    def finish(self, timeout=120):
        """Waits for an end that an option asked for (--idle, --count, --duration)."""
        out, err = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, err
        return json.loads(out)

    def stop(self):
        """Interrupts it, as Ctrl-C does."""
        self.process.send_signal(2)
        return self.finish()
