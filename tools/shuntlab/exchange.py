# SPDX-License-Identifier: BSD-2-Clause
"""Frames to the ports of dut, and what leaves these, at the pace at which it passes. Neither is by the clock:
behind each burst a marker is sent, which goes no further than dut, and when dut has it, dut sends one out of
each port. Both ways keep the order, so by then the kernel has forwarded all of the burst, and it has arrived.
What a worker of shunt's has is not told by markers: it is waited for, as far as it is known.

The kernel's default queueing (fq_codel) keeps no order between flows, and drops of a queue that stands for
100 ms, as it may while others have the processors: devices get a plain queue."""
import collections
import itertools
import select
import time

# Fewer than the smallest ring on the way holds.
BURST = 32
MARKER_S = 30  # a device that has just got a program may be without a link for seconds
AGAIN_S = 1
# No bridge forwards or learns what has no source; it is of the second type for local experiments.
HEAD, KIND = bytes.fromhex("ffffffffffff 000000000000 88b6"), 0x88b6
NONE = {}


def marker(number):
    return HEAD + b"marker" + number.to_bytes(4, "big") + bytes(36)


class Exchange:
    """ends: by port of dut the host and device at its other end. ours(frame): (number, what is compared) of
    one that was sent here, else None. addresses: those of ports that bridge what is sent to all, in bytes:
    markers are sent to them."""

    def __init__(self, lab, ends, ours, addresses=NONE):
        self._lab, self._ends, self._ours, self.addresses = lab, ends, ours, addresses
        self._wires, self._taps = {}, {}
        self._rounds = itertools.count()
        for port, (host, dev) in ends.items():
            for at, name in ("dut", port), (host, dev):
                lab.exec(at, "tc", "qdisc", "replace", "dev", name, "root", "pfifo", "limit", 10000)
            self.open(port)

    def open(self, port):
        """Takes up a port again, from now on."""
        self._wires[port] = self._lab.wire(*self._ends[port])
        self._taps[port] = self._lab.wire("dut", port, KIND)

    def close(self, port):
        """A port whose link is about to go: nothing is sent to it, nothing expected."""
        self._wires.pop(port).close()
        self._taps.pop(port).close()

    def reopen(self):
        """All anew: what has arrived and was not asked for is forgotten."""
        for port in self._ends:
            if port in self._wires:
                self.close(port)
            self.open(port)

    def send(self, port, *frames):
        """What nobody waits for; flush(port) says that dut has had it."""
        self._wires[port].send(*frames)

    def flush(self, port, left=None):
        """Waits until the kernel has done with all that was sent to the port. What has arrived until then is
        added to left, or forgotten."""
        sign = marker(next(self._rounds))
        enters = self.addresses.get(port, sign[:6]) + sign[6:]
        for wire in *self._wires.values(), *self._taps.values():
            wire.forget_error()
        self._until(lambda: self._wires[port].send(enters), {port: self._taps[port]},
                    lambda _, frame: frame == enters, "dut")

        def arrived(at, frame):
            row = self._ours(frame)
            if row and left is not None:
                left[at].append(row)
            return frame == sign

        def send():
            for tap in self._taps.values():
                tap.send(sign)

        self._until(send, self._wires, arrived, "the other ends")

    @staticmethod
    def _until(send, wires, is_it, what):
        """Sends, and takes what arrives until is_it(port, frame) was true on each wire."""
        missing, end, again = set(wires), time.monotonic() + MARKER_S, 0
        while missing:
            now = time.monotonic()
            assert now < end, f"the marker did not arrive at {what}: {missing}"
            if now >= again:
                send()
                again = now + AGAIN_S
            for wire in select.select(list(wires.values()), [], [], again - now)[0]:
                port = next(port for port, each in wires.items() if each is wire)
                frame = wire.receive(timeout=0)
                if frame is not None and is_it(port, frame):
                    missing.discard(port)

    def leaves(self, sent, like=None, patience=30):
        """Sends the frames of sent, {number: (port, frame)}, to ports that are open. Returns what left by
        port, sorted. like: what is expected to leave, and so is waited for, in all for so many seconds."""
        left = {port: [] for port in self._ends}
        where = collections.defaultdict(list)
        for port, rows in (like or NONE).items():
            for number, _ in rows:
                where[number].append(port)
        due, left_s = collections.Counter(), patience
        for port in self._wires:
            numbers = [number for number, (at, _) in sent.items() if at == port]
            for at in range(0, len(numbers), BURST):
                burst = numbers[at:at + BURST]
                self._wires[port].send(*(sent[number][1] for number in burst))
                self.flush(port, left)
                due.update(itertools.chain.from_iterable(where[number] for number in burst))
                start = time.monotonic()
                self._wait(due, left, left_s)
                left_s -= time.monotonic() - start
        for port in list(self._wires)[:1] if like else ():
            self.flush(port, left)  # nor may more arrive
        return {port: sorted(rows) for port, rows in left.items()}

    def _wait(self, due, left, seconds):
        """Until as many have left by each port, or the time is up."""
        end = time.monotonic() + max(seconds, 0)
        for port, wire in self._wires.items():
            while len(left[port]) < due[port]:
                frame = wire.receive(self._ours, timeout=max(end - time.monotonic(), 0))
                if frame is None:
                    break
                left[port].append(self._ours(frame))
