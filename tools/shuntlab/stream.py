# SPDX-License-Identifier: BSD-2-Clause
"""A steady stream of numbered frames from gen to sink, and the account of each: when it was sent,
when it arrived, and whether the kernel forwarded it or shunt, which tests/torture/stack.bpf.c tells.

Sender and receiver are processes of their own, so that what tortures does not disturb them; each
writes a log, which is read when a fault is over. A frame's number is its place in the sender's
log."""
import mmap
import multiprocessing
import os
import socket
import struct
import tempfile
import time
from dataclasses import dataclass, field

from shuntlab import bpf
from shuntlab.frames import mac, udp4
from shuntlab.lab import BUILD
from shuntlab.wire import SO_RCVBUFFORCE, SO_TIMESTAMPNS, socket_in

MAGIC = b"SHTR"
HEAD = struct.Struct("<4sQ")  # magic, number
ARRIVAL = struct.Struct("<QQ")  # number, ns
SENT = struct.Struct("<Q")
SIZE = 100
FRAMES_MAX = 4_000_000  # as in stack.bpf.c
LATE_S = 0.005  # a sender that was held up longer gives up what was due before
UNSENT = 1  # the device was gone or down: no frame left
ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING, SOL_PACKET = 23, 263


def numbered(make, number):
    return make(data=HEAD.pack(MAGIC, number) + bytes(SIZE - 42 - HEAD.size))


def send_all(sock, template, rate, log_path, stop):
    """Sends at that rate until told to stop. Being held up makes no burst of it."""
    frame = bytearray(template)
    with open(log_path, "r+b", buffering=0) as file:
        log = mmap.mmap(file.fileno(), FRAMES_MAX * SENT.size)
    step, number = 1 / rate, 0
    due = time.monotonic()
    while not stop.is_set() and number < FRAMES_MAX:
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        frame[42:42 + HEAD.size] = HEAD.pack(MAGIC, number)
        at = time.time_ns()
        try:
            sock.sendto(frame, ("eth1", 0))
        except OSError:
            at = UNSENT
        SENT.pack_into(log, number * SENT.size, at)
        number += 1
        due = max(due + step, time.monotonic() - LATE_S)


def receive_all(sock, log_path, stop, station):
    """Logs what arrives, for that station where one is named, the kernel's time stamp with it, until told to
    stop."""
    sock.settimeout(0.1)
    with open(log_path, "ab", buffering=0) as log:
        while not stop.is_set():
            try:
                data, ancillary, _, _ = sock.recvmsg(256, 64)
            except TimeoutError:
                continue
            except OSError:  # its device went down
                continue
            if len(data) < SIZE or data[42:46] != MAGIC or station not in (None, data[:6]):
                continue
            seconds, ns = struct.unpack("qq", ancillary[0][2])
            log.write(ARRIVAL.pack(HEAD.unpack_from(data, 42)[1], seconds * 10**9 + ns))


class Stack:
    """Looks on which frames dut's stack sends by a device, from its making to close()."""

    def __init__(self, lab, device):
        self._object = bpf.Object(os.path.join(BUILD, "tests", "torture", "stack.bpf.o"))
        netns = os.stat(f"/run/netns/{lab.netns('dut')}").st_ino
        self._object.write(self._object.map_fd(".data.device"), struct.pack("<I16s", netns, device.encode()))
        self._sent = mmap.mmap(self._object.map_fd(".bss"), FRAMES_MAX, prot=mmap.PROT_READ)
        self._object.attach()

    def sent(self, number):
        return self._sent[number] == 1

    def close(self):
        self._sent.close()
        self._object.close()


@dataclass
class Account:
    """What became of the frames of one stretch of the stream."""
    sent: int = 0
    unsent: int = 0
    lost: int = 0
    doubled: int = 0
    late: int = 0  # arrived behind one that was sent later
    kernel: int = 0
    shunt: int = 0
    still_ns: int = 0  # the longest time in which frames were sent and none arrived
    by_kernel_ns: list = field(default_factory=list, repr=False)  # when those were sent, in order


class Stream:
    """with Stream(lab, rate) as stream: ...; stream.account() tells of all since the last time. All is
    shunt's but what the kernel sends by the device that is named. station: frames to that MAC address alone
    have arrived."""

    def __init__(self, lab, rate, make=udp4, kernels=None, station=None):
        self.rate = rate
        self._stack = Stack(lab, kernels) if kernels else None
        self._folder = tempfile.TemporaryDirectory(prefix="shunt-torture-")
        self._sent_path = os.path.join(self._folder.name, "sent")
        self._got_path = os.path.join(self._folder.name, "got")
        with open(self._sent_path, "wb") as file:
            file.truncate(FRAMES_MAX * SENT.size)
        with open(self._got_path, "wb"):
            pass
        self._stop = multiprocessing.Event()
        self._sockets = [self._socket(lab, "gen", 0), self._socket(lab, "sink", ETH_P_ALL)]
        self._processes = [
            multiprocessing.Process(target=send_all, args=(
                self._sockets[0], numbered(make, 0), rate, self._sent_path, self._stop)),
            multiprocessing.Process(target=receive_all, args=(
                self._sockets[1], self._got_path, self._stop, station and mac(station)))]
        self._from = 0  # the first frame that is not accounted for
        self._got_at = 0
        self._last_arrival = None
        for process in self._processes:
            process.start()
        with open(self._sent_path, "rb") as file:
            self._log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._got = open(self._got_path, "rb")  # pylint: disable=consider-using-with
        self._seen = []  # arrivals that were read and are not accounted for

    @staticmethod
    def _socket(lab, host, protocol):
        """Bound to no device: it outlives each."""
        sock = socket_in(f"/run/netns/shunt-{lab.name}-{host}", socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(protocol))
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        return sock

    def is_alive(self):
        return all(process.is_alive() for process in self._processes)

    # --- what there is ----------------------------------------------------------------------------

    def _sent_ns(self, number):
        return SENT.unpack_from(self._log, number * SENT.size)[0]

    def next_number(self):
        """The number that is sent next: the first without an entry in the log."""
        low, step = self._from, 1
        while self._sent_ns(low + step):
            low, step = low + step, step * 2
        high = low + step
        while low < high:
            middle = (low + high) // 2
            if self._sent_ns(middle):
                low = middle + 1
            else:
                high = middle
        return low

    def _read(self):
        data = self._got.read()
        whole = len(data) // ARRIVAL.size * ARRIVAL.size
        if whole < len(data):
            self._got.seek(whole - len(data), os.SEEK_CUR)
        self._seen += ARRIVAL.iter_unpack(data[:whole])

    def _is_kernels(self, number):
        return self._stack is not None and self._stack.sent(number)

    def arrived_since(self, ns):
        """(frames by the kernel, frames by shunt) among those that were sent since."""
        self._read()
        rows = [number for number, _ in self._seen if self._sent_ns(number) >= ns]
        kernel = sum(map(self._is_kernels, rows))
        return kernel, len(rows) - kernel

    def latest_arrival_ns(self):
        """When the latest frame so far arrived; 0: none did."""
        self._read()
        return max((row[1] for row in self._seen), default=0)

    def latest_passed_ns(self):
        """When the latest of the frames that arrived so far was sent; 0: none did."""
        self._read()
        return max((self._sent_ns(row[0]) for row in self._seen), default=0)

    def longest_silence(self, arrivals, numbers):
        """The longest time without an arrival while frames were being sent: from the first frame
        sent after an arrival to the next arrival."""
        sent = [ns for ns in map(self._sent_ns, numbers) if ns != UNSENT]
        longest, at = 0, 0
        last = self._last_arrival or (sent[0] if sent else 0)
        for arrived in arrivals:
            while at < len(sent) and sent[at] <= last:
                at += 1
            if at < len(sent) and sent[at] < arrived:
                longest = max(longest, arrived - sent[at])
            last = arrived
        return longest

    def account(self, patience=2.0):
        """Everything sent since the last account, once all of it arrived or none of the missing
        ones came for a while."""
        numbers = range(self._from, self.next_number())
        wanted = {n for n in numbers if self._sent_ns(n) != UNSENT}
        end, missing = time.monotonic() + patience, len(wanted)
        while missing and time.monotonic() < end:
            time.sleep(0.02)
            self._read()
            now = len(wanted - {row[0] for row in self._seen})
            if now < missing:
                missing, end = now, time.monotonic() + patience
        self._read()
        rows = [row for row in self._seen if row[0] < numbers.stop]
        self._seen = [row for row in self._seen if row[0] >= numbers.stop]
        got = {row[0] for row in rows}
        account = Account(sent=len(wanted), unsent=len(numbers) - len(wanted),
                          lost=len(wanted - got), doubled=len(rows) - len(got))
        kernels = [number for number, _ in rows if self._is_kernels(number)]
        account.kernel = len(kernels)
        account.shunt = len(rows) - account.kernel
        account.by_kernel_ns = sorted(map(self._sent_ns, kernels))
        highest = -1
        for number, _ in rows:
            account.late += number < highest
            highest = max(highest, number)
        account.still_ns = self.longest_silence(sorted(row[1] for row in rows), numbers)
        if rows:
            self._last_arrival = max(row[1] for row in rows)
        self._from = numbers.stop
        return account

    # --- end --------------------------------------------------------------------------------------

    def close(self):
        self._stop.set()
        for process in self._processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
        for sock in self._sockets:
            sock.close()
        if self._stack:
            self._stack.close()
        self._got.close()
        self._log.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
