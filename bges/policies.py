"""Policies: pure functions of a flat parameter vector, played many at a time.

A `Policy` is an architecture without parameters. `policy.batch(thetas)` binds n parameter vectors at once, each for
one or more episodes, into a `PolicyBatch` that turns observations into actions. `FixedPolicy` is one parameter vector
with its observation statistics: what a user loads and calls.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bges.actions import ActionMap
from bges.checks import check_array, check_choice, check_whole
from bges.errors import InputError
from bges.moments import Moments
from bges.plugins import build, is_plugin, load_attribute

Float32 = NDArray[np.float32]
Layer = tuple[Float32, Float32 | None]
Features = Callable[[NDArray[Any]], NDArray[Any]]

NORMALIZED_LIMIT = 10.0
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, np.float32(0))}


class Policy(ABC):
    """Layers of affine maps with `activation` between them, from a flat float32 vector of `num_parameters`.

    `input_size` is the size of what the first layer sees: the observation, or the features made of it.
    """

    activation: str = "tanh"

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        squash: str = "clip",
    ) -> None:
        shape = observation_space.shape if isinstance(observation_space, gymnasium.spaces.Box) else None
        if shape is None:
            raise InputError(
                f"the observation space is {observation_space}, expected a Box "
                "(wrap the environment in gymnasium.wrappers.FlattenObservation)"
            )
        if len(shape) > 2 or (len(shape) == 2 and observation_space.dtype == np.uint8):
            raise InputError(
                f"the observations have shape {shape}, which looks like an image, and policies know nothing of pixels: "
                "wrap the environment to observe a flat vector of numbers (one of features, or all pixels)"
            )
        self.observation_size = int(np.prod(shape))
        self.actions = ActionMap(action_space, squash)
        self.input_size = self.observation_size

    @property
    @abstractmethod
    def num_parameters(self) -> int: ...

    @abstractmethod
    def layers(self, thetas: Float32) -> list[Layer]:
        """Weights (n, in, out) and biases (n, out) of each layer, from parameter vectors (n, d)."""

    @abstractmethod
    def initial(self, rng: np.random.Generator) -> Float32:
        """A parameter vector (d,) to start from."""

    def inputs(self, observations: NDArray[Any]) -> NDArray[Any]:
        """What the first layer sees (m, input_size), of observations (m, ...)."""
        return observations.reshape(len(observations), -1)

    def batch(self, thetas: Any, *, episodes: int = 1, moments: Moments | None = None) -> "PolicyBatch":
        """Bind parameter vectors (n, d), each to `episodes` rows of observations in turn."""
        return PolicyBatch(self, thetas, episodes=episodes, moments=moments)


class MLP(Policy):
    """Dense layers; `hidden` gives their sizes, and none makes the policy linear; `activation` is tanh or relu.

    `init` is how the first parameters are drawn, see `initial`. Without `output_bias` the last layer has none.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        hidden: Sequence[int] = (16, 16),
        squash: str = "clip",
        bias: bool = True,
        output_bias: bool = True,
        activation: str = "tanh",
        init: str = "normal",
    ) -> None:
        super().__init__(observation_space, action_space, squash=squash)
        for size in hidden:
            check_whole("hidden", size)
        self._hidden, self._bias, self._output_bias = tuple(hidden), bias, bias and output_bias
        self._init = check_choice("init", init, ("normal", "uniform"))
        self.activation = check_choice("activation", activation, ACTIVATIONS)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        sizes = (self.input_size, *self._hidden, self.actions.output_size)
        return list(pairwise(sizes))

    @property
    def _parts(self) -> list[tuple[int, int, int]]:
        """Inputs, outputs and biases of each layer."""
        biased = [self._bias] * len(self._hidden) + [self._output_bias]
        return [(i, o, o if has else 0) for (i, o), has in zip(self._shapes, biased, strict=True)]

    def _weight_size(self, rows: int, columns: int) -> int:
        return rows * columns

    def _weights(self, flat: Float32, rows: int, columns: int) -> Float32:
        return flat.reshape(len(flat), rows, columns)

    @property
    def num_parameters(self) -> int:
        return sum(self._weight_size(rows, columns) + biases for rows, columns, biases in self._parts)

    def layers(self, thetas: Float32) -> list[Layer]:
        layers: list[Layer] = []
        start = 0
        for rows, columns, biases in self._parts:
            stop = start + self._weight_size(rows, columns)
            weights = self._weights(thetas[:, start:stop], rows, columns)
            start = stop + biases
            layers.append((weights, thetas[:, stop:start] if biases else None))
        return layers

    def initial(self, rng: np.random.Generator) -> Float32:
        """Where to start from.

        "normal": zero biases; Gaussian weights of variance 1/in, a hundredth of that scale in the last layer.
        "uniform": the k weights of a layer from [0, 1)/√k, its biases likewise.
        """
        parts = []
        for layer, (rows, columns, biases) in enumerate(self._parts):
            weights = self._weight_size(rows, columns)
            if self._init == "uniform":
                parts += [rng.random(k) / np.sqrt(max(k, 1)) for k in (weights, biases)]
                continue
            scale = (0.01 if layer == len(self._parts) - 1 else 1.0) / np.sqrt(rows)
            parts += [scale * rng.standard_normal(weights), np.zeros(biases)]
        return np.concatenate(parts).astype(np.float32)


class Linear(MLP):
    """One affine map, starting from zero."""

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        squash: str = "clip",
        bias: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space, hidden=(), squash=squash, bias=bias)

    def initial(self, rng: np.random.Generator) -> Float32:
        return np.zeros(self.num_parameters, np.float32)


class FeatureLinear(Linear):
    """A linear map of features that a user defines: a function of observations (m, o) that gives (m, k).

    `features` is that function or its `module:attribute`; `kwargs` are passed to it. No bias is added: a feature
    that is 1 does it.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        features: str | Features,
        kwargs: dict[str, Any] | None = None,
        squash: str = "clip",
    ) -> None:
        super().__init__(observation_space, action_space, squash=squash, bias=False)
        function = load_attribute("policy.features", features) if isinstance(features, str) else features
        self._features: Features = partial(function, **(kwargs or {}))
        probe = np.zeros((3, self.observation_size))
        made = np.asarray(self._features(probe))
        if made.ndim != 2 or len(made) != 3:
            raise InputError(f"features of observations {probe.shape} have shape {made.shape}, expected (3, any)")
        self.input_size = made.shape[1]

    def inputs(self, observations: NDArray[Any]) -> NDArray[Any]:
        return self._features(observations.reshape(len(observations), -1))


class Toeplitz(MLP):
    """An MLP whose weight matrices are constant along their diagonals: in + out - 1 parameters each."""

    def _weight_size(self, rows: int, columns: int) -> int:
        return rows + columns - 1

    def _weights(self, flat: Float32, rows: int, columns: int) -> Float32:
        diagonal = np.arange(columns)[None, :] - np.arange(rows)[:, None] + rows - 1
        return flat[:, diagonal]


class PolicyBatch:
    """n parameter vectors bound to n * episodes rows: row i is played by vector i // episodes."""

    def __init__(self, policy: Policy, thetas: Any, *, episodes: int = 1, moments: Moments | None = None) -> None:
        thetas = check_array("thetas", thetas, (None, policy.num_parameters), np.float32)
        self.policy, self.moments = policy, moments
        self.episodes = check_whole("episodes", episodes)
        self.size = len(thetas) * episodes
        # The memory order of each matrix decides how it is multiplied: the same order always, so the same bits.
        self._layers = [(_row_major(weights), bias) for weights, bias in policy.layers(thetas)]
        if moments is not None:
            check_array("moments", moments.mean, (policy.input_size,))
            self._mean, self._inverse_std = moments.mean, 1.0 / moments.std

    def inputs(self, observations: NDArray[Any]) -> NDArray[Any]:
        """What the policy sees of observations (rows, ...), before normalisation: (rows, input_size)."""
        return self.policy.inputs(observations)

    def outputs(self, inputs: NDArray[Any]) -> Float32:
        """The last layer's values, (rows, output_size).

        Every row is its own vector-matrix product, so its bits do not depend on the size of the batch.
        """
        if self.moments is not None:
            inputs = (inputs - self._mean) * self._inverse_std
            inputs = np.clip(inputs, -NORMALIZED_LIMIT, NORMALIZED_LIMIT)
        x: Float32 = inputs.astype(np.float32).reshape(-1, self.episodes, 1, inputs.shape[1])
        activation = ACTIVATIONS[self.policy.activation]
        for depth, (weights, bias) in enumerate(self._layers):
            if depth > 0:
                x = activation(x)
            x = x @ weights[:, None]
            if bias is not None:
                x += bias[:, None, None, :]
        return x.reshape(len(inputs), -1)

    def act(self, inputs: NDArray[Any], noise: NDArray[Any] | None = None) -> NDArray[Any]:
        """Actions (rows, ...) for inputs (rows, input_size); `noise` (rows, output_size) is added to the outputs."""
        return self.policy.actions(self.outputs(inputs), noise)

    def __call__(self, observations: NDArray[Any]) -> NDArray[Any]:
        return self.act(self.inputs(observations))


def _row_major(weights: Float32) -> Float32:
    """Weights (n, in, out) with every matrix stored row by row; copied only where it is not."""
    ordered = weights.strides[1:] == (weights.shape[2] * weights.itemsize, weights.itemsize)
    return weights if ordered else np.ascontiguousarray(weights)


class FixedPolicy:
    """One policy with its parameters and observation statistics; call it with one observation or a batch."""

    def __init__(
        self,
        policy: Policy,
        theta: Any,
        moments: Moments | None = None,
        observation_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.architecture, self.moments = policy, moments
        self.theta: Float32 = check_array("theta", theta, (policy.num_parameters,), np.float32).copy()
        self.theta.flags.writeable = False
        self._shape = observation_shape or (policy.observation_size,)

    def __call__(self, observation: Any) -> Any:
        observation = np.asarray(observation)
        single = observation.shape == self._shape
        if not single and observation.shape[1:] != self._shape:
            raise InputError(f"observation has shape {observation.shape}, expected {self._shape} or a batch of it")
        rows = observation[None] if single else observation
        actions = self.architecture.batch(self.theta[None], episodes=len(rows), moments=self.moments)(rows)
        return actions[0] if single else actions


PolicyClass = Callable[..., Policy]

POLICIES: dict[str, PolicyClass] = {
    "linear": Linear,
    "mlp": MLP,
    "toeplitz": Toeplitz,
    "features": FeatureLinear,
}


def policy_maker(name: str) -> PolicyClass:
    """What makes a policy of that name, or the `module:attribute` of a user's own subclass of `Policy`."""
    if is_plugin(name):
        make: PolicyClass = load_attribute("policy.name", name)
        return make
    return POLICIES[check_choice("policy.name", name, POLICIES)]


def make_policy(
    name: str, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any], **kwargs: Any
) -> Policy:
    """A policy by its name; arguments it does not take are refused."""
    policy: Policy = build(f"policy {name}", partial(policy_maker(name), observation_space, action_space), kwargs)
    return policy
