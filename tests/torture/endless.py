# SPDX-License-Identifier: BSD-2-Clause
"""A worker in an endless loop, as a bug would have it: his code is overwritten, where he is at that
moment, with a jump to itself, and put back later. Nothing in shuntd is there for that."""
import ctypes
import os
import platform
import re
import subprocess

SEIZE, INTERRUPT, DETACH, SINGLESTEP, GETREGS, PEEK, POKE = 0x4206, 0x4207, 17, 9, 12, 1, 4
WALL = 0x40000000
RIP = 16  # in user_regs_struct
JUMP_TO_ITSELF = 0xfeeb
STEPS_MAX = 20_000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def is_possible():
    return platform.machine() == "x86_64"


def _ptrace(request, tid, addr=None, data=None):
    ctypes.set_errno(0)
    result = _libc.ptrace(request, tid, addr, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return result & (1 << 64) - 1


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return int(tid)
    raise LookupError(f"process {pid} has no thread {name}")


def _ranges(pid, program):
    """Where the worker's own functions are in that process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps
                   if os.path.basename(program) in line)
    said = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\w+) (\w+) [tT] shunt_worker_(?:loop|turn)$", said, re.M)
    return [(base + int(at, 16), base + int(at, 16) + int(size, 16)) for at, size in found]


def _rip(tid):
    regs = (ctypes.c_ulong * 27)()
    _ptrace(GETREGS, tid, None, ctypes.addressof(regs))
    return regs[RIP]


class Stopped:
    """with Stopped(pid, "shunt-w0") as worker: that thread alone stands still."""

    def __init__(self, pid, thread):
        self.tid = thread_of(pid, thread)

    def __enter__(self):
        _ptrace(SEIZE, self.tid)
        _ptrace(INTERRUPT, self.tid)
        os.waitpid(self.tid, WALL)
        return self

    def wait_killed(self):
        """Until somebody ends its process. Until then a part of that is there: who traces is told
        first."""
        os.waitpid(self.tid, WALL)
        self.tid = 0

    def __exit__(self, *_):
        if self.tid:
            _ptrace(DETACH, self.tid)


class EndlessLoop:
    """with EndlessLoop(pid, "shunt-w0", program): the thread turns round in one place."""

    def __init__(self, pid, thread, program):
        self.tid = thread_of(pid, thread)
        self.ranges = _ranges(pid, program)
        self.at = self.word = None

    def __enter__(self):
        _ptrace(SEIZE, self.tid)
        try:
            _ptrace(INTERRUPT, self.tid)
            os.waitpid(self.tid, WALL)
            for _ in range(STEPS_MAX):
                self.at = _rip(self.tid)
                if any(start <= self.at < end - 8 for start, end in self.ranges):
                    break
                _ptrace(SINGLESTEP, self.tid)
                os.waitpid(self.tid, WALL)
            else:
                raise LookupError(f"the worker is at {self.at:#x} and does not come by his loop, "
                                  + ", ".join(f"{start:#x} to {end:#x}" for start, end in self.ranges))
            self.word = _ptrace(PEEK, self.tid, self.at)
            _ptrace(POKE, self.tid, self.at, self.word & ~0xffff | JUMP_TO_ITSELF)
        finally:
            _ptrace(DETACH, self.tid)
        return self

    def __exit__(self, *_):
        if not os.path.exists(f"/proc/{self.tid}"):
            return
        _ptrace(SEIZE, self.tid)
        _ptrace(INTERRUPT, self.tid)
        os.waitpid(self.tid, WALL)
        assert _rip(self.tid) == self.at, "he was to stay where he was"
        _ptrace(POKE, self.tid, self.at, self.word)
        _ptrace(DETACH, self.tid)
