# SPDX-License-Identifier: BSD-2-Clause
"""DPDK's own forwarders, testpmd and l3fwd, from Debian's packages (dpdk-dev; dpdk-doc has the source
of l3fwd, libdpdk-dev builds it): found, built, started, counted and ended. Nothing else is changed:
without huge pages they run on ordinary ones, and their answer says so."""
import contextlib
import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import interrupts
import paths

READY_S = 30
STOP_S = 15
BUILD_S = 180
MEMORY_MB = 512
RUN = "/var/run/dpdk"
EXAMPLES = "/usr/share/dpdk/examples"
HUGE = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
CPUCLOCK_SCHED = 2  # of a process, by the scheduler: clock_getcpuclockid(3)


class Absent(Exception):
    """What is not there or does not run here, and why; one sentence."""


def version():
    """"DPDK 22.11.11", or Absent."""
    done = subprocess.run([testpmd(), "-v", "--no-huge", "--no-pci", "--no-shconf", "--help"],
                          capture_output=True, text=True, timeout=20, check=False)
    found = re.search(r"RTE Version: '([^']*)'", done.stdout + done.stderr)
    if not found:
        raise Absent("dpdk-testpmd does not say its version")
    return found.group(1)


def testpmd():
    path = shutil.which("dpdk-testpmd")
    if not path:
        raise Absent("dpdk-testpmd is not there: apt-get install dpdk-dev")
    return path


def need_driver(name):
    """Debian has a package for each driver."""
    if not glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{name}.so*"):
        raise Absent(f"DPDK's driver {name} is not there: apt-get install "
                     f"librte-{name.replace('_', '-')}23")
    return name


def l3fwd():
    """dpdk-l3fwd where there is one, else built from Debian's copy of its source. It asks every device
    for checksums on receive, which none of these offers; that one word is taken out."""
    path = shutil.which("dpdk-l3fwd")
    if path:
        return path
    testpmd()
    built = os.path.join(paths.BUILD if paths.IS_SOURCE_TREE else "/var/cache/shunt", "dpdk",
                         version().split()[-1], "l3fwd")
    program = os.path.join(built, "build", "l3fwd-shared")
    os.makedirs(os.path.dirname(built), exist_ok=True)
    with open(built + ".lock", "w", encoding="ascii") as lock:  # another may be building it now
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.access(program, os.X_OK):
            build_l3fwd(built)
    return program


def build_l3fwd(folder):
    source = os.path.join(EXAMPLES, "l3fwd")
    if not os.path.isdir(source):
        raise Absent(f"there is no source of l3fwd in {source}: apt-get install dpdk-doc libdpdk-dev")
    if subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode:
        raise Absent("l3fwd cannot be built without libdpdk: apt-get install libdpdk-dev")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    shutil.copytree(os.path.join(EXAMPLES, "common"), os.path.join(folder, "..", "common"),
                    dirs_exist_ok=True)
    main = os.path.join(folder, "main.c")
    with open(main, encoding="utf-8") as file:
        text = file.read()
    with open(main, "w", encoding="utf-8") as file:
        file.write(text.replace("RTE_ETH_RX_OFFLOAD_CHECKSUM", "0"))
    try:
        done = subprocess.run(["make", "-s", "-C", folder, "shared"], capture_output=True, text=True,
                              timeout=BUILD_S, check=False,
                              env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
    except subprocess.TimeoutExpired:
        raise Absent(f"l3fwd was not built within {BUILD_S} s") from None
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise Absent(f"l3fwd cannot be built: {(done.stderr.strip().splitlines() or ['?'])[0]}")


def has_huge_pages():
    try:
        with open(HUGE, encoding="ascii") as file:
            return int(file.read()) * 2 >= MEMORY_MB
    except (OSError, ValueError):
        return False


def eal(program, prefix, lcores, vdevs):
    """A program of DPDK's, which is to say its words at once, with the options of its environment."""
    memory = ["--in-memory"] if has_huge_pages() else ["--no-huge", "--no-shconf"]
    argv = ["stdbuf", "-oL", program, *memory, "-m", str(MEMORY_MB),
            "--file-prefix", prefix, "--no-pci", "--lcores", lcores]
    for vdev in vdevs:
        argv += ["--vdev", vdev]
    return [*argv, "--"]


class Process:
    """A running forwarder of DPDK's."""

    def __init__(self, argv, prefix):
        self.argv, self.prefix, self.said = argv, prefix, ""
        # testpmd runs until a line comes on its standard input
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True,
                                        preexec_fn=interrupts.end_with_us)

    def wait_for(self, word):
        end = time.monotonic() + READY_S
        out = self.process.stdout.fileno()
        while word not in self.said:
            left = end - time.monotonic()
            if left <= 0:
                raise Absent(f"{self.name()} was not ready within {READY_S} s: {self.last_words()}")
            if not select.select([out], [], [], left)[0]:
                continue
            some = os.read(out, 65536)
            if not some:
                raise Absent(f"{self.name()} does not run here: {self.last_words()}")
            self.said += some.decode(errors="replace")

    def name(self):
        return next((os.path.basename(a) for a in self.argv if "testpmd" in a or "l3fwd" in a),
                    "DPDK")

    def last_words(self):
        """What it complained of, else its last line."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        bad = [line for line in lines if re.search(r"(?i)error|fail|cannot|unable|invalid", line)]
        return "; ".join(dict.fromkeys(bad[:3] or lines[-1:])) or "it said nothing"

    def drain(self):
        """Reads what it says, so that it never waits for us."""
        while select.select([self.process.stdout], [], [], 0)[0]:
            if not os.read(self.process.stdout.fileno(), 65536):
                return

    def ask(self, request):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
                asked.settimeout(READY_S)
                asked.connect(os.path.join(RUN, self.prefix, "dpdk_telemetry.v2"))
                asked.recv(1024)
                asked.send(request.encode())
                return json.loads(asked.recv(16384))[request.split(",")[0]]
        except (OSError, ValueError) as error:  # it ended, or its thread for this gets no CPU
            raise Absent(f"{self.name()} does not answer {request}: {error}") from None

    def sent(self, ports=2):
        """Packets that its ports have sent so far."""
        self.drain()
        return sum(self.ask(f"/ethdev/stats,{port}")["opackets"] for port in range(ports))

    def cpu_seconds(self):
        """That all its threads have had, those that ended (one a telemetry connection) too; all but
        one sleep. By the process's clock, as clock_getcpuclockid(3) names it."""
        return time.clock_gettime(~self.process.pid << 3 | CPUCLOCK_SCHED)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.communicate(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        shutil.rmtree(os.path.join(RUN, self.prefix), ignore_errors=True)


@contextlib.contextmanager
def running(argv_of, word):
    """argv_of(prefix) is the command; yields the Process once it has said the word."""
    prefix = f"shunt-{os.getpid()}-{time.monotonic_ns() % 1000000}"
    with interrupts.started(lambda: Process(argv_of(prefix), prefix), Process.stop) as process:
        process.wait_for(word)
        yield process


# --- testpmd --------------------------------------------------------------------------------------

def testpmd_argv(prefix, cpu, vdevs, mode, batch):
    """The worker on its CPU; the first thread waits for a line, on any other CPU there is."""
    others = sorted(os.sched_getaffinity(0) - {cpu}) or [cpu]
    return [*eal(testpmd(), prefix, f"0@{others[0]},1@{cpu}", vdevs), f"--forward-mode={mode}",
            f"--burst={min(batch, 512)}", "--total-num-mbufs=16384", "--no-mlockall"]


TESTPMD_READY = "Press enter to exit"


# --- l3fwd ----------------------------------------------------------------------------------------

L3FWD_READY = "entering main loop"


def write_routes(folder):
    """Where lab's benchmark networks lie: 198.18/16 behind port 0, 198.19/16 behind port 1."""
    names = [os.path.join(folder, name) for name in ("routes4", "routes6")]
    texts = ("R198.18.0.0/16 0\nR198.19.0.0/16 1\n",
             "R2001:0002:0000:0001:0000:0000:0000:0000/64 0\n"
             "R2001:0002:0000:0002:0000:0000:0000:0000/64 1\n")
    for name, text in zip(names, texts):
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
    return names


def l3fwd_argv(prefix, cpu, vdevs, folder, next_hops=()):
    routes4, routes6 = write_routes(folder)
    argv = [*eal(l3fwd(), prefix, f"1@{cpu}", vdevs), "-p", "0x3", "-P", "--config",
            "(0,0,1),(1,0,1)", "--parse-ptype", "--lookup=lpm", f"--rule_ipv4={routes4}",
            f"--rule_ipv6={routes6}"]
    return argv + [f"--eth-dest={port},{mac}" for port, mac in enumerate(next_hops)]


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def write_capture(path, network, flows=1024):
    """UDP frames of 60 bytes to addresses in 198.NETWORK/16."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(flows):
            header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0,
                                 bytes((198, 37 - network, 0, 1)),
                                 bytes((198, network, i * 7919 >> 8 & 255, i * 7919 & 255)))
            header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
            frame = (b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + header +
                     struct.pack("!HHHH", 1024 + i, 9, 26, 0) + bytes(18))
            file.write(struct.pack("<IIII", 0, i, len(frame), len(frame)) + frame)
    return path


# --- in memory ------------------------------------------------------------------------------------

def measured(argv_of, word, seconds):
    """What a forwarder sends on its two in-memory ports: {pps, cpu_share: of its CPU, which it polls
    all the time}. On a CPU that others keep from it, for longer than asked: until it has sent at all."""
    with running(argv_of, word) as process:
        before, start, had = process.sent(), time.monotonic(), process.cpu_seconds()
        after, end = before, start
        while end < start + seconds or after == before:
            if end > start + seconds + READY_S:
                raise Absent(f"{process.name()} sent nothing within {end - start:.0f} s")
            time.sleep(min(seconds, 0.2))
            process.drain()
            end = time.monotonic()
            if end >= start + seconds:
                after, end, has = process.sent(), time.monotonic(), process.cpu_seconds()
    return {"pps": (after - before) / (end - start),
            "cpu_share": min(1.0, (has - had) / (end - start))}


def null_testpmd(cpu, seconds, batch, mode, copy):
    need_driver("net_null")
    vdevs = [f"net_null{i},size=60,copy={int(copy)}" for i in range(2)]
    return measured(lambda prefix: testpmd_argv(prefix, cpu, vdevs, mode, batch), TESTPMD_READY,
                    seconds)


def capture_l3fwd(cpu, seconds, _):
    """Endless captures, each packet copied on receive; what is sent is dropped."""
    need_driver("net_pcap")
    with tempfile.TemporaryDirectory(prefix="shunt-bench-") as folder:
        files = [write_capture(os.path.join(folder, f"{n}.pcap"), n) for n in (19, 18)]
        vdevs = [f"net_pcap{i},rx_pcap={file},infinite_rx=1" for i, file in enumerate(files)]
        return measured(lambda prefix: l3fwd_argv(prefix, cpu, vdevs, folder), L3FWD_READY, seconds)
