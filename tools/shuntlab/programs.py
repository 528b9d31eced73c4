# SPDX-License-Identifier: BSD-2-Clause
"""XDP programs on devices: what is there, and what a test puts there by hand."""
import os

from shuntlab.lab import BUILD

STEER = os.path.join(BUILD, "bpf", "shunt_steer.bpf.o")
FOREIGN = os.path.join(BUILD, "bpf", "tools", "shunt_sink.bpf.o")  # one that does not steer


def on_device(lab, dev="eth1", host="dut"):
    """What `ip` says of the program: name, id, tag; {} without one."""
    link = lab.json(host, "ip", "-d", "-j", "link", "show", dev)[0]
    return link.get("xdp", {}).get("prog", {})


def attach(lab, dev, obj=STEER, mode="xdpdrv"):
    lab.exec("dut", "ip", "link", "set", "dev", dev, mode, "obj", obj, "sec", "xdp")


def detach(lab, dev):
    lab.exec("dut", "ip", "link", "set", "dev", dev, "xdp", "off")
