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
EVERY_NS = 19973  # prime: in step with nothing

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
        attr = struct.pack("<IIQQQQQ", 1, 112, 0, EVERY_NS, SAMPLE_IP_TID_CHAIN, 0, 1)
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.syscall(PERF_EVENT_OPEN, attr.ljust(112, b"\0"), -1, 0, -1, 0)
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
        for pid, chain in self._samples():
            names = [symbols.function(address) for address in chain]
            if pid == idle and names[:1] in ([], ["user"]):
                continue
            part = part_of(names, pid == forwarder)
            parts[part] += 1
            functions[part, names[0] if names else "?"] += 1
        self._ring.close()
        os.close(self._fd)
        return parts, functions

    def _samples(self):
        head = struct.unpack_from("<Q", self._ring, 1024)[0]  # data_head
        data, at = self._ring[mmap.PAGESIZE:], 0
        assert head < len(data), "the ring of samples overflowed"
        while at < head:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == RECORD_SAMPLE:
                pid, _, depth = struct.unpack_from("<IIQ", data, at + 16)
                chain = struct.unpack_from(f"<{depth}Q", data, at + 32)
                # the largest numbers say whose the addresses after them are
                yield pid, [address for address in chain if address < (1 << 64) - 4096]
            at += length


def part_of(names, is_forwarder):
    if names[:1] == ["user"]:
        return "poller" if is_forwarder else "generator and sink"
    for name in names:
        for part, beginnings in PARTS:
            if name.startswith(beginnings):
                return part if part != "system calls" or is_forwarder else "generator and sink"
    return "interrupts, scheduler"


class Symbols:
    """The kernel's, its modules' and its JIT's."""

    def __init__(self):
        found = []
        with open("/proc/kallsyms", encoding="ascii") as file:
            for line in file:
                address, kind, name = line.split()[:3]
                if name.startswith("bpf_prog_"):
                    name = "BPF " + name[len("bpf_prog_") + 17:]
                if kind in "tT":
                    found.append((int(address, 16), name))
        found.sort()
        self._addresses, self._names = zip(*found)

    def function(self, address):
        if address < 1 << 47:
            return "user"
        return self._names[bisect.bisect_right(self._addresses, address) - 1]
