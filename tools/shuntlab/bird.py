# SPDX-License-Identifier: BSD-2-Clause
"""BIRD on dut and on two neighbours that announce the same networks: sink, which dut prefers, at its
eth2, and third at its eth3. OSPF (hello every second, dead after five) and BGP (hold time nine
seconds), for IPv4 and IPv6."""
import os
import subprocess

from shuntlab.lab import wait_until

# By protocol: what both neighbours announce.
NETS = {"ospf4": "10.50.0.0/16", "bgp4": "10.60.0.0/16", "ospf6": "fd50::/32", "bgp6": "fd60::/32"}
NEIGHBOURS = {"sink": 2, "third": 3}

COMMON = """
log "{log}" all;
router id 10.0.0.{number};
protocol device {{ scan time 1; }}
template bgp session {{
	local as 6500{number};
	hold time 9; keepalive time 3; connect delay time 1; connect retry time 1; error wait time 1, 2;
}}
"""
OSPF = """
protocol ospf v{version} ospf{family} {{
	ipv{family} {{ {channel} }};
	area 0 {{ interface {devices} {{ type ptp; hello 1; dead count 5; check link yes; }}; }};
}}
"""
DUT = """
protocol kernel { ipv4 { import none; export all; }; }
protocol kernel { ipv6 { import none; export all; }; }
"""
DUT_BGP = """
protocol bgp {name} from session {{
	neighbor 10.0.{link}.2 as 6500{link};
	ipv4 {{ import all; export none; }};
	ipv6 {{ import all; export none; }};
}}
"""
ANNOUNCED = "protocol static {name}_nets {{ ipv{family}; route {net} blackhole; }}\n"
NEIGHBOUR_BGP = """
protocol bgp dut from session {{
	neighbor 10.0.{link}.1 as 65001;
	ipv4 {{ import none; export filter {{
		if proto != "bgp4_nets" then reject; {worse} accept; }}; }};
	ipv6 {{ import none; next hop address fd00:{link}::2; export filter {{
		if proto != "bgp6_nets" then reject; {worse} accept; }}; }};
}}
"""


def dut_text():
    text = DUT
    for family, version in (4, 2), (6, 3):
        text += OSPF.format(version=version, family=family, devices='"eth2", "eth3"',
                            channel="import all; export none;")
    return text + "".join(DUT_BGP.format(name=name, link=link)
                          for name, link in NEIGHBOURS.items())


def neighbour_text(link):
    is_worse = link == 3
    text = ""
    for family, version in (4, 2), (6, 3):
        metric = 100 if is_worse else 10
        text += OSPF.format(version=version, family=family, devices='"eth1"',
                            channel="import none; export filter { "
                                    f'if proto != "ospf{family}_nets" then reject; '
                                    f"ospf_metric1 = {metric}; accept; }};")
    for name, net in NETS.items():
        text += ANNOUNCED.format(name=name, family=name[-1], net=net)
    worse = "bgp_path.prepend(65003);" if is_worse else ""
    return text + NEIGHBOUR_BGP.format(link=link, worse=worse)


class Bird:
    """A running BIRD."""

    def __init__(self, lab, host, number, text):
        base = f"/run/shunt-lab/{lab.name}/bird-{host}"
        self.socket, self.log = base + ".sock", base + ".log"
        with open(base + ".conf", "w", encoding="utf-8") as conf:
            conf.write(COMMON.format(log=self.log, number=number) + text)
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", lab.netns(host), "bird", "-f", "-c", base + ".conf", "-s", self.socket],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.exists(self.socket) or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def ctl(self, *args):
        done = subprocess.run(["birdc", "-s", self.socket, *args], capture_output=True, text=True,
                              timeout=60, check=True)
        return done.stdout

    def sessions(self):
        """What each session and adjacency says: BGP's name, state and since when, OSPF's
        neighbours that are full."""
        lines = self.ctl("show", "protocols").splitlines()
        bgp = sorted(line for line in lines if " BGP " in line)
        full = sum(self.ctl("show", "ospf", "neighbors", f"ospf{family}").count("Full/")
                   for family in (4, 6))
        return bgp, full

    def are_all_up(self):
        bgp, full = self.sessions()
        return full == 4 and all("Established" in line for line in bgp)

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def stop(self):
        """Ends it; it takes its routes back."""
        self.process.terminate()
        self.process.communicate(timeout=60)


class Routed:
    """A lab with a third host at dut's eth3, and BIRD on all three routers."""

    def __init__(self, lab):
        self.lab = lab
        self.birds = {}
        self._add_third()
        lab.remember()

    def _add_third(self):
        self.lab.add_third()
        for host, dev, last in ("dut", "eth3", 1), ("third", "eth1", 2):
            self.lab.exec(host, "ethtool", "-K", dev, "tx", "off", "tso", "off", "gso", "off", "gro", "on")
            self.lab.exec(host, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0",
                          f"net.ipv6.conf.{dev}.accept_dad=0")
            self.lab.ip("addr", "add", f"10.0.3.{last}/24", "dev", dev, host=host)
            self.lab.ip("addr", "add", f"fd00:3::{last}/64", "dev", dev, "nodad", host=host)

    def start(self):
        self.birds["dut"] = Bird(self.lab, "dut", 1, dut_text())
        for host, link in NEIGHBOURS.items():
            self.birds[host] = Bird(self.lab, host, link, neighbour_text(link))

    def wait_up(self):
        wait_until(self.birds["dut"].are_all_up, 90, "all sessions: " + self.birds["dut"].said())

    def device_of(self, net):
        """The device by which dut's kernel routes a network, None without a route."""
        family = "-6" if ":" in net else "-4"
        rows = self.lab.json("dut", "ip", "-j", family, "route", "show", net)
        return rows[0].get("dev") if rows else None

    def stop(self):
        for bird in self.birds.values():
            bird.stop()
        self.birds = {}
