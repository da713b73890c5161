"""What the updates of policy gradients share; an update is one iteration's change of the policy."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bges.config.gradient import AscentConfig, GradientConfig, SearchConfig
from bges.core.state import Arrays
from bges.errors import RunError
from bges.gradient.clouds import EpisodePoints
from bges.gradient.networks import Array, Batch, Floats, Network, minibatches, surrogate

S = TypeVar("S", bound=GradientConfig)
Terms = dict[str, Array]


class Point(NamedTuple):
    """Where an ascent is: the policy's parameters, and the weights (4, m) of test functions if it has any."""

    theta: Array
    functions: Array | None = None


class Step(NamedTuple):
    """Where an update ends, terms on its way there that have to be finite, and numbers for a row of metrics."""

    theta: Array
    terms: Terms
    metrics: dict[str, Array]


class Update(ABC, Generic[S]):
    """An update by the settings of its own method; without a state it starts from nothing but the batch."""

    def __init__(self, settings: S, network: Network, seed: int = 0) -> None:
        self._settings, self._network, self._seed = settings, network, seed

    def __call__(
        self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, float]]:
        """The new parameters and the metrics; raises `RunError` where a term is not finite."""
        step = self._step(theta, batch, episodes, rng)
        check_terms(step.terms)
        return np.asarray(step.theta), {name: float(value) for name, value in step.metrics.items()}

    @abstractmethod
    def _step(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator) -> Step: ...

    def state(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Go on from a `state`."""


def check_terms(terms: dict[str, Any]) -> None:
    """Refuse the first term, in the order of steps, that is NaN or infinite; terms are numbers or one for each step."""
    first: tuple[int, str] | None = None
    for name, values in terms.items():
        wrong = np.flatnonzero(~np.isfinite(np.atleast_1d(np.asarray(values))))
        if len(wrong) and (first is None or wrong[0] < first[0]):
            first = int(wrong[0]), name
    if first is not None:
        step, name = first
        where = f" in step {step + 1} of the update" if np.ndim(terms[name]) else ""
        raise RunError(f"the {name} became NaN or infinite{where}: are rewards or pg.learning_rate too large?")


def drawn(settings: AscentConfig, batch: Batch, rng: np.random.Generator) -> tuple[Any, Array]:
    """What is random in an ascent: minibatches (steps, n) of the batch, and a key for everything else."""
    indices = minibatches(rng, len(batch.inputs), settings.minibatch, settings.updates)
    return indices, jax.random.key(int(rng.integers(2**32)))


def climb(
    objective: Callable[[Point, Array, Array], tuple[Array, Terms]],
    first: Point,
    optimizer: optax.GradientTransformation,
    indices: Array,
    keys: Array,
) -> tuple[Point, Terms]:
    """Where steps of ascent on minibatches end, and the terms of each that the objective gives beside its value."""

    def step(carry: tuple[Point, Any], now: tuple[Array, Array]) -> tuple[tuple[Point, Any], Terms]:
        at, state = carry
        slopes, terms = jax.grad(objective, has_aux=True)(at, *now)
        change, state = optimizer.update(jax.tree.map(jnp.negative, slopes), state)
        return (optax.apply_updates(at, change), state), terms | {"gradient": jnp.linalg.norm(slopes.theta)}

    (last, _), terms = jax.lax.scan(step, (first, optimizer.init(first)), (indices, keys))
    return last, terms


def step_to(network: Network, first: Array, last: Array, batch: Batch, terms: Terms, **more: Array) -> Step:
    """The step from the first to the last parameters, with what every update reports and `more`.

    That is the gain by the surrogate, the mean KL divergence, and the entropy and mean standard deviation afterwards.
    """
    old, new = network.of(first, batch), network.of(last, batch)
    metrics = {"surrogate": gain_of(network, first, batch)(last), "kl": old.kl(new).mean(), "entropy": new.entropy()}
    if new.log_std is not None:
        metrics["action_std"] = jnp.exp(new.log_std.mean())
    return Step(last, terms, metrics | more)


class Found(NamedTuple):
    """Where a line search ended, how far from its start, and after how many tries."""

    theta: Array
    distance: Array
    tries: Array


def gain_of(network: Network, first: Array, batch: Batch) -> Callable[[Array], Array]:
    """How much better than the first parameters others are on the batch, by the surrogate."""
    old = network.of(first, batch)
    return lambda theta: surrogate(network.of(theta, batch), old, batch) - jnp.mean(batch.advantages)


def line_search(
    settings: SearchConfig,
    network: Network,
    batch: Batch,
    first: Array,
    last: Array,
    distance: Callable[[Array], Array],
    limit: Array | float,
) -> Found:
    """As far from the first to the last parameters as is within the limit and gains; the first, if nothing does."""

    gain = gain_of(network, first, batch)

    def attempt(now: tuple[Found, Array]) -> tuple[Found, Array]:
        theta = first + settings.shrink ** now[0].tries * (last - first)
        far = distance(theta)
        return Found(theta, far, now[0].tries + 1), (gain(theta) > 0.0) & (far <= limit)

    def unfinished(now: tuple[Found, Array]) -> Array:
        return ~now[1] & (now[0].tries < settings.line_search)

    start = Found(first, jnp.zeros((), first.dtype), jnp.int32(0)), jnp.bool_(False)
    found, accepted = jax.lax.while_loop(unfinished, attempt, start)
    stay = Found(first, jnp.zeros_like(found.distance), found.tries)
    return jax.tree.map(lambda one, other: jnp.where(accepted, one, other), found, stay)


def make_optimizer(settings: AscentConfig) -> optax.GradientTransformation:
    """What turns gradients of the policy into steps, smaller ones to the end: noise of minibatches averages out."""
    rate = optax.linear_schedule(settings.learning_rate, 0.0, settings.updates)
    return (optax.adam if settings.optimizer == "adam" else optax.sgd)(rate)
