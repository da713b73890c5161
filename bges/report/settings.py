"""The configuration, how the methods differ in it, and what of the runs could not be read."""

import yaml

from bges.report.markup import Child, el, table
from bges.report.methods import Method
from bges.report.section import Section, key


def settings_section(methods: list[Method]) -> Section:
    differing = list(methods[0].differences)
    parts: list[Child] = []
    if differing:
        head: list[Child] = ["key", *[[key(method), method.name] for method in methods]]
        parts.append(table(head, [[el("code", k), *[m.differences[k] for m in methods]] for k in differing]))
    for method in methods:
        tree = yaml.safe_dump(method.runs[0].tree, sort_keys=False, allow_unicode=True)
        seeds = ", ".join(str(run.seed) for run in method.runs)
        made = method.runs[0].run.versions() if method.runs[0].run is not None else "unknown"
        where = el("p", f"Seeds {seeds}. Made with {made}.", class_="note")
        parts.append(el("details", el("summary", f"{method.name}: every key"), where, el("pre", tree)))
    lead = (
        "Keys that differ between the methods."
        if differing
        else "All runs have the same configuration except for the seed."
    )
    return Section(id="configuration", title="Configuration", lead=lead, body=parts)


def missing_section(methods: list[Method]) -> Section:
    """Last to be made, since every section may note a problem."""
    rows = [(method, run) for method in methods for run in method.runs if run.problems]
    if not rows:
        return Section(id="missing", title="What is missing", lead="Nothing: everything could be read.")
    items = [
        el("li", el("strong", run.name), el("ul", [el("li", problem) for problem in run.problems])) for _, run in rows
    ]
    lead = "Data that these runs lack or that could not be read; the rest of the page does without it."
    return Section(id="missing", title="What is missing", lead=lead, body=el("ul", items, class_="missing"))
