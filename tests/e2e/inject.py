# SPDX-License-Identifier: BSD-2-Clause
"""System calls made in another process's name, as somebody would who has got hold of one of its
threads: its registers are set, one instruction is let run, and all is put back. x86-64 only."""
import ctypes
import os
import platform
import signal

SEIZE, INTERRUPT, DETACH, SINGLESTEP, GETREGS, SETREGS = 0x4206, 0x4207, 17, 9, 12, 13
WALL = 0x40000000
# Places in user_regs_struct.
R10, R9, R8, RAX, RDX, RSI, RDI, ORIG_RAX, RIP, RSP = 7, 8, 9, 10, 12, 13, 14, 15, 16, 19
ARGUMENTS = (RDI, RSI, RDX, R10, R8, R9)
SCRATCH = 4096  # bytes below the stack pointer, out of the red zone

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def is_possible():
    return platform.machine() == "x86_64"


def _ptrace(request, tid, data=None):
    if _libc.ptrace(request, tid, None, data) == -1:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


class Thread:
    """with Thread(pid, tid) as thread: thread.call(number, *arguments); text is passed by its
    address."""

    def __init__(self, pid, tid):
        self.pid, self.tid = pid, tid
        self.saved = (ctypes.c_ulonglong * 27)()

    def _find_instruction(self):
        """Where libc has a syscall instruction."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            spans = [line.split()[0] for line in maps if " r-xp " in line and "libc" in line]
        for span in spans:
            start, end = (int(number, 16) for number in span.split("-"))
            at = self._memory(start, end - start).find(b"\x0f\x05")
            if at >= 0:
                return start + at
        raise LookupError("no syscall instruction in libc")

    def _memory(self, at, size):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(at)
            return memory.read(size)

    def _write(self, at, data):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(at)
            memory.write(data)

    def _wait(self):
        _, status = os.waitpid(self.tid, WALL)
        assert os.WIFSTOPPED(status), f"the thread ended: {status:#x}"
        return os.WSTOPSIG(status)

    def __enter__(self):
        _ptrace(SEIZE, self.tid)
        _ptrace(INTERRUPT, self.tid)
        self._wait()
        _ptrace(GETREGS, self.tid, ctypes.addressof(self.saved))
        self.instruction = self._find_instruction()
        return self

    def __exit__(self, *_):
        _ptrace(SETREGS, self.tid, ctypes.addressof(self.saved))
        _ptrace(DETACH, self.tid)

    def call(self, number, *arguments):
        """What the call returns: its result, or a negative errno."""
        regs = (ctypes.c_ulonglong * 27)(*self.saved)
        at = self.saved[RSP] - SCRATCH & ~15
        for place, argument in zip(ARGUMENTS, (*arguments, 0, 0, 0, 0, 0, 0)):
            if isinstance(argument, str):
                self._write(at, argument.encode() + b"\0")
                argument, at = at, at + 256
            regs[place] = argument & (1 << 64) - 1
        regs[RAX], regs[RIP], regs[ORIG_RAX] = number, self.instruction, (1 << 64) - 1
        _ptrace(SETREGS, self.tid, ctypes.addressof(regs))
        _ptrace(SINGLESTEP, self.tid)
        assert self._wait() == signal.SIGTRAP
        _ptrace(GETREGS, self.tid, ctypes.addressof(regs))
        return ctypes.c_longlong(regs[RAX]).value
