"""HTML and SVG made of elements: whatever is not markup already is escaped, so that no value becomes any."""

import base64
import html
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

VOID = ("img", "input", "meta", "br")


class Markup(str):
    """Text that may stand in a page as it is."""

    __slots__ = ()


Child = str | Markup | Iterable["Child"] | None


def el(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element; `class_` stands for class, `data_run` for data-run, True for an attribute without value."""
    parts = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(key)
        elif value is not None and value is not False:
            parts.append(f'{key}="{html.escape(_plain(value))}"')
    opened = f"<{' '.join(parts)}>"
    return Markup(opened if name in VOID else f"{opened}{join(children)}</{name}>")


def join(children: Child) -> Markup:
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(html.escape(children))
    return Markup("".join(join(child) for child in children))


def data(value: Any, **attributes: Any) -> Markup:
    """JSON that a script reads and no browser runs."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return el("script", Markup(text), type="application/json", **attributes)


def data_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def short(value: Any, digits: int = 3) -> str:
    """A number as people write it."""
    value = float(value)
    if not np.isfinite(value):
        return "–"
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / float({'G': 1e9, 'M': 1e6, 'k': 1e3}[unit]):.{digits}g}{unit}"
    return f"{value:.0f}" if size >= 1000 or value == int(value) else f"{value:.{digits}g}"


def table(head: list[Child], rows: list[list[Child]]) -> Markup:
    """Wide ones scroll in their own box."""
    top = el("tr", [el("th", cell, scope="col") for cell in head])
    body = [el("tr", [el("td", cell) for cell in row]) for row in rows]
    return el("div", el("table", el("thead", top), el("tbody", body)), class_="scroll", tabindex="0")


def _plain(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
