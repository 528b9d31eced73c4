# SPDX-License-Identifier: BSD-2-Clause
"""TCP and UDP between hosts whose veths have their default offloads: packets come with a checksum
that was left to a device. They arrive finished whichever way they go; what is the kernel's, it
finishes itself."""
import pytest

from shuntlab.shuntd import Shuntd

HOSTS = ("gen", "sink")
# Around every chunk that is summed at once, odd ones too, and the longest.
SIZES = [0, 1, 2, 3, 503, 504, 505, 1016, 1400, 1471, 1472]
TCP = 1 << 20

SERVER = """
import socket, sys
address, sizes = sys.argv[1], sys.argv[2:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
udp = socket.socket(family, socket.SOCK_DGRAM)
udp.bind((address, 2222))
server = socket.create_server((address, 2222), family=family)
print("ready", flush=True)
peer, _ = server.accept()
size = 0
while chunk := peer.recv(65536):
    size += len(chunk)
    peer.sendall(b"x")
peer.close()
print(size, flush=True)
udp.settimeout(20)
print(*[len(udp.recv(10000)) for _ in sizes], flush=True)
"""
CLIENT = """
import socket, sys
address, seconds, size, sizes = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
with socket.create_connection((address, 2222), seconds) as server:
    server.sendall(bytes(i * 37 & 255 for i in range(size)))
    server.shutdown(socket.SHUT_WR)
    while server.recv(65536):
        pass
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as udp:
    for size in map(int, sizes):
        udp.sendto((bytes(range(256)) * 40)[:size], (address, 2222))
"""


def offloads(lab, *states):
    for host in HOSTS:
        lab.exec(host, "ethtool", "-K", "eth1", *states)


def gets_through(lab, address, sizes=tuple(SIZES), seconds=30):
    """A TCP connection with data both ways, and UDP datagrams."""
    server = lab.popen("sink", "/usr/bin/python3", "-c", SERVER, address, *sizes)
    assert server.stdout.readline() == "ready\n"
    done = lab.exec("gen", "/usr/bin/python3", "-c", CLIENT, address, seconds, TCP, *sizes,
                    check=False)
    if done.returncode:
        server.kill()
        return False
    return (server.stdout.readline() == f"{TCP}\n" and
            server.stdout.readline().split() == [str(size) for size in sizes])


def finished(daemon):
    return [port["csum_finished"] for port in daemon.show("ports")["ports"]]


def join(lab, dev="eth1"):
    """Both hosts in one network, as a cross-connect or a bridge joins them."""
    for number, host in enumerate(HOSTS, 1):
        lab.exec(host, "ip", "address", "add", f"10.9.0.{number}/24", "dev", dev)
        lab.exec(host, "ip", "address", "add", f"fd09::{number}/64", "dev", dev, "nodad")


@pytest.mark.parametrize("lane", ["user", "xdp", "kernel"])
def test_route(make_lab, lane):
    lab = make_lab(static_neigh=True)
    offloads(lab, "tx", "on", "tso", "on")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane) as daemon:
        assert gets_through(lab, "10.0.2.2")
        assert gets_through(lab, "fd00:2::2", [size for size in SIZES if size < 1452])
        counts = finished(daemon)
        assert all(count > 5 for count in counts) if lane != "kernel" else not any(counts)
        # Nobody leaves them to a device any more.
        offloads(lab, "tx", "off")
        before = finished(daemon)
        assert gets_through(lab, "10.0.2.2")
        assert sum(finished(daemon)) - sum(before) < 5


@pytest.mark.parametrize("args", [
    ["xconnect", "--lane", "user"], ["xconnect", "--lane", "xdp"], ["xconnect", "--transparent"],
    ["bridge", "--lane", "xdp"], ["xconnect", "--driver-mode", "generic", "--lane", "user"]], ids=" ".join)
def test_joined(make_lab, args):
    lab = make_lab()
    offloads(lab, "tx", "on", "tso", "off" if "generic" in args else "on")
    join(lab)
    with Shuntd(lab, args[0], "eth1", "eth2", *args[1:], chatty=True):
        assert gets_through(lab, "10.9.0.2")
        assert gets_through(lab, "fd09::2", [size for size in SIZES if size < 1452])


def test_detour(make_lab):
    lab = make_lab(gro=False)
    offloads(lab, "tx", "on", "tso", "on")
    join(lab)
    with Shuntd(lab, "xconnect", "eth1", "eth2", "--lane", "auto") as daemon:
        assert daemon.lane()["reason"] == "detour"
        assert gets_through(lab, "10.9.0.2")


@pytest.mark.parametrize("lane", ["user", "xdp"])
def test_packets_of_several_buffers(make_lab, lane):
    lab = make_lab(mtu=9000, static_neigh=True)
    offloads(lab, "tx", "on", "tso", "off")
    with Shuntd(lab, "route", "eth1", "eth2", "--lane", lane) as daemon:
        assert all(port["in_use"]["multi_buffer"] for port in daemon.show("ports")["ports"])
        assert gets_through(lab, "10.0.2.2", [1, 4000, 4001, 8972])
        assert all(count > 5 for count in finished(daemon))
