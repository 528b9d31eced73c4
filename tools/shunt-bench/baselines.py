# SPDX-License-Identifier: BSD-2-Clause
"""Other people's forwarders on the same devices, where they are installed: xdp-tools' and DPDK's.
Linux itself is in forwarders.py. What is absent or does not run is skipped by name, with the reason."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

import dpdk
import interrupts
import machine
from dpdk import Absent

STOP_S = 10


class Baseline:
    """As forwarders.Forwarder: name, start(place) the context manager, whose CPU it runs on. check() and
    run(place) raise Absent, start(place) what an experiment expects."""

    def __init__(self, name, check, run, cpu="own"):
        self.name, self.check, self.run, self.cpu = name, check, run, cpu

    @contextlib.contextmanager
    def start(self, place):
        import places  # pylint: disable=import-outside-toplevel  # not needed to run one
        try:
            with self.run(place) as started:
                yield started
        except Absent as error:
            raise places.Failed(str(error)) from error


@contextlib.contextmanager
def devices_kept(place):
    """Promiscuity, as DPDK sets it and leaves it, and an XDP program of someone killed are undone."""
    shown = {dev: place.dut_run("ip", "link", "show", "dev", dev) for dev in place.devices}
    for dev, text in shown.items():
        if "xdp" in text:
            raise Absent(f"{dev} has an XDP program of another's")
    try:
        yield
    finally:
        for dev, text in shown.items():
            if "PROMISC" not in text:
                place.dut_run("ip", "link", "set", "dev", dev, "promisc", "off", check=False)
            if "xdp" in place.dut_run("ip", "link", "show", "dev", dev, check=False):
                place.dut_run("ip", "link", "set", "dev", dev, "xdp", "off", check=False)


@contextlib.contextmanager
def kernel_stands_back(place):
    """What reads copies of frames leaves the originals to the kernel, which must not forward them."""
    key = "net.ipv4.ip_forward"
    before = place.dut_run("sysctl", "-n", key).strip()
    place.dut_run("sysctl", "-qw", f"{key}=0")
    try:
        yield
    finally:
        place.dut_run("sysctl", "-qw", f"{key}={before}")


# --- DPDK -----------------------------------------------------------------------------------------

def vdevs_of(driver, place):
    return [f"{driver}{i},iface={dev}" for i, dev in enumerate(place.devices)]


@contextlib.contextmanager
def testpmd(place, cpu, batch, driver):
    """Joins the devices back to back, as xconnect does."""
    dpdk.need_driver(driver)

    def argv(prefix):
        return place.dut(*dpdk.testpmd_argv(prefix, cpu, vdevs_of(driver, place), "io", batch))

    with devices_kept(place), kernel_stands_back(place), dpdk.running(argv, dpdk.TESTPMD_READY):
        yield {"dst_mac": place.sink_mac, "in_use": {}}


@contextlib.contextmanager
def l3fwd(place, cpu, driver):
    """Routes the lab's benchmark networks; the other ends' addresses are given to it."""
    dpdk.need_driver(driver)
    with tempfile.TemporaryDirectory(prefix="shunt-bench-") as folder:
        def argv(prefix):
            return place.dut(*dpdk.l3fwd_argv(prefix, cpu, vdevs_of(driver, place), folder,
                                              (place.gen_mac, place.sink_mac)))
        with devices_kept(place), kernel_stands_back(place), dpdk.running(argv, dpdk.L3FWD_READY):
            yield {"dst_mac": place.dut_macs[0], "in_use": {}}


# --- xdp-tools ------------------------------------------------------------------------------------

def need(program, package):
    if not shutil.which(program):
        raise Absent(f"{program} is not there: {package}")
    return program


@contextlib.contextmanager
def xdp_forward(place):
    """The kernel's FIB, looked up in XDP."""
    done = subprocess.run(place.dut("xdp-forward", "load", "-m", "native", *place.devices),
                          capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise Absent("xdp-forward does not run here: " + last_line(done.stdout + done.stderr))
    try:
        yield {"dst_mac": place.dut_macs[0], "in_use": {}}
    finally:
        place.dut_run("xdp-forward", "unload", *place.devices, check=False)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def end_xdp_bench(process):
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def xdp_bench(place):
    """A bare redirect, from the first device to the second."""
    argv = place.dut("xdp-bench", "redirect", "-m", "native", "-i", "1", *place.devices)
    with interrupts.started(
            lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     start_new_session=True, preexec_fn=interrupts.end_with_us),
            end_xdp_bench) as process:
        end = time.monotonic() + STOP_S
        while "xdp" not in place.dut_run("ip", "link", "show", "dev", place.devices[0]):
            if process.poll() is not None:
                raise Absent("xdp-bench does not run here: " + last_line(process.stdout.read()))
            if time.monotonic() > end:
                raise Absent(f"xdp-bench attached nothing within {STOP_S} s")
            time.sleep(0.05)
        # it fails on this kernel only after attaching: a moment to see whether it stays
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            raise Absent("xdp-bench does not run here: " + last_line(process.stdout.read()))
        yield {"dst_mac": place.sink_mac, "in_use": {}}


# --- what shunt-bench calls -----------------------------------------------------------------------

def check_testpmd(driver):
    dpdk.testpmd()
    dpdk.need_driver(driver)


def check_l3fwd(driver):
    dpdk.l3fwd()
    dpdk.need_driver(driver)


def all_of(cpu, batch):
    made = [Baseline("xdp-forward",
                     lambda: need("xdp-forward", "Debian 12's xdp-tools 1.3.1 has none, later ones do"),
                     xdp_forward, "generator's"),
            Baseline("xdp-bench redirect", lambda: need("xdp-bench", "apt-get install xdp-tools"),
                     xdp_bench, "generator's")]
    for driver in ("net_af_xdp", "net_af_packet"):
        made.append(Baseline(f"DPDK testpmd, {driver}", lambda d=driver: check_testpmd(d),
                             lambda place, d=driver: testpmd(place, cpu, batch, d)))
        made.append(Baseline(f"DPDK l3fwd, {driver}", lambda d=driver: check_l3fwd(d),
                             lambda place, d=driver: l3fwd(place, cpu, d)))
    return made


def usable(candidates, skip):
    """Those with a check that finds nothing; skip(name, why) for the others."""
    made = []
    for one in candidates:
        try:
            one.check()
            made.append(one)
        except Absent as error:
            skip(one.name, str(error))
    return made


def xdp_tools_version():
    """The package's, unless the programs come from elsewhere: they do not say it themselves."""
    program = shutil.which("xdp-forward") or shutil.which("xdp-bench")
    if not program or os.path.dirname(program) in ("/usr/bin", "/usr/sbin"):
        return program and machine.package("xdp-tools")
    return f"unknown, of {program}"


def version_into(versions):
    """DPDK's and xdp-tools' versions, where they are installed."""
    with contextlib.suppress(Absent):
        versions["dpdk"] = dpdk.version()
    tools = xdp_tools_version()
    if tools:
        versions["xdp-tools"] = tools


def forwarders(ctx, doc):
    """On devices: those that can be started; the rest is noted as skipped."""
    version_into(doc.data["versions"])
    return usable(all_of(ctx.cpus[0], ctx.batch), doc.skip)


MEMORY = (
    ("DPDK testpmd io, null", dpdk.null_testpmd, ("io", False)),
    ("DPDK testpmd mac, null", dpdk.null_testpmd, ("mac", False)),
    ("DPDK testpmd io, null, copy", dpdk.null_testpmd, ("io", True)),
    ("DPDK testpmd mac, null, copy", dpdk.null_testpmd, ("mac", True)),
    ("DPDK l3fwd LPM, capture", dpdk.capture_l3fwd, ()),
)


def memory(cpu, seconds, batch, least_disturbed=lambda measure: measure()):
    """On in-memory devices: ([{name, pps, cpu_share, huge_pages}], [(name, why)]). least_disturbed, as
    of mem.Memory, has each measured as often as shunt is."""
    rows, skipped = [], []
    for name, measure, args in MEMORY:
        try:
            made = least_disturbed(lambda m=measure, a=args: m(cpu, seconds, batch, *a))
            rows.append({"name": name, **made, "huge_pages": dpdk.has_huge_pages()})
        except Absent as error:
            skipped.append((name, str(error)))
    return rows, skipped
