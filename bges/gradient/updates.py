"""What an update of the policy is given, and what all of them share."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from bges.config.gradient import GradientConfig
from bges.errors import RunError
from bges.gradient.networks import Array, Batch, Floats, Network, surrogate

Arrays = dict[str, NDArray[np.generic]]


class Episodes(NamedTuple):
    """Behaviours of finished episodes: `points` (f, d), and the episode of each sampled step (n,), -1 for none."""

    points: NDArray[np.float64]
    numbers: NDArray[np.int64]


class Update(Protocol):
    """One iteration's change of the policy; raises `RunError` where a term is not finite."""

    def __call__(
        self, theta: Floats, batch: Batch, episodes: Episodes | None, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, float]]:
        """The new parameters, and numbers for a row of metrics."""

    def state(self) -> Arrays: ...

    def restore(self, arrays: Arrays) -> None: ...


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


def closeness(network: Network, before: Array, after: Array, batch: Batch) -> dict[str, Array]:
    """How far an update went: mean KL divergence, entropy and mean standard deviation afterwards."""
    old, new = network.of(before, batch), network.of(after, batch)
    numbers = {"kl": old.kl(new).mean(), "entropy": new.entropy()}
    if new.log_std is not None:
        numbers["action_std"] = jnp.exp(new.log_std.mean())
    return numbers


class Found(NamedTuple):
    """Where a line search ended, how far from its start, and after how many tries."""

    theta: Array
    distance: Array
    tries: Array


def line_search(
    first: Array,
    last: Array,
    gain: Callable[[Array], Array],
    distance: Callable[[Array], Array],
    limit: Array | float,
    *,
    shrink: float,
    tries: int,
) -> Found:
    """As far from the first to the last parameters as is within the limit and gains; the first, if nothing does."""

    def attempt(now: tuple[Found, Array]) -> tuple[Found, Array]:
        theta = first + shrink ** now[0].tries * (last - first)
        far = distance(theta)
        return Found(theta, far, now[0].tries + 1), (gain(theta) > 0.0) & (far <= limit)

    def unfinished(now: tuple[Found, Array]) -> Array:
        return ~now[1] & (now[0].tries < tries)

    start = Found(first, jnp.zeros((), first.dtype), jnp.int32(0)), jnp.bool_(False)
    found, accepted = jax.lax.while_loop(unfinished, attempt, start)
    stay = Found(first, jnp.zeros_like(found.distance), found.tries)
    return jax.tree.map(lambda one, other: jnp.where(accepted, one, other), found, stay)


def gain_of(network: Network, first: Array, batch: Batch) -> Callable[[Array], Array]:
    """How much better than the first parameters others are on the batch, by the surrogate."""
    old = network.of(first, batch)
    return lambda theta: (
        surrogate(network.of(theta, batch), old, batch.actions, batch.advantages) - jnp.mean(batch.advantages)
    )


def make_optimizer(settings: GradientConfig) -> optax.GradientTransformation:
    """What turns gradients of the policy into steps, smaller ones to the end: noise of minibatches averages out."""
    rate = optax.linear_schedule(settings.learning_rate, 0.0, settings.updates)
    return (optax.adam if settings.optimizer == "adam" else optax.sgd)(rate)
