# SPDX-License-Identifier: BSD-2-Clause
"""The library of the project's programs in Python: labs, frames on their wires, shuntd in them, and
what is done to it. Beside programs in tools/, whose folder Python searches by itself; pytest.ini
names that folder for the tests, tests/vm/guest-start for whatever runs in a guest."""
