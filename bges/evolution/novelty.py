"""How new each perturbed policy's behaviour is: the terms that can stand beside the reward."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bges.behavior import (
    BehaviorDistance,
    NoveltyArchive,
    TestFunctions,
    make_distance,
    restore_distance,
)
from bges.config.run import RunConfig
from bges.core.functions import make_test_functions, own_cost
from bges.core.state import Arrays, part, prefixed
from bges.errors import within
from bges.moments import Moments
from bges.randomness import Stream, generator

Array = NDArray[np.float64]


class Novelty(Protocol):
    def hear(self, cloud: Array) -> None:
        """Behaviours (E, d) of an unperturbed policy that was not evaluated before, ahead of `score`."""

    def score(self, iteration: int, embeddings: Array, unperturbed: Array) -> Array | None:
        """Novelty (n,) of perturbed policies with embeddings (n, e, d); None while there is nothing to compare with.

        `unperturbed` (E, d) are the current policy's own, which later iterations are compared with.
        """

    def metrics(self) -> dict[str, float]:
        """Numbers of the last `score` worth a column."""

    def functions(self) -> dict[str, str]:
        """Where in `state` fitted test functions are, by their names."""

    def state(self) -> Arrays: ...

    def restore(self, state: Arrays) -> None: ...


class _Base:
    """The embeddings of the last few unperturbed policies, and those of an expert where there is one."""

    def __init__(self, config: RunConfig, expert: Array | None) -> None:
        self._policies, self._weight = config.novelty.base_policies, config.novelty.expert_weight
        self._expert = expert
        self.clouds: list[Array] = []

    @property
    def has_expert(self) -> bool:
        return self._expert is not None

    def points(self) -> Array:
        return np.concatenate(self.clouds)

    def mean(self, score: Callable[[Array], Array]) -> Array:
        """Scores against the mixture of both, as every distance that is a mean over the base has it."""
        if self._expert is None:
            return score(self.points())
        return (1 - self._weight) * score(self.points()) + self._weight * score(self._expert)

    def with_expert(self, past: Array) -> Array:
        """A cloud of which the expert has its share."""
        if self._expert is None:
            return past
        size = max(len(past), len(self._expert))
        of_expert = round(self._weight * size)
        return np.concatenate([_picked(self._expert, of_expert), _picked(past, size - of_expert)])

    def push(self, cloud: Array) -> None:
        self.clouds = [*self.clouds, cloud][-self._policies :]

    def state(self) -> Arrays:
        state: Arrays = {f"base{i}": cloud for i, cloud in enumerate(self.clouds)}
        return state if self._expert is None else state | {"expert": self._expert}

    def restore(self, state: Arrays) -> None:
        count = sum(name.startswith("base") for name in state)
        self.clouds = [np.array(state[f"base{i}"], float) for i in range(count)]
        # The file may have changed since.
        self._expert = np.array(state["expert"], float) if "expert" in state else None


def _picked(points: Array, count: int) -> Array:
    """So many of the points, evenly; some more than once where there are too few."""
    return points[np.linspace(0, len(points) - 1, count).round().astype(int)]


class _Quiet:
    """What most terms have nothing to say to."""

    def hear(self, cloud: Array) -> None:
        pass

    def metrics(self) -> dict[str, float]:
        return {}

    def functions(self) -> dict[str, str]:
        return {}

    def state(self) -> Arrays:
        return {}

    def restore(self, state: Arrays) -> None:
        pass


class DistanceNovelty(_Quiet):
    """A distance between clouds: the Wasserstein test functions, or a divergence in their place.

    Each iteration first fits the distance to the past and the present cloud of all perturbed policies, then plugs
    each perturbed policy and the base policies into it. μ is the past (the last iteration's cloud, or the base
    policies'), ν the new. An expert's behaviours have their share in both uses of the past.
    """

    def __init__(self, config: RunConfig, expert: Array | None = None) -> None:
        self._config = config
        self._base = _Base(config, expert)
        self._last: Array | None = None
        self._distance: BehaviorDistance | None = None
        self._metrics: dict[str, float] = {}
        # The dimension is known when the first behaviours come; what is wrong with the settings is said now.
        with within("novelty"):
            self._make(1)

    def _make(self, dim: int) -> BehaviorDistance:
        novelty, standardize = self._config.novelty, self._config.embedding.standardize
        if novelty.name != "wasserstein":
            return make_distance(novelty.name, dim=dim, bandwidth=novelty.width, standardize=standardize)
        return make_test_functions(self._config, dim)

    def score(self, iteration: int, embeddings: Array, unperturbed: Array) -> Array | None:
        cloud = embeddings.reshape(-1, embeddings.shape[2])
        if self._distance is None:
            self._distance = self._make(cloud.shape[1])
        scores = None
        if self._last is not None:
            before = self._distance.clipped
            past = self._base.points() if self._config.novelty.fit_to == "base" else self._last
            # An expert far away must not make its own distance small: units are those of the policies' behaviour.
            units = cloud if self._base.has_expert else None
            fit = self._distance.fit(self._base.with_expert(past), cloud, self._config.novelty.updates, units)
            scores = self._base.mean(partial(self._distance.distances, groups=embeddings))
            clipped = self._distance.clipped - before
            self._metrics = {"wd": fit.value, "mean_f": fit.mean_f, "clipped": float(clipped)}
            self._metrics["converged"] = float(fit.converged)
        self._last = cloud
        self._base.push(unperturbed)
        return scores

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def functions(self) -> dict[str, str]:
        return {"novelty": "distance"} if isinstance(self._distance, TestFunctions) else {}

    def state(self) -> Arrays:
        state = self._base.state()
        if self._last is not None:
            state["last"] = self._last
        return state if self._distance is None else state | prefixed("distance", self._distance.state())

    def restore(self, state: Arrays) -> None:
        self._base.restore(state)
        if "last" in state:
            self._last = np.array(state["last"], float)
        inner = part(state, "distance")
        if inner:
            self._distance = restore_distance(inner, cost=own_cost(self._config.novelty.cost))


class EuclideanNovelty(_Quiet):
    """The control: the mean distance to the base policies' embeddings, standardised, and nothing learned."""

    def __init__(self, config: RunConfig, expert: Array | None = None) -> None:
        self._base = _Base(config, expert)
        self._standardize = config.embedding.standardize
        self._moments: Moments | None = None

    def score(self, iteration: int, embeddings: Array, unperturbed: Array) -> Array | None:
        self._moments = Moments.merged(self._moments, Moments.of(embeddings.reshape(-1, embeddings.shape[2])))
        scores = None
        if self._base.clouds:
            scores = self._base.mean(partial(self._distances, embeddings))
        self._base.push(unperturbed)
        return scores

    def _distances(self, points: Array, base: Array) -> Array:
        if self._standardize:
            assert self._moments is not None
            base, points = self._moments.standardize(base), self._moments.standardize(points)
        means: Array = np.linalg.norm(points[:, :, None] - base, axis=3).mean(axis=(1, 2))
        return means

    def state(self) -> Arrays:
        moments = {} if self._moments is None else self._moments.to_arrays()
        return self._base.state() | prefixed("moments", moments)

    def restore(self, state: Arrays) -> None:
        self._base.restore(state)
        self._moments = Moments.restored(part(state, "moments"))


class RandomNovelty(_Quiet):
    """The control: numbers that mean nothing."""

    def __init__(self, config: RunConfig) -> None:
        self._seed = config.seed

    def score(self, iteration: int, embeddings: Array, unperturbed: Array) -> Array | None:
        return generator(self._seed, Stream.RANDOM_NOVELTY, iteration).standard_normal(len(embeddings))


class ArchiveNovelty(_Quiet):
    """NSR-ES: the mean distance to the nearest behaviours of all policies there ever were."""

    def __init__(self, config: RunConfig) -> None:
        self._neighbors = config.nsres.neighbors
        self.archive: NoveltyArchive | None = None

    def hear(self, cloud: Array) -> None:
        if self.archive is None:
            self.archive = NoveltyArchive(cloud.shape[1], self._neighbors)
        self.archive.add(cloud.mean(axis=0, keepdims=True))

    def score(self, iteration: int, embeddings: Array, unperturbed: Array) -> Array | None:
        return self.of(embeddings.mean(axis=1))

    def of(self, behaviors: Array) -> Array:
        """Novelty of behaviours (m, d)."""
        assert self.archive is not None
        return self.archive.novelty(behaviors)

    def metrics(self) -> dict[str, float]:
        return {"archive": float(0 if self.archive is None else len(self.archive))}

    def state(self) -> Arrays:
        return {} if self.archive is None else self.archive.state()

    def restore(self, state: Arrays) -> None:
        self.archive = NoveltyArchive.from_state(state) if state else None
