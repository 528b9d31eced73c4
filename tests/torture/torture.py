#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random faults, one after another, to a shuntd that forwards a steady stream of numbered frames.

Rounds: a lab, a mode, a way of polling; in each some faults; after each fault shunt must forward
again, its ledger balance, and nothing be there twice; after each round nothing may be left. At the
end a table says for each fault what was lost and for how long traffic stood still. Exit status 1
when something did not hold.
"""
import argparse
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

# pylint: disable=wrong-import-position
from dut import MODES, Broken, Dut  # noqa: E402
from faults import FAULTS  # noqa: E402
from lab import ROOT, wait_until  # noqa: E402
from stream import Stream  # noqa: E402

POLLING = ("spin", "busy", "adaptive", "interrupt")
RESUME_S = 30
FAULTS_A_ROUND = 8
CALM_S = 0.2  # between faults
TROUBLE = (Broken, AssertionError, OSError, LookupError, ValueError, subprocess.SubprocessError)


class Event:
    """A fault that was done once, and what came of it."""

    def __init__(self, name, mode, poll):
        self.name, self.mode, self.poll = name, mode, poll
        self.said, self.broken = "", None
        self.lasted_s = self.resumed_s = 0.0
        self.account = None

    def as_json(self):
        a = self.account
        row = {"fault": self.name, "mode": self.mode, "poll": self.poll, "said": self.said,
               "broken": self.broken, "lasted_s": round(self.lasted_s, 4),
               "resumed_s": round(self.resumed_s, 4)}
        if a:
            row |= {"sent": a.sent, "unsent": a.unsent, "lost": a.lost, "doubled": a.doubled,
                    "late": a.late, "by_kernel": a.kernel, "by_shunt": a.shunt,
                    "still_ms": round(a.still_ns / 1e6, 3)}
        return row

    def line(self):
        a = self.account
        figures = f"lost {a.lost:4} of {a.sent:5}, stood still {a.still_ns / 1e6:7.1f} ms, " \
                  f"kernel {a.kernel:5}, shunt {a.shunt:5}" if a else "no account"
        return f"{self.mode:9} {self.poll:10} {self.name:20} {figures}" + \
            (f"  ({self.said})" if self.said else "") + \
            (f"\n    BROKEN: {self.broken}" if self.broken else "")


class Torture:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.events, self.problems = [], []
        self.end = time.monotonic() + args.seconds
        self.todo = []

    # --- what comes next --------------------------------------------------------------------------

    def plan(self, count):
        """The next faults, all of them in random order before any comes again, that go with one
        shape; and that shape."""
        while len(self.todo) < count:
            more = list(self.args.fault or FAULTS)
            self.rng.shuffle(more)
            self.todo += more
        wanted = [FAULTS[name].shape for name in self.todo[:count] if FAULTS[name].shape]
        shape = wanted[0] if wanted else self.rng.choice(("two queues", "spare queue"))
        taken = [name for name in self.todo[:count] if FAULTS[name].shape in (None, shape)]
        self.todo = [name for name in self.todo[:count] if name not in taken] + self.todo[count:]
        return taken, shape

    def is_over(self):
        """With all faults done once the time decides; nothing goes on for three times as long."""
        done = {event.name for event in self.events}
        late = time.monotonic() - self.end
        return late > 0 and (done >= set(self.args.fault or FAULTS) or late > 2 * self.args.seconds)

    # --- a fault ----------------------------------------------------------------------------------

    def resume(self, dut, stream):
        """Waits until shunt forwards what is sent from now on."""
        start = time.time_ns()

        def forwards():
            if dut.daemon.poll() is not None:
                raise Broken(f"shuntd ended with {dut.daemon.returncode}: "
                             f"{dut.daemon.stderr.read().strip()}")
            return stream.arrived_since(start)[1] >= 3

        try:
            wait_until(forwards, RESUME_S)
        except AssertionError:
            kernel, _ = stream.arrived_since(start)
            raise Broken(f"shunt does not forward again within {RESUME_S} s; by the kernel "
                         f"{kernel} frames meanwhile") from None

    def do(self, name, dut, stream, poll):
        event = Event(name, dut.mode, poll)
        self.events.append(event)
        start = time.monotonic()
        try:
            event.said = FAULTS[name](dut, self.rng)
            event.lasted_s = time.monotonic() - start
            self.resume(dut, stream)
            event.resumed_s = time.monotonic() - start - event.lasted_s
            time.sleep(CALM_S)
            event.account = stream.account()
            if event.account.doubled:
                raise Broken(f"{event.account.doubled} frames arrived twice")
            dut.check_running()
            if not stream.is_alive():
                raise Broken("the stream ended")
        except TROUBLE as problem:
            event.broken = str(problem) or traceback.format_exc()
            event.account = event.account or stream.account()
        print(event.line(), flush=True)
        return not event.broken

    # --- a round ----------------------------------------------------------------------------------

    def work(self, dut, poll, names):
        """The faults of a round; what one broke the next must not suffer from."""
        dut.start()
        with Stream(dut.lab, self.args.rate, dut.make_frame) as stream:
            self.resume(dut, stream)
            stream.account()
            for name in names:
                if self.is_over() or not self.do(name, dut, stream, poll):
                    break
        if not dut.daemon:  # what broke has been told
            return
        dut.stop()
        if dut.is_persistent:  # its programs stay, by wish, until one stops that has not this wish
            dut.options.remove("--persist")
            dut.start()
            dut.stop()
        left = dut.left_behind()
        if left:
            raise Broken("left behind: " + "; ".join(left))

    def round(self, mode):
        poll = self.rng.choice(self.args.poll or POLLING)
        persist = self.rng.random() < 0.3
        names, shape = self.plan(FAULTS_A_ROUND)
        # The snapshot of the beginning is of the devices of the beginning.
        last = [name for name in names if name == "device removed"]
        names = [name for name in names if name not in last] + last[:1]
        options = ["--poll", poll] + (["--persist"] if persist else []) + \
            (["--lane", self.args.lane] if self.args.lane else [])
        dut = Dut(mode, shape, options)
        try:
            self.work(dut, poll, names)
        except TROUBLE as problem:
            if not any(event.broken for event in self.events):
                self.problems.append(f"{mode}, {' '.join(options)}: {problem}")
                print("    BROKEN: " + self.problems[-1], flush=True)
        finally:
            self.problems += [f"{mode}: the lab left {what}" for what in dut.down()]

    def run(self):
        modes = []
        while not self.is_over():
            if not modes:
                modes = [mode for mode in MODES if mode in (self.args.mode or MODES)]
                self.rng.shuffle(modes)
            self.round(modes.pop())

    # --- what it comes to -------------------------------------------------------------------------

    def rows(self):
        groups = collections.defaultdict(list)
        for event in self.events:
            groups[event.name].append(event)
        for name, events in sorted(groups.items()):
            accounts = [event.account for event in events if event.account]
            yield {
                "fault": name, "times": len(events),
                "broken": sum(event.broken is not None for event in events),
                "lasted_ms": median_max(event.lasted_s * 1e3 for event in events),
                "lost": median_max(a.lost for a in accounts),
                "still_ms": median_max(a.still_ns / 1e6 for a in accounts),
                "by_kernel": sum(a.kernel for a in accounts),
                "by_shunt": sum(a.shunt for a in accounts),
            }

    def write(self, path):
        result = {"seed": self.args.seed, "seconds": self.args.seconds, "rate": self.args.rate,
                  "faults": list(self.rows()), "problems": self.problems,
                  "events": [event.as_json() for event in self.events]}
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            json.dump(result, file, indent=1)
            file.write("\n")

    def print_table(self):
        print(f"\n{'':20} {'':>5} {'fault, ms':>13} {'frames lost':>13} {'stood still, ms':>17} "
              f"{'forwarded by':>17}")
        print(f"{'fault':20} {'times':>5} {'median':>6} {'max':>6} {'median':>6} {'max':>6} "
              f"{'median':>8} {'max':>8} {'kernel':>8} {'shunt':>8}")
        for row in self.rows():
            lasted, lost, still = row["lasted_ms"], row["lost"], row["still_ms"]
            print(f"{row['fault']:20} {row['times']:5} {lasted['median']:6.0f} {lasted['max']:6.0f} "
                  f"{lost['median']:6.0f} {lost['max']:6.0f} {still['median']:8.1f} "
                  f"{still['max']:8.1f} {row['by_kernel']:8} {row['by_shunt']:8}"
                  + (f"  BROKEN {row['broken']} times" if row["broken"] else ""))
        broken = sum(event.broken is not None for event in self.events) + len(self.problems)
        print(f"{len(self.events)} faults at {self.args.rate} frames a second, seed "
              f"{self.args.seed}; " + (f"{broken} did not hold" if broken else "all held"))
        return broken


def median_max(values):
    values = list(values)
    if not values:
        return {"median": None, "max": None}
    return {"median": round(statistics.median(values), 3), "max": round(max(values), 3)}


def print_tap(torture, wanted):
    """A test each: a fault, and what is left when all is over."""
    print(f"1..{len(wanted) + 1}")
    for name in wanted:
        events = [event for event in torture.events if event.name == name]
        broken = [event for event in events if event.broken]
        if broken:
            print(f"not ok - {name}\n# {broken[0].line()}\n# seed {torture.args.seed}")
        elif events:
            print(f"ok - {name} ({len(events)} times)")
        else:
            print(f"not ok - {name}\n# not reached in time")
    print(("not ok" if torture.problems else "ok") + " - nothing is left behind")
    for problem in torture.problems:
        print(f"# {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="default: another each time")
    parser.add_argument("--rate", type=int, default=2000, help="frames a second, default 2000")
    parser.add_argument("--fault", action="append", choices=sorted(FAULTS))
    parser.add_argument("--mode", action="append", choices=sorted(MODES))
    parser.add_argument("--poll", action="append", choices=POLLING)
    parser.add_argument("--lane", help="as of shuntd; default user")
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--out", default=os.path.join(ROOT, os.environ.get("B", "build"),
                                                      "torture.json"))
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(10**6)
    print(f"# seed {args.seed}", flush=True)
    # An interrupted run takes its lab down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    torture = Torture(args)
    torture.run()
    torture.write(args.out)
    if args.tap:
        print_tap(torture, args.fault or list(FAULTS))
    broken = torture.print_table() if not args.tap else 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
