"""The whole page: one HTML file that needs nothing else."""

import base64
import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bges.errors import InputError
from bges.report.clip import clip_section
from bges.report.colours import COLOURS, ON_DARK, scale_colours
from bges.report.curves import curves_section, last_tenth
from bges.report.functions import functions_section
from bges.report.maps import map_section
from bges.report.markup import Child, Markup, el, short
from bges.report.material import ANY_FAILURE, Material
from bges.report.methods import Method, group
from bges.report.novelty import novelty_section
from bges.report.planes import planes_of
from bges.report.section import Section, key
from bges.report.settings import missing_section, settings_section
from bges.report.timing import faults_section, timing_section
from bges.report.walks import walks_section
from bges.runs.files import write_text
from bges.version import __version__

HERE = Path(__file__).parent


def write_report(runs: Sequence[str | Path], out: Path, *, clip: bool = True) -> Path:
    """Write the report of runs' directories into one HTML file."""
    page = report_page(runs, clip=clip)
    try:
        write_text(out, page)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    return out


def report_page(runs: Sequence[str | Path], *, clip: bool = True, live: bool = False) -> str:
    """The page; a `live` one asks its server for a newer one of itself."""
    paths = dict.fromkeys(Path(run).resolve() for run in runs)
    methods = group([Material.read(path) for path in paths])
    return _page(methods, _sections(methods, clip), live)


def _sections(methods: list[Method], clip: bool) -> list[Section]:
    runs = [run for method in methods for run in method.runs]
    planes = planes_of(runs)
    makers: dict[str, Callable[[], Section]] = {
        "curves": lambda: curves_section(methods),
        "clip": lambda: clip_section(methods, wanted=clip),
        "map": lambda: map_section(methods, planes),
        "trajectories": lambda: walks_section(methods),
        "functions": lambda: functions_section(methods, planes),
        "novelty": lambda: novelty_section(methods),
        "time": lambda: timing_section(methods),
        "faults": lambda: faults_section(methods),
        "configuration": lambda: settings_section(methods),
    }
    return [*(_attempt(name, make) for name, make in makers.items()), missing_section(methods)]


def _attempt(name: str, make: Callable[[], Section]) -> Section:
    """One section that fails does not take the others with it."""
    try:
        return make()
    except ANY_FAILURE as error:
        lead = f"This section could not be made: {type(error).__name__}: {error}"
        return Section(id=name, title=name.capitalize(), lead=lead)


def _page(methods: list[Method], sections: list[Section], live: bool) -> str:
    script = (HERE / "report.js").read_text()
    runs = [run for method in methods for run in method.runs]
    tasks = list(dict.fromkeys(run.env_id.rpartition(":")[2] for run in runs))
    title = f"{' · '.join(method.name for method in methods[:6])} on {' · '.join(tasks[:4])}"
    links = [el("a", section.title, href=f"#{section.id}") for section in sections]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(script, live)),
        el("meta", name="color-scheme", content="light dark"),
        el("noscript", el("meta", http_equiv="refresh", content="15")) if live else None,
        el("title", title),
        el("style", Markup(_style())),
    )
    body = el(
        "body",
        el("header", el("h1", title), _facts(methods)),
        el("nav", links, aria_label="sections"),
        _bar(methods),
        el("main", [section.markup() for section in sections]),
        el("footer", f"Made by bges {__version__} on {time.strftime('%Y-%m-%d %H:%M')}."),
        el("div", id="tip", role="status", hidden=True),
        el("script", Markup(script)),
        data_live="yes" if live else None,
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _policy(script: str, live: bool) -> str:
    """Nothing from elsewhere, and no script but ours: a value that slipped through could do nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = ["default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'"]
    return "; ".join([*parts, *(["connect-src 'self'"] if live else []), "base-uri 'none'", "form-action 'none'"])


def _style() -> str:
    def colours(values: list[str]) -> str:
        return "".join(f"--s{i}:{value};" for i, value in enumerate(values))

    series = "".join(f".s{i}{{--c:var(--s{i})}}" for i in range(len(COLOURS)))
    scale = f"linear-gradient(90deg,{','.join(scale_colours())})"
    light, dark = f":root{{{colours(COLOURS)}--scale:{scale}}}", f":root{{{colours(ON_DARK)}}}"
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}{series}\n{(HERE / 'report.css').read_text()}"


def _facts(methods: list[Method]) -> Markup:
    """The first things that a colleague asks."""
    runs = [run for method in methods for run in method.runs]
    scores = [run.column("score") for run in runs]
    best = max((float(np.nanmax(score)) for score in scores if np.isfinite(score).any()), default=np.nan)
    ends = [end for run in runs if np.isfinite(end := last_tenth(run, "score"))]
    wins = [rate for run in runs if np.isfinite(rate := last_tenth(run, "success_rate"))]
    steps = sum(float(run.column("env_steps")[-1]) for run in runs if run.iterations)
    wall = sum(float(np.nan_to_num(run.column("wall_time")[-1])) for run in runs if run.iterations)
    going = sum(run.is_running for run in runs)
    facts = {
        "runs": f"{len(runs)}" + (f", {going} running" if going else ""),
        "iterations": " to ".join(dict.fromkeys(str(f({r.iterations for r in runs})) for f in (min, max))),
        "best score": short(best),
        "environment steps": short(steps),
        "time": f"{wall:.0f} s" if wall < 600 else f"{wall / 60:.0f} min",
    }
    if len(methods) == 1:
        # Over several methods such means would say nothing.
        facts |= {"score at the end": short(np.mean(ends)) if ends else "–"}
        facts |= {"success at the end": f"{np.mean(wins):.0%}"} if wins else {}
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in facts.items()], class_="facts")


def _bar(methods: list[Method]) -> Child:
    """Which methods are shown, and which seed's pictures."""
    boxes: list[Child] = [
        el("label", el("input", type="checkbox", class_="method", value=m.index, checked=True), key(m), m.name)
        for m in methods
    ]
    most = max(methods, key=lambda method: len(method.runs))
    seeds = None
    if len(most.runs) > 1:
        same = all(m.runs[i].seed == run.seed for m in methods for i, run in enumerate(most.runs[: len(m.runs)]))
        names = [f"seed {run.seed}" if same else f"run {i + 1}" for i, run in enumerate(most.runs)]
        options = [el("option", name, value=i) for i, name in enumerate(names)]
        seeds = el("label", "pictures of ", el("select", options, id="place"))
    if len(methods) == 1 and seeds is None:
        return None
    return el(
        "div", boxes if len(methods) > 1 else None, seeds, class_="controls bar-of-methods scripted", id="methods"
    )
