# SPDX-License-Identifier: BSD-2-Clause
"""Forwarders of a guest's lab, to be measured on a Rig (rig.py). Each is called with the lab and is a
context: the daemon, or None."""
import contextlib
import os
import signal

from shuntlab import guest
from shuntlab.frames import DUT2, GEN
from shuntlab.rig import WAIT_S


class LeftOutError(Exception):
    """This forwarder cannot be had here."""


@contextlib.contextmanager
def nobody(_):
    yield None


def shunt(*args):
    @contextlib.contextmanager
    def forwarder(lab):
        daemon = guest.Shuntd(lab, *args)
        try:
            yield daemon
        finally:
            daemon.stop()
    return forwarder


VLAN_IN, VLAN_OUT = 10, 20


def bridged(forwarder, has_vlans=False):
    """A forwarder of a bridge's two ports; has_vlans: it keeps VLANs apart, and frames are tagged."""
    vlans = f"""
        ip link set br0 type bridge vlan_filtering 1
        bridge vlan add dev eth1 vid {VLAN_IN}; bridge vlan add dev eth2 vid {VLAN_IN}""" if has_vlans else ""
    of_vlan = f"vlan {VLAN_IN}" if has_vlans else ""

    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", f"""
            set -e
            ip link add br0 type bridge mcast_snooping 0; ip link set br0 up
            ip link set eth1 master br0; ip link set eth2 master br0{vlans}
            bridge fdb replace {guest.SINK} dev eth2 master static {of_vlan}
            bridge fdb replace {GEN} dev eth1 master static {of_vlan}""")
        lab.carriers()
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "ip link del br0")
    return between


def to_vlan(forwarder):
    """A forwarder whose frames leave by a VLAN device of eth2."""
    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", f"""
            modprobe 8021q
            ip link add link eth2 name wan type vlan id {VLAN_OUT}; ip link set wan up
            ip address add 10.9.2.1/24 dev wan
            ip neigh replace 10.9.2.2 lladdr {guest.SINK} dev wan nud permanent
            ip route add 198.19.0.0/24 via 10.9.2.2""")
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "ip link del wan")
    return between


def tagged(forwarder):
    """A forwarder whose frames come in by a VLAN device of eth1 and leave by one of eth2."""
    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", f"""
            modprobe 8021q
            ip link add link eth1 name vin type vlan id {VLAN_IN}; ip link set vin up
            ip address add 10.9.1.1/24 dev vin""")
        try:
            with to_vlan(forwarder)(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "ip link del vin")
    return between


def behind_bridge(forwarder):
    """A forwarder whose frames come in by the bridge br0, of which eth1 is a port. Another one would be a
    veth, beside which workers have no zero-copy."""
    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", f"""
            set -e
            ip address flush dev eth1
            ip link add br0 address {guest.DUT} type bridge
            ip link set eth1 master br0
            ip link set br0 up
            ip address add 10.0.1.1/24 dev br0
            ip neigh replace 10.0.1.2 lladdr {GEN} dev br0 nud permanent
            ip route replace 198.18.0.0/16 via 10.0.1.2""")
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", f"""
                ip link del br0
                ip address add 10.0.1.1/24 dev eth1
                ip neigh replace 10.0.1.2 lladdr {GEN} dev eth1 nud permanent
                ip route replace 198.18.0.0/16 via 10.0.1.2""")
    return between


def in_vrf(forwarder):
    """A forwarder whose ports are in a VRF. They may be without addresses before."""
    furnish = f"""ip neigh replace 10.0.2.2 lladdr {guest.SINK} dev eth2 nud permanent
        ip address replace 10.0.1.1/24 dev eth1; ip address replace 10.0.2.1/24 dev eth2"""

    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", """
            set -e
            modprobe vrf
            ip link add red type vrf table 1001; ip link set red up
            ip link set eth1 master red; ip link set eth2 master red""")
        lab.carriers()
        lab.sh("dut", f"{furnish}; ip route replace 198.19.0.0/16 via 10.0.2.2 table 1001")
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "ip link set eth1 nomaster; ip link set eth2 nomaster; ip link del red")
            lab.carriers()
            lab.sh("dut", f"{furnish}; ip route replace 198.19.0.0/16 via 10.0.2.2")
    return between


def bonded(forwarder, mode):
    """A forwarder whose frames come in by the bond `bin` over eth1 and leave by `bout` over eth2; in mode
    balance-xor another member, too, which none of a Load's frames takes by policy layer2. The ports' own
    addresses are gone then."""
    is_first = (int(guest.SINK[-2:], 16) ^ int(DUT2[-2:], 16)) % 2 == 0
    members = "eth2 other" if is_first else "other eth2"
    if mode == "active-backup":
        members = "eth2"

    @contextlib.contextmanager
    def between(lab):
        lab.sh("dut", f"""
            set -e
            modprobe bonding max_bonds=0
            ip link add other type veth peer name far; ip link set far up
            ip link add bin type bond mode active-backup miimon 100
            ip link add bout type bond mode {mode} miimon 100
            ip link set bin address {guest.DUT}; ip link set bout address {DUT2}
            for dev in eth1 {members}; do
                ip link set $dev down; ip address flush dev $dev
                [ $dev = eth1 ] && ip link set eth1 master bin || ip link set $dev master bout
            done
            ip link set bin up; ip link set bout up
            ip address add 10.9.1.1/24 dev bin; ip address add 10.9.2.1/24 dev bout
            ip neigh replace 10.9.1.2 lladdr {GEN} dev bin nud permanent
            ip neigh replace 10.9.2.2 lladdr {guest.SINK} dev bout nud permanent
            ip route add 198.18.0.0/16 via 10.9.1.2; ip route add 198.19.0.0/16 via 10.9.2.2""")
        lab.carriers()
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "ip link del bin; ip link del bout; ip link del other; ip link set eth1 up; "
                   "ip link set eth2 up")
    return between


@contextlib.contextmanager
def running_beside(lab, sign, *command):
    """A program that captures what is forwarded, once it has said so. What it says at its end is shown: a
    record that was lost is a cheap one."""
    process = lab.popen("dut", *command)
    line = process.stderr.readline()
    while sign not in line:
        assert line, f"{command} ended with {process.wait(WAIT_S)}"
        line = process.stderr.readline()
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        said = "".join(process.communicate(timeout=WAIT_S)).split("\n")
    print(f"    {command[0]}:", ", ".join(line.strip() for line in said if line), flush=True)


def captured(words, *args, is_stopped=True):
    """shunt(*args) while somebody captures with these words. is_stopped: while that is measured, who reads
    is stopped; its ring holds what comes meanwhile."""
    @contextlib.contextmanager
    def forwarder(lab):
        with shunt(*args)(lab) as daemon, running_beside(
                lab, "capturing", "shuntctl", "-s", daemon.control, "capture", "-w", "/dev/null", "-B", "64",
                *words) as reader:
            daemon.reader = reader if is_stopped else None
            yield daemon
    return forwarder


def dumped(*args):
    """shunt(*args) while xdpdump captures what its program gets and what it returns."""
    @contextlib.contextmanager
    def forwarder(lab):
        with shunt(*args)(lab) as daemon, running_beside(
                lab, "listening on", "xdpdump", "-i", "eth1", "--rx-capture", "entry,exit", "-s", "128",
                "-w", "/dev/null"):
            yield daemon
    return forwarder


@contextlib.contextmanager
def xdp_forward(lab):
    """xdp-tools' forwarder by the flowtable, with the libraries of its own release."""
    root = os.environ.get("XDP_TOOLS")
    if not root:
        raise LeftOutError("Debian's xdp-tools could not be fetched")
    libraries = f"{root}/usr/lib/x86_64-linux-gnu"
    command = ("env", f"LIBXDP_OBJECT_PATH={libraries}/bpf", f"{libraries}/ld-linux-x86-64.so.2",
               "--library-path", libraries, f"{root}/usr/sbin/xdp-forward")
    if lab.exec("dut", *command, "load", "-f", "flowtable", *guest.PORTS, check=False).returncode:
        raise LeftOutError(f"xdp-forward does not load on Linux {os.uname().release}")
    lab.carriers()
    try:
        yield None
    finally:
        lab.exec("dut", *command, "unload", *guest.PORTS)


# A firewall of a hundred rules, which the frames of a Load pass one by one; with a flowtable only the first
# ones of a connection do.
RULES = """
table inet fw {{
	{flowtable}
	chain forward {{
		type filter hook forward priority filter; policy drop;
		{add}
		{drops}
		ct state established accept
		udp dport 9 accept
		tcp dport 9 accept
	}}
	{nat}
}}
"""
FLOWTABLE = "flowtable ft { hook ingress priority filter; devices = { eth1, eth2 }; }"
NAT = "chain post {{ type nat hook postrouting priority srcnat; oifname {out} masquerade; }}"


def ruled(forwarder, has_flowtable=True, has_nat=False, out="eth2"):
    """The forwarder under a firewall. out: the device of what is translated."""
    rules = RULES.format(flowtable=FLOWTABLE if has_flowtable else "",
                         add="meta l4proto { tcp, udp } flow add @ft" if has_flowtable else "",
                         drops="\n".join(f"ip saddr 203.0.113.{n} drop" for n in range(96)),
                         nat=NAT.format(out=out) if has_nat else "")

    @contextlib.contextmanager
    def made(lab):
        # a connection of before would not be translated
        lab.sh("dut", f"nft -f - <<'END'\n{rules}END\nconntrack -F")
        try:
            with forwarder(lab) as daemon:
                yield daemon
        finally:
            lab.sh("dut", "nft flush ruleset")
    return made
