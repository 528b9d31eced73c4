# SPDX-License-Identifier: BSD-2-Clause
"""A device of the kernel's above two ports of a tortured dut, in the place of one of them: a bond, or a
bridge with addresses. The second port is a veth to the same host."""
from dataclasses import dataclass

OFF = "tx off tso off gso off gro off txvlan off tx-vlan-stag-hw-insert off"


@dataclass(frozen=True)
class Above:
    """Which device, and of which link (tools/lab) it is."""
    name: str
    link: int

    @property
    def first(self):
        """The member that the stream goes by when nothing is the matter."""
        return f"eth{self.link}"

    @property
    def second(self):
        return f"eth{self.link + 2}"

    @property
    def members(self):
        return self.first, self.second

    @property
    def station(self):
        """The host at the other end."""
        return f"02:00:00:00:0{self.link}:02"

    @property
    def is_bond(self):
        return self.name == "bond0"


def make(dut):
    """The second port, the device above both, and on that what tools/lab gave the first."""
    above, link = dut.mode.above, dut.mode.above.link
    host = "gen" if link == 1 else "sink"
    sizes = f"numrxqueues {dut.queue_cnt} numtxqueues {dut.queue_cnt}"
    dut.sh(f"ip link add {above.second} address 02:00:00:00:0{link + 2}:01 {sizes} type veth "
           f"peer name eth2 address 02:00:00:00:0{link + 2}:02 {sizes} netns {dut.lab.netns(host)}")
    for at, dev in ("dut", above.second), (host, "eth2"):
        dut.sh(f"ethtool -K {dev} {OFF} >/dev/null; ip link set {dev} up; ethtool -K {dev} gro on", host=at)
    kind = "bond mode active-backup miimon 20" if above.is_bond else "bridge mcast_snooping 0"
    dut.sh(f"ip address flush dev {above.first} scope global;"
           f"ip link add {above.name} address 02:00:00:00:0{link}:01 type {kind}")
    for dev in above.members:
        join(dut, dev)
    if above.is_bond:
        dut.sh(f"ip link set {above.name} type bond primary {above.first}")
    dut.sh(f"ip link set {above.name} up;"
           f"ip address add 10.0.{link}.1/24 dev {above.name};"
           f"ip address add fd00:{link}::1/64 dev {above.name} nodad")
    dut.restore_network(above.name)
    settle(dut)


def join(dut, dev):
    """It becomes a member again, as it was. What a bridge does not know it sends by one member alone, so that
    nothing arrives twice."""
    above = dut.mode.above
    if above.is_bond:
        dut.sh(f"ip link set {dev} down && ip link set {dev} master {above.name}")
    else:
        dut.sh(f"ip link set {dev} master {above.name}")
        if dev == above.second:
            dut.sh(f"bridge link set dev {dev} flood off")


def leave(dut, dev):
    """A bond gives its member back without having it up."""
    dut.sh(f"ip link set {dev} nomaster; ip link set {dev} up")


def goes_by(dut, dev, vlans=()):
    """The other end's station is behind that member. Where it speaks, the bridge finds it itself again."""
    above = dut.mode.above
    for vlan in ("", *(f"vlan {number}" for number in vlans)):
        dut.sh(f"bridge fdb replace {above.station} dev {dev} master "
               f"{'dynamic' if above.link == 1 else 'static'} {vlan}")


def settle(dut):
    """Waits until the stream goes by the first member again."""
    above = dut.mode.above
    if above.is_bond:
        dut.until(lambda: dut.sh(f"cat /sys/class/net/{above.name}/bonding/active_slave").stdout.strip() ==
                  above.first, f"{above.first} to be active")
        return
    if above.link == 2:
        goes_by(dut, above.first)
    dut.until(lambda: all(dut.sh(f"cat /sys/class/net/{dev}/brport/state").stdout.strip() == "3"
                          for dev in above.members), "the bridge's ports")
