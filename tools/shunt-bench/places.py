# SPDX-License-Identifier: BSD-2-Clause
"""Where forwarders are measured: a lab of network namespaces, or devices given by name. A place has a
generator, a device under test (dut) and a sink, and runs trials: traffic of so much for so long."""
import contextlib
import functools
import json
import math
import os
import shlex
import subprocess
import time

import interrupts
import paths
import steal

READY_S = 20
SINK_DRAIN_S = 5  # what a trial may take beside its traffic
DUT_ADDRESS = "10.0.1.1"
GAP_BYTES = 20  # of a frame on the wire: preamble and gap


class Failed(Exception):
    """A trial or a forwarder that did not come about, in one sentence."""


def said(process_or_done):
    lines = (process_or_done.stderr or "").strip().splitlines()
    return lines[-1] if lines else f"it ended with {process_or_done.returncode}"


def run(argv, timeout=60, check=True):
    """Standard output of a command that ends soon."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{shlex.join(argv[-6:])} did not end within {timeout} s") from error
    if check and done.returncode:
        raise Failed(f"{os.path.basename(argv[0])} {shlex.join(argv[1:6])}: {said(done)}")
    return done.stdout


def read(via, port, name):
    """What sysfs says of a port, DEVICE or NAMESPACE/DEVICE, on the machine that via reaches."""
    *namespace, dev = port.rsplit("/", 1)
    return run([*via, *(["ip", "netns", "exec", *namespace] if namespace else []), "cat",
                f"/sys/class/net/{dev}/{name}"]).strip()


class Place:
    """dut(*cmd) is the command that runs there; gen(...) likewise for the generator."""
    kind = "lab"
    devices = ("eth1", "eth2")
    dut_macs = ("02:00:00:00:01:01", "02:00:00:00:02:01")
    gen_mac, sink_mac = "02:00:00:00:01:02", "02:00:00:00:02:02"
    gen_cpus = (0,)
    via = ()  # the command that reaches the generator's machine

    @functools.cached_property
    def repeats(self):
        """Of what is measured here."""
        return steal.Repeats()

    def dut(self, *cmd):
        raise NotImplementedError

    def gen(self, *cmd):
        raise NotImplementedError

    def ends(self):
        """The options of `shunt-gen run` that name generator's and sink's device."""
        raise NotImplementedError

    def dut_run(self, *cmd, **options):
        return run(self.dut(*cmd), **options)

    @functools.cached_property
    def line_bps(self):
        """Bits a second that the generator's line carries, and shunt-gen therefore; infinity where its
        device does not say, or is a veth, whose speed means nothing. Asked for when the link is up."""
        *namespace, dev = self.ends()[1].rsplit("/", 1)
        shown = run([*self.via, "ip", *(["-n", *namespace] if namespace else []), "-j", "-d", "link",
                     "show", "dev", dev])
        kind = json.loads(shown)[0].get("linkinfo", {}).get("info_kind")
        try:
            mbps = int(read(self.via, self.ends()[1], "speed"))
        except Failed:  # EINVAL: it has none
            mbps = 0
        return mbps * 1e6 if mbps > 0 and kind != "veth" else math.inf

    def line_pps(self, frame_bytes):
        """Frames a second of so many bytes, with FCS, that the generator's line carries."""
        return self.line_bps / ((frame_bytes + GAP_BYTES) * 8)

    def facts(self):
        return {"kind": self.kind, "names": list(self.devices)}

    def argv_trial(self, dst_mac, rate, seconds, count=None, size=60, options=()):
        argv = [paths.program("shunt-gen"), "run", *self.ends(), "-j", "--interval", "0",
                "--dst-mac", dst_mac, "--size", str(size), "--cpu", ",".join(map(str, self.gen_cpus)),
                "--rate", "max" if not rate else str(int(rate))]
        argv += ["--count", str(count)] if count else ["--duration", f"{seconds:.3f}"]
        return self.gen(*argv, *options)

    def trial(self, dst_mac, rate=0, seconds=1.0, latency=False, **options):
        """One trial: {offered_pps, confirmed_pps, pps, sent, received, loss, held, latency_ns or None},
        and cpu_s, the CPU time that the whole machine spent in passed_s. offered_pps is what the
        generator made, confirmed_pps what its device took of that (on a veth, what the other end had
        room for), neither what was asked for."""
        extra = ["--count-only", *(["--latency"] if latency else [])]
        extra += options.pop("options", [])
        argv = self.argv_trial(dst_mac, rate, seconds, options=extra, **options)
        # A theft that lost nothing at a rate that was held has changed nothing but the latency.
        return self.repeats.least_disturbed(
            lambda: traffic(argv, rate, 2 * seconds + 90 + SINK_DRAIN_S),
            lambda made: latency or not rate or made["loss"] or not made["held"])


def traffic(argv, rate, limit):
    """Runs `shunt-gen run`, and returns the trial."""
    busy, start = cpu_seconds(), time.monotonic()
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"shunt-gen did not end within {limit:.0f} s") from error
    return result_of(done, rate) | {"cpu_s": cpu_seconds() - busy,
                                    "passed_s": time.monotonic() - start}


def result_of(done, rate):
    """A trial's result from what `shunt-gen run` said."""
    try:
        got = json.loads(done.stdout)
    except ValueError:
        raise Failed(f"shunt-gen: {said(done).removeprefix('shunt-gen: ')}") from None
    sent = got["sent"]
    offered = got["tx"]["offered_pps"]
    return {"offered_pps": offered, "confirmed_pps": got["tx"]["pps"], "sent": sent,
            "received": got["received"],
            "pps": got["received"] / max(got["tx"]["seconds"], 1e-9),
            "loss": max(0.0, 1 - got["received"] / sent) if sent else 1.0,
            "seconds": got["tx"]["seconds"],
            "held": not rate or abs(offered / rate - 1) <= 0.03,
            "latency_ns": got["rx"].get("latency_ns")}


class Lab(Place):
    """A lab of one's own: gen - dut - sink. A child holds it, and removes it when this program ends,
    however it ends: the child waits for the end of a pipe that this program holds."""

    def __init__(self, queues=1, gen_cpus=(0,)):
        self.gen_cpus = gen_cpus
        self.holder = subprocess.Popen(
            [paths.LAB, "run", "--static-neigh", "--queues", str(queues), "sh", "-c",
             'echo "$SHUNT_LAB"; exec cat >/dev/null'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self.name = self.holder.stdout.readline().strip()
        if not self.name:
            _, err = self.holder.communicate()
            raise Failed(err.strip().removeprefix("lab: ") or "the lab could not be built")

    def close(self):
        self.holder.communicate(timeout=60)  # closes its standard input

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def dut(self, *cmd):
        return [paths.LAB, "exec", "--name", self.name, "dut", *cmd]

    def gen(self, *cmd):
        return list(cmd)

    def ends(self):
        return ["--tx", f"shunt-{self.name}-gen/eth1", "--rx", f"shunt-{self.name}-sink/eth1"]

    def facts(self):
        return {**super().facts(), "lab": self.name}

    def threaded(self, cpu):
        """Receives dut's devices in NAPI threads on that CPU; None: where the sender is."""
        for dev in self.devices:
            run([paths.LAB, "threaded", "--name", self.name, "dut", dev,
                 "off" if cpu is None else str(cpu)])


class Devices(Place):
    """Two devices of this machine, with the generator at their other ends: devices of this machine as
    well, or of another that a command reaches, such as ssh."""
    kind = "nic"

    def __init__(self, devices, gen_ports, gen_via, gen_cpus):
        self.devices, self.gen_ports = tuple(devices), gen_ports
        self.via, self.gen_cpus = shlex.split(gen_via or ""), gen_cpus
        self.dut_macs = tuple(self._mac([], dev) for dev in devices)
        self.gen_mac, self.sink_mac = (self._mac(self.via, port) for port in gen_ports)

    @staticmethod
    def _mac(via, port):
        try:
            return read(via, port, "address")
        except (Failed, OSError) as error:
            where = f" (by {via[0]})" if via else ""
            raise Failed(f"there is no device '{port}'{where}: {error}") from error

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def dut(self, *cmd):
        return list(cmd)

    def gen(self, *cmd):
        return [*self.via, *(["shunt-gen", *cmd[1:]] if self.via else cmd)]

    def ends(self):
        return ["--tx", self.gen_ports[0], "--rx", self.gen_ports[1]]

    def threaded(self, cpu):
        if cpu is not None:
            raise Failed("NAPI threads are pinned in a lab only")


# --- processes ------------------------------------------------------------------------------------

def _ended(process, number):
    """What it said at last on standard error."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]


@contextlib.contextmanager
def running(argv, word, stream="stderr", seconds=READY_S, number=15):
    """A program on dut that has said a word of being ready; ended by a signal and waited for."""
    last_words = []
    with interrupts.started(
            lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     start_new_session=True, preexec_fn=interrupts.end_with_us),
            lambda process: last_words.append(_ended(process, number))) as process:
        lines = []
        end = time.monotonic() + seconds
        while not lines or word not in lines[-1]:
            line = getattr(process, stream).readline()
            if not line or time.monotonic() > end:
                raise Failed(" ".join("".join(lines).split()) or
                             process.stderr.read().strip().replace("\n", "; ") or
                             f"{argv[-1]} ended without a word")
            lines.append(line)
        yield process
    if process.returncode not in (0, -number):
        raise Failed(f"{os.path.basename(argv[-1])}: {last_words[0].strip() or process.returncode}")


# Of what cpu_seconds() says of one CPU.
CPU_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds():
    """Seconds that all CPUs together were not idle since some time, softirqs included. By the time that
    they were idle, which Linux counts exactly where it stops the tick, and shows in ticks; the time that
    they were busy is sampled by the tick only. What another's guest had of a CPU counts as busy: somebody
    here wanted it then, or it was idle and is counted as that already."""
    with open("/proc/stat", encoding="ascii") as stat:
        lines = stat.readlines()
    cpus = sum(line.startswith("cpu") for line in lines) - 1
    _, _, _, idle, iowait = (int(x) for x in lines[0].split()[1:6])
    return cpus * time.monotonic() - (idle + iowait) * CPU_TICK_S


def thread_seconds(tid):
    """Seconds that a thread of this machine had a CPU."""
    with open(f"/proc/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9
