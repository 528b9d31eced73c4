# SPDX-License-Identifier: BSD-2-Clause
"""What libxdp's dispatcher runs on a port of dut, as xdp-loader tells it."""
import re


def programs(lab, port="eth1"):
    return lab.exec("dut", "xdp-loader", "status", port).stdout


def steering(lab, port):
    """The numbers of the steering programs on a port."""
    return [int(number) for number in re.findall(r"shunt_steer\S*\s+(\d+)", programs(lab, port))]


def own(daemon):
    """The numbers of a daemon's programs, by port."""
    return {port["name"]: port["program"]["id"] for port in daemon.show("ports")["ports"]}


def is_alone(daemon):
    """Its programs are on the ports, and no other steering program is."""
    return all(steering(daemon.lab, port) == [number] for port, number in own(daemon).items())
