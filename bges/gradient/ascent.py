"""BGPG: steps that alternate between the policy and the test functions; without a penalty, plain policy gradient."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bges.behavior import RandomFeatures, median_width
from bges.config.gradient import GradientConfig
from bges.gradient.behaviors import Comparison, Trajectories
from bges.gradient.networks import Array, Batch, Floats, Network, compiled, minibatches, surrogate
from bges.gradient.penalty import SELF_MU, FeatureMap, Penalty
from bges.gradient.updates import Arrays, Episodes, check_terms, closeness, gain_of, line_search, make_optimizer

LOG_BETA_LIMIT = 14.0
# How much log (distance / target) of an iteration counts for log β, at the most.
LOG_EXCESS = 2.0
# An update that went further than this many times the target is shortened, one that fell short is made longer.
OVERSHOOT, LONGEST = 1.5, 10.0


class Place(NamedTuple):
    """Where an update is: parameters, weights of the test functions (4, m), and log β."""

    theta: Array
    weights: Array
    log_beta: Array


class Ascent:
    """Steps of ascent on the surrogate less β times the distance from where the iteration began.

    Test functions and an adapted β go on from iteration to iteration; optimisers start anew, as the objective does.
    """

    def __init__(self, settings: GradientConfig, network: Network, *, penalized: bool, seed: int) -> None:
        self._settings, self._network, self._penalized, self._seed = settings, network, penalized, seed
        self._weights: Floats = np.zeros((4, settings.features), np.float32)
        self._log_beta: Any = np.float32(np.log(settings.beta))
        self._width: float | None = None
        self._features: FeatureMap | None = None

    def __call__(
        self, theta: Floats, batch: Batch, episodes: Episodes | None, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, float]]:
        settings = self._settings
        indices = minibatches(rng, len(batch.inputs), settings.minibatch, settings.updates)
        key = jax.random.key(int(rng.integers(2**32)))
        trajectories = None if episodes is None else Trajectories.padded(episodes.points, episodes.numbers)
        if self._penalized and self._features is None:
            self._features = self._feature_map(theta, batch, trajectories, key)
        place = Place(jnp.asarray(theta), jnp.asarray(self._weights), jnp.asarray(self._log_beta))
        place, terms, metrics = ascend(
            settings, self._network, place, self._features, batch, trajectories, indices, key
        )
        check_terms(terms)
        self._weights, self._log_beta = np.asarray(place.weights), np.asarray(place.log_beta)
        return np.asarray(place.theta), {name: float(value) for name, value in metrics.items()}

    def _feature_map(self, theta: Floats, batch: Batch, trajectories: Trajectories | None, key: Array) -> FeatureMap:
        """Made once, with the kernel width that the first behaviours suggest."""
        settings = self._settings
        rows = jnp.arange(min(len(batch.inputs), settings.minibatch))
        x = first_cloud(settings, self._network, theta, batch, trajectories, rows, key)
        states = jnp.repeat(x.states[:, None], x.points.shape[1], axis=1)
        points = np.concatenate([x.points, states], axis=2, dtype=np.float64)
        points = points[np.asarray(x.log_weights) > -1e3]
        if self._width is None:
            self._width = median_width(points) if settings.width == "median" else settings.width
        return FeatureMap.of(RandomFeatures(points.shape[1], settings.features, self._width, self._seed))

    def state(self) -> Arrays:
        arrays: Arrays = {"weights": self._weights, "log_beta": np.asarray(self._log_beta)}
        return arrays if self._width is None else arrays | {"width": np.array(self._width)}

    def restore(self, arrays: Arrays) -> None:
        self._weights = np.array(arrays["weights"], np.float32)
        self._log_beta = np.array(arrays["log_beta"], np.float32)
        self._width = float(arrays["width"]) if "width" in arrays else None
        self._features = None


@compiled
def first_cloud(
    settings: GradientConfig,
    network: Network,
    theta: Array,
    batch: Batch,
    trajectories: Trajectories | None,
    rows: Array,
    key: Array,
) -> Any:
    """Behaviour of the policy that sampled the batch."""
    old = network.of(theta, batch)
    return Comparison(settings, network).clouds(theta, old, batch, rows, trajectories, key)[0]


@compiled
def ascend(
    settings: GradientConfig,
    network: Network,
    place: Place,
    features: FeatureMap | None,
    batch: Batch,
    trajectories: Trajectories | None,
    indices: Array,
    key: Array,
) -> tuple[Place, dict[str, Array], dict[str, Array]]:
    """All steps of an update, over minibatches `indices` (steps, n): where they end, their terms, and metrics."""
    comparison, first, old = Comparison(settings, network), place.theta, network.of(place.theta, batch)
    optimizer, climber = make_optimizer(settings), _climber(settings)
    keys = jax.random.split(key, len(indices) + 1)
    if settings.debias:
        # Both policies are one again: so are the functions of all three terms, and no gradient comes of them.
        own = place.weights[SELF_MU]
        place = place._replace(weights=jnp.stack([own, -own, own, own]))

    def step(carry: tuple[Place, Any, Any], now: tuple[Array, Array]) -> tuple[Any, dict[str, Array]]:
        (place, optimizing, climbing), (rows, key) = carry, now

        def objective(theta: Array, weights: Array) -> tuple[Array, dict[str, Array]]:
            new = network.distribution(theta, batch.inputs[rows])
            gain = surrogate(new, old.rows(rows), batch.actions[rows], batch.advantages[rows])
            if features is None:
                return gain, {"surrogate": gain}
            x, y = comparison.clouds(theta, old, batch, rows, trajectories, key)
            distance, clipped = comparison.penalty(x).value(weights, features, x, y)
            return gain - jnp.exp(place.log_beta) * distance, {
                "surrogate": gain,
                "distance": distance,
                "clipped": clipped,
            }

        slopes, terms = jax.grad(objective, argnums=(0, 1), has_aux=True)(place.theta, place.weights)
        change, optimizing = optimizer.update(-slopes[0], optimizing)
        terms["gradient"] = jnp.linalg.norm(slopes[0])
        weights = place.weights
        if features is not None and settings.dual != "sinkhorn":
            # The objective holds −β times the distance, so this is the test functions' own gradient.
            rise = Penalty.ascent(slopes[1] * -jnp.exp(-place.log_beta))
            climb, climbing = climber.update(-rise, climbing)
            weights = weights + climb
        return (place._replace(theta=place.theta + change, weights=weights), optimizing, climbing), terms

    start = place, optimizer.init(first), climber.init(place.weights)
    (place, _, _), terms = jax.lax.scan(step, start, (indices, keys[:-1]))
    gain, metrics = gain_of(network, first, batch), {"grad_norm": terms["gradient"][-1]}
    if features is not None:
        everywhere = jnp.arange(len(batch.inputs))

        def distance(theta: Array) -> Array:
            x, y = comparison.clouds(theta, old, batch, everywhere, trajectories, keys[-1])
            return comparison.penalty(x).value(place.weights, features, x, y)[0]

        metrics |= {"wd": distance(place.theta), "beta": jnp.exp(place.log_beta)}
        if settings.target is not None:
            excess = jnp.clip(jnp.log(jnp.maximum(metrics["wd"], 1e-9) / comparison.target), -LOG_EXCESS, LOG_EXCESS)
            log_beta = jnp.clip(place.log_beta + settings.beta_rate * excess, -LOG_BETA_LIMIT, LOG_BETA_LIMIT)
            limit, shrink, tries = OVERSHOOT * comparison.target, settings.shrink, settings.line_search
            # The distance grows with the square of a step.
            longer = jnp.clip(jnp.sqrt(comparison.target / jnp.maximum(metrics["wd"], 1e-9)), 1.0, LONGEST)
            furthest = first + longer * (place.theta - first)
            found = line_search(first, furthest, gain, distance, limit, shrink=shrink, tries=tries)
            place = place._replace(theta=found.theta, log_beta=log_beta)
            metrics |= {"wd": found.distance, "line_search": found.tries}
        metrics["clipped"] = jnp.sum(terms.pop("clipped"))
    metrics |= closeness(network, first, place.theta, batch) | {"surrogate": gain(place.theta)}
    return place, terms, metrics


def _climber(settings: GradientConfig) -> optax.GradientTransformation:
    """What makes steps of the test functions' gradients: Adam, or α/√t as in Algorithm 1."""
    if settings.dual == "sgd":
        return optax.sgd(lambda count: settings.dual_rate / jnp.sqrt(count + 1.0))
    return optax.adam(settings.dual_rate)
