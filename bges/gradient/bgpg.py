"""BGPG: steps that alternate between the policy and the test functions that hold it back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bges.behavior import RandomFeatures, median_width
from bges.config.gradient import BgpgConfig
from bges.core.state import Arrays
from bges.gradient.clouds import Comparison, EpisodePoints
from bges.gradient.networks import Array, Batch, Floats, Network, compiled, surrogate
from bges.gradient.penalty import SELF_MU, FeatureMap, Penalty
from bges.gradient.updates import Point, Step, Terms, Update, climb, drawn, line_search, make_optimizer, step_to

LOG_BETA_LIMIT = 14.0
# How much log (distance / target) of an iteration counts for log β, at the most.
LOG_EXCESS = 2.0
# An update that went further than this many times the target is shortened, one that fell short is made longer.
OVERSHOOT, LONGEST = 1.5, 10.0
# A point of less weight than exp of this is only there to keep shapes the same.
PRESENT = -1e3


class Bgpg(Update[BgpgConfig]):
    """Steps of ascent on the surrogate less β times the distance from where the iteration began.

    Test functions and an adapted β go on from iteration to iteration; optimisers start anew, as the objective does.
    """

    def __init__(self, settings: BgpgConfig, network: Network, seed: int = 0) -> None:
        super().__init__(settings, network, seed)
        self._log_beta: Any = np.float32(np.log(settings.beta))
        self._weights: Any = None if settings.dual == "sinkhorn" else np.zeros((4, settings.features), np.float32)
        self._width: float | None = None
        self._features: FeatureMap | None = None

    def _step(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator) -> Step:
        indices, key = drawn(self._settings, batch, rng)
        if self._weights is not None and self._features is None:
            self._features = self._feature_map(theta, batch, episodes, key)
        last, self._log_beta, step = bgpg_step(
            self._settings,
            self._network,
            Point(jnp.asarray(theta), self._weights),
            self._log_beta,
            self._features,
            batch,
            episodes,
            indices,
            key,
        )
        self._weights = last.functions
        return step

    def _feature_map(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, key: Array) -> FeatureMap:
        """Made once, with the kernel width that the first behaviours suggest."""
        settings = self._settings
        rows = jnp.arange(min(len(batch.inputs), settings.minibatch))
        x = first_cloud(settings, self._network, theta, batch, episodes, rows, key)
        states = jnp.repeat(x.states[:, None], x.points.shape[1], axis=1)
        points = np.concatenate([x.points, states], axis=2, dtype=np.float64)
        points = points[np.asarray(x.log_weights) > PRESENT]
        if self._width is None:
            self._width = median_width(points) if settings.width == "median" else settings.width
        return FeatureMap.of(RandomFeatures(points.shape[1], settings.features, self._width, self._seed))

    def state(self) -> Arrays:
        known = {"log_beta": self._log_beta, "weights": self._weights, "width": self._width}
        return {name: np.asarray(value) for name, value in known.items() if value is not None}

    def restore(self, arrays: Arrays) -> None:
        self._log_beta = np.array(arrays["log_beta"], np.float32)
        self._weights = np.array(arrays["weights"], np.float32) if "weights" in arrays else None
        self._width = float(arrays["width"]) if "width" in arrays else None
        self._features = None


@compiled
def first_cloud(
    settings: BgpgConfig,
    network: Network,
    theta: Array,
    batch: Batch,
    episodes: EpisodePoints | None,
    rows: Array,
    key: Array,
) -> Any:
    """Behaviour of the policy that sampled the batch."""
    return Comparison(settings, network).clouds(theta, network.of(theta, batch), batch, rows, episodes, key)[0]


@compiled
def bgpg_step(
    settings: BgpgConfig,
    network: Network,
    first: Point,
    log_beta: Array,
    features: FeatureMap | None,
    batch: Batch,
    episodes: EpisodePoints | None,
    indices: Array,
    key: Array,
) -> tuple[Point, Array, Step]:
    """All steps of an update, over minibatches `indices` (steps, n); without features, test functions are exact."""
    comparison, old = Comparison(settings, network), network.of(first.theta, batch)
    keys = jax.random.split(key, len(indices) + 1)

    def distance(at: Point, rows: Array, key: Array) -> tuple[Array, Array]:
        x, y = comparison.clouds(at.theta, old, batch, rows, episodes, key)
        return comparison.penalty(x).value(x, y, at.functions, features)

    def objective(at: Point, rows: Array, key: Array) -> tuple[Array, Terms]:
        some = batch.rows(rows)
        gain = surrogate(network.of(at.theta, some), old.rows(rows), some)
        far, clipped = distance(at, rows, key)
        return gain - jnp.exp(log_beta) * far, {"surrogate": gain, "distance": far, "clipped": clipped}

    last, terms = climb(objective, _debiased(settings, first), _optimizer(settings, log_beta), indices, keys[:-1])
    clipped, everywhere = terms.pop("clipped"), jnp.arange(len(batch.inputs))

    def of_all(theta: Array) -> Array:
        return distance(last._replace(theta=theta), everywhere, keys[-1])[0]

    metrics = {"wd": of_all(last.theta), "beta": jnp.exp(log_beta), "clipped": jnp.sum(clipped)}
    if settings.target is not None:
        target = comparison.per_dimension(settings.target)
        excess = jnp.clip(jnp.log(jnp.maximum(metrics["wd"], 1e-9) / target), -LOG_EXCESS, LOG_EXCESS)
        log_beta = jnp.clip(log_beta + settings.beta_rate * excess, -LOG_BETA_LIMIT, LOG_BETA_LIMIT)
        # The distance grows with the square of a step.
        longer = jnp.clip(jnp.sqrt(target / jnp.maximum(metrics["wd"], 1e-9)), 1.0, LONGEST)
        furthest = first.theta + longer * (last.theta - first.theta)
        found = line_search(settings, network, batch, first.theta, furthest, of_all, OVERSHOOT * target)
        last = last._replace(theta=found.theta)
        metrics |= {"wd": found.distance, "line_search": found.tries}
    metrics["grad_norm"] = terms["gradient"][-1]
    return last, log_beta, step_to(network, first.theta, last.theta, batch, terms, **metrics)


def _debiased(settings: BgpgConfig, first: Point) -> Point:
    """Both policies are one again: so are the functions of all three terms, and no gradient comes of them."""
    if first.functions is None or not settings.debias:
        return first
    own = first.functions[SELF_MU]
    return first._replace(functions=jnp.stack([own, -own, own, own]))


def _optimizer(settings: BgpgConfig, log_beta: Array) -> optax.GradientTransformation:
    """Steps of the policy and, unless they are exact, of the test functions: by Adam, or α/√t as in Algorithm 1."""
    policy = make_optimizer(settings)
    if settings.dual == "sinkhorn":
        return policy
    if settings.dual == "sgd":
        climber = optax.sgd(lambda count: settings.dual_rate / jnp.sqrt(count + 1.0))
    else:
        climber = optax.adam(settings.dual_rate)
    # The objective holds −β times the distance, of which this makes the test functions' own gradient.
    own = optax.stateless(lambda slopes, _: jax.tree.map(lambda s: Penalty.ascent(s * -jnp.exp(-log_beta)), slopes))
    return optax.partition(
        {"policy": policy, "functions": optax.chain(own, climber)}, Point._make(("policy", "functions"))
    )
