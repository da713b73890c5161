"""Behaviour embedding maps: what of a trajectory counts as its behaviour, as a vector.

Each names the parts of the trajectories it `needs` kept ("observations", "actions"); rewards, lengths and final
observations are always there. Each says what an episode that ends early does to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Floats
from bges.checks import check_array, check_choice, check_whole
from bges.errors import InputError, user_code
from bges.plugins import make_part, part_name
from bges.trajectories import Trajectories

PARTS = frozenset({"observations", "actions"})


def _coordinates(what: str, indices: Sequence[int] | None, size: int) -> slice | list[int]:
    if indices is None:
        return slice(None)
    wrong = [i for i in indices if not 0 <= i < size]
    if wrong or not indices:
        raise InputError(f"{what} indices are {list(indices)}, expected some of 0..{size - 1}")
    return list(indices)


@dataclass(frozen=True)
class FinalState:
    """The last observation, or some of its coordinates; of an episode that ends early, the one it ended with."""

    needs: ClassVar[frozenset[str]] = frozenset()
    indices: Sequence[int] | None = None

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        final = trajectories.final_observations
        return final[:, _coordinates("final_state", self.indices, final.shape[1])]


@dataclass(frozen=True)
class StateVector:
    """All H+1 observations end to end; after an early end the last one is repeated."""

    needs: ClassVar[frozenset[str]] = frozenset({"observations"})
    indices: Sequence[int] | None = None

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        states = trajectories.observations
        kept = states[:, :, _coordinates("state_vector", self.indices, states.shape[2])]
        return kept.reshape(len(kept), -1)


@dataclass(frozen=True)
class Actions:
    """All H actions end to end; after an early end the last one is repeated."""

    needs: ClassVar[frozenset[str]] = frozenset({"actions"})

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        return trajectories.actions.reshape(len(trajectories), -1)


@dataclass(frozen=True)
class TotalReward:
    """Σ_t r_t, as (n, 1); rewards after an early end are zero."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        return trajectories.returns[:, None]


@dataclass(frozen=True)
class RewardToGo:
    """Component i is Σ_{t≥i} r_t, for i < H; zero after an early end."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        return np.cumsum(trajectories.rewards[:, ::-1], axis=1)[:, ::-1]


@dataclass(frozen=True)
class MeanDisplacement:
    """Mean over the steps of the distance from the start along one axis, as (n, 1); only steps taken count."""

    needs: ClassVar[frozenset[str]] = frozenset({"observations"})
    axis: int = 0

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        states = trajectories.observations
        axis = _coordinates("mean_displacement", [self.axis], states.shape[2])
        moved = states[:, 1:, axis][:, :, 0] - states[:, :1, axis][:, :, 0]
        return np.where(_taken(trajectories), moved, 0.0).sum(axis=1, keepdims=True) / trajectories.lengths[:, None]


@dataclass(frozen=True)
class StateMoments:
    """Means, then variances and covariances, of observations over the steps taken: the shape of a cycle, at any phase.

    Of k coordinates, k means and the k (k + 1) / 2 entries of the covariance's upper triangle, row by row.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"observations"})
    indices: Sequence[int] | None = None

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        states = trajectories.observations[:, :-1]
        kept = states[:, :, _coordinates("state_moments", self.indices, states.shape[2])]
        weights = (_taken(trajectories) / trajectories.lengths[:, None])[:, :, None]
        means = (weights * kept).sum(axis=1)
        centred = kept - means[:, None]
        covariances = (weights * centred).transpose(0, 2, 1) @ centred
        rows, columns = np.triu_indices(kept.shape[2])
        return np.concatenate([means, covariances[:, rows, columns]], axis=1)


@dataclass(frozen=True)
class Visitation:
    """How often each state of a finite MDP was left, or each state-action pair chosen; only steps taken count.

    The state is the first coordinate of the observation, the action that of the action. With `actions` given, entry
    s * actions + a counts the pair.
    """

    states: int
    actions: int | None = None

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"observations"}) if self.actions is None else PARTS

    def __call__(self, trajectories: Trajectories) -> NDArray[Any]:
        cells = _indices("visitation state", trajectories.observations[:, :-1, 0], self.states)
        size = self.states
        if self.actions is not None:
            cells = cells * self.actions + _indices("visitation action", trajectories.actions[:, :, 0], self.actions)
            size *= self.actions
        rows = np.broadcast_to(np.arange(len(cells))[:, None], cells.shape)
        counts = np.bincount((rows * size + cells)[_taken(trajectories)], minlength=len(cells) * size)
        return counts.reshape(len(cells), size)


@dataclass(frozen=True)
class ProbeActions:
    """What a policy does in `states` states, end to end: the behaviour of a policy, not of its episodes.

    They are states that `policies` fresh policies visit. Whoever plays makes them, and calls this with actions
    (n, states, a).
    """

    of_policies: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset()
    states: int = 20
    policies: int = 8

    def __post_init__(self) -> None:
        check_whole("states", self.states)
        check_whole("policies", self.policies)

    def __call__(self, actions: NDArray[Any]) -> NDArray[Any]:
        return actions.reshape(len(actions), -1)


def _taken(trajectories: Trajectories) -> NDArray[np.bool_]:
    """Which of the H steps each episode took, (n, H)."""
    taken: NDArray[np.bool_] = np.arange(trajectories.rewards.shape[1]) < trajectories.lengths[:, None]
    return taken


def _indices(what: str, values: NDArray[Any], size: int) -> NDArray[np.int64]:
    indices = np.rint(values).astype(np.int64)
    if (indices != values).any() or (indices < 0).any() or (indices >= check_whole(f"number of {what}s", size)).any():
        raise InputError(f"{what}s must be whole numbers in 0..{size - 1}, got {values.min()}..{values.max()}")
    return indices


EMBEDDINGS: dict[str, Any] = {
    "final_state": FinalState,
    "state_vector": StateVector,
    "actions": Actions,
    "total_reward": TotalReward,
    "reward_to_go": RewardToGo,
    "mean_displacement": MeanDisplacement,
    "state_moments": StateMoments,
    "visitation": Visitation,
    "probe_actions": ProbeActions,
}


class Embedding:
    """An embedding map whose output is checked to be a finite (n, d), with the same d at every call.

    With `of_policies` it is called with what policies do in given states, and not with trajectories.
    """

    def __init__(self, function: Callable[[Any], Any], name: str) -> None:
        self.function: Any = function
        self.of_policies = bool(getattr(function, "of_policies", False))
        self.name = name
        declared = getattr(function, "needs", PARTS)
        self.needs = frozenset(check_choice(f"a part that {name} needs", part, PARTS) for part in declared)
        self.dim: int | None = None

    def __call__(self, trajectories: Trajectories | NDArray[Any]) -> Floats:
        """Trajectories to points (n, d), float64."""
        if self.of_policies and isinstance(trajectories, Trajectories):
            raise InputError(f"the embedding {self.name} is of what a policy does, and not of episodes")
        what = f"output of the embedding {self.name}"
        made = self._made(trajectories)
        points = check_array(what, made, (len(trajectories), self.dim))
        if points.shape[1] == 0:
            raise InputError(f"{what} has no coordinates: shape {points.shape}")
        self.dim = points.shape[1]
        return points

    def _made(self, trajectories: Trajectories | NDArray[Any]) -> Any:
        if type(self.function) in EMBEDDINGS.values():
            return self.function(trajectories)
        with user_code(f"embedding {self.name!r}"):
            return self.function(trajectories)

    def __repr__(self) -> str:
        return f"Embedding({self.name!r}, needs={sorted(self.needs)})"


def make_embedding(spec: str | Callable[..., Any], **kwargs: Any) -> Embedding:
    """An embedding by name, by `module:function`, or from a callable on a batch of `Trajectories`.

    A callable may have an attribute `needs`; without it, observations and actions are both kept for it.
    """
    function = make_part("embedding", spec, EMBEDDINGS, kwargs)
    return Embedding(function, part_name(spec))
