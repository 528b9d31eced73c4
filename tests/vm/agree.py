#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""agree.py FIRST.json SECOND.json: whether two runs of bench-vm say the same, to 1 % of each figure
that both have. Exit code 1 where they do not, or have none in common."""
import json
import sys

WITHIN = 0.01


def figures(path):
    with open(path, encoding="ascii") as file:
        return {(e["name"], tuple(sorted(e["params"].items()))): e["value"] for e in json.load(file)}


def main(first, second):
    before, after = figures(first), figures(second)
    both = {key: abs(after[key] / before[key] - 1) for key in before if key in after}
    if not both:
        print(f"agree: {first} and {second} have no figure in common", file=sys.stderr)
        return 1
    for (name, params), apart in sorted(both.items(), key=lambda item: -item[1]):
        if apart > WITHIN:
            words = " ".join(f"{key} {value}" for key, value in params)
            print(f"{name} ({words}): {before[name, params]:.0f} and {after[name, params]:.0f}, "
                  f"{100 * apart:.2f} % apart")
    print(f"two runs, {len(both)} figures: at most {100 * max(both.values()):.2f} % apart")
    return int(max(both.values()) > WITHIN)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: agree.py FIRST.json SECOND.json")
    sys.exit(main(*sys.argv[1:]))
