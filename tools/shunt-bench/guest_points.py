# SPDX-License-Identifier: BSD-2-Clause
"""Measured in the guest itself: what mem.Memory is for in-memory ports. The guest has one processor and
its clock counts instructions (tests/vm/bench.py), so what a packet costs is the busy instructions of
the whole guest by packets, less those of generator and sink where nobody forwards: driver, receive,
forwarding and transmit, the same from run to run.

At a rate of 0 the frames come in bursts, with rests between: batches are full and nobody waits. What
a processor that did nothing else would forward then follows. At a rate, the forwarder has what
generator and sink leave of the clock (beside()), and throughput falls when that is used up."""
import contextlib
import os
import sys

import lab_points
import paths
import places
from forwarders import Forwarder

HZ = 1e9  # a tick of the guest's clock, 1 ns of it, is an instruction
ROOM = 2.0  # at a rate to be chosen, the task may take so many times what a packet costs without one
RATE_BURST = 64  # frames at once where a rate is asked for
SETTLE_BURSTS = 20


def bench():
    """tests/vm/bench.py, which has generator, sink and the counting of idle instructions."""
    folder = os.path.join(paths.TOP, "tests", "vm")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import bench as module  # pylint: disable=import-outside-toplevel,import-error
    return module


class Points:
    """Measures in the guest; the same results as mem.Memory's, instructions for cycles."""

    def __init__(self, place, seconds):
        os.environ["SHUNT_LAB"] = place.name
        self.bench = bench()
        self.lab, self.seconds = self.bench.vm.lab(), seconds
        self.idler = self.bench.Idler()
        self._alone = {}
        self.complaints = []

    def close(self):
        self.idler.stop()

    # --- generator and sink alone ---------------------------------------------------------------

    def alone(self, size=60, burst=None):
        """Instructions of generator and sink by packet."""
        burst = burst or self.bench.BURST
        if (size, burst) not in self._alone:
            self._alone[size, burst] = self._busy("dut", self.bench.vm.DUT, self.bench.nobody, size,
                                                  burst)[0]
        return self._alone[size, burst]

    def rate_for(self, cost):
        """Packets a second at which the knee of a sweep of tasks lies well within it."""
        return HZ / (self.alone(burst=RATE_BURST) + ROOM * cost)

    def beside(self, rate):
        """What generator and sink leave of the clock at that rate."""
        return HZ - rate * self.alone(burst=RATE_BURST)

    # --- costs ------------------------------------------------------------------------------------

    def _busy(self, host, mac, forwarder, size, burst):
        """(instructions of the whole guest by packet, what the worker says or None) in bursts with
        rests."""
        every_ns = self.bench.BURST_EVERY_NS * burst // self.bench.BURST
        with self.bench.sink(self.lab, host) as counter, forwarder(self.lab) as daemon:
            rig = self.bench.Rig(self.idler, counter, daemon)
            first = counter.read()
            with self.bench.generator(self.lab, mac, burst, every_ns, size), self.idler:
                self.bench.wait_for(counter, first + SETTLE_BURSTS * burst)
                return rig.busy()

    def cost(self, one, size=60):
        """Instructions that a forwarder (guest_forwarders()) takes for a packet, and what its worker
        says: itself, packets of a turn, kicks."""
        busy, said = self._busy("sink", one.mac, one.start, size, self.bench.BURST)
        return busy - self.alone(size), said

    def point(self, rate=0, cycles=0, list=None, batch=64, mode="xconnect", copy=None, cpus=None,
              poll="interrupt", **_):  # pylint: disable=redefined-builtin
        del copy  # what the driver does is what was asked for
        one, made = worker(mode, batch, cycles, poll=poll, walk=list, cpus=cpus), None
        every_ns = self.bench.BURST_EVERY_NS
        burst = self.bench.BURST
        if rate:
            burst = RATE_BURST
            every_ns = int(burst * HZ / rate)
        elif cycles:  # the dearer, the rarer: nobody waits
            every_ns += int(burst * cycles * 1.2)
        try:
            with self.bench.sink(self.lab, "sink") as counter, one.start(self.lab) as daemon:
                first = counter.read()
                with self.bench.generator(self.lab, one.mac, burst, every_ns, 60), self.idler:
                    self.bench.wait_for(counter, first + SETTLE_BURSTS * burst)
                    made = self._look(counter, daemon, rate, burst)
        except AssertionError as error:
            said = " ".join(str(error).split())
            if not made:
                raise places.Failed(said) from error
            # it was measured; what shuntd says at its end is worth knowing all the same
            self.complaints.append(f"task of {cycles} cycles, batch {batch}: {said}")
        if not rate:
            made["pps"] = HZ / (made["busy"] - self.alone(burst=burst))
            made["c_busy"] = 0.0
        return made

    def _look(self, counter, daemon, rate, burst):
        """A window of so many frames: what grew."""
        one = self._snapshot(counter, daemon)
        self.bench.wait_for(counter, one["frames"] + self.bench.FRAMES)
        two = self._snapshot(counter, daemon)
        took, idle = two["ns"] - one["ns"], two["idle"] - one["idle"]
        arrived = two["frames"] - one["frames"]
        sent = round(took * rate / HZ) if rate else arrived
        made = lab_points.difference(one, two, {
            "received": arrived, "sent": max(sent, arrived), "offered_pps": rate, "latency_ns": None})
        made.update({"cycles_hz": self.beside(rate) if rate else HZ, "cpu_share": 1.0,
                     "pps": HZ * arrived / took, "busy": (took - idle) / arrived,
                     "c_busy": idle / arrived, "burst": burst})
        return made

    def _snapshot(self, counter, daemon):
        shown = daemon.ctl("show", "runtime")
        return {"runtime": shown, "cpu": 0.0, "frames": counter.read(), "ns": self.bench.now_ns(),
                "idle": self.idler.read()}

    def confess(self, doc):
        """Says in the document what these figures are."""
        ports = doc.data["ports"]
        ports.setdefault("driver_mode", "native")
        for said in self.complaints:
            doc.note(f"shuntd ended with an error ({said}).")
        doc.note("Cycles are instructions here: the guest's clock ticks once for each, on its one "
                 "processor. Driver and kernel are in, generator and sink are not. What waits for "
                 "memory costs nothing more, and the processor emulated has no AVX-512.")


# --- forwarders -------------------------------------------------------------------------------------

class GuestForwarder(Forwarder):
    """start(lab) the context manager, of tests/vm/bench.py's kind; mac: where frames are sent to."""

    def __init__(self, name, start, mac):
        super().__init__(name, start)
        self.mac = mac


def worker(mode, batch=64, cycles=0, copy_mode="zerocopy", poll="interrupt", walk=None, cpus=None):
    """shunt's lane user."""
    vm = bench().vm
    words = [f"cycles={cycles}"] * bool(cycles) + [f"list={walk}"] * bool(walk)
    ports = vm.STATIC3 if mode in ("macrewrite", "static3") else vm.PORTS
    argv = [mode, *ports, "--lane", "user", "--copy-mode", copy_mode, "--batch", str(batch), "--poll",
            poll, *(["--require", "zerocopy"] if copy_mode == "zerocopy" else []),
            *(["--node", "emulate," + ",".join(words)] if words else []),
            *(["--cpu", ",".join(map(str, cpus)), "--queues", str(len(cpus))] if cpus else [])]
    to_dut = mode in ("static3", "route")
    return GuestForwarder(f"shunt {mode} user {copy_mode}", bench().shunt(*argv),
                          vm.DUT if to_dut else vm.SINK)


@contextlib.contextmanager
def devmap(lab):
    """A bare XDP redirect."""
    running = lab.popen("dut", paths.program("shunt-devmap"), *bench().vm.PORTS)
    line = running.stdout.readline()
    assert "redirecting" in line, line + running.stderr.read()
    lab.carriers()
    try:
        yield None
    finally:
        running.terminate()
        running.communicate(timeout=60)


def guest_forwarders(batch):
    """Linux itself and shunt in each lane, cheapest way of each last."""
    vm, shunt = bench().vm, bench().shunt
    made = [GuestForwarder("kernel ip_forward", bench().nobody, vm.DUT),
            GuestForwarder("kernel bridge", bench().bridge, vm.SINK),
            GuestForwarder("XDP redirect", devmap, vm.SINK),
            worker("xconnect", batch, copy_mode="copy"), worker("static3", batch, copy_mode="copy")]
    made += [worker(mode, batch) for mode in ("xconnect", "static3", "route", "bridge")]
    for mode, mac in (("xconnect", vm.SINK), ("route", vm.DUT)):
        made.append(GuestForwarder(f"shunt {mode} lane xdp",
                                   shunt(mode, *vm.PORTS, "--lane", "xdp"), mac))
    return made
