# SPDX-License-Identifier: BSD-2-Clause
"""Where the other programs are: in the source tree, or where `make install` put them."""
import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))  # of the source tree; the prefix's lib/ once installed
IS_SOURCE_TREE = os.path.exists(os.path.join(TOP, "Makefile"))
BUILD = os.path.join(TOP, os.environ.get("B", "build"))
# tools/ in the source tree, lib/shunt/ once installed
LAB = os.path.join(os.path.dirname(HERE), "lab")
VMLAB = os.path.join(os.path.dirname(HERE), "vmlab")


class Missing(Exception):
    """A program that an experiment needs is not there."""


def program(name):
    """The path of one of shunt's programs; Missing without it."""
    folders = ([os.path.join(BUILD, "bin")] if IS_SOURCE_TREE else
               [os.path.join(TOP, "..", "bin"), os.path.join(TOP, "..", "sbin"), os.path.dirname(HERE)])
    for folder in folders:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if not found:
        raise Missing(f"the program {name} is not there: "
                      f"{'run make' if IS_SOURCE_TREE else 'install shunt'}")
    return found
