# SPDX-License-Identifier: BSD-2-Clause
"""What forwards between dut's two devices: each a context manager that starts it, yields where frames
are to be sent to and what it says of itself, and leaves dut as it was."""
import contextlib
import json
import os

import paths
from places import Failed, running


class Forwarder:
    """name, what the report calls it; start(place) the context manager; is_main: looked at closer in a
    short run too."""

    def __init__(self, name, start, is_main=False):
        self.name, self.start, self.is_main = name, start, is_main


@contextlib.contextmanager
def threaded(place, cpu):
    place.threaded(cpu)
    try:
        yield
    finally:
        place.threaded(None)


@contextlib.contextmanager
def ip_forward(place, cpu):
    with threaded(place, cpu):
        yield {"dst_mac": place.dut_macs[0], "in_use": {}}


@contextlib.contextmanager
def bridge(place, cpu):
    """The kernel's bridge under both devices; in a lab it takes dut's address over, as one does."""
    one, two = place.devices
    place.dut_run("sh", "-ec", f"""
        ip link add shunt-br0 address {place.dut_macs[0]} type bridge mcast_snooping 0
        ip link set shunt-br0 up
        ip link set {one} master shunt-br0; ip link set {two} master shunt-br0
        bridge fdb replace {place.sink_mac} dev {two} master static
        bridge fdb replace {place.gen_mac} dev {one} master static""")
    try:
        with threaded(place, cpu):
            yield {"dst_mac": place.sink_mac, "in_use": {}}
    finally:
        place.dut_run("sh", "-c", f"ip link set {one} nomaster; ip link set {two} nomaster; "
                      "ip link del shunt-br0")


@contextlib.contextmanager
def devmap(place, cpu):
    """A bare XDP redirect from one device to the other: the cheapest that the kernel can do."""
    with threaded(place, cpu):
        with running(place.dut(paths.program("shunt-devmap"), *place.devices), "redirecting",
                     "stdout"):
            yield {"dst_mac": place.sink_mac, "in_use": {}}


class Daemon:
    """A running shuntd and its control socket."""

    def __init__(self, place, path, mode):
        self.place, self.path = place, path
        self.dst_mac = place.sink_mac if mode in ("xconnect", "macrewrite", "bridge") else place.dut_macs[0]

    def show(self, what):
        return json.loads(self.place.dut_run(paths.program("shuntctl"), "-j", "-s", self.path, "show",
                                             what))

    def in_use(self):
        """{port: modes in use}, as the kernel confirmed them."""
        return {p["name"]: p["in_use"] for p in self.show("ports")["ports"]}


@contextlib.contextmanager
def shuntd(place, mode, cpus, *options):
    path = f"/run/shunt-bench-{os.getpid()}.sock"
    ports = list(place.devices)
    if mode in ("macrewrite", "static3"):
        ports = [f"{dev},next_hop={mac}" for dev, mac in zip(ports, (place.gen_mac, place.sink_mac))]
    argv = [paths.program("shuntd"), mode, *ports, "--control", path,
            "--cpu", ",".join(map(str, cpus)), *options]
    with running(place.dut(*argv), "forwarding on"):
        yield Daemon(place, path, mode)


@contextlib.contextmanager
def shunt(place, mode, cpus, *options):
    with shuntd(place, mode, cpus, *options) as daemon:
        yield {"dst_mac": daemon.dst_mac, "in_use": daemon.in_use(), "daemon": daemon}


def kernel_ones(cpus, is_lab):
    """Linux itself: where the packet arrives, and with its receiving thread on the forwarder's CPU,
    which is the fair comparison with a poller there."""
    starts = (("kernel bridge", bridge), ("kernel ip_forward", ip_forward), ("XDP redirect", devmap))
    made = [Forwarder(name, lambda place, s=start: s(place, None), not is_lab)
            for name, start in starts]
    if is_lab:
        made += [Forwarder(f"{name} threaded", lambda place, s=start: s(place, cpus[0]), True)
                 for name, start in starts]
    return made


def named(made, words, also=()):
    """Those with one of these words in their names, or all. A word that is in none of the names, nor in
    those of what was left out (also), is refused."""
    known = [*(one.name for one in made), *also]
    for word in words:
        if not any(word in name for name in known):
            raise Failed(f"--only: no forwarder has '{word}' in its name, only: "
                         f"{', '.join(one.name for one in made)}")
    return [one for one in made if not words or any(word in one.name for word in words)]


@contextlib.contextmanager
def lane(place, mode, name, cpus, receiver):
    """shunt in a lane whose frames no worker sees: the receiving NAPI forwards, on that CPU."""
    with threaded(place, receiver), shunt(place, mode, cpus, "--lane", name) as started:
        yield started


def shunt_ones(cpus, batch, is_lab):
    """shunt in each lane and mode; in the kernel's lanes where the packet arrives, and threaded, as the
    kernel itself."""
    made = []
    for mode, poll in (("xconnect", "spin"), ("xconnect", "adaptive"), ("xconnect", "busy"),
                       ("route", "spin"), ("bridge", "spin")):
        made.append(Forwarder(f"shunt {mode} user {poll}",
                              lambda place, m=mode, p=poll: shunt(
                                  place, m, cpus[:1], "--poll", p, "--batch", str(batch), "--lane",
                                  "user"),
                              poll == "spin" and mode != "bridge"))
    for mode, name in (("xconnect", "xdp"), ("route", "xdp"), ("route", "auto"), ("route", "kernel")):
        for suffix, receiver in (("", None), (" threaded", cpus[0]))[:1 + is_lab]:
            made.append(Forwarder(f"shunt {mode} lane {name}{suffix}",
                                  lambda place, m=mode, n=name, r=receiver: lane(
                                      place, m, n, cpus[:1], r), name == "xdp" and not suffix))
    return made
