# SPDX-License-Identifier: BSD-2-Clause
"""An experiment's result: one JSON document that holds all that its tables and figures show, as
schema.json says. Figures carry their data, so a report can be drawn again from documents alone."""
import contextlib
import datetime
import json
import os
import re
import shlex
import sys

import machine

FORMAT = 1
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.json")
VERDICTS = {True: "holds", False: "does not hold", None: "not decided"}


def series(title, points, style="linespoints", axis="y1"):
    """One line of a figure. points: [x, y] or [x, y, low, high]. style: linespoints, lines, points,
    predicted (a dashed line), area (points are [x, low, high]) or bars."""
    return {"title": title, "style": style, "axis": axis, "points": points}


def ident(data):
    """What a document is called beside others: experiment, ports, the guest's driver."""
    ports = data["ports"]
    return "-".join(word for word in (data["experiment"], ports["kind"], ports.get("driver")) if word)


class Document:
    def __init__(self, experiment, title, ports, parameters):
        self.data = {
            "format": FORMAT,
            "experiment": experiment,
            "title": title,
            "command": shlex.join(["shunt-bench", *sys.argv[1:]]),
            "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "seconds": 0.0,
            "machine": machine.facts(),
            "versions": machine.versions(),
            "ports": ports,
            "parameters": parameters,
            "tables": [],
            "figures": [],
            "findings": [],
            "notes": [],
            "skipped": [],
        }

    def table(self, name, title, columns, rows):
        """columns: "name" or ("name", "unit")."""
        pairs = [(c, None) if isinstance(c, str) else c for c in columns]
        self.data["tables"].append({
            "name": name, "title": title, "rows": rows,
            "columns": [{"name": n, "unit": u} if u else {"name": n} for n, u in pairs]})

    def figure(self, name, title, x, y, lines, **options):
        """options: caption, paper, y2 (a label), x_scale and y_scale (linear, log2, log10), x_range,
        y_range, y2_range ([low, high], null for automatic), marks ([[x, text]]), key."""
        drawn = [s for s in lines if s["points"]]
        if not drawn:
            self.skip(f"figure '{title}'", "there was nothing to draw")
            return
        self.data["figures"].append({"name": name, "title": title, "x": x, "y": y, "series": drawn,
                                     **options})

    def finding(self, paper, claim, holds, measured, figure=None):
        """figure: the name of the one that shows it."""
        self.data["findings"].append({"paper": paper, "claim": claim,
                                      "verdict": VERDICTS[holds], "measured": measured,
                                      **({"figure": figure} if figure else {})})

    def note(self, text):
        if text not in self.data["notes"]:
            self.data["notes"].append(text)

    def withhold(self, why):
        """No finding of this document is decided."""
        for finding in self.data["findings"]:
            finding["verdict"] = VERDICTS[None]
        self.note(f"{why}: no verdict is given.")

    def skip(self, what, why):
        """Something that this experiment would have and has not."""
        self.data["skipped"].append({"what": what, "why": why})


def write_whole(text, path):
    """Writes a file, which is there whole or not at all; ValueError with a sentence."""
    temporary = path + ".tmp"
    try:
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from error


def save(data, path):
    write_whole(json.dumps(data, indent=1) + "\n", path)


def load(path):
    """A document from its file; ValueError with a sentence when it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or "experiment" not in data:
        raise ValueError(f"{path} is no result of shunt-bench (format {FORMAT})")
    with open(SCHEMA, encoding="utf-8") as file:
        lacks = [key for key in json.load(file)["required"] if key not in data]
    if lacks:
        raise ValueError(f"{path} is no whole result of shunt-bench: it lacks {', '.join(lacks)}")
    # they become names of files
    for name in (ident(data), *(figure["name"] for figure in data["figures"])):
        if not re.fullmatch(r"[\w-]+", name):
            raise ValueError(f"{path} is no result of shunt-bench: nothing in one is called '{name}'")
    return data
