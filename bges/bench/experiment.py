"""An experiment: methods side by side, over settings and seeds, from one YAML file."""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bges.config.loading import load_config, read_yaml
from bges.config.migration import reads
from bges.config.mistakes import explain
from bges.config.run import RunConfig
from bges.config.sections import Section
from bges.errors import InputError, within

EXPERIMENTS = Path(__file__).parent / "experiments"

Overrides = dict[str, Any]
Cell = dict[str, Any]
Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]


class Quick(Section):
    """What is smaller when an experiment is only tried out."""

    seeds: Annotated[int, Field(ge=1)] = 2
    set: Overrides = Field({})
    axes: Axes = Field({})
    methods: list[str] | None = None


class Experiment(Section):
    """`methods` are named overrides of the preset `base`; `axes` are keys with the values that span the cells.

    `base` may be an axis too, or be set by a method.
    """

    title: str
    claim: str = ""
    base: str | None = None
    seeds: Annotated[int, Field(ge=1)] = 5
    first_seed: Annotated[int, Field(ge=0)] = Field(
        0, description="above 0 for other seeds than the reported ones, to choose settings or to check a choice"
    )
    set: Overrides = Field({})
    methods: Annotated[dict[str, Overrides], Field(min_length=1)]
    axes: Axes = Field({})
    picture: Literal["curves", "surface", "strip"] = "curves"
    against: Literal["env_steps", "wall_time"] = Field(
        "env_steps",
        description="what curves are drawn over; wall_time also tells when 90 % of the best was reached",
    )
    reference: float | None = Field(None, description="a score to draw as a line, such as being stuck")
    counted: Annotated[list[str], Field(min_length=1)] = Field(
        ["settled"], description="columns of 0 and 1 that the table counts over seeds"
    )
    quick: Quick = Quick()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.picture == "surface" and len(self.axes) not in (1, 2):
            raise ValueError(f"picture is surface with {len(self.axes)} axes, expected 1 or 2")
        if self.base is None and "base" not in self.axes and any("base" not in own for own in self.methods.values()):
            raise ValueError("base is missing: name a preset, make it an axis, or set it in every method")
        for name, changes in self.methods.items():
            for key in self.axes.keys() & changes.keys():
                raise ValueError(f"method {name!r} sets {key}, which is an axis")
        for name in self.quick.methods or []:
            if name not in self.methods:
                raise ValueError(f"quick.methods names {name!r}, which is not among methods")
        return self

    def shrunk(self) -> "Experiment":
        """The same in two minutes."""
        quick = self.quick
        chosen = self.methods if quick.methods is None else {name: self.methods[name] for name in quick.methods}
        changes = {
            "seeds": quick.seeds,
            "set": self.set | quick.set,
            "axes": self.axes | quick.axes,
            "methods": chosen,
        }
        return self.model_copy(update=changes)

    @property
    def all_seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def _settings(self, cell: Cell, changes: Overrides) -> Overrides:
        """Those of one method; of what all share, what its algorithm reads."""
        own = {"base": self.base} | cell | changes
        algorithm = own.get("algorithm") or load_config(str(own["base"])).algorithm
        return {key: value for key, value in self.set.items() if reads(algorithm, key)} | own

    def cells(self) -> list[Cell]:
        """Every combination of the axes' values."""
        return [dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())]

    def jobs(self, folder: Path) -> list["Job"]:
        """All runs, a whole set of methods and cells for each seed in turn."""
        return [
            Job.of(folder, self._settings(cell, changes) | {"seed": seed}, cell=cell, method=method, seed=seed)
            for seed in self.all_seeds
            for cell in self.cells()
            for method, changes in self.methods.items()
        ]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of an experiment; its directory is named by all that decides it, so that experiments share runs."""

    cell: Cell
    method: str
    seed: int
    config: RunConfig
    path: Path

    @classmethod
    def of(cls, folder: Path, settings: Overrides, *, cell: Cell, method: str, seed: int) -> "Job":
        base = settings["base"]
        with within(f"method {method!r}"):
            config = load_config(base, {key: value for key, value in settings.items() if key != "base"})
        name = f"{Path(base).stem}-{seed}-{config.hash(iterations=config.iterations)}"
        return cls(cell=cell, method=method, seed=seed, config=config, path=folder / name)

    @property
    def label(self) -> str:
        place = "".join(f", {key.rpartition('.')[2]} {value}" for key, value in self.cell.items())
        return f"{self.method}{place}, seed {self.seed}"


def experiment_names() -> list[str]:
    return sorted(path.stem for path in EXPERIMENTS.glob("*.yaml"))


def load_experiment(name: str) -> Experiment:
    """A built-in experiment by name, or a YAML file."""
    path = EXPERIMENTS / f"{name}.yaml" if name in experiment_names() else Path(name)
    if path.suffix not in (".yaml", ".yml"):
        near = get_close_matches(name, experiment_names(), n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"there is no experiment {name!r}{hint}, experiments: {', '.join(experiment_names())}")
    tree = read_yaml(path, name)
    if not isinstance(tree, dict):
        raise InputError(f"{name}: expected a mapping of keys, got {type(tree).__name__}")
    try:
        return Experiment.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{name}: {explain(Experiment, error)}") from None
