# SPDX-License-Identifier: BSD-2-Clause
"""What is tortured: a lab with a shuntd on its dut, and all that must hold of both at any time."""
import contextlib
import glob
import io
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, replace

from shuntlab import above
from shuntlab.above import Above
from shuntlab.frames import GEN, SINK, udp4
from shuntlab.lab import IS_REAL, OPTIONS, Lab, wait_until
from shuntlab.process import owner_of
from shuntlab.programs import on_device
from shuntlab.rights import helpers
from shuntlab.shuntd import Watched
from shuntlab.stream import SIZE

PORTS = ("eth1", "eth2")
START_S = 90
NUMBERS = r"^\d+: |@\w+| id \d+|link-netnsid \d+|link_failure_count \d+|fdb_n_learned \d+"
# A round's devices and rings: queues of each device, and what shuntd gets to serve them.
SHAPES = {
    "two queues": (2, ("--ring-size", "512")),
    # Fewer frames than the far end's own ring holds: that fills up only after the pool is dry.
    "small pool": (1, ("--ring-size", "128", "--frames", "256")),
    # All traffic goes by the first queue, so that the other may come and go.
    "spare queue": (2, ("--ring-size", "512", "--queues", "1")),
}
# Those of a round whose faults need none. Which queue of a real device all traffic goes by nobody says: it
# hashes with a key of its own.
ORDINARY = ("two queues",) if IS_REAL else ("two queues", "spare queue")


def is_its_own(attached, program, under):
    """Whether what `ip` says is attached to a device is the daemon's program, or libxdp's dispatcher
    which runs that one and no other steering program: under() returns the numbers of those."""
    if not attached:
        return False
    if program.get("dispatcher"):
        return attached["name"] == "xdp_dispatcher" and under() == [program["id"]]
    return attached["name"].startswith("shunt_steer") and attached["id"] == program["id"]


class Broken(Exception):
    """Something that must hold did not."""


def to_sink(**options):
    """A frame of the stream where dut is no router: it is the sink's by its MAC address."""
    return udp4(eth_dst=SINK, **options)


@dataclass(frozen=True)
class Mode:
    """How shunt forwards, and what does so in its place."""
    forward: str  # what stands under forward besides the ports
    make_frame: object = to_sink
    is_alone: bool = False  # the kernel forwards nothing, but what shunt sends by a detour
    is_bridged: bool = False  # a bridge of the kernel's joins the ports
    follows: bool = False  # the kernel's tables, and its firewall
    families: tuple = ()  # of nftables: whose hooks its frames pass
    on_death: tuple = ("",)  # what --on-death may say; "": no such option
    above: Above | None = None  # what stands in the place of a port


ROUTE = Mode("mode: route", udp4, follows=True, families=("ip", "inet"))
MODES = {
    "xconnect": Mode("mode: xconnect", is_bridged=True, on_death=("cross", "kernel")),
    "wire": Mode("mode: xconnect", is_alone=True),
    "static3": Mode(f'mode: static3, next_hop: ["{GEN}", "{SINK}"]', udp4),
    "route": ROUTE,
    "bond": replace(ROUTE, above=Above("bond0", 2)),
    "bridge in": replace(ROUTE, above=Above("br0", 1)),  # by which the stream comes
    "bridge out": replace(ROUTE, above=Above("br0", 2)),  # by which it leaves
    "bridge": Mode("mode: bridge", is_bridged=True, follows=True, families=("bridge",),
                   on_death=("cross", "kernel")),
    "lone bridge": Mode("mode: bridge", is_alone=True),
}
FILE = """
ports: [{{name: {one}}}, {{name: {other}}}]
forward: [{{{forward}, ports: [{one}, {other}]}}]
rules: {rules}
"""
# A frame of the stream by the length of its datagram, and what a firewall says of it: that it is counted, or
# that it is dropped.
OF_STREAM = f"udp length {SIZE - 34}"
JUDGE, DROP = f"{OF_STREAM} counter; meta mark 7 drop", f"{OF_STREAM} drop"
RULES = """flush ruleset
table {family} torture {{
    chain f {{
        type filter hook forward priority 0;
        {rule}
    }}
}}
"""


class Stranger:
    """A daemon that is no child of ours, used as one."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None
        self.stderr = io.StringIO()

    def poll(self):
        if not os.path.exists(f"/proc/{self.pid}"):
            self.returncode = 0
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout):
        wait_until(lambda: self.poll() is not None, timeout, "the end of shuntd")

    def communicate(self, timeout):
        self.wait(timeout)
        return "", ""


class Dut:
    """A lab whose dut forwards by the kernel in any case, and by a shuntd once start() is called."""

    def __init__(self, mode, shape, options=()):
        queue_cnt, sizes = SHAPES[shape]
        self.name, self.mode = mode, MODES[mode]
        self.queue_cnt, self.options = queue_cnt, [*options, *sizes]
        self.lab = Lab(queues=queue_cnt, static_neigh=True)
        self.control = f"/run/shunt-lab/{self.lab.name}/shuntd.sock"
        self.file = f"/run/shunt-lab/{self.lab.name}/shuntd.yaml"
        self.write_file([])
        self.daemon = self.shuntd = None
        self.is_persistent = "--persist" in options
        self.stream = None  # whoever runs one sets it
        if self.mode.is_bridged:
            self.sh("ip link add br0 type bridge; ip link set br0 up; "
                    "ip link set eth1 master br0; ip link set eth2 master br0")
        if shape == "spare queue":
            cpus = (1 << os.cpu_count()) - 1
            self.sh(f"echo {cpus:x} >/sys/class/net/eth1/queues/tx-0/xps_cpus", host="gen")
        if self.mode.above:
            above.make(self)
        self.before = self.snapshot()

    def sh(self, line, check=True, host="dut"):
        return self.lab.exec(host, "sh", "-c", line, check=check)

    def batch(self, lines):
        """Many commands of `ip`."""
        path = f"{self.file}.batch"
        with open(path, "w", encoding="ascii") as file:
            file.write(lines)
        self.lab.exec("dut", "ip", "-b", path)
        os.remove(path)

    def judge(self, family, rule):
        """Loads a rule set of one rule in the place of all rules, in one transaction."""
        self.sh(f"nft -f - <<'EOF'\n{RULES.format(family=family, rule=rule)}EOF")

    def judged(self):
        """How many frames of the stream the rules have counted."""
        found = json.loads(self.sh("nft -j list ruleset").stdout)["nftables"]
        return sum(part["counter"]["packets"] for entry in found
                   for part in entry.get("rule", {}).get("expr", []) if "counter" in part)

    def judge_no_more(self):
        self.sh("nft flush ruleset")

    def write_file(self, rules):
        with open(self.file, "w", encoding="ascii") as file:
            file.write(FILE.format(forward=self.mode.forward, one=self.device(1), other=self.device(2),
                                   rules=json.dumps(rules)))

    def device(self, link):
        """That has the address of a link."""
        return self.mode.above.name if self.mode.above and self.mode.above.link == link else f"eth{link}"

    @staticmethod
    def until(condition, what):
        wait_until(condition, START_S, what)

    # --- the daemon -------------------------------------------------------------------------------

    def popen(self, *options):
        return self.lab.popen("dut", "shuntd", "-c", self.file, *self.options, *options,
                              *OPTIONS, "--control", self.control)

    def start(self, *options):
        """Starts a shuntd and waits until it forwards; returns how long that took."""
        start = time.monotonic()
        self.shuntd = Watched(self.lab, "-c", self.file, *self.options, *options, check=False)
        self.daemon = self.shuntd.process
        return time.monotonic() - start

    def ctl(self, *words):
        try:
            return self.shuntd.ask(*words)
        except AssertionError as problem:
            raise Broken(f"shuntctl {' '.join(words)}: {problem}") from None

    def adopt(self):
        """Whoever answers on the control socket is the daemon from now on."""
        self.daemon = self.shuntd.process = Stranger(owner_of(self.control))

    def forwarded(self):
        """Frames of eth1 that the running daemon's lanes had, by its own counters."""
        return self.shuntd.packets("user") + self.shuntd.packets("xdp")

    def rules(self):
        return [row["rule"] for row in self.ctl("show", "rules")["rules"]]

    def reload(self, is_good):
        try:
            self.ctl("reload")
        except Broken as refusal:
            if is_good:
                raise
            if "shuntd.yaml" not in str(refusal):
                raise Broken(f"refused, but not because of the file: {refusal}") from None
        else:
            if not is_good:
                raise Broken("a file with a mistake was taken")

    def wait_dead(self):
        """Until the process is gone, which a signal ends."""
        self.daemon.communicate(timeout=START_S)
        self.daemon = None

    def signal(self, number):
        self.daemon.send_signal(number)

    def stop(self):
        """Ends the daemon in order; it says so when its ledger did not balance."""
        daemon, self.daemon = self.daemon, None
        daemon.send_signal(signal.SIGTERM)
        said = daemon.communicate(timeout=START_S)[1]
        if daemon.returncode:
            raise Broken(f"shuntd ended with {daemon.returncode}: {said.strip()}")

    # --- what must hold ---------------------------------------------------------------------------

    def check_running(self):
        """The daemon lives, its ledger balances, and there is one of everything."""
        if self.daemon.poll() is not None:
            raise Broken(f"shuntd ended with {self.daemon.returncode}: "
                         f"{self.daemon.stderr.read().strip()}")
        self.check_ledger()
        # The helper of a daemon that was killed ends a moment after it.
        own = [self.daemon.pid, *helpers(self.daemon.pid)]
        if len(own) != 2:
            raise Broken(f"shuntd has {len(own) - 1} helpers")
        wait_until(lambda: sorted(self.lab.processes("dut")) == sorted(own), START_S,
                   f"no processes on dut but {own}")
        journals = glob.glob(f"/run/shunt-lab/{self.lab.name}/*.journal*")
        if journals != [self.control + ".journal"]:
            raise Broken(f"journals: {journals}")
        for port in self.ctl("show", "ports")["ports"]:
            attached = on_device(self.lab, port["name"])
            if not is_its_own(attached, port["program"],
                              lambda dev=port["name"]: self.under_dispatcher(dev)):
                raise Broken(f"{port['name']}: {attached}, not program {port['program']}")

    def check_ledger(self):
        """A worker that waits for a CPU does not answer at once."""
        wait_until(lambda: self.shuntd.is_balanced() is not None, START_S, "the workers' ledgers")
        if not self.shuntd.is_balanced():
            raise Broken(f"the ledger does not balance: {self.ctl('show', 'ledger')}")

    def audit(self):
        """What shunt has of the kernel's tables is the kernel's, and it follows what is above its ports."""
        above_ports = [self.mode.above.name] if self.mode.above else []

        def followed():
            rows = self.ctl("show", "devices")["devices"]
            return [row["device"] for row in rows if row["state"] == "followed"]

        wait_until(lambda: followed() == above_ports, START_S, f"{above_ports} to be followed")
        differences = self.shuntd.audit()
        if differences:
            raise Broken(f"an audit found {differences} differences to the kernel")

    def under_dispatcher(self, dev):
        """The numbers of the steering programs that libxdp's dispatcher runs on a device of dut."""
        said = self.lab.exec("dut", "xdp-loader", "status", dev).stdout
        return [int(number) for number in re.findall(r"=> +\d+ +shunt_steer\S* +(\d+) ", said)]

    def snapshot(self):
        """Lines `subject: what is there`, without the numbers that a device made anew gets."""
        self.lab.carriers()  # a bridge's port without one is disabled
        return {f"{what}: {re.sub(NUMBERS, '', line)}"
                for what, lines in self.lab.snapshot("dut").items() for line in lines.splitlines()}

    def left_behind(self):
        """With no daemon: what is not as it was before the first one."""
        left = sorted(self.before ^ self.snapshot())
        left += [f"processes {pids}" for pids in [self.lab.processes("dut")] if pids]
        return left + glob.glob(f"/run/shunt-lab/{self.lab.name}/*.sock*") + \
            glob.glob(f"/run/shunt-lab/{self.lab.name}/*.journal*")

    # --- devices ----------------------------------------------------------------------------------

    def remove_far_link(self):
        self.sh("ip link del eth2")

    def restore_network(self, dev, now=None):
        """Going down has taken routes and IPv6 addresses away, as it does; of a member of a bond or a bridge
        it has not. now: the device that has the addresses in its place."""
        link = next((link for link in "12" if dev in (f"eth{link}", self.device(int(link)))), None)
        if not link:
            return
        dev = now or self.device(int(link))
        self.sh(f"ip addr replace fd00:{link}::1/64 dev {dev} nodad;"
                f"ip neigh replace 10.0.{link}.2 lladdr 02:00:00:00:0{link}:02 dev {dev};"
                f"ip neigh replace fd00:{link}::2 lladdr 02:00:00:00:0{link}:02 dev {dev};"
                f"ip route replace 198.1{7 + int(link)}.0.0/16 via 10.0.{link}.2;"
                f"ip route replace 2001:2:0:{link}::/64 via fd00:{link}::2")

    def make_far_link(self):
        """The link between dut and sink anew, as tools/lab makes it."""
        sizes = f"numrxqueues {self.queue_cnt} numtxqueues {self.queue_cnt}"
        self.sh(f"ip link add eth2 {sizes} type veth peer name eth1 {sizes} netns {self.lab.netns('sink')}")
        for host, dev, mine, other in (("dut", "eth2", 1, 2), ("sink", "eth1", 2, 1)):
            self.sh(f"ethtool -K {dev} tx off tso off gso off gro off txvlan off "
                    "tx-vlan-stag-hw-insert off >/dev/null;"
                    f"ip link set {dev} address 02:00:00:00:02:0{mine};"
                    f"ip addr add 10.0.2.{mine}/24 dev {dev};"
                    f"ip addr add fd00:2::{mine}/64 dev {dev} nodad; ip link set {dev} up;"
                    f"ip neigh replace 10.0.2.{other} lladdr 02:00:00:00:02:0{other} dev {dev};"
                    f"ip neigh replace fd00:2::{other} lladdr 02:00:00:00:02:0{other} dev {dev}",
                    host=host)
        # Once they are up: else the other end is not said to take frames from XDP (veth_set_features).
        for host, dev in ("dut", "eth2"), ("sink", "eth1"):
            self.sh(f"ethtool -K {dev} gro on", host=host)
        if self.mode.is_bridged:
            self.sh("ip link set eth2 master br0")
        self.restore_network("eth2")
        wait_until(lambda: "LOWER_UP" in subprocess.run(
            ["ip", "-n", self.lab.netns("dut"), "-o", "link", "show", "eth2"], capture_output=True, text=True,
            check=False).stdout, START_S, "the link to come up")

    def down(self):
        """What broke may have left a daemon: it ends in order, since a device that outlives the lab keeps
        a dead one's program."""
        daemon, self.daemon = self.daemon, None
        if daemon and daemon.poll() is None:
            daemon.send_signal(signal.SIGCONT)
            daemon.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.communicate(timeout=START_S)
        return self.lab.down()
