# SPDX-License-Identifier: BSD-2-Clause
"""One thread of another process: stopped, put into an endless loop as a bug would have it, or made to do
system calls as somebody would who has got hold of it. x86-64 only, but for Stopped. Nothing in shuntd
is there for that."""
import ctypes
import os
import platform
import re
import signal
import subprocess
import time

SEIZE, INTERRUPT, DETACH, SINGLESTEP, GETREGS, SETREGS = 0x4206, 0x4207, 17, 9, 12, 13
WALL = 0x40000000
# Places in user_regs_struct.
R10, R9, R8, RAX, RDX, RSI, RDI, ORIG_RAX, RIP, RSP = 7, 8, 9, 10, 12, 13, 14, 15, 16, 19
ARGUMENTS = (RDI, RSI, RDX, R10, R8, R9)
SCRATCH = 4096  # bytes below the stack pointer, out of the red zone
JUMP_TO_ITSELF = b"\xeb\xfe"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def is_possible():
    return platform.machine() == "x86_64"


def thread_of(pid, name):
    """A thread has its name a moment after its start."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
                if file.read().strip() == name:
                    return int(tid)
        time.sleep(0.01)
    raise LookupError(f"process {pid} has no thread {name}")


def _ptrace(request, tid, addr=None, data=None):
    ctypes.set_errno(0)
    result = _libc.ptrace(request, tid, addr, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return result & (1 << 64) - 1


def _wait(tid):
    """Until the thread stops; by which signal."""
    _, status = os.waitpid(tid, WALL)
    assert os.WIFSTOPPED(status), f"the thread ended: {status:#x}"
    return os.WSTOPSIG(status)


def _stop(tid):
    _ptrace(SEIZE, tid)
    _ptrace(INTERRUPT, tid)
    _wait(tid)


def _registers(tid):
    regs = (ctypes.c_ulonglong * 27)()
    _ptrace(GETREGS, tid, None, ctypes.addressof(regs))
    return regs


class Stopped:
    """with Stopped(pid, "shunt-w0") as worker: that thread alone stands still."""

    def __init__(self, pid, thread):
        self.pid, self.tid = pid, thread_of(pid, thread)

    def __enter__(self):
        _stop(self.tid)
        return self

    def wait_killed(self):
        """Until somebody ends its process, a part of which is there until then: a tracer is told
        first."""
        os.waitpid(self.tid, WALL)
        self.tid = 0

    def __exit__(self, *_):
        if self.tid:
            _ptrace(DETACH, self.tid)


class Captured(Stopped):
    """with Captured(pid, "shunt-w0") as thread: thread.call(number, *arguments). Its registers are set,
    one instruction is let run, and all is put back."""

    def __enter__(self):
        super().__enter__()
        self.saved = _registers(self.tid)
        self.instruction = self._find_instruction()
        return self

    def __exit__(self, *_):
        _ptrace(SETREGS, self.tid, None, ctypes.addressof(self.saved))
        super().__exit__()

    def _find_instruction(self):
        """Where libc has a syscall instruction."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            spans = [line.split()[0] for line in maps if " r-xp " in line and "libc" in line]
        for span in spans:
            start, end = (int(number, 16) for number in span.split("-"))
            with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                at = memory.read(end - start).find(b"\x0f\x05")
            if at >= 0:
                return start + at
        raise LookupError("no syscall instruction in libc")

    def _write(self, at, data):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(at)
            memory.write(data)

    def call(self, number, *arguments):
        """What the call returns: its result, or a negative errno. Text is passed by its address."""
        regs = (ctypes.c_ulonglong * 27)(*self.saved)
        at = self.saved[RSP] - SCRATCH & ~15
        for place, argument in zip(ARGUMENTS, (*arguments, 0, 0, 0, 0, 0, 0)):
            if isinstance(argument, str):
                self._write(at, argument.encode() + b"\0")
                argument, at = at, at + 256
            regs[place] = argument & (1 << 64) - 1
        regs[RAX], regs[RIP], regs[ORIG_RAX] = number, self.instruction, (1 << 64) - 1
        _ptrace(SETREGS, self.tid, None, ctypes.addressof(regs))
        _ptrace(SINGLESTEP, self.tid)
        assert _wait(self.tid) == signal.SIGTRAP
        return ctypes.c_longlong(_registers(self.tid)[RAX]).value


class EndlessLoop:
    """with EndlessLoop(pid, "shunt-w0", program): the thread turns round at the beginning of a worker's own
    function. The code there is overwritten with a jump to itself, and put back. A worker that sleeps comes
    by with its next packet."""

    def __init__(self, pid, thread, program):
        self.pid, self.tid = pid, thread_of(pid, thread)
        self.at = _address(pid, program, "shunt_worker_turn")

    def _write(self, code):
        """While the thread is traced: kernels may let nobody else write code (PROC_MEM_FORCE_PTRACE)."""
        with open(f"/proc/{self.tid}/mem", "r+b", buffering=0) as memory:
            memory.seek(self.at)
            before = memory.read(len(code))
            memory.seek(self.at)
            memory.write(code)
        return before

    def __enter__(self):
        _stop(self.tid)
        try:
            self.before = self._write(JUMP_TO_ITSELF)
        finally:
            _ptrace(DETACH, self.tid)
        return self

    def __exit__(self, *_):
        if not os.path.exists(f"/proc/{self.tid}"):
            return
        _stop(self.tid)
        try:
            assert _registers(self.tid)[RIP] == self.at, "the worker is not in its endless loop"
        finally:
            self._write(self.before)
            _ptrace(DETACH, self.tid)


def _address(pid, program, function):
    """Where that process has a function."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps
                   if os.path.basename(program) in line)
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return base + int(re.search(rf"^(\w+) [tT] {function}$", said, re.M)[1], 16)
