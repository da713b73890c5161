"""Stochastic policies on a flat float32 vector, in numpy: what workers sample with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice
from bges.config.gradient import NoisyNetConfig
from bges.config.run import RunConfig
from bges.moments import Moments
from bges.policies import MLP, NORMALIZED_LIMIT

Float32 = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where in the vector everything is.

    First the weights (in, out), row by row, and biases of every layer; with `noisy` layers as many noise scales in the
    same order; unless `discrete`, the logarithms of the standard deviations at the end.
    """

    shapes: tuple[tuple[int, int], ...]
    discrete: bool
    noisy: bool
    activation: str = "tanh"

    @property
    def network(self) -> int:
        """Parameters of the layers alone."""
        return sum(rows * columns + columns for rows, columns in self.shapes)

    @property
    def outputs(self) -> int:
        return self.shapes[-1][1]

    @property
    def size(self) -> int:
        return self.network * (2 if self.noisy else 1) + (0 if self.discrete else self.outputs)


class StochasticMLP(MLP):
    """An MLP that gives the mean of a Gaussian action, or the logits of a categorical one.

    As a `Policy` it plays the mean or the likeliest action, with its noisy layers at rest.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        hidden: Sequence[int] = (64, 64),
        squash: str = "clip",
        noisy: bool = False,
        initial_std: float = 1.0,
        noise_scale: float = 0.5,
        activation: str = "tanh",
        orthogonal: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space, hidden=hidden, squash=squash, activation=activation)
        self.layout = Layout(
            shapes=tuple(self._shapes), discrete=self.actions.discrete, noisy=noisy, activation=activation
        )
        self._initial_std, self._noise_scale, self._orthogonal = initial_std, noise_scale, orthogonal

    @property
    def num_parameters(self) -> int:
        return self.layout.size

    def initial(self, rng: np.random.Generator) -> Float32:
        """Orthogonal weights with gain √2, 0.01 in the last layer, or as an MLP; noise of the weights as 1/√in."""
        parts: list[NDArray[Any]] = [] if self._orthogonal else [super().initial(rng)]
        if self._orthogonal:
            gains = [np.sqrt(2.0)] * (len(self.layout.shapes) - 1) + [0.01]
            for gain, (i, o) in zip(gains, self.layout.shapes, strict=True):
                parts += [gain * orthonormal(rng, i, o).ravel(), np.zeros(o)]
        if self.layout.noisy:
            parts += [np.full(i * o + o, self._noise_scale / np.sqrt(i)) for i, o in self.layout.shapes]
        if not self.layout.discrete:
            parts.append(np.full(self.layout.outputs, np.log(self._initial_std)))
        return np.concatenate(parts).astype(np.float32)

    def noisy_thetas(self, theta: Float32, noise: Float32) -> Float32:
        """Parameters (n, d) whose weights are moved by the layers' noise (n, `layout.network`)."""
        size = self.layout.network
        thetas = np.tile(theta, (len(noise), 1))
        thetas[:, :size] += theta[size : 2 * size] * noise
        return thetas

    def action_noise(self, rng: np.random.Generator, steps: int) -> Float32:
        """What makes the actions of an environment random (steps, outputs): Gaussian, or Gumbel's for discrete ones."""
        shape = (steps, self.layout.outputs)
        if self.layout.discrete:
            return rng.gumbel(size=shape).astype(np.float32)
        return rng.standard_normal(shape, np.float32)

    def sample(self, theta: Float32, outputs: Float32, noise: Float32) -> NDArray[Any]:
        """Actions before they are brought into their bounds (n, outputs), or numbers of discrete ones (n,)."""
        if self.layout.discrete:
            return np.argmax(outputs + noise, axis=1)
        return outputs + np.exp(theta[-self.layout.outputs :]) * noise

    def playable(self, sampled: NDArray[Any]) -> NDArray[Any]:
        """What the environment takes, of what `sample` gave."""
        if self.layout.discrete:
            return self.actions(np.eye(self.layout.outputs, dtype=np.float32)[sampled])
        return self.actions(sampled)


def orthonormal(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float64]:
    """A random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al., 2014)."""
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))
    return q if rows >= columns else q.T


def layer_noise(layout: Layout, rng: np.random.Generator) -> Float32:
    """Factorised Gaussian noise of all weights and biases (Fortunato et al., 2018), (`layout.network`,)."""
    parts = []
    for rows, columns in layout.shapes:
        into, out = (np.sign(x) * np.sqrt(np.abs(x)) for x in map(rng.standard_normal, (rows, columns)))
        parts += [np.outer(into, out).ravel(), out]
    return np.concatenate(parts).astype(np.float32)


def normalized(rows: NDArray[Any], moments: Moments | None) -> Float32:
    """What the first layer sees of inputs (n, d): as `PolicyBatch` makes it of them."""
    if moments is None:
        return rows.astype(np.float32)
    return np.clip((rows - moments.mean) * (1.0 / moments.std), -NORMALIZED_LIMIT, NORMALIZED_LIMIT).astype(np.float32)


def stochastic_class(config: RunConfig) -> Callable[..., StochasticMLP]:
    """What makes the stochastic version of the policy that a configuration names: mlp, or linear."""
    check_choice("policy.name", config.policy.name, ("mlp", "linear"))
    settings: dict[str, Any] = {"initial_std": config.pg.initial_std}
    if config.algorithm == "repulsion":
        settings = {"initial_std": config.repulsion.noise, "orthogonal": False}
    if isinstance(config.pg, NoisyNetConfig):
        settings |= {"noisy": True, "noise_scale": config.pg.noise_scale}
    if config.policy.name == "linear":
        settings["hidden"] = ()
    return partial(StochasticMLP, **settings)
