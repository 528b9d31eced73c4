# SPDX-License-Identifier: BSD-2-Clause
"""Raw frames on a device of another network namespace."""
import contextlib
import ctypes
import errno
import os
import select
import socket
import struct
import time

CLONE_NEWNET = 0x40000000
SOL_PACKET = 263
PACKET_AUXDATA = 8
SO_ATTACH_FILTER = 26
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
PACKET_IGNORE_OUTGOING = 23
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6

_libc = ctypes.CDLL(None, use_errno=True)


def _enter(fd):
    if _libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(netns):
    """This thread in the network namespace at that path."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    away = os.open(netns, os.O_RDONLY)
    try:
        _enter(away)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)
        os.close(away)


def socket_in(netns, *args):
    """A socket of the namespace at that path; it stays there when we come back."""
    with inside(netns):
        return socket.socket(*args)


def _hold_only(sock, kind):
    """Of frames of other Ethernet types the kernel makes no copy for this socket."""
    # struct sock_filter: load the type, jump, return all, return nothing
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (0x28, 0, 0, 12), (0x15, 0, 1, kind), (0x06, 0, 0, 0xffffffff), (0x06, 0, 0, 0)))
    buffer = ctypes.create_string_buffer(code)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HP", len(code) // 8, ctypes.addressof(buffer)))


def _untouched(data, ancillary):
    """The frame as it was on the wire: the kernel has taken a VLAN tag out."""
    for level, kind, aux in ancillary:
        if level != SOL_PACKET or kind != PACKET_AUXDATA:
            continue
        status, *_, tci, tpid = struct.unpack_from("IIIHHHH", aux)
        if status & TP_STATUS_VLAN_VALID:
            tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
            return data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
    return data


class Wire:
    """Sends on and receives from one device. It holds what arrives from the moment it is made, or of that
    what is of one Ethernet type."""

    def __init__(self, netns, dev, kind=None):
        self._socket = socket_in(netns, socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if kind:
            _hold_only(self._socket, kind)
        self._socket.bind((dev, 3))  # ETH_P_ALL, as the kernel wants it from Python

    def close(self):
        self._socket.close()

    def fileno(self):
        return self._socket.fileno()

    def forget_error(self):
        """That the device was down in between, which the next call would raise."""
        self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def send(self, *frames):
        """Each goes once: one that found no room, the other end's ring being full, has not gone."""
        end = time.monotonic() + 30
        for frame in frames:
            while True:
                try:
                    self._socket.send(bytes(frame))
                    break
                except OSError as error:
                    if error.errno != errno.ENOBUFS or time.monotonic() > end:
                        raise
                time.sleep(0.001)

    def reaches(self, other, frame, leaves=None):
        """The frame, sent here, arrives there: unchanged, or as it should leave."""
        self.send(frame)
        other.expect(frame if leaves is None else leaves)

    def receive(self, wanted=None, timeout=30):
        """The next frame, or the next for which wanted(frame) is true, the others being dropped;
        None when none came in time."""
        end = time.monotonic() + timeout
        while True:
            left = max(0, end - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return None
            data, ancillary, _, _ = self._socket.recvmsg(65536, 256)
            frame = _untouched(data, ancillary)
            if wanted is None or wanted(frame):
                return frame

    def stamps(self, count, wanted, timeout=60):
        """When the kernel received each of the next count frames that are wanted, in ns."""
        stamps = []
        self._socket.settimeout(timeout)
        while len(stamps) < count:
            data, ancillary, _, _ = self._socket.recvmsg(65536, 256)
            if wanted(data):
                stamps += [seconds * 10**9 + ns for level, kind, value in ancillary
                           if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)
                           for seconds, ns in [struct.unpack("qq", value)]]
        self._socket.settimeout(None)
        return stamps

    def expect(self, frame, timeout=30):
        """Waits for exactly these bytes; shows those that came in their place."""
        frame = bytes(frame)
        others = []
        end = time.monotonic() + timeout
        while True:
            got = self.receive(timeout=max(0, end - time.monotonic()))
            if got == frame:
                return
            if got is None:
                seen = "\n".join("     got " + other.hex() for other in others[-10:])
                raise AssertionError(f"expected {frame.hex()}\n{seen or '     got nothing'}")
            others.append(got)

    def until(self, marker, timeout=30):
        """What arrived before the marker, a frame sent last for this purpose: shows that something
        did not come, without waiting for it not to."""
        marker = bytes(marker)
        seen = []
        end = time.monotonic() + timeout
        while True:
            got = self.receive(timeout=max(0, end - time.monotonic()))
            if got == marker:
                return seen
            assert got is not None, f"the marker {marker.hex()} did not arrive"
            seen.append(got)
