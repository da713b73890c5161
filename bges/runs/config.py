"""The configuration of a run: one tree, validated once, stored with the run."""

import contextlib
import hashlib
import json
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from bges.errors import InputError
from bges.gradient.config import GradientConfig, Method, RepulsionConfig
from bges.runs.sections import Count, NotNegative, Positive, Section, Share

PRESETS = Path(__file__).parent.parent / "presets"

# Schedules that end with a restart from what was found.
SETTLING = ("explore_then_settle", "cycles")


class EnvConfig(Section):
    id: str = Field("bges_envs:DeceptivePoint-v0", description="Gymnasium id, or module:factory of your own")
    kwargs: dict[str, Any] = Field({}, description="arguments of the environment")
    horizon: Count | None = Field(None, description="longest episode; null takes the environment's own limit")
    episodes: Count = Field(1, description="episodes that each perturbed policy plays")


class PolicyConfig(Section):
    name: str = Field("mlp", description="linear, mlp, toeplitz, features, or module:class of your own")
    hidden: tuple[Count, ...] | None = Field(None, description="sizes of the hidden layers (mlp, toeplitz)")
    squash: Literal["clip", "tanh"] = Field("clip", description="how outputs are brought into the action's bounds")
    kwargs: dict[str, Any] = Field({}, description="further arguments of the policy")
    action_noise: NotNegative = Field(0.0, description="standard deviation of the noise added to actions in training")
    normalize_observations: bool = Field(False, description="centre and scale what the policy sees by running moments")


class EmbeddingConfig(Section):
    name: str = Field("final_state", description="a behaviour embedding by name, or module:function of your own")
    kwargs: dict[str, Any] = Field({}, description="arguments of the embedding")
    standardize: bool = Field(True, description="put embeddings in units of their running mean and spread")
    scale: Positive = Field(1.0, description="divide embeddings by this before anything else")


class NoveltyConfig(Section):
    name: Literal["wasserstein", "hellinger", "jensen_shannon", "kl", "total_variation", "l2", "random"] = Field(
        "wasserstein", description="how far a perturbed policy's behaviour is from the base policies'"
    )
    beta: Annotated[float, Field(gt=-1, lt=1)] = Field(
        0.5, description="weight of the novelty: above 0 repels from the base policies, below 0 attracts"
    )
    schedule: Literal["constant", "linear", "adaptive", "explore_then_settle", "cycles"] = Field(
        "constant", description="how beta changes during the run"
    )
    settle_at: Share = Field(
        0.6,
        description="share of the iterations before the restart (explore_then_settle, cycles) or the fall (linear)",
    )
    settle_rate: Positive = Field(
        1.0, description="factor on es.learning_rate after the restart (explore_then_settle, cycles)"
    )
    settle_from: Literal["score", "peak"] = Field(
        "score",
        description="which policies the restart goes on from: those with the best score, or with the best single steps",
    )
    finalists: Count = Field(
        1,
        description="good policies that behave differently, tried in turn after the restart until the best goes on",
    )
    separation: NotNegative = Field(
        0.5, description="finalists differ by this much, in units of the behaviours' spread"
    )
    cycles: Count = Field(4, description="cycles: how often beta goes up and down before the restart")
    patience: Count = Field(5, description="adaptive: evaluations without a better score before the weight rises")
    beta_step: Share = Field(0.05, description="adaptive: how much the weight changes at a time")
    beta_max: Share = Field(0.8, description="adaptive: largest weight")
    base_policies: Count = Field(2, description="how many previous unperturbed policies make the base")
    fit_to: Literal["last", "base"] = Field(
        "last", description="what the test functions tell new behaviours from: the last iteration's, or the base"
    )
    expert: str | None = Field(
        None,
        description="Parquet file of embedded episodes that join the base: an expert's, to be imitated (beta below 0), "
        "or behaviour that is not wanted (above 0); or the name of a shipped one",
    )
    expert_weight: Share = Field(1.0, description="share of that file in the base; the previous policies have the rest")
    paper_weights: bool = Field(False, description="weigh rewards by 1-beta, as printed in the paper, not by 1-|beta|")
    gamma: Positive = Field(1.0, description="smoothing of the Wasserstein distance")
    features: Count = Field(1000, description="random features of the test functions")
    updates: Count = Field(100, description="warm-start updates of the test functions in each iteration")
    width: Positive | Literal["median"] = Field("median", description="kernel width, or its median heuristic")
    cost: str = Field("squared_l2", description="cost between embeddings by name, or module:function of your own")
    solver: Literal["sgd", "adam", "sinkhorn"] = Field("sgd", description="how the test functions are fitted")
    solver_kwargs: dict[str, Any] = Field({}, description="arguments of the solver")

    @model_validator(mode="after")
    def _finals(self) -> Self:
        if self.finalists > 1 and self.schedule not in SETTLING:
            raise ValueError(f"finalists is {self.finalists}, which needs schedule to be {' or '.join(SETTLING)}")
        if self.expert is not None and self.name == "random":
            raise ValueError(f"expert is {self.expert!r}, and name 'random' compares with nothing")
        return self


class EsConfig(Section):
    population: Count = Field(100, description="perturbed policies in each iteration")
    sigma: Positive = Field(0.02, description="standard deviation of the perturbations")
    learning_rate: Positive = Field(0.03, description="step of the optimiser")
    antithetic: bool = Field(True, description="perturb in pairs of opposite sign")
    shaping: Literal["zscore", "ranks", "none"] = Field("zscore", description="what is done to rewards and novelties")
    top: Count | None = Field(None, description="use only this many best directions (ARS); null uses all")
    optimizer: Literal["adam", "sgd"] = Field("adam", description="what turns the gradient into a step")
    momentum: Share = Field(0.9, description="momentum of sgd")
    weight_decay: NotNegative = Field(0.0, description="pull of the parameters towards zero")
    chunk: Count = Field(16, description="perturbed policies that a worker plays at once")
    noise_table: Annotated[int, Field(ge=1000)] = Field(10_000_000, description="numbers in the shared noise table")

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.antithetic and self.population % 2:
            raise ValueError(f"population is {self.population}, expected an even number for antithetic pairs")
        directions = self.population // 2 if self.antithetic else self.population
        if self.top is not None and self.top > directions:
            raise ValueError(f"top is {self.top}, expected at most the number of directions, {directions}")
        return self


class NsresConfig(Section):
    members: Count = Field(5, description="policies that are evolved side by side")
    neighbors: Count = Field(10, description="nearest archive points that define novelty")


class EvaluationConfig(Section):
    every: Count = Field(1, description="iterations between evaluations of the unperturbed policy")
    episodes: Count = Field(4, description="episodes of an evaluation")
    candidates: bool = Field(
        False, description="also evaluate the last iteration's best perturbed policy, which may become the best"
    )


class CheckpointConfig(Section):
    every: Count = Field(10, description="iterations between checkpoints")
    keep: Count = Field(3, description="how many of the latest are kept, besides the best")
    keep_every: Annotated[int, Field(ge=0)] = Field(0, description="also keep those of every n-th iteration; 0 none")
    behaviors_every: Annotated[int, Field(ge=0)] = Field(
        1, description="record behaviours of every n-th iteration; 0 none"
    )
    storage: str | None = Field(
        None,
        description="copy the run's directory below this URI, as URI/NAME, with each checkpoint: file:///mnt/runs, "
        "s3://bucket/runs, gs://bucket/runs",
    )

    @model_validator(mode="after")
    def _uri(self) -> Self:
        if self.storage is not None and "://" not in self.storage:
            raise ValueError(f"storage is {self.storage!r}, expected a URI such as s3://bucket/runs")
        return self


class FaultsConfig(Section):
    attempts: Count = Field(3, description="tries before a chunk that fails everywhere stops the run")
    chunk_seconds: Positive = Field(300.0, description="a worker that takes longer for a chunk is replaced")
    start_seconds: Positive = Field(180.0, description="how long to wait for the first worker to start")
    min_workers: Annotated[int, Field(ge=0)] = Field(
        0,
        description="with fewer workers the run waits, however long, and says so; 0 plays with any number and gives up "
        "after start_seconds without one",
    )


class RunConfig(Section):
    """Everything that decides a run, and how it is carried out."""

    algorithm: Literal["bges", "es", "nsres", Method, "repulsion"] = Field("bges", description="which method")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="decides every random number of the run")
    iterations: Count = Field(200, description="iterations of the whole run")
    workers: Count | Literal["auto"] = Field("auto", description="rollout workers; auto takes every CPU of the cluster")
    env: EnvConfig = EnvConfig()
    policy: PolicyConfig = PolicyConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    novelty: NoveltyConfig = NoveltyConfig()
    es: EsConfig = EsConfig()
    nsres: NsresConfig = NsresConfig()
    pg: GradientConfig = GradientConfig()
    repulsion: RepulsionConfig = RepulsionConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    faults: FaultsConfig = FaultsConfig()

    @model_validator(mode="after")
    def _enough_workers(self) -> Self:
        if self.workers != "auto" and self.workers < self.faults.min_workers:
            raise ValueError(f"workers is {self.workers}, below faults.min_workers, {self.faults.min_workers}")
        return self

    @model_validator(mode="after")
    def _time_for_finals(self) -> Self:
        left = self.iterations - round(self.novelty.settle_at * self.iterations)
        if self.novelty.finalists > 1 and left < 4 * self.novelty.finalists:
            raise ValueError(
                f"novelty.finalists is {self.novelty.finalists} and {left} iterations are left after "
                f"novelty.settle_at, expected at least {4 * self.novelty.finalists}"
            )
        return self

    @classmethod
    def parse(cls, tree: Any, source: str = "configuration") -> Self:
        """Validate a tree; the first mistake becomes one line that names the key, the value and what is allowed."""
        if not isinstance(tree, dict):
            raise InputError(f"{source}: expected a mapping of keys, got {type(tree).__name__}")
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            raise InputError(f"{source}: {explain(cls, error)}") from None

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def deciding(self, **options: Any) -> dict[str, Any]:
        """The part of the tree that decides the numbers of a run, and so must be the same when it is resumed."""
        free = {"workers", "checkpoint", "faults"}
        if self.novelty.schedule in ("constant", "adaptive"):
            free.add("iterations")
        return self.model_dump(mode="json", exclude=free, **options)

    def hash(self, **more: Any) -> str:
        """A name for `deciding`, and for whatever else is given."""
        # Defaults are left out, so that a key that a later version adds changes no name.
        tree = self.deciding(exclude_defaults=True) | more
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def explain(model: type[BaseModel], error: ValidationError) -> str:
    """The first mistake, in one line that names the key, the value and what is allowed."""
    # A key that is misspelt is also one that is missing: the spelling is the news.
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    first = errors[0]
    # Pydantic adds the names of union branches to the path; keys of the tree come first and are what a user knows.
    path = [str(part) for part in first["loc"]]
    keys, known = [], model.model_fields
    for part in path:
        if part not in known:
            break
        keys.append(part)
        annotation = known[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            break
        known = annotation.model_fields
    if first["type"] == "extra_forbidden":
        unknown = path[len(keys)] if len(path) > len(keys) else path[-1]
        near = get_close_matches(unknown, list(known), n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        where = ".".join([*keys, unknown])
        return f"unknown key {where!r}{hint}, expected one of: {', '.join(known)}"
    if first["type"] == "missing":
        return f"{'.'.join(path)} is missing"
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if first["type"] == "value_error":
        return f"{'.'.join(keys)}: {message}" if keys else message
    others = [
        e["msg"][0].lower() + e["msg"][1:] for e in errors[1:] if e["loc"][: len(keys)] == first["loc"][: len(keys)]
    ]
    return f"{'.'.join(keys)} is {first['input']!r}: {' or '.join([message, *others])}"


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_yaml(path: Path, source: str) -> Any:
    try:
        return yaml.safe_load(path.read_text()) or {}
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not YAML: {' '.join(str(error).split())}") from None


def load_config(source: str | Path | RunConfig, overrides: dict[str, Any] | None = None) -> RunConfig:
    """A preset by name, a YAML file, or a configuration, with dotted `overrides` ({"es.sigma": 0.1}) on top."""
    if isinstance(source, RunConfig):
        tree, name = source.model_dump(mode="json"), "configuration"
    else:
        tree, name = _find(source)
    for key, value in (overrides or {}).items():
        _put(tree, key, value)
    return RunConfig.parse(tree, name)


def _find(source: str | Path) -> tuple[Any, str]:
    text = str(source)
    if text in preset_names():
        return read_yaml(PRESETS / f"{text}.yaml", f"preset {text}"), f"preset {text}"
    path = Path(source)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return read_yaml(path, text), text
    near = get_close_matches(text, preset_names(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(f"there is no preset or YAML file {text!r}{hint}, presets: {', '.join(preset_names())}")


def parse_override(text: str) -> tuple[str, Any]:
    """`KEY=VALUE` with the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r}: expected KEY=VALUE, such as es.sigma=0.05")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InputError(f"--set {text!r}: {' '.join(str(error).split())}") from None
    # YAML 1.1 reads 1e-3 as text; people who type it mean the number.
    if isinstance(parsed, str):
        with contextlib.suppress(ValueError):
            parsed = float(parsed)
    return key.strip(), parsed


def _put(tree: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(tree, dict):
            break
        tree = tree.setdefault(parent, {})
    if not isinstance(tree, dict):
        raise InputError(f"--set {key}: {key.rpartition('.')[0]} is a value, not a section")
    if not parents and isinstance(getattr(RunConfig.model_fields.get(key), "default", None), Section):
        raise InputError(f"--set {key}: it is a section; name one of its keys, such as {key}.KEY=VALUE")
    tree[last] = value
