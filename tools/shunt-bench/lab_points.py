# SPDX-License-Identifier: BSD-2-Clause
"""What mem.Memory is for in-memory ports, for ports with frames on them: points of an experiment, each
a shuntd of its own with the emulated task, asked for its counters while traffic goes through."""
import contextlib
import functools
import json
import subprocess
import time

import forwarders
import interrupts
import mem
import places
import stats

PACKETS_MIN = 50  # a point of fewer says nothing and is taken again, twice as long each time
DOUBLINGS = 7
START_S = 15
LEAD_S = 0.25  # traffic before what is measured: rings fill, the polling mode settles


class TooShort(Exception):
    """The traffic ended before the window that was to be measured: something else had its CPU."""


class Points:
    """Measures on a place; the same results as mem.Memory's."""

    def __init__(self, place, cpus, seconds):
        self.place, self.cpus, self.seconds = place, cpus, seconds
        self.in_use = {}

    def point(self, rate=0, cycles=0, list=None, batch=64, latency=False, poll="spin", mode="xconnect",
              seconds=None, copy=None, cpus=None):  # pylint: disable=redefined-builtin
        """A point, once more where the machine was away for so long that a daemon did not answer."""
        del copy  # what the driver does is in in_use
        options = self._options(cycles, list, batch, poll)
        for is_last in (False, True):
            try:
                return self._point(mode, cpus, options, rate, seconds or self.seconds, latency)
            except places.Failed:
                if is_last:
                    raise
        raise AssertionError

    @staticmethod
    def _options(cycles, walk, batch, poll):
        options = ["--poll", poll, "--batch", str(batch), "--lane", "user"]
        if cycles or walk:
            words = [f"cycles={cycles}"] * bool(cycles) + [f"list={walk}"] * bool(walk)
            options += ["--node", "emulate," + ",".join(words)]
        return options

    def _point(self, mode, cpus, options, rate, seconds, latency):
        with forwarders.shuntd(self.place, mode, cpus or self.cpus[:1], *options) as daemon:
            self.in_use = self.in_use or daemon.in_use()
            for _ in range(DOUBLINGS):
                with contextlib.suppress(TooShort):
                    made = self.place.repeats.least_disturbed(
                        functools.partial(self._measure, daemon, rate, seconds, latency))
                    if made["received"] >= PACKETS_MIN:
                        return made
                seconds = max(2 * seconds, LEAD_S)
        raise places.Failed(f"in {seconds / 2:.1f} s shuntd forwarded next to nothing: something else has "
                            f"CPU {self.cpus[0]}; choose others with --cpu")

    def access(self, size, runs, milliseconds):
        """A step's time is the machine's, not the ports'."""
        return mem.Memory(self.cpus, self.seconds).access(size, runs, milliseconds)

    def confess(self, doc):
        """Says in the document what the ports are."""
        if self.in_use and "driver_mode" not in doc.data["ports"]:
            ports = doc.data["ports"]
            ports["driver_mode"] = "/".join(sorted({p["driver_mode"] for p in self.in_use.values()}))
            ports["copy_mode"] = "/".join(sorted({p["copy_mode"] for p in self.in_use.values()}))
        self.place.repeats.confess(doc)

    def _measure(self, daemon, rate, seconds, latency):
        extra = ["--count-only", *(["--latency"] if latency else [])]
        argv = self.place.argv_trial(daemon.dst_mac, rate, seconds + 3 * LEAD_S, options=extra)
        with interrupts.started(
                lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True),
                self._end) as process:
            try:
                first = self._wait_for_traffic(daemon, process)
                before = self._snapshot(daemon, first)
                time.sleep(seconds)  # the window that is measured
                after = self._snapshot(daemon, first)
                if process.poll() is not None:
                    raise TooShort
            except TooShort:
                self._result(argv, process, rate)  # a generator that failed says why
                raise
            return difference(before, after, self._result(argv, process, rate))

    @staticmethod
    def _result(argv, process, rate):
        out, err = process.communicate(timeout=60)
        return places.result_of(subprocess.CompletedProcess(argv, process.returncode, out, err), rate)

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
            process.communicate()

    @staticmethod
    def _wait_for_traffic(daemon, process):
        """The worker's tid once packets come, and LEAD_S later."""
        end = time.monotonic() + START_S
        tid = daemon.show("workers")["workers"][0]["tid"]
        idle = daemon.show("runtime")["total"]["packets"]
        while daemon.show("runtime")["total"]["packets"] < idle + 100:
            if process.poll() is not None:
                raise TooShort
            if time.monotonic() > end:
                raise places.Failed("no frame reached shuntd")
            time.sleep(0.02)
        time.sleep(LEAD_S)
        return tid

    @staticmethod
    def _snapshot(daemon, tid):
        shown = daemon.show("runtime")
        return {"runtime": shown, "cpu": places.thread_seconds(tid)}


def counted(a, b):
    """(c_io, c_task) of a packet as the worker counts them, from two looks at its totals; None of each
    where no turn was sampled."""
    sampled = b["sampled_packets"] - a["sampled_packets"]
    if not sampled:
        return None, None
    stages = {s["name"]: s["sampled_cycles"] - t["sampled_cycles"]
              for s, t in zip(b["stages"], a["stages"])}
    tx = min(b["sampled_tx_cycles"] - a["sampled_tx_cycles"], stages["graph"])
    return ((stages["reclaim"] + stages["rx"] + stages["flush"] + tx) / sampled,
            (stages["graph"] - tx) / sampled)


def difference(before, after, trial):
    """A point from two looks at `show runtime`, and the trial around them."""
    one, two = before["runtime"], after["runtime"]
    a, b = one["total"], two["total"]
    seconds = (two["time_ns"] - one["time_ns"]) / 1e9
    delta = {k: b[k] - a[k] for k in b if isinstance(b[k], int) and not isinstance(b[k], bool)}
    c_io, c_task = counted(a, b)
    sizes = {s["packets"]: s["receives"] for s in a["batch"]["sizes"]}
    batches = [[s["packets"], s["receives"] - sizes.get(s["packets"], 0)]
               for s in b["batch"]["sizes"]]
    packets = max(delta["packets"], 1)
    return {"cycles_hz": two["cycles_hz"], "seconds": seconds, "received": delta["packets"],
            "sent": trial["received"], "arrived": trial["sent"],
            "lost": max(0, trial["sent"] - trial["received"]), "pps": delta["packets"] / seconds,
            "offered_pps": trial["offered_pps"], "turns": delta["turns"],
            "empty_turns": delta["empty_turns"], "busy_cycles": delta["busy_cycles"],
            "c_io": c_io, "c_task": c_task, "c_busy": delta["busy_cycles"] / packets,
            "batches": [x for x in batches if x[1] > 0],
            "batch_mean": stats.mean_batch([x for x in batches if x[1] > 0]),
            "cpu_share": min(1.0, (after["cpu"] - before["cpu"]) / seconds),
            "latency_ns": named(trial["latency_ns"])}


def named(latency):
    """Generator's latency under the names of mem's."""
    return json.loads(json.dumps(latency)) if latency else None
