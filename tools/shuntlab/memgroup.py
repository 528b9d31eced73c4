# SPDX-License-Identifier: BSD-2-Clause
"""A process killed by the kernel for want of memory: it and a glutton share a memory control group (version
1 or 2), and of these two the kernel chooses it."""
import contextlib
import os
import subprocess
import sys
import time

MEMORY_BYTES = 64 << 20
GLUTTON = "kept = [b'x' * (1 << 20) for _ in range(1024)]"
END_S = 20


def _top():
    """The folder of the hierarchy with memory in it, and the name of its limit; None without one."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for _, folder, kind, options, *_ in map(str.split, mounts):
            if kind == "cgroup" and "memory" in options.split(","):
                return folder, "memory.limit_in_bytes"
            with contextlib.suppress(OSError):
                if kind == "cgroup2":
                    with open(f"{folder}/cgroup.subtree_control", encoding="ascii") as control:
                        if "memory" in control.read().split():
                            return folder, "memory.max"
    return None


def is_possible():
    return _top() is not None


def _write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def _join(folder, pid, favour):
    _write(f"/proc/{pid}/oom_score_adj", favour)
    _write(f"{folder}/cgroup.procs", pid)


def kill(pid):
    """Returns when the glutton has had what it wanted: until then the kernel has killed."""
    top, limit = _top()
    folder = os.path.join(top, f"shunt-torture-{os.getpid()}")
    os.mkdir(folder)
    try:
        _write(f"{folder}/{limit}", MEMORY_BYTES)
        _join(folder, pid, 1000)
        subprocess.run([sys.executable, "-c", GLUTTON], timeout=END_S, check=False,
                       preexec_fn=lambda: _join(folder, os.getpid(), 0))
    finally:
        end = time.monotonic() + END_S
        while os.path.isdir(folder) and time.monotonic() < end:
            with contextlib.suppress(OSError):  # as long as one is in it
                os.rmdir(folder)
            time.sleep(0.01)
        assert not os.path.isdir(folder), folder
