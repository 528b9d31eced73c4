# SPDX-License-Identifier: BSD-2-Clause
"""The machine that measures: what a figure means nothing without."""
import glob
import os
import platform
import re
import shutil
import subprocess

import paths


def read(path, default=None):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return default


def first_line(*argv):
    """The first line that a command says, None when it is not there or says nothing."""
    if not shutil.which(argv[0]):
        return None
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else None


def cpu_field(name):
    match = re.search(rf"^{name}\s*: (.*)$", read("/proc/cpuinfo", ""), re.MULTILINE)
    return match.group(1) if match else None


def caches():
    """[{level, type, bytes}] of CPU 0, instruction caches left out."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        kind, size = read(folder + "/type"), read(folder + "/size", "")
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if kind == "Instruction" or not match:
            continue
        shift = {"": 0, "K": 10, "M": 20, "G": 30}[match.group(2)]
        found.append({"level": int(read(folder + "/level", "0")), "type": kind.lower(),
                      "bytes": int(match.group(1)) << shift})
    return found


def distribution():
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release", ""), re.MULTILINE)
    return match.group(1) if match else None


def facts():
    """The document's "machine"."""
    flags = (cpu_field("flags") or "").split()
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "distribution": distribution(),
        "cpu": cpu_field("model name") or platform.processor() or "unknown",
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_mhz": float(cpu_field("cpu MHz") or 0) or None,
        "caches": caches(),
        "is_virtual": "hypervisor" in flags,
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "mitigations": "off" if "mitigations=off" in read("/proc/cmdline", "") else "on",
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def package(name):
    """The version of an installed Debian package, None without it."""
    if not shutil.which("dpkg-query"):
        return None
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status} ${Version}", name],
                          capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.split()[-1] if done.stdout.startswith("install ok installed") else None


def commit():
    """The source tree's commit, "-changed" behind it when files differ."""
    if not paths.IS_SOURCE_TREE or not shutil.which("git"):
        return None
    said = first_line("git", "-C", paths.TOP, "describe", "--always", "--dirty=-changed")
    return said if said and "fatal" not in said else None


def versions():
    """The document's "versions"."""
    found = {
        "shunt": (first_line(paths.program("shuntd"), "--version") or "").split()[-1:],
        "python": platform.python_version(),
        "gnuplot": first_line("gnuplot", "--version"),
        "ip": first_line("ip", "-V"),
        "libbpf": package("libbpf1") or package("libbpf0"),
        "libxdp": package("libxdp1"),
    }
    found["shunt"] = found["shunt"][0] if found["shunt"] else None
    found["commit"] = commit()
    return {name: version for name, version in found.items() if version}
