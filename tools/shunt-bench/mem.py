# SPDX-License-Identifier: BSD-2-Clause
"""In-memory ports: one worker, as in shuntd, fed at a rate from memory; shunt's own cost, without
a driver's. Every measurement is a process of its own, shunt-membench."""
import json
import subprocess

import paths
import stats

# A run in which the worker had its CPU for less than this share is measured again, AGAIN times at most,
# and PATIENCE times in an experiment.
CPU_SHARE_MIN = 0.98
AGAIN = 3
PATIENCE = 20
# A run that forwarded fewer packets, because its worker did not run, says nothing: it is taken again,
# twice as long each time.
PACKETS_MIN = 1000
DOUBLINGS = 6
PORTS = {"kind": "mem", "names": ["in", "out"], "driver_mode": "none", "copy_mode": "none"}


class Failed(Exception):
    """A measurement that did not come about, in one sentence."""


def call(*argv, cpu=None):
    """shunt-membench's answer; on that CPU, if it starts no thread of its own there."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    done = subprocess.run([*pin, paths.program("shunt-membench"), *argv], capture_output=True,
                          text=True, timeout=120, check=False)
    if done.returncode:
        raise Failed(done.stderr.strip() or f"shunt-membench ended with {done.returncode}")
    return json.loads(done.stdout)


def merged(result):
    """The workers' results as one: rates added, costs averaged over packets."""
    workers = result["workers"]
    packets = sum(w["received"] for w in workers) or 1
    one = dict(workers[0], cycles_hz=result["cycles_hz"], workers=workers)
    for key in ("arrived", "lost", "received", "sent", "pps"):
        one[key] = sum(w[key] for w in workers)
    for key in ("c_io", "c_task", "c_busy"):
        if all(w[key] is not None for w in workers):
            one[key] = sum(w[key] * w["received"] for w in workers) / packets
    one["cpu_share"] = min(w["cpu_share"] for w in workers)
    one["batch_mean"] = stats.mean_batch([b for w in workers for b in w["batches"]])
    return one


class Memory:
    """Measures points, and counts those that something else on the machine disturbed."""

    def __init__(self, cpus, seconds):
        self.cpus, self.seconds = cpus, seconds
        self.disturbed = self.points = self.again = 0

    def point(self, cpus=None, **options):
        """One measurement, the best of so many (again) while it is disturbed; options as of `shunt-membench
        point`, underscores for hyphens."""
        again = options.pop("again", AGAIN)
        seconds = options.pop("seconds", self.seconds)
        argv = ["point", "--cpu", ",".join(map(str, cpus or self.cpus[:1]))]
        for name, value in options.items():
            if value is True:
                argv.append("--" + name.replace("_", "-"))
            elif value is not None and value is not False:
                argv += ["--" + name.replace("_", "-"), str(value)]
        return self.least_disturbed(lambda: self._something(argv, seconds), again)

    def least_disturbed(self, measure, again=AGAIN):
        """What measure() returns, with cpu_share, of so many the one in which that was most."""
        self.points += 1
        best = None
        for _ in range(again):
            made = measure()
            if best is None or made["cpu_share"] > best["cpu_share"]:
                best = made
            if best["cpu_share"] >= CPU_SHARE_MIN:
                return best
            if self.again >= PATIENCE:
                break
            self.again += 1
        self.disturbed += 1
        return best

    def _something(self, argv, seconds):
        for _ in range(DOUBLINGS):
            made = merged(call(*argv, "--seconds", str(seconds)))
            if made["received"] >= PACKETS_MIN and all(w["sent"] for w in made["workers"]):
                return made
            seconds *= 2
        raise Failed(f"in {seconds / 2:.1f} s a worker on CPU {self.cpus[0]} forwarded nothing to speak "
                     "of: something else has that CPU; choose others with --cpu")

    def access(self, size, runs, milliseconds):
        """Cycles of a step through a list of so many bytes: [a figure a run]."""
        argv = ["access", "--list", str(size), "--runs", str(runs), "--ms", str(milliseconds)]
        return call(*argv, cpu=self.cpus[0])["cycles"]

    def confess(self, doc):
        """Says in the document what the machine did to the figures."""
        if self.disturbed:
            doc.note(f"In {self.disturbed} of {self.points} runs the worker had its CPU for less than "
                     f"{100 * CPU_SHARE_MIN:.0f} % of the time, also when repeated: something else ran on "
                     "this machine, and those runs read too slow.")
        if 2 * self.disturbed > self.points:
            doc.withhold("That is most of them")
