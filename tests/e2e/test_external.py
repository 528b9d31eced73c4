# SPDX-License-Identifier: BSD-2-Clause
"""Programs attached by hand, with the commands of shuntd(8), and served by shuntd."""
import os
import re
import subprocess

from shuntd import Shuntd, refused, unchanged
from frames import SINK, udp4
from lab import ROOT

OBJ = os.path.join(ROOT, os.environ.get("B", "build"), "bpf", "shunt_steer.bpf.o")
SERVE = ("xconnect", "eth1", "eth2", "--attach", "external")
LINK = f"ip link set dev %s xdpdrv obj {OBJ} sec xdp"
PIN = "/sys/fs/bpf/steer-%s"
BPFTOOL = f"bpftool prog load {OBJ} {PIN} pinmaps /sys/fs/bpf/maps-%s && " \
    f"bpftool net attach xdpdrv pinned {PIN} dev %s"


def program_of(lab, device):
    return [line for line in lab.exec("dut", "ip", "-d", "link", "show", device).stdout.splitlines()
            if "prog/xdp" in line]


def crosses(lab, number):
    """A frame from gen leaves for sink, byte for byte; shunt took it."""
    gen, sink = lab.wire("gen"), lab.wire("sink")
    frame = udp4(100, eth_dst=SINK, data=number.to_bytes(8, "big") + bytes(50))
    gen.send(frame)
    assert sink.receive(lambda got: got == frame, timeout=30)


def serves(lab):
    """A daemon serves what is on the ports, is killed, and another one goes on."""
    before = [program_of(lab, device) for device in ("eth1", "eth2")]
    assert all(before)
    lab.remember()
    daemon = Shuntd(lab, *SERVE)
    crosses(lab, 1)
    daemon.kill()
    with Shuntd(lab, *SERVE):
        crosses(lab, 2)
    assert [program_of(lab, device) for device in ("eth1", "eth2")] == before


def test_ip_link(lab):
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", LINK % device)
    serves(lab)


def test_bpftool_with_pinned_maps(lab):
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", BPFTOOL.replace("%s", device))
    serves(lab)


def other_version(path):
    """The object as if it were built of other source: the same programs and maps, another number."""
    with open(OBJ, "rb") as file:
        data = bytearray(file.read())
    said = subprocess.run(["readelf", "-SW", OBJ], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"\.data\.shunt_cfg +PROGBITS +\w+ (\w+)", said)[1], 16)
    assert any(data[offset + 32:offset + 40]), "no version"
    data[offset + 32] ^= 1
    path.write_bytes(data)
    return path


def test_another_version_is_refused(lab, tmp_path):
    """Its maps look the same, and what is in them may not mean the same."""
    obj = other_version(tmp_path / "other.bpf.o")
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", (LINK % device).replace(OBJ, str(obj)))
    lab.remember()
    done = lab.exec("dut", "shuntd", *SERVE, "--control", "none", check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "eth1: the steering program on the device is of another version" in done.stderr
    assert lab.changes() == []
    lab.exec("dut", "sh", "-c", "ip link set eth1 xdp off && ip link set eth2 xdp off")
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", LINK % device)
    serves(lab)


def test_generic_is_refused_where_frames_come_back(lab):
    """To a generic program comes again what is handed back to the kernel; a pair hands back nothing."""
    for device in "eth1", "eth2":
        lab.exec("dut", "sh", "-c", (LINK % device).replace("xdpdrv", "xdpgeneric"))
    with unchanged(lab):
        for mode in "route", "bridge", "mix":
            sentence = refused(lab, mode, "eth1", "eth2", "--attach", "external")
            assert "eth1" in sentence and f"mode {mode}" in sentence and "xdpdrv" in sentence
    lab.remember()
    with Shuntd(lab, *SERVE):
        crosses(lab, 3)


def test_one_program_cannot_serve_two_ports(lab):
    lab.exec("dut", "sh", "-c", BPFTOOL.replace("%s", "eth1"))
    lab.exec("dut", "sh", "-c", f"bpftool net attach xdpdrv pinned {PIN % 'eth1'} dev eth2")
    lab.remember()
    done = lab.exec("dut", "shuntd", *SERVE, "--control", "none", check=False)
    assert done.returncode == 1
    assert "eth2: the steering program on the device serves another port already" in done.stderr
    assert "/sys/fs/bpf/steer-eth2" in done.stderr  # the remedy
    assert lab.changes() == []
