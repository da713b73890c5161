"""A clip of the best policy."""

import tempfile
from pathlib import Path

import numpy as np

from bges.report.markup import Child, data_uri, el, short
from bges.report.material import ANY_FAILURE, Material
from bges.report.methods import Method
from bges.report.section import Section, run_label
from bges.video import film_policy, write_film

FRAMES, WIDTH, HEIGHT = 48, 320, 240


def clip_section(methods: list[Method], *, wanted: bool) -> Section:
    def none(lead: Child) -> Section:
        return Section(id="clip", title="Best policy", lead=lead)

    if not wanted:
        return none(["There is no clip in this report; ", el("code", "bges report"), " makes one."])
    found = _best(methods)
    if found is None:
        return none("There is no policy to film.")
    method, run = found
    try:
        assert run.run is not None
        film = film_policy(run.run, width=WIDTH, height=HEIGHT, most_frames=FRAMES)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "clip.gif"
            write_film(film, path)
            content = path.read_bytes()
    except ANY_FAILURE as error:
        return none(f"There is no clip: {error}")
    told = f"Best policy of {run_label(method, run)}: one episode, return {short(film.total_return)}."
    image = el("img", src=data_uri(content, "image/gif"), alt=told, width=WIDTH, height=HEIGHT)
    return Section(id="clip", title="Best policy", lead=told, body=el("figure", image, class_="card clip"))


def _best(methods: list[Method]) -> tuple[Method, Material] | None:
    """The run whose best score is the highest, among those with a checkpoint."""
    runs = [(method, run) for method in methods for run in method.runs if run.run is not None and run.checkpoints]

    def score(run: Material) -> float:
        known = run.column("score")[np.isfinite(run.column("score"))]
        return float(known.max()) if len(known) else -np.inf

    return max(runs, key=lambda pair: score(pair[1]), default=None)
