# SPDX-License-Identifier: BSD-2-Clause
"""Tables of documents as Markdown, for a README or a report: nobody copies figures by hand."""
from document import ident
from terminal import number

MAIN = 1  # the first table of a document is its main one


def escaped(value):
    return str(value).replace("|", "\\|")


def table_lines(table):
    heads = [escaped(c["name"] + (f" [{c['unit']}]" if c.get("unit") else "")) for c in table["columns"]]
    is_text = [all(isinstance(row[i], str) for row in table["rows"]) for i in range(len(heads))]
    lines = ["| " + " | ".join(heads) + " |",
             "|" + "|".join("---" if t else "--:" for t in is_text) + "|"]
    lines += ["| " + " | ".join(escaped(number(v)) for v in row) + " |" for row in table["rows"]]
    return lines


def origin(doc):
    """What the figures mean nothing without."""
    machine, ports = doc["machine"], doc["ports"]
    modes = ", ".join(str(ports[k]) for k in ("driver", "driver_mode", "copy_mode")
                      if ports.get(k) and ports[k] != "none")
    facts = [f"{machine['cpus']} CPUs ({machine['cpu']})", f"Linux {machine['kernel']}",
             f"ports: {ports['kind']}" + (f" ({modes})" if modes else ""),
             f"{doc['parameters']['runs']} runs of {doc['parameters']['run_seconds']:g} s",
             f"shunt {doc['versions'].get('commit') or doc['versions']['shunt']}"]
    return f"`{doc['command']}`: {', '.join(facts)}."


def document_lines(doc, all_tables=False):
    lines = [f"### {doc['title']} ({ident(doc)})", "", origin(doc), ""]
    for table in doc["tables"] if all_tables else doc["tables"][:MAIN]:
        lines += [f"{table['title']}:", "", *table_lines(table), ""]
    lines += [f"- **{f['verdict']}**: {f['claim']} ({f['paper']}): {f['measured']}"
              for f in doc["findings"]]
    lines += [f"- {note}" for note in doc["notes"]]
    lines += [f"- Left out: {s['what']}: {s['why']}" for s in doc["skipped"]]
    return lines + ([""] if lines[-1] else [])


def text(docs):
    return "\n".join(line for doc in docs for line in document_lines(doc))
