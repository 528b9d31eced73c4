# SPDX-License-Identifier: BSD-2-Clause
"""Where a guest's instructions go: the one CPU's call chain is sampled by its clock, which with
--icount counts instructions. It needs no PMU and no perf(1).

A sample is the part's whose function comes first from the innermost outwards, so that what the
driver has the DMA layer do is the driver's, and what it calls of AF_XDP is the rings'."""
import bisect
import collections
import contextlib
import ctypes
import fcntl
import mmap
import os
import struct

PERF_EVENT_OPEN = 298  # x86-64
ENABLE, DISABLE = 0x2400, 0x2401
SAMPLE_IP_TID_CHAIN = 0x1 | 0x2 | 0x20
RECORD_SAMPLE = 9
RING_PAGES = 1 << 10
DISABLED, NO_USER_CHAIN = 1 << 0, 1 << 22
CHAIN_MAX = 24  # each takes some thousand instructions to find, most of what sampling takes
EVERY_NS = 49999  # prime: in step with nothing; much less, and it has no time for anything else

PARTS = (  # beginnings of functions' names
    ("generator and sink", ("pktgen", "BPF shunt_sink")),
    ("XDP program", ("BPF shunt_steer", "BPF steer_any", "BPF sample_end", "BPF xdp_dispatcher",
                     "BPF prog", "bpf_dispatcher_xdp")),
    ("rings", ("xsk_", "__xsk_", "xp_", "__xp_", "xdp_do_redirect", "xdp_do_flush",
               "bpf_xdp_redirect_map")),
    ("driver transmit", ("virtnet_xsk_xmit", "virtnet_poll_tx", "virtnet_poll_cleantx",
                         "free_old_xmit", "__free_old_xmit", "start_xmit", "virtnet_xsk_wakeup",
                         "igb_xmit", "igb_tx_", "igb_clean_tx", "igb_xsk_wakeup")),
    ("driver receive", ("virtnet_", "receive_buf", "try_fill_recv", "add_recvbuf", "igb_")),
    ("stack", ("__netif_receive", "netif_receive", "gro_", "dev_gro", "napi_gro", "ip_", "br_",
               "__dev_queue_xmit", "dev_queue_xmit", "nf_", "fib_", "eth_type_trans")),
    ("system calls", ("do_syscall_64",)),
)


class Sampler:
    """Between its making and stop(): samples by part of the way, in instructions."""

    def __init__(self):
        # Sampling is not to be throttled for the time that it takes.
        with contextlib.suppress(OSError):
            with open("/proc/sys/kernel/perf_cpu_time_max_percent", "w", encoding="ascii") as file:
                file.write("100")
        attr = struct.pack("<IIQQQQQ", 1, 112, 0, EVERY_NS, SAMPLE_IP_TID_CHAIN, 0,
                           DISABLED | NO_USER_CHAIN).ljust(108, b"\0")
        attr += struct.pack("<HH", CHAIN_MAX, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.syscall(PERF_EVENT_OPEN, attr, -1, 0, -1, 0)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")
        self._ring = mmap.mmap(self._fd, (1 + RING_PAGES) * mmap.PAGESIZE)
        fcntl.ioctl(self._fd, ENABLE, 0)

    def stop(self, idle, forwarder):
        """Two counters of samples, by part and by function (innermost, with its part), of what was
        not the idle process's. The pids: of the idle process and of the forwarder, 0 for none."""
        fcntl.ioctl(self._fd, DISABLE, 0)
        symbols = Symbols()
        parts, functions = collections.Counter(), collections.Counter()
        for (pid, chain), count in self._samples().items():
            names = [symbols.function(address) for address in chain] or ["user"]
            if pid == idle and names == ["user"]:
                continue
            part = part_of(names, pid == forwarder)
            parts[part] += count
            functions[part, names[0]] += count
        self._ring.close()
        os.close(self._fd)
        return parts, functions

    def _samples(self):
        """How often which process had which chain; a few hundred of them make up thousands."""
        head = struct.unpack_from("<Q", self._ring, 1024)[0]  # data_head
        data, at = self._ring[mmap.PAGESIZE:mmap.PAGESIZE + head], 0
        assert head < RING_PAGES * mmap.PAGESIZE, "the ring of samples overflowed"
        found = collections.Counter()
        while at < head:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == RECORD_SAMPLE:
                found[data[at + 16:at + 20], data[at + 32:at + length]] += 1
            at += length
        return collections.Counter({
            # the largest numbers say whose the addresses after them are
            (int.from_bytes(pid, "little"), tuple(
                address for address in struct.unpack(f"<{len(chain) // 8}Q", chain)
                if address < (1 << 64) - 4096)): count for (pid, chain), count in found.items()})


def part_of(names, is_forwarder):
    if names == ["user"]:
        return "poller" if is_forwarder else "generator and sink"
    for name in names:
        for part, beginnings in PARTS:
            if name.startswith(beginnings):
                return part if part != "system calls" or is_forwarder else "generator and sink"
    return "interrupts, scheduler"


class Symbols:
    """The kernel's, its modules' and its JIT's. Lines stay as they are, their addresses have sixteen
    digits: to take a hundred thousand apart takes emulation long."""

    def __init__(self):
        with open("/proc/kallsyms", "rb") as file:
            self._lines = sorted(file.read().split(b"\n"))
        self._names = {}  # functools.cache would keep every object that was ever made, 22 MB each

    def function(self, address):
        if address not in self._names:
            line = self._lines[bisect.bisect(self._lines, b"%016x~" % address) - 1]
            name = line.split()[2].decode()
            self._names[address] = "BPF " + name[len("bpf_prog_") + 17:] if name.startswith("bpf_prog_") \
                else name
        return self._names[address]
