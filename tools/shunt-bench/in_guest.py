# SPDX-License-Identifier: BSD-2-Clause
"""Zero-copy without the hardware: QEMU's network cards have it (tools/vmlab). An experiment runs as a whole
in a guest, by this program there (guest_points.py), and the guest's document comes out. Only in the
source tree, after `make build-vm`."""
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

import document
import interrupts
import machine
import options
import paths
import places

DRIVERS = ("igb", "virtio")
QUEUES = 2  # of scale, which wants a driver that has them there
BUILD = os.path.join("build", "vm")  # of what runs there
PROGRAM = "/usr/bin/python3 -B tools/shunt-bench"
LIMIT_S = 3000
PROGRESS = re.compile(r"\w+: \d+ of \d+, ")  # of the terminal's lines there
# What an experiment cannot do there.
CANNOT = {
    "cache": "the guest counts instructions, and a step through a list is the same ones wherever the list "
             "lies: take --ports mem",
    "model": "the queue's model wants times, the guest counts instructions: take --ports mem",
}


def is_here():
    """Whether this is the guest."""
    return os.environ.get("VMLAB") == "1"


def cannot(name, driver):
    """None, or why that experiment says nothing with such devices in a guest."""
    if name == "scale" and (driver or DRIVERS[0]) != "igb":
        return "of the guest's devices only igb has several queues"
    return CANNOT.get(name)


def why_not(name, driver=None):
    """None, or why that experiment is not to be had in a guest."""
    if cannot(name, driver):
        return f"{name}: {cannot(name, driver)}"
    if not os.path.exists(paths.VMLAB):
        return "the guests are part of the source tree, which this is not"
    if not os.access(os.path.join(paths.TOP, BUILD, "bin", "shuntd"), os.X_OK):
        return "what runs in the guest is not built: run make build-vm"
    return None


def inner_options(args):
    """The options of this program that the guest's wants too."""
    given = []
    for option in ("runs", "seconds", "batch", "trials", "precision", "search_seconds", "only", "points"):
        value = getattr(args, option)
        if value:
            given += [options.flag(option), f"{value:g}" if isinstance(value, float) else str(value)]
    return given + ["--short"] * args.short


def argv_of(args, names, folder):
    inside = (f"modprobe pktgen && exec {PROGRAM} --ports vm --no-figures -o \"$VMLAB_OUT\" "
              f"{shlex.join(inner_options(args) + names)}")
    queues = ["--queues", str(QUEUES)] if "scale" in names else []
    return [paths.VMLAB, "run", "--driver", args.driver or DRIVERS[0], *queues, "--icount",
            "--timeout", str(LIMIT_S), "--out", folder, "env", f"B={BUILD}", "bash", "-c", inside]


def run(args, names, progress):
    """The guest's documents of these experiments, and what it says of those that failed."""
    with tempfile.TemporaryDirectory(prefix="shunt-bench-") as folder:
        progress.say(f"a guest with {args.driver or DRIVERS[0]} boots")
        lines, code = _follow(argv_of(args, names, folder), progress)
        docs = [document.load(os.path.join(folder, f)) for f in os.listdir(folder)
                if f.endswith(".json")]
    last = ([line for line in lines if line] or ["it said nothing"])[-1]
    if not docs:
        raise places.Failed(f"in the guest: {last}")
    for data in docs:
        data["command"] = shlex.join(["shunt-bench", *sys.argv[1:]])
        data["machine"]["emulated_on"] = machine.facts()["cpu"]
    docs.sort(key=lambda data: names.index(data["experiment"]))
    failures = [line for line in lines if line.startswith("shunt-bench: ")]
    return docs, failures or [f"shunt-bench: in the guest: {last}"] * bool(code)


def _end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=30)


def _follow(argv, progress):
    """Runs it to its end; its lines, those of its progress shown, and its exit status."""
    lines = []
    with interrupts.started(
            lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     cwd=paths.TOP, start_new_session=True),
            _end) as process:
        for line in process.stdout:
            lines.append(line.strip())
            if PROGRESS.match(line):
                progress.say(line.strip())
        process.wait(60)
    return lines, process.returncode
