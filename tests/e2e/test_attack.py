# SPDX-License-Identifier: BSD-2-Clause
"""What somebody who has got hold of a thread of shuntd cannot do: each system call is made in that
thread's name, and refused."""
import errno
import os
import signal
import socket

import pytest

from shuntlab.shuntd import Shuntd
from shuntlab.frames import SINK, udp4
from shuntlab.ptrace import Captured, is_possible
from shuntlab.rights import check_at_work

AT_FDCWD, AF_XDP = -100, 44
PROT_EXEC, PROT_RW, MAP_PRIVATE_ANON = 4, 3, 0x22
BPF_MAP_CREATE, BPF_MAP_LOOKUP, BPF_PROG_LOAD, BPF_PROG_ATTACH = 0, 1, 5, 8
NEWNS, NEWUSER = 0x20000, 0x10000000

# (what, system call, arguments): refused to the control thread and, with more, to workers.
REFUSED = [
    ("create a file", 257, AT_FDCWD, "/tmp/shunt-attack", os.O_WRONLY | os.O_CREAT, 0o600),
    ("write to a file", 257, AT_FDCWD, "/proc/self/comm", os.O_WRONLY, 0),
    ("open both ways", 257, AT_FDCWD, "/dev/null", os.O_RDWR, 0),
    ("rename a file", 82, "/tmp/a", "/tmp/b"),
    ("make a link", 88, "/etc/passwd", "/tmp/shunt-attack"),
    ("change a mode", 90, "/tmp", 0o777),
    ("change an owner", 92, "/tmp", 0, 0),
    ("run a program", 59, "/bin/true", 0, 0),
    ("make a process", 56, signal.SIGCHLD, 0, 0, 0, 0),
    ("make a process by fork", 57),
    ("open an IPv4 socket", 41, socket.AF_INET, socket.SOCK_STREAM, 0),
    ("open an IPv6 socket", 41, socket.AF_INET6, socket.SOCK_DGRAM, 0),
    ("open a packet socket", 41, socket.AF_PACKET, socket.SOCK_RAW, 0),
    ("open an AF_XDP socket", 41, AF_XDP, socket.SOCK_RAW, 0),
    ("trace a process", 101, 16, 1, 0, 0),
    ("read another's memory", 310, 1, 0, 0, 0, 0, 0),
    ("write another's memory", 311, 1, 0, 0, 0, 0, 0),
    ("end another process", 62, 1, signal.SIGTERM),
    ("mount", 165, "none", "/tmp", "tmpfs", 0, 0),
    ("change the root", 161, "/tmp"),
    ("make a namespace", 272, NEWUSER | NEWNS),
    ("enter a namespace", 308, 0, 0),
    ("load a module", 175, 0, 0, ""),
    ("load a program", 321, BPF_PROG_LOAD, 0, 0),
    ("create a map", 321, BPF_MAP_CREATE, 0, 0),
    ("attach a program", 321, BPF_PROG_ATTACH, 0, 0),
    ("use io_uring", 425, 1, 0),
    ("watch events", 298, 0, 0, -1, -1, 0),
    ("use keys", 250, 0, 0),
    ("become root", 105, 0),
    ("set the time", 227, 0, 0),
    ("map executable memory", 9, 0, 4096, PROT_RW | PROT_EXEC, MAP_PRIVATE_ANON, -1, 0),
    ("change its root rights back", 157, 4, 1, 0, 0, 0),  # PR_SET_DUMPABLE
]
REFUSED_TO_WORKERS = [
    ("read a file", 257, AT_FDCWD, "/etc/passwd", os.O_RDONLY, 0),
    ("open a local socket", 41, socket.AF_UNIX, socket.SOCK_STREAM, 0),
    ("open a netlink socket", 41, socket.AF_NETLINK, socket.SOCK_RAW, 0),
    ("connect", 42, 0, 0, 0),
    ("accept", 288, 0, 0, 0, 0),
    ("read a map", 321, BPF_MAP_LOOKUP, 0, 0),
    ("remove a file", 87, "/tmp/shunt-attack"),
    ("make a thread", 56, 0x10000 | 0x800 | 0x100, 0, 0, 0, 0),
    ("set a socket's options", 54, 0, 0, 0, 0, 0),
    ("ask a device", 16, 0, 0x8946, 0),
    ("change its rights", 126, 0, 0),
]


def allowed(thread, calls):
    """Those of the calls that are not refused with EPERM, and what they returned."""
    got = [(call[0], thread.call(*call[1:])) for call in calls]
    return [(what, result) for what, result in got if result != -errno.EPERM]


@pytest.mark.skipif(not is_possible(), reason="x86-64 only: sets registers")
@pytest.mark.parametrize("user", [None, "nobody"])
def test_what_a_captured_thread_cannot_do(lab, user):
    frame = udp4(eth_dst=SINK)
    # a user that is not root removes a socket from a folder of its own only
    options = {"control": "run/shuntd.sock"} if user else {}
    with Shuntd(lab, "xconnect", "eth1", "eth2", *(["--user", user] if user else []),
                **options) as daemon:
        pid = daemon.process.pid
        try:
            with Captured(pid, "shuntd") as control:
                assert control.call(39) == pid, "the calls are made in its name"
                assert allowed(control, REFUSED) == []
                # clone3 hides what it is asked for: it does not exist.
                assert control.call(435, 0, 0) == -errno.ENOSYS
                # The control thread reads files, with its user's rights only.
                shadow = control.call(257, AT_FDCWD, "/etc/shadow", os.O_RDONLY, 0)
                assert (shadow == -errno.EACCES) == (user is not None), shadow
                if shadow >= 0:
                    control.call(3, shadow)
            with Captured(pid, "shunt-w0") as worker:
                assert allowed(worker, REFUSED + REFUSED_TO_WORKERS) == []
        except PermissionError as problem:
            pytest.skip(f"no right to take over a thread: {problem}")
        assert not os.path.exists("/tmp/shunt-attack")
        check_at_work(lab, daemon, frame)
