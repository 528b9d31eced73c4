# SPDX-License-Identifier: BSD-2-Clause
"""What the programs have, their --help names, and what that names, their manuals explain."""
import os
import re
import subprocess

import pytest

from shuntlab.lab import BIN, ENV, ROOT

# program, its manual's section, its subcommands that have a help of their own
PROGRAMS = [("shuntd", 8, []), ("shuntctl", 8, []), ("shunt-gen", 1, ["send", "sink"]),
            ("shunt-model", 1, ["queue", "tmax", "fit"]), ("shunt-bench", 1, [])]
# named for another program's sake: shuntd's, that doctor is to judge for
OTHERS = {"shuntctl": {"--driver-mode"}}


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def help_of(program, *words):
    done = subprocess.run([os.path.join(BIN, program), *words, "--help"], capture_output=True,
                          text=True, env=ENV, stdin=subprocess.DEVNULL, timeout=60, check=True)
    return done.stdout


def manual(name):
    with open(os.path.join(ROOT, "user", "man", f"{name}.scd"), encoding="utf-8") as file:
        return file.read().replace("\\", "")


@pytest.mark.parametrize("program,section,subcommands", PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_every_option_is_in_the_manual(program, section, subcommands):
    named = set().union(*(options(help_of(program, *words))
                          for words in [[], *([word] for word in subcommands)]))
    assert len(named) > 5
    assert named - OTHERS.get(program, set()) - options(manual(f"{program}.{section}")) == set()


def test_every_object_is_in_the_manual():
    listed = help_of("shuntctl").partition("OBJECT:\n")[2].partition("\n\n")[0]
    objects = re.findall(r"^  (\w+)", listed, re.M)
    assert "ports" in objects
    text = manual("shuntctl.8")
    assert [name for name in objects if f"\n*{name}*" not in text] == []


def test_every_key_is_in_the_manual():
    with open(os.path.join(ROOT, "lib", "config", "keys.h"), encoding="ascii") as file:
        keys = set(re.findall(r"^\t(?:NUMBER|FLAG|WORD|TEXT|LIST)\((\w+)", file.read(), re.M))
    assert {"mode", "punt_rate"} <= keys
    text = manual("shuntd.yaml.5")
    assert [key for key in sorted(keys) if f"*{key}*" not in text] == []
