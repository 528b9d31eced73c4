# SPDX-License-Identifier: BSD-2-Clause
"""Redirects that failed, reason by reason: as `shuntctl show drops` has them, and as the kernel's own
trace (tracefs) has the same tracepoints."""
import collections
import contextlib
import errno
import os
import re
import subprocess
import tempfile

# Of each the field that says where the frame came in.
WATCHED = {"xdp_redirect_err": "ifindex", "xdp_devmap_xmit": "from_ifindex",
           "xdp_exception": "ifindex", "xdp_bulk_tx": "ifindex"}
MOUNT = 'mount -t tracefs tracefs "$1" && echo mounted && exec cat'
BUFFER_KB = 4096  # a processor's; a line takes some 50 bytes
LINE = re.compile(rf": ({'|'.join(WATCHED)}): (.*)")
FIELD = re.compile(r"(\w+)=(\S+)")
LOST = re.compile(r"^(?:overrun|dropped events): ([1-9]\d*)$", re.M)
# What the kernel gives back for it, and what is then said. 0: the driver took a part of a batch.
REASON = {0: "queue_full", errno.ENOSPC: "queue_full", errno.ENXIO: "no_transmit",
          errno.EOPNOTSUPP: "no_transmit", errno.ENETDOWN: "down", errno.EMSGSIZE: "too_big"}


class Missing(Exception):
    """There is no tracefs, or none of ours to use."""


@contextlib.contextmanager
def mounted():
    """Where tracefs is, for as long as the context lasts: in a mount namespace of its own, wherever
    else it is mounted or not."""
    with tempfile.TemporaryDirectory(prefix="shunt-trace") as folder:
        with subprocess.Popen(["unshare", "--mount", "sh", "-c", MOUNT, "sh", folder], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                if process.stdout.readline() != "mounted\n":
                    raise Missing(f"no tracefs: {process.communicate(timeout=60)[1].strip()}")
                yield f"/proc/{process.pid}/root{folder}"
            finally:
                process.kill()


class Trace:
    """A trace of the events of some ports, by interface index, which others who trace neither see nor
    disturb. Those of the same indices in other network namespaces are in it too."""

    def __init__(self, folder, name_of):
        self._folder, self._name_of = folder, name_of

    def write(self, path, text):
        with open(f"{self._folder}/{path}", "w", encoding="ascii") as file:
            file.write(str(text))

    def _read(self, path):
        with open(f"{self._folder}/{path}", encoding="ascii") as file:
            return file.read()

    def events(self):
        """(event, its fields) of each so far."""
        for cpu in os.listdir(f"{self._folder}/per_cpu"):
            lost = LOST.search(self._read(f"per_cpu/{cpu}/stats"))
            assert not lost, f"{cpu}: {lost[0]}"
        for name, fields in LINE.findall(self._read("trace")):
            yield name, dict(FIELD.findall(fields))

    def failed(self):
        """Frames by port and reason."""
        cnt = collections.Counter()
        for event, fields in self.events():
            port = self._name_of.get(int(fields.get("to_ifindex", fields.get("ifindex"))))
            reason = REASON.get(-int(fields.get("err", 0)), "other")
            if event == "xdp_exception":
                if fields["action"] == "REDIRECT":  # igb tells of those once more
                    continue
                reason = "tx_failed" if fields["action"] == "TX" else "aborted"
            cnt[port, reason] += int(fields.get("drops", 1))
        return cnt


@contextlib.contextmanager
def traced(name_of):
    """A Trace while the context lasts; name_of: the ports by interface index."""
    with mounted() as tracefs:
        events = [name for name in WATCHED if os.path.isdir(f"{tracefs}/events/xdp/{name}")]
        if not {"xdp_redirect_err", "xdp_devmap_xmit"} <= set(events):
            raise Missing("tracefs has no events of XDP")
        folder = f"{tracefs}/instances/shunt-{os.getpid()}"
        os.mkdir(folder)
        trace = Trace(folder, name_of)
        try:
            trace.write("buffer_size_kb", BUFFER_KB)
            for name in events:
                ours = " || ".join(f"{WATCHED[name]} == {index}" for index in name_of)
                some = " && drops > 0" if name == "xdp_devmap_xmit" else ""
                trace.write(f"events/xdp/{name}/filter", f"({ours}){some}")
                trace.write(f"events/xdp/{name}/enable", 1)
            yield trace
        finally:
            os.rmdir(folder)


def failed(shuntd):
    """The same as shunt counts it."""
    return collections.Counter({(row["port"], row["name"]): row["count"]
                                for row in shuntd.show("drops")["drops"]
                                if row["where"] == "redirect" and row["count"]})
