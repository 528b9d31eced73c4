# SPDX-License-Identifier: BSD-2-Clause
"""How the torture tells whose program is on a device, where the dispatcher that it may be under is not
to be had: on this kernel libxdp puts programs on devices alone."""

import pytest


from shuntlab.dut import is_its_own

ALONE = {"id": 45, "dispatcher": False}
UNDER = {"id": 45, "dispatcher": True}
GONE = {"id": None, "error": "somebody took it off"}
DISPATCHER = {"name": "xdp_dispatcher", "id": 42}


@pytest.mark.parametrize("attached,program,under,expected", [
    ({"name": "shunt_steer", "id": 45}, ALONE, [], True),
    ({"name": "shunt_steer_sg", "id": 45}, ALONE, [], True),
    ({"name": "shunt_steer", "id": 44}, ALONE, [], False),
    ({"name": "xdp_pass", "id": 45}, ALONE, [], False),
    ({}, ALONE, [], False),
    ({"name": "shunt_steer", "id": 45}, GONE, [], False),
    (DISPATCHER, UNDER, [45], True),
    (DISPATCHER, UNDER, [], False),
    (DISPATCHER, UNDER, [44], False),
    (DISPATCHER, UNDER, [44, 45], False),
    ({"name": "shunt_steer", "id": 45}, UNDER, [45], False),
])
def test_whose_program_it_is(attached, program, under, expected):
    assert is_its_own(attached, program, lambda: under) == expected
