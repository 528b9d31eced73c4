# SPDX-License-Identifier: BSD-2-Clause
"""Numbered frames from gen to sink, one every millisecond or so, sent and received by the caller itself:
which of them arrived, and in which order. stream.py has the steady one, by processes of its own."""
import time

from shuntlab.frames import DUT2, SINK, routed, udp4


def numbered(number, **eth):
    return udp4(100, data=number.to_bytes(8, "big") + bytes(50), **eth)


def to_sink(number):
    return numbered(number, eth_dst=SINK)


def rewritten(number):
    return numbered(number, eth_dst=SINK, eth_src=DUT2)


def served(daemon):
    """Frames of eth1 that went to the worker."""
    return daemon.port()["lanes"]["user"]


class Trickle:
    """sends and arrives make the frame of a number."""

    def __init__(self, lab, sends=numbered, arrives=lambda number: routed(numbered(number))):
        self.sends, self.arrives = sends, arrives
        self.gen, self.sink = lab.ends()
        self.sent = []  # when, by number
        self.order, self.arrived = [], set()

    def run(self, seconds, until=lambda: False):
        """Until the condition holds, or for so many seconds; whether it holds."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            self.sent.append(time.monotonic())
            self.gen.send(self.sends(len(self.sent) - 1))
            time.sleep(0.001)
        return True

    def send(self, cnt=50):
        """So many frames."""
        end = len(self.sent) + cnt
        self.run(60, lambda: len(self.sent) >= end)

    def until_served(self, daemon):
        """Until its worker has some of them, and nothing was lost."""
        before = served(daemon)
        assert self.run(30, lambda: served(daemon) > before), "the worker is not served"
        assert not self.lost()

    def take(self, numbers, timeout=20):
        """Receives until all of these arrived, or nothing does any more."""
        end = time.monotonic() + timeout
        while not self.arrived.issuperset(numbers) and time.monotonic() < end:
            # a far end that is made to hold frames may hold them for a second, and then want a processor
            frame = self.sink.receive(lambda f: len(f) == 100, timeout=5)
            if not frame:
                break
            number = int.from_bytes(frame[42:50], "big")
            assert frame == self.arrives(number)
            self.order.append(number)
            self.arrived.add(number)

    def is_last_there(self):
        """Whether the last one arrives."""
        self.take([len(self.sent) - 1])
        return len(self.sent) - 1 in self.arrived

    def lost(self):
        """The numbers of those that did not arrive."""
        self.take(range(len(self.sent)))
        assert len(self.order) == len(self.arrived), "doubled"
        return sorted(set(range(len(self.sent))) - self.arrived)
