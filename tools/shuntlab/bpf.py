# SPDX-License-Identifier: BSD-2-Clause
"""A BPF object of the tests' own, loaded by libbpf: its programs attached, its maps read and written. And
programs that only stand somewhere."""
import ctypes
import errno
import os
import socket
import struct

_libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
for _name in ("object__open", "object__next_program", "object__find_map_by_name",
              "program__attach"):
    getattr(_libbpf, f"bpf_{_name}").restype = ctypes.c_void_p
_libbpf.bpf_program__name.restype = ctypes.c_char_p


def _checked(value, what):
    assert value, f"{what}: errno {ctypes.get_errno()}"
    return ctypes.c_void_p(value)


class Object:
    """Of the programs those are loaded whose name is wanted. Closed with the process or close()."""

    def __init__(self, path, is_wanted=lambda name: True):
        self._object = _checked(_libbpf.bpf_object__open(path.encode()), path)
        self._programs, self._links = [], []
        program = _libbpf.bpf_object__next_program(self._object, None)
        while program:
            program = ctypes.c_void_p(program)
            wanted = is_wanted(_libbpf.bpf_program__name(program).decode())
            _libbpf.bpf_program__set_autoload(program, ctypes.c_bool(wanted))
            self._programs += [program] if wanted else []
            program = _libbpf.bpf_object__next_program(self._object, program)
        assert _libbpf.bpf_object__load(self._object) == 0, f"{path} does not load"

    def attach(self):
        for program in self._programs:
            self._links.append(_checked(_libbpf.bpf_program__attach(program), "bpf_program__attach"))

    def detach(self):
        while self._links:
            _libbpf.bpf_link__destroy(self._links.pop())

    def close(self):
        self.detach()
        _libbpf.bpf_object__close(self._object)

    def map_fd(self, name):
        """Of a map, or of a section with variables, which has one element: the object's own."""
        return _libbpf.bpf_map__fd(_checked(
            _libbpf.bpf_object__find_map_by_name(self._object, name.encode()), name))

    @staticmethod
    def read(fd, size):
        """The one element of a map."""
        value = ctypes.create_string_buffer(size)
        key = ctypes.c_uint32(0)
        if _libbpf.bpf_map_lookup_elem(fd, ctypes.byref(key), value):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return value.raw

    @staticmethod
    def write(fd, value):
        key = ctypes.c_uint32(0)
        if _libbpf.bpf_map_update_elem(fd, ctypes.byref(key), ctypes.create_string_buffer(value, len(value)),
                                       ctypes.c_uint64(0)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# --- what needs no object: a program of a few instructions, linked somewhere ------------------------------

BPF_PROG_LOAD, BPF_LINK_CREATE, BPF_LINK_DETACH = 5, 28, 34
SCHED_CLS, NETFILTER = 3, 32  # enum bpf_prog_type
TCX_INGRESS, TCX_EGRESS, NETFILTER_HOOK = 46, 47, 45  # enum bpf_attach_type
SKB_VLAN_PUSH = 18  # BPF_FUNC_skb_vlan_push
SYS_BPF = {"x86_64": 321, "aarch64": 280}
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr, len(attr))
    fd = _libc.syscall(SYS_BPF[os.uname().machine], command, buffer, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def _is(register, value):
    return struct.pack("<BBhi", 0xb7, register, 0, value)


def _calls(helper):
    return struct.pack("<BBhi", 0x85, 0, 0, helper)


def _returning(value, kind, place, first=b""):
    """A loaded program that says the same of every packet."""
    insns = first + _is(0, value) + struct.pack("<BBhi", 0x95, 0, 0, 0)  # exit
    kept = [ctypes.create_string_buffer(data, len(data)) for data in (insns, b"GPL\0")]
    at = [ctypes.addressof(buffer) for buffer in kept]
    return _bpf(BPF_PROG_LOAD, struct.pack("<IIQQIIQII16sII", kind, len(insns) // 8, *at, 0, 0, 0, 0, 0,
                                           b"shunt_test", 0, place))


def _linked(prog, target, place, more=b""):
    try:
        return _bpf(BPF_LINK_CREATE, struct.pack("<IIII", prog, target, place, 0) + more)
    finally:
        os.close(prog)


def unlink(fd):
    """Takes it off at once. Closing the descriptor would do so only if nobody else has one of that link, as
    whoever lists the links of this machine has for a moment."""
    try:
        _bpf(BPF_LINK_DETACH, struct.pack("<I", fd))
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:  # a link of netfilter has no such call
            raise
    os.close(fd)


def link_tcx(ifindex):
    """A program that passes all, where frames of the device come in (Linux 6.6). Returns a descriptor for
    unlink()."""
    return _linked(_returning(0, SCHED_CLS, 0), ifindex, TCX_INGRESS)


def link_vlan_push(ifindex, tag_type, tci):
    """One that gives all that the device sends a VLAN tag, beside the frame, as a VLAN device over it would
    (Linux 6.6): the same."""
    push = _is(2, socket.htons(tag_type)) + _is(3, tci) + _calls(SKB_VLAN_PUSH)
    return _linked(_returning(0, SCHED_CLS, 0, push), ifindex, TCX_EGRESS)


def link_netfilter(family, hook):
    """One that accepts all on a hook of netfilter (Linux 6.4), in this network namespace: the same."""
    return _linked(_returning(1, NETFILTER, NETFILTER_HOOK), 0, NETFILTER_HOOK,
                   struct.pack("<IIiI", family, hook, 0, 0))
