# SPDX-License-Identifier: BSD-2-Clause
"""What the NAPI polls of each of the lab's devices take: tests/vm/napi.bpf.c, loaded and read."""
import contextlib
import struct

from shuntlab import bpf

DEVICES = 64
# In napi.bpf.c's table, by host and device; a lab's hardware addresses say which is which.
DUT, OTHERS = (0x11, 0x21), (0x12, 0x22)


class Polls:
    """Counts while counting() is a context. functions: the drivers' polls to time."""

    def __init__(self, path, functions):
        self._object = bpf.Object(path, lambda name: name.rpartition("_")[0] in functions)
        self._devices, self._process = map(self._object.map_fd, (".data.devices", ".data.process"))

    @contextlib.contextmanager
    def counting(self, pid):
        """pid: a process's to tell apart."""
        self._object.write(self._process, struct.pack("<QQ", pid, 0))
        self._object.attach()
        try:
            yield
        finally:
            self._object.detach()

    def of_devices(self, which):
        """ns that the polls of some devices took."""
        table = self._object.read(self._devices, 16 * DEVICES)
        return sum(struct.unpack_from("<QQ", table, 16 * at)[0] for at in which)

    def of_process(self):
        """ns that any device's polls took in the time of the process."""
        return struct.unpack("<QQ", self._object.read(self._process, 16))[1]
