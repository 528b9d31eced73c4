# SPDX-License-Identifier: BSD-2-Clause
"""The fixtures of the tests in Python (`make_lab`, `lab`), a time limit for each test, TAP, and several
processes that share the tests out.

A test has three minutes, or what @pytest.mark.limit(SECONDS) says, setting up and cleaning up
included: many times what it needs, for machines that are busy with other things. With SHUNT_TAP_FD
set, results are written there as TAP; else pytest's own output is all. SHUNT_SHARE names a folder,
empty at first, by which several processes share the tests out (shuntlab/share.py). SHUNT_ONLY has
the names of the only tests to run, as TAP has them, a line each.
"""
import contextlib
import os
import signal
import time

import pytest

from shuntlab.lab import IS_REAL, Lab, tool
from shuntlab.nic import Nic
from shuntlab.share import Share

LIMIT = 180
SHARE = Share(os.environ["SHUNT_SHARE"]) if "SHUNT_SHARE" in os.environ else None
LEFT = pytest.StashKey()  # seconds


class TestTimeout(Exception):
    pass


def end(*_):
    """An interrupt lets the fixtures take their labs down; a second one would keep them from it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")
    signal.signal(signal.SIGTERM, end)
    # A shell starts what it puts in the background deaf to it, and deafness is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    if only := os.environ.get("SHUNT_ONLY", "").splitlines():
        items[:] = [item for item in items if short_name(item.nodeid) in only]
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="needs root: network namespaces"))


# The clock runs in the test and its fixtures only: an exception from elsewhere would end pytest.
def timed(item, least=1):
    mark = item.get_closest_marker("limit")
    limit = mark.args[0] if mark else LIMIT

    def expired(*_):
        # Once more later, should the cleaning up hang as well.
        signal.alarm(30)
        raise TestTimeout(f"took longer than {limit} s")

    left = item.stash.get(LEFT, limit)
    start = time.monotonic()
    signal.signal(signal.SIGALRM, expired)
    signal.alarm(max(least, int(left)))
    yield
    signal.alarm(0)
    item.stash[LEFT] = left - (time.monotonic() - start)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from timed(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from timed(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    yield from timed(item, least=30)


# --- sharing --------------------------------------------------------------------------------------

def pytest_runtestloop(session):
    if not SHARE or session.config.option.collectonly:
        return None
    if session.testsfailed:
        raise session.Interrupted("a file of tests cannot be read")
    for group in SHARE.groups(session.items):
        for item, following in zip(group, [*group[1:], None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                raise session.Interrupted(session.shouldfail or session.shouldstop)
    return True


# --- TAP ------------------------------------------------------------------------------------------

def tap(text):
    fd = os.environ.get("SHUNT_TAP_FD")
    if fd:
        with SHARE.saying() if SHARE else contextlib.nullcontext():
            os.write(int(fd), (text + "\n").encode())


def pytest_collection_finish(session):
    if not SHARE or SHARE.take("plan"):
        tap(f"1..{len(session.items)}")


def pytest_collectreport(report):
    if report.failed:
        tap(f"not ok - {report.nodeid} is read\n" + diagnosis(report))


def diagnosis(report):
    """What went wrong, and then where: whoever sees only the beginning sees what matters."""
    lines = report.longreprtext.splitlines()
    wrong = [line for line in lines if line.startswith("E ")]
    return "\n".join("# " + line for line in [*wrong, *lines])


def short_name(nodeid):
    """Without the folder of the suite: what is behind a test's own name may have slashes too."""
    path, *rest = nodeid.split("::", 1)
    return "::".join([os.path.basename(path).removesuffix(".py"), *rest])


_failed = set()
_took = {}  # seconds, setting up included


def pytest_runtest_logreport(report):
    name = short_name(report.nodeid)
    _took[name] = _took.get(name, 0) + report.duration
    if report.failed:
        if report.nodeid not in _failed:
            tap(f"not ok - {name} ({report.when})\n" + diagnosis(report))
        _failed.add(report.nodeid)
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        tap(f"ok - {name} # SKIP {reason.removeprefix('Skipped: ')}")
        _failed.add(report.nodeid)
    elif report.when == "teardown" and report.nodeid not in _failed:
        tap(f"ok - {name} ({_took[name]:.1f} s)")


# --- fixtures -------------------------------------------------------------------------------------

@pytest.fixture
def nic(lab, tmp_path, monkeypatch):
    return Nic(lab, tmp_path, monkeypatch)


def skip_on_real_devices(options):
    """Those are what they are: as many queues and as large an MTU as their guest was given."""
    if IS_REAL and (veths := sorted({"queues", "mtu", "gro", "threaded"} & options.keys())):
        pytest.skip(f"wants veth: {', '.join(veths)} of a lab's own")


@pytest.fixture
def make_lab():
    """make_lab(**options of Lab) builds a lab; all are taken down, and checked for what was left
    behind, when the test ends."""
    labs = []

    def make(**options):
        skip_on_real_devices(options)
        labs.append(Lab(**options))
        return labs[-1]

    yield make
    leftovers = [problem for lab in labs for problem in lab.down()]
    assert not leftovers


@pytest.fixture(params=["user", "xdp"])
def each_lane(request, monkeypatch):
    """The test runs once in each lane: daemons are started in it unless told otherwise."""
    monkeypatch.setenv("SHUNT_TEST_LANE", request.param)
    return request.param


@pytest.fixture
def lab(make_lab):
    """gen - dut - sink, one queue, neighbours known from the start."""
    return make_lab(static_neigh=True)


@pytest.fixture(scope="module")
def net(request):
    """One lab for all tests of a module that change nothing in it; with as many queues as its QUEUES."""
    made = Lab(queues=getattr(request.module, "QUEUES", 1), static_neigh=True)
    yield made
    assert not made.down()


@pytest.fixture
def lab_tool():
    return tool
