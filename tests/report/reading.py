"""A report taken apart without a browser."""

from html.parser import HTMLParser

VOID = ("img", "input", "meta", "br")
SECTIONS = (
    "curves",
    "clip",
    "map",
    "trajectories",
    "functions",
    "novelty",
    "time",
    "faults",
    "configuration",
    "missing",
)


class Page(HTMLParser):
    """Elements with their attributes, the text of each section, and whether every element is closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.sections, self._open, self._section = [], {}, [], None
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.elements.append((tag, values, self._section))
        if tag == "section":
            self._section = values["id"]
            self.sections[self._section] = ""
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag == "section":
            self._section = None

    def handle_data(self, text):
        if self._section is not None and self._open[-1] != "script":
            self.sections[self._section] += text

    def count(self, tag, section=None, class_=None):
        return sum(
            tag == name
            and (section is None or section == where)
            and (class_ is None or class_ in values.get("class", "").split())
            for name, values, where in self.elements
        )


def read(path):
    return Page(path.read_text())
