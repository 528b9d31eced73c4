# SPDX-License-Identifier: BSD-2-Clause
"""dut's eth1 with ntuple filters and an RSS table, which no device here has: fake_nic.c, preloaded,
answers ethtool's ioctls about them for shuntd, shuntctl and ethtool alike."""
import os
import re
import struct
import subprocess

from shuntlab.lab import ENV, ROOT

TABLE = 4  # where the state has it, behind the filters' switch


class Nic:
    def __init__(self, lab, folder, monkeypatch):
        self.lab = lab
        self.name = "eth1"
        self._state = folder / "state"
        library = folder / "fake.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library,
                        os.path.join(ROOT, "tests", "e2e", "fake_nic.c"), "-ldl"], check=True, timeout=60)
        monkeypatch.setitem(ENV, "LD_PRELOAD", str(library))
        monkeypatch.setitem(ENV, "FAKE_NIC", str(self._state))

    def is_called(self, driver, monkeypatch, fixed=None):
        """That it takes VLAN tags off is believed then, which no veth does; fixed: a feature that
        nobody can switch."""
        monkeypatch.setitem(ENV, "FAKE_DRIVER", driver)
        if fixed:
            monkeypatch.setitem(ENV, "FAKE_FIXED", fixed)

    def takes_tags(self):
        """Whether it takes off C-tags, S-tags, by the kernel's word."""
        said = self.lab.exec("dut", "ethtool", "-k", self.name).stdout
        return tuple(f"{name}: on" in said for name in ("rx-vlan-offload", "rx-vlan-stag-hw-parse"))

    def filters(self):
        """What ethtool lists: text by location."""
        said = self.lab.exec("dut", "ethtool", "-n", self.name).stdout
        return {int(at): text for at, text in
                re.findall(r"^Filter: (\d+)\n(.*?)(?=^Filter|\Z)", said, re.M | re.S)}

    def is_on(self):
        return self._state.read_bytes()[0] == 1

    def add(self, *words):
        self.lab.exec("dut", "ethtool", "-K", self.name, "ntuple", "on", check=False)
        self._switch()
        self.lab.exec("dut", "ethtool", "-N", self.name, *words)

    def _switch(self):
        """ethtool asks the kernel, not us, for that one."""
        data = bytearray(self._state.read_bytes())
        data[0] = 1
        self._state.write_bytes(data)

    def table(self):
        """The RSS table that somebody set; None while it is the kernel's default."""
        is_set, *table = struct.unpack_from("9I", self._state.read_bytes(), TABLE)
        return table if is_set else None

    def set_table(self, table):
        self.filters()  # whoever asks first makes the file
        data = bytearray(self._state.read_bytes())
        struct.pack_into("9I", data, TABLE, bool(table), *(table or [0] * 8))
        self._state.write_bytes(data)
