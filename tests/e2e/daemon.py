# SPDX-License-Identifier: BSD-2-Clause
"""shuntd on a lab's dut."""
import os
import signal

from lab import OPTIONS


def with_lane(args):
    """The command line with the lane under test, unless it names one: by itself shuntd would
    choose xdp on a veth, and the tests of rings, workers and graph would test nothing."""
    args = [str(arg) for arg in args]
    if any(arg.startswith("--lane") for arg in args):
        return args
    return [*args, "--lane", os.environ.get("SHUNT_TEST_LANE", "user")]


class Shuntd:
    """Starts shuntd on dut and waits until it forwards:

        with Shuntd(lab, "xconnect", "eth1", "eth2", "--poll", "spin") as d: ...

    Leaving the block stops it and checks that dut is as it was before."""

    def __init__(self, lab, *args, control="shuntd.sock", program="shuntd"):
        self.lab = lab
        self.control = f"/run/shunt-lab/{lab.name}/{control}"
        self.process = lab.popen("dut", program, *with_lane(args), *OPTIONS, "--control",
                                 self.control)
        self.log = []
        while not any("forwarding on" in line for line in self.log):
            line = self.process.stderr.readline()
            assert line, "shuntd ended: " + "".join(self.log)
            self.log.append(line)
        lab.carriers()

    def ctl(self, *args):
        """`shuntctl ARGS -j`, as an object."""
        return self.lab.json("dut", "shuntctl", "-s", self.control, "-j", *args)

    def stop(self, number=signal.SIGTERM, timeout=60):
        """Ends it with a signal and returns what it said. It must have ended well, and left dut as
        it was."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, err
        changes = self.lab.changes()
        assert changes == [], changes
        return err

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self.process.returncode is None:
            self.stop()
