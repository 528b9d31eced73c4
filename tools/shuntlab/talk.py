# SPDX-License-Identifier: BSD-2-Clause
"""Connections of real sockets through a lab's dut: UDP and TCP from gen, answered by an Echo on sink. What
is said is numbered, and what comes back is compared.

    lab = guest.lab()
    echo = Echo(lab)
    is_fast(daemon, Tcp(lab), "xdp")"""
import contextlib
import socket
import struct
import threading

from shuntlab import guest
from shuntlab.lab import wait_until
from shuntlab.wire import inside

PATIENCE_S = 60
PORT = 5001
FAMILIES = {socket.AF_INET: "10.0.2.2", socket.AF_INET6: "fd00:2::2"}


def sock(lab, host, family, kind):
    with inside(f"/run/netns/shunt-{lab.name}-{host}"):
        made = socket.socket(family, kind)
    made.settimeout(PATIENCE_S)
    # Nothing is left to send at the end, which would keep the network namespace.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return made


class Echo:
    """Answers each datagram, and each piece of a stream, on sink."""

    def __init__(self, lab):
        self._udp = sock(lab, "sink", socket.AF_INET6, socket.SOCK_DGRAM)
        self._tcp = sock(lab, "sink", socket.AF_INET6, socket.SOCK_STREAM)
        self.heard = 0
        for made, serve in (self._udp, self._serve_udp), (self._tcp, self._serve_tcp):
            made.bind(("::", PORT))
            made.settimeout(None)
            threading.Thread(target=serve, daemon=True).start()

    def _serve_udp(self):
        while True:
            data, peer = self._udp.recvfrom(65536)
            self.heard += 1
            self._udp.sendto(data, peer)

    def _serve_tcp(self):
        self._tcp.listen()
        while True:
            made, _ = self._tcp.accept()
            threading.Thread(target=self._serve_one, args=(made,), daemon=True).start()

    @staticmethod
    def _serve_one(made):
        with made, contextlib.suppress(OSError):
            while data := made.recv(65536):
                made.sendall(data)


class Udp:
    def __init__(self, lab, family=socket.AF_INET, address=None, port=PORT, host="gen"):
        self._socket = sock(lab, host, family, socket.SOCK_DGRAM)
        self._socket.connect((address or FAMILIES[family], port))
        self._socket.settimeout(3)
        self.port = self._socket.getsockname()[1]
        self._number = 0

    def is_answered(self):
        """Neither lost nor rejected."""
        self._number += 1
        sent = struct.pack("!I", self._number) + bytes(self._number % 200)
        with contextlib.suppress(OSError):
            self._socket.send(sent)
            while self._socket.recv(65536) != sent:
                pass
            return True
        return False

    def ask(self, count):
        for _ in range(count):
            assert any(self.is_answered() for _ in range(20)), "a datagram was not answered"


class Tcp:
    """port: the own one, which an earlier connection may have had."""

    def __init__(self, lab, family=socket.AF_INET, port=0, host="gen"):
        self._socket = sock(lab, host, family, socket.SOCK_STREAM)
        self._socket.bind(("", port))
        self._socket.connect((FAMILIES[family], PORT))
        self.port = self._socket.getsockname()[1]
        self._number = 0

    def close(self):
        self._socket.close()

    def ask(self, count):
        for _ in range(count):
            self._number += 1
            sent = struct.pack("!I", self._number) * (self._number % 500 + 1)
            self._socket.sendall(sent)
            got = b""
            while len(got) < len(sent):
                got += self._socket.recv(65536)
            assert got == sent


def is_fast(daemon, connection, lane, ports=guest.PORTS):
    """The connection's packets, both ways, are of that lane."""
    connection.ask(4)  # until the flowtable has it

    def grows():
        before = [daemon.packets(lane, port) for port in ports]
        connection.ask(10)
        return all(daemon.packets(lane, port) - old >= 10 for port, old in zip(ports, before))
    try:
        wait_until(grows, PATIENCE_S, f"{type(connection).__name__}: lane {lane}")
    except AssertionError:
        print(daemon.drops(), daemon.lab.sh("dut", "conntrack -L"), flush=True)
        raise
