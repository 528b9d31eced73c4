# SPDX-License-Identifier: BSD-2-Clause
"""TCP between hosts whose veths have their default offloads: their packets come with a checksum that
is left to the device, which only the kernel's own lane can finish. What each lane makes of that, what
is said of it, and that the remedy is one."""
import pytest

from shuntd import Shuntd
from lab import wait_until

SERVER = """
import socket
server = socket.create_server(("", 2222))
print("ready", flush=True)
peer, _ = server.accept()
size = 0
while chunk := peer.recv(65536):
    size += len(chunk)
print(size, flush=True)
"""
CLIENT = """
import socket, sys
with socket.create_connection(("10.0.2.2", 2222), float(sys.argv[1])) as server:
    server.sendall(bytes(1 << 20))
"""
HOSTS = ("gen", "sink")


def offloads(lab, state):
    for host in HOSTS:
        lab.exec(host, "ethtool", "-K", "eth1", "tx", state)


def gets_through(lab, seconds):
    server = lab.popen("sink", "/usr/bin/python3", "-c", SERVER)
    assert server.stdout.readline() == "ready\n"
    done = lab.exec("gen", "/usr/bin/python3", "-c", CLIENT, seconds, check=False)
    if done.returncode:
        server.kill()
        return False
    return server.stdout.readline() == f"{1 << 20}\n"


@pytest.mark.parametrize("lane", ["user", "xdp", "kernel"])
def test_tcp_with_default_offloads(make_lab, lane):
    lab = make_lab(static_neigh=True)
    offloads(lab, "on")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane, chatty=True) as daemon:
        assert gets_through(lab, 4 if lane != "kernel" else 30) == (lane == "kernel")
        if lane != "kernel":
            # Said while it happens, in show ports, by doctor and in the log.
            says = wait_until(lambda: daemon.show("ports")["ports"][0]["warnings"])
            assert "eth1: packets arrive with unfinished checksums" in says[0], says
            assert "ethtool -K PEER tx off" in says[0]
        said = lab.exec("dut", "shuntctl", "-s", daemon.control, "doctor", check=False).stdout
        assert "tx off" in said
        offloads(lab, "off")
        assert gets_through(lab, 30)
