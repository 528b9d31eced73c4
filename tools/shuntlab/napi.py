# SPDX-License-Identifier: BSD-2-Clause
"""What the NAPI polls of each of the lab's devices take: napi.bpf.c, loaded by libbpf and read."""
import contextlib
import ctypes
import struct

DEVICES = 64
# In napi.bpf.c's table, by host and device; a lab's hardware addresses say which is which.
DUT, OTHERS = (0x11, 0x21), (0x12, 0x22)

_libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
for _name in ("object__open", "object__next_program", "object__find_map_by_name",
              "program__attach"):
    getattr(_libbpf, f"bpf_{_name}").restype = ctypes.c_void_p
_libbpf.bpf_program__name.restype = ctypes.c_char_p


def _checked(value, what):
    assert value, f"{what}: errno {ctypes.get_errno()}"
    return ctypes.c_void_p(value)


class Polls:
    """Counts while counting() is a context. functions: the drivers' polls to time."""

    def __init__(self, path, functions):
        self._object = _checked(_libbpf.bpf_object__open(path.encode()), path)
        self._wanted = self._programs(functions)
        assert _libbpf.bpf_object__load(self._object) == 0, f"{path} does not load"
        self._devices, self._process = self._map(b".data.devices"), self._map(b".data.process")

    @contextlib.contextmanager
    def counting(self, pid):
        """pid: a process's to tell apart."""
        self._element(_libbpf.bpf_map_update_elem, self._process, struct.pack("<QQ", pid, 0), 0)
        links = [_checked(_libbpf.bpf_program__attach(program), "bpf_program__attach")
                 for program in self._wanted]
        try:
            yield
        finally:
            for link in links:
                _libbpf.bpf_link__destroy(link)

    def _programs(self, functions):
        wanted, program = [], _libbpf.bpf_object__next_program(self._object, None)
        while program:
            program = ctypes.c_void_p(program)
            name = _libbpf.bpf_program__name(program).decode()
            serves = name.rpartition("_")[0] in functions
            _libbpf.bpf_program__set_autoload(program, ctypes.c_bool(serves))
            wanted += [program] if serves else []
            program = _libbpf.bpf_object__next_program(self._object, program)
        return wanted

    def _map(self, name):
        found = _libbpf.bpf_object__find_map_by_name(self._object, name)
        return _libbpf.bpf_map__fd(_checked(found, name))

    @staticmethod
    def _element(function, fd, value, *flags):
        """Looks the one element of a map up, or updates it."""
        key, value = ctypes.c_uint32(0), ctypes.create_string_buffer(value, max(len(value), 1))
        assert function(fd, ctypes.byref(key), value, *(ctypes.c_uint64(f) for f in flags)) == 0
        return value.raw

    def of_devices(self, which):
        """ns that the polls of some devices took."""
        table = self._element(_libbpf.bpf_map_lookup_elem, self._devices, bytes(16 * DEVICES))
        return sum(struct.unpack_from("<QQ", table, 16 * at)[0] for at in which)

    def of_process(self):
        """ns that any device's polls took in the time of the process."""
        return struct.unpack("<QQ", self._element(_libbpf.bpf_map_lookup_elem, self._process,
                                                  bytes(16)))[1]
