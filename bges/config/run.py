"""The configuration of a run: one tree, validated once, stored with the run."""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from bges.config.common import (
    CheckpointConfig,
    EmbeddingConfig,
    EnvConfig,
    EvaluationConfig,
    FaultsConfig,
    PolicyConfig,
)
from bges.config.evolution import EsConfig, NoveltyConfig, NsresConfig, SearchConfig
from bges.config.gradient import METHODS, AnyGradientConfig, Method, PlainConfig, RepulsionConfig
from bges.config.mistakes import explain
from bges.config.sections import Count, Section
from bges.errors import InputError

EVOLUTION = ("bges", "es", "nsres")
# Who reads a section that not every algorithm has; given to another algorithm it is a mistake.
READERS: dict[str, tuple[str, ...]] = {
    "novelty": (*EVOLUTION, "repulsion"),
    "search": ("bges",),
    "es": EVOLUTION,
    "nsres": ("nsres",),
    "pg": METHODS,
    "repulsion": ("repulsion",),
}


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
    search: SearchConfig = SearchConfig()
    es: EsConfig = EsConfig()
    nsres: NsresConfig = NsresConfig()
    pg: AnyGradientConfig = PlainConfig()
    repulsion: RepulsionConfig = RepulsionConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    faults: FaultsConfig = FaultsConfig()

    @model_validator(mode="before")
    @classmethod
    def _own_sections(cls, tree: Any) -> Any:
        """Refuse sections of other algorithms, and let `pg` be that of this one."""
        if not isinstance(tree, dict):
            return tree
        algorithm = tree.get("algorithm", "bges")
        for name, readers in READERS.items():
            if name in tree and isinstance(algorithm, str) and algorithm not in readers:
                raise ValueError(f"{name} is a section of algorithm {', '.join(readers)}, and algorithm is {algorithm}")
        search = tree.get("search", {})
        if algorithm == "bges" and "novelty" in tree and isinstance(search, dict):
            # Whoever weighs novelty means the paper's algorithm.
            search = {"explore": 0, **search}
            if search["explore"] != 0:
                raise ValueError("novelty weighs nothing where search.explore is not 0: leave one of them out")
            tree = tree | {"search": search}
        pg = tree.get("pg", {})
        if algorithm in METHODS and isinstance(pg, dict):
            if "method" in pg:
                raise ValueError("unknown key 'pg.method': algorithm says which method")
            tree = tree | {"pg": {**pg, "method": algorithm}}
        return tree

    @model_serializer(mode="wrap")
    def _only_own_sections(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        tree: dict[str, Any] = handler(self)
        foreign = {name for name, readers in READERS.items() if self.algorithm not in readers}
        if self.searches:
            foreign.add("novelty")
        return {name: value for name, value in tree.items() if name not in foreign}

    @model_validator(mode="after")
    def _only_what_the_search_reads(self) -> Self:
        if not self.searches:
            return self
        if self.iterations < 2:
            raise ValueError(f"iterations is {self.iterations}, expected at least 2 where search.explore is above 0")
        es = {f"es.{name}": field for name, field in EsConfig.model_fields.items()}
        unread = {key: field for key, field in es.items() if key not in ("es.population", "es.chunk", "es.noise_table")}
        unread |= {f"evaluation.{name}": EvaluationConfig.model_fields[name] for name in ("every", "candidates")}
        unread |= {"embedding.standardize": EmbeddingConfig.model_fields["standardize"]}
        for key, field in unread.items():
            section, _, name = key.partition(".")
            value = getattr(getattr(self, section), name)
            if value != field.default:
                raise ValueError(
                    f"{key} is {value!r}, which the search does not read: see search.*, or set search.explore to 0"
                )
        return self

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

    @property
    def evolves(self) -> bool:
        """Whether policies are perturbed; otherwise actions are sampled."""
        return self.algorithm in EVOLUTION

    @property
    def searches(self) -> bool:
        """Whether an archive of policies explores first."""
        return self.algorithm == "bges" and self.search.explore > 0

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def deciding(self, **options: Any) -> dict[str, Any]:
        """The part of the tree that decides the numbers of a run, and so must be the same when it is resumed."""
        free = {"workers", "checkpoint", "faults"}
        if not self._counts_iterations:
            free.add("iterations")
        return self.model_dump(mode="json", exclude=free, **options)

    @property
    def _counts_iterations(self) -> bool:
        """Whether numbers depend on how long the run is to be."""
        if self.algorithm == "repulsion":
            return self.repulsion.settle_at < 1.0
        return self.searches or (self.evolves and self.novelty.schedule not in ("constant", "adaptive"))

    def hash(self, **more: Any) -> str:
        """A name for `deciding`, and for whatever else is given."""
        # Defaults are left out, so that a key that a later version adds changes no name.
        tree = self.deciding(exclude_defaults=True) | more
        if self.searches:
            # A name of its own, even with nothing but defaults: the paper's algorithm has that of version 0.1.
            tree["search"] = {**tree.get("search", {}), "explore": self.search.explore}
        else:
            tree.pop("search", None)
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]
