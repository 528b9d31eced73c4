# SPDX-License-Identifier: BSD-2-Clause
"""Measured in the guest itself: what mem.Memory is for in-memory ports. The guest has one processor and
its clock counts instructions (shuntlab/rig.py), so what a packet costs is the busy instructions of
the whole guest by packets, less those of generator and sink where nobody forwards: driver, receive,
forwarding and transmit, the same from run to run.

Frames come in bursts, with rests between: batches are full and nobody waits. Nothing is saturated, for
generator and sink would be in it; what a processor that did nothing else would forward is its clock by
a packet's instructions."""
import contextlib
import json
import os
import tempfile

import lab_points
import paths
import places
from forwarders import Forwarder
from shuntlab import guest, rig, rig_forwarders

HZ = 1e9  # a tick of the guest's clock, 1 ns of it, is an instruction


class Points:
    """Measures in the guest; of mem.Memory's results those that follow from instructions."""

    def __init__(self, place):
        os.environ["SHUNT_LAB"] = place.name
        self.lab = guest.lab()
        rig.set_rings(self.lab)
        self.idler = rig.Idler()
        self._alone, self._sink_host = {}, None
        self._sink, self._counter = contextlib.ExitStack(), None
        self.complaints = []

    def close(self):
        self._sink.close()
        self.idler.stop()

    def _arriving(self, host):
        """Counts at that host. The sink stays there until it is wanted elsewhere: to load its program
        takes emulation seconds."""
        if host != self._sink_host:
            self._sink.close()
            self._sink_host = None
            self._counter = self._sink.enter_context(rig.sink(self.lab, host))
            self._sink_host = host
        return self._counter

    def _look(self, host, one, load, look):
        """What look(Rig) returns while somebody forwards the load."""
        made = None
        try:
            on = rig.Rig(self.lab, self.idler, self._arriving(host), load)
            with on.running(one.mac, one.start):
                made = look(on)
        except AssertionError as error:
            said = " ".join(str(error).split()) or "it could not be started"
            if made is None:
                raise places.Failed(said) from error
            # it was measured; what shuntd says at its end is worth knowing all the same
            self.complaints.append(f"{one.name}: {said}")
        return made

    def alone(self, size=60, flows=1):
        """Instructions of generator and sink by packet."""
        if (size, flows) not in self._alone:
            nobody = GuestForwarder("nobody", rig_forwarders.nobody, guest.DUT)
            load = rig.Load(size, flows=flows)
            self._alone[size, flows] = self._look("dut", nobody, load, rig.Rig.busy)[0]
        return self._alone[size, flows]

    def set_queues(self, count):
        """Of dut's devices."""
        for dev in guest.PORTS:
            self.lab.exec("dut", "ethtool", "-L", dev, "combined", str(count))
        self.lab.carriers()

    def by_queue(self, one, flows):
        """Instructions that a forwarder with a worker for each queue takes for a packet of so many flows, and
        the frames that each queue had meanwhile."""
        def look(on):
            before = frames_of(on.daemon)
            busy, _ = on.busy()
            return busy, [b - a for a, b in zip(before, frames_of(on.daemon))]
        alone = self.alone(flows=flows)
        busy, frames = self._look("sink", one, rig.Load(flows=flows), look)
        return busy - alone, frames

    def cost(self, one, size=60):
        """Instructions that a forwarder (guest_forwarders()) takes for a packet, and what its worker
        says: itself, packets of a turn, kicks."""
        alone = self.alone(size)
        busy, said = self._look("sink", one, rig.Load(size), rig.Rig.busy)
        return busy - alone, said

    def point(self, cycles=0, batch=64, mode="xconnect", **_):
        """A worker with a task of so many instructions: what a packet costs with it (cost), what it
        counts of that itself (c_io, c_task), and what follows (pps)."""
        def look(on):
            before = on.daemon.show("runtime")["total"]
            busy, _ = on.busy()
            return busy, lab_points.counted(before, on.daemon.show("runtime")["total"])
        alone = self.alone()
        busy, (c_io, c_task) = self._look("sink", worker(mode, batch, cycles),
                                          rig.Load(task=cycles), look)
        return {"cycles_hz": HZ, "cost": busy - alone, "pps": HZ / (busy - alone), "c_io": c_io,
                "c_task": c_task}

    def confess(self, doc):
        """Says in the document what these figures are."""
        ports = doc.data["ports"]
        ports.setdefault("driver_mode", "native")
        for said in self.complaints:
            doc.note(f"shuntd ended with an error ({said}).")
        doc.note("Cycles are instructions here: the guest's clock ticks once for each, on its one "
                 "processor. Driver and kernel are in, generator and sink are not. What waits for "
                 "memory costs nothing more, and the processor emulated has no AVX-512.")


def note_computed(doc):
    """Of documents that show throughput."""
    doc.note("Throughput is computed from a packet's instructions. It was not measured: the guest's one "
             "processor is generator and sink too, and is never saturated here.")


def frames_of(daemon):
    """Frames received by queue of the first port."""
    return [queue["rx_packets"] for queue in daemon.show("ports")["ports"][0]["queues"]]


# --- forwarders -------------------------------------------------------------------------------------

class GuestForwarder(Forwarder):
    """start(lab) the context manager, of rig.py's kind; mac: where frames are sent to."""

    def __init__(self, name, start, mac):
        super().__init__(name, start)
        self.mac = mac


def worker(mode, batch=64, cycles=0, copy_mode="zerocopy"):
    """shunt's lane user."""
    ports = guest.STATIC3 if mode in ("macrewrite", "static3") else guest.PORTS
    argv = [mode, *ports, "--lane", "user", "--copy-mode", copy_mode, "--batch", str(batch), "--poll",
            "interrupt", *(["--require", "zerocopy"] if copy_mode == "zerocopy" else []),
            *(["--node", f"emulate,cycles={cycles}"] if cycles else [])]
    to_dut = mode in ("static3", "route")
    return GuestForwarder(f"shunt {mode} user {copy_mode}", rig_forwarders.shunt(*argv),
                          guest.DUT if to_dut else guest.SINK)


def workers(count, batch):
    """shunt's lane user, so many workers on the one processor, which none is pinned to."""
    @contextlib.contextmanager
    def start(lab):
        zerocopy = {"copy_mode": "zerocopy", "require_zerocopy": True}
        config = {"ports": [{"name": name, **zerocopy} for name in guest.PORTS],
                  "forward": [{"mode": "xconnect", "lane": "user", "ports": guest.PORTS}],
                  "workers": {"count": count}, "poll": "interrupt", "batch": batch}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(config, file)
            file.flush()
            with rig_forwarders.shunt("-c", file.name)(lab) as daemon:
                yield daemon
    return GuestForwarder(f"shunt xconnect user zerocopy, {count} workers", start, guest.SINK)


@contextlib.contextmanager
def devmap(lab):
    """A bare XDP redirect."""
    running = lab.popen("dut", paths.program("shunt-devmap"), *guest.PORTS)
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
    made = [GuestForwarder("kernel ip_forward", rig_forwarders.nobody, guest.DUT),
            GuestForwarder("kernel bridge", rig_forwarders.bridge, guest.SINK),
            GuestForwarder("XDP redirect", devmap, guest.SINK),
            worker("xconnect", batch, copy_mode="copy"), worker("static3", batch, copy_mode="copy")]
    made += [worker(mode, batch) for mode in ("xconnect", "static3", "route", "bridge")]
    for mode, mac in (("xconnect", guest.SINK), ("route", guest.DUT)):
        made.append(GuestForwarder(f"shunt {mode} lane xdp",
                                   rig_forwarders.shunt(mode, *guest.PORTS, "--lane", "xdp"), mac))
    return made
