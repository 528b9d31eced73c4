# SPDX-License-Identifier: BSD-2-Clause
"""A guest's lab as a router with a filter, masquerade and a flowtable, and the life of shuntd on it, stage by
stage: what a case has open across the router is to outlive each.

    lab = guest.lab()
    stages.masquerade(lab)
    for stage in stages.of_life(lab):
        ..."""
import time

from shuntlab import guest
from shuntlab.lab import OTHER, wait_until
from shuntlab.talk import PATIENCE_S

FEW = 300  # packets
DEAF_S = 3
RULES = """
flush ruleset
table inet fw {
	flowtable ft { hook ingress priority filter; devices = { eth1, eth2 }; }
	chain forward {
		type filter hook forward priority filter; policy drop
		meta l4proto { tcp, udp } flow add @ft
		ct state established,related accept
		iifname eth1 accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
	}
	chain post { type nat hook postrouting priority srcnat; oifname eth2 masquerade; }
}
"""


def masquerade(lab):
    lab.sh("dut", f"for dev in all eth1 eth2; do sysctl -qw net.ipv4.conf.$dev.rp_filter=0; done\n"
           f"nft -f - <<'END'\n{RULES}\nEND\nconntrack -F 2>/dev/null; true")


def until_fast(daemon):
    """Most of what comes is, of some hundred packets: SYN, FIN and what is new are the kernel's."""
    def counts():
        return [daemon.packets(lane) for lane in ("user", "xdp", "kernel")]

    before = counts()

    def carries():
        user, xdp, kernel = (now - old for now, old in zip(counts(), before))
        if user + xdp + kernel < FEW:
            return False
        before[:] = counts()
        return user + xdp > kernel
    wait_until(carries, PATIENCE_S, "the connections to be shunt's")


def _heard(lab):
    """Frames that each port has received."""
    return [int(lab.sh("dut", f"cat /sys/class/net/{port}/statistics/rx_packets")) for port in guest.PORTS]


def hear_again(lab):
    """What shunt(7), LIMITS, has an operator of an igb do after a kill, if a port hears nothing any more."""
    before = _heard(lab)
    time.sleep(DEAF_S)
    for port, old, new in zip(guest.PORTS, before, _heard(lab)):
        if old == new and lab.sh("dut", f"ethtool -i {port}").startswith("driver: igb"):
            print(f"{port} hears nothing since the kill: ethtool -r {port}", flush=True)
            lab.sh("dut", f"ethtool -r {port}")


def of_life(lab):
    """Yields each stage's name, while it lasts; shuntd has the packets of what is open where it runs."""
    yield "the kernel alone"
    for lane in "user", "xdp":
        def shuntd(*more, lane=lane, **which):
            return guest.Shuntd(lab, "route", *guest.PORTS, "--lane", lane, *more, **which)

        with shuntd() as first:
            until_fast(first)
            yield f"lane {lane}, started"
        yield f"lane {lane}, stopped"
        with shuntd() as first:
            until_fast(first)
            first.kill()
            first.process.wait(PATIENCE_S)
            hear_again(lab)
            yield f"lane {lane}, killed"
        with shuntd(program=OTHER) as first:
            until_fast(first)
            with shuntd("--takeover") as second:
                first.process.wait(PATIENCE_S)
                until_fast(second)
                yield f"lane {lane}, upgraded"
