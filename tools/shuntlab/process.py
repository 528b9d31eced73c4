# SPDX-License-Identifier: BSD-2-Clause
"""Processes by number: whether they live, their arguments, their threads, who answers on a socket."""
import os
import socket
import struct

from shuntlab.lab import wait_until


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid):
    wait_until(lambda: not is_alive(pid), what=f"the end of process {pid}")


def arguments(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().rstrip(b"\0").decode().split("\0")


def threads(pid):
    """The fields of /proc/PID/task/*/status by thread name."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as file:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        found[fields["Name"]] = fields
    return found


def owner_of(path):
    """The process behind a Unix socket, -1 when none answers."""
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(path)
        except OSError:
            return -1
        return struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
