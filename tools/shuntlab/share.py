# SPDX-License-Identifier: BSD-2-Clause
"""Several pytest processes with the same tests share them out: each takes the next group that none
has taken, until all are. Labs, sockets and pins have names of their own, so tests do not meet."""
import contextlib
import fcntl
import os


def is_shared_by_module(item):
    """It has a fixture that tests of its module share, so they stay together."""
    known = item._fixtureinfo.name2fixturedefs  # pylint: disable=protected-access
    return any(defs[-1].scope == "module" for defs in known.values())


def limit_of(item):
    mark = item.get_closest_marker("limit")
    return mark.args[0] if mark else 0


def groups_of(items):
    """Lists of tests, those first that may take long, so that nobody waits for one at the end."""
    groups = {}
    for item in items:
        key = item.fspath if is_shared_by_module(item) else item.nodeid
        groups.setdefault(key, []).append(item)
    return sorted(groups.values(), key=lambda group: -limit_of(group[0]))


class Share:
    """What this process takes; the folder is the same for all."""

    def __init__(self, folder):
        self.folder = folder

    def take(self, name):
        """Whether this process is the first to ask."""
        try:
            os.close(os.open(os.path.join(self.folder, str(name)), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def groups(self, items):
        return (group for number, group in enumerate(groups_of(items)) if self.take(number))

    @contextlib.contextmanager
    def saying(self):
        """What several processes say meanwhile does not mix."""
        with open(os.path.join(self.folder, "saying"), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
