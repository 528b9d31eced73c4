# SPDX-License-Identifier: BSD-2-Clause
"""What stands at the other end of a tap: somebody who takes frames, or sends one again and again, as
fast as one thread and two system calls a frame can. dd does it, for Python would be the bottleneck.

usage: tap.py read DEV | tap.py write DEV FRAME-IN-HEX SECONDS
Both say "ready" when the tap is theirs. `write` sends at each SIGUSR1 then, and prints for how many seconds
it did; both go on until they are ended."""
import fcntl
import os
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 2, 0x1000
COPIES = 20000  # of a dd


def attach(dev):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", dev.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def read(dev):
    os.dup2(attach(dev), 0)
    print("ready", flush=True)
    os.execvp("dd", ["dd", "bs=2048", "of=/dev/null", "status=none"])


def write(dev, frame, seconds):
    fd = attach(dev)
    copies = os.memfd_create("frames")
    os.write(copies, frame * COPIES)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    print("ready", flush=True)
    while signal.sigwait([signal.SIGUSR1]):
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            os.lseek(copies, 0, os.SEEK_SET)
            subprocess.run(["dd", f"bs={len(frame)}", "status=none"], stdin=copies, stdout=fd,
                           check=True)
        print(time.monotonic() - start, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read(sys.argv[2])
    else:
        write(sys.argv[2], bytes.fromhex(sys.argv[3]), float(sys.argv[4]))
