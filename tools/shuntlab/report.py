# SPDX-License-Identifier: BSD-2-Clause
"""shunt-bench as a program: run in a shortened form, and its documents and reports held to what they are to
be."""
import json
import os
import subprocess
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

import pytest

from shuntlab.lab import BIN, ROOT

BENCH = os.path.join(BIN, "shunt-bench")
SCHEMA = os.path.join(ROOT, "tools", "shunt-bench", "schema.json")
SHORT = ["--short", "--quiet", "--runs", "1"]
POINTS = ["--points", "2"]
SEARCHES = ["--trials", "1", "--precision", "50", "--search-seconds", "2"]
MEMORY = ["cio", "cache", "batch"]


def bench(*options, env=None):
    return bench_of([BENCH, *options], env={**os.environ, **(env or {})})


def bench_of(argv, stdout=subprocess.PIPE, **options):
    """The test's own limit ends it: where others have the processors, a measurement is repeated."""
    return subprocess.run(argv, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, **options)


class Page(HTMLParser):
    """What a report shows: the sources of its images, its headings' ids, its links elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.images, self.ids, self.links = [], [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "img":
            self.images.append(attrs)
        self.links += [attrs[key] for key in ("href", "src") if key in attrs]


def check_document(path):
    jsonschema = pytest.importorskip("jsonschema")
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        doc = json.load(file)
    jsonschema.Draft7Validator(schema).validate(doc)
    for table in doc["tables"]:
        assert table["rows"], table["name"]
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}, table["name"]
    return doc


def check_report(folder, docs):
    page = Page(folder / "report.html")
    figures = [f"{doc['experiment']}-{doc['ports']['kind']}-{f['name']}"
               for doc in docs for f in doc["figures"]]
    assert [image["id"] for image in page.images] == figures
    assert {f"{doc['experiment']}-{doc['ports']['kind']}" for doc in docs} <= set(page.ids)
    # self-contained: nothing is fetched from anywhere
    assert [link for link in page.links if not link.startswith(("data:", "#"))] == []
    for name in figures:
        tree = xml.parse(folder / f"{name}.svg")
        assert len(list(tree.iter())) > 30, name
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
