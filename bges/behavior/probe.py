"""Off-policy behaviour: what a policy would do in states that a probe distribution hands it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bges.behavior.costs import Floats
from bges.behavior.states import Arrays, pack, unpack
from bges.checks import check_array, check_whole
from bges.errors import InputError
from bges.moments import Moments

PROBE_STREAM = 103
BUFFER_KIND = "ProbeBuffer"
EMBEDDING_KIND = "OffPolicyEmbedding"


class ProbeBuffer:
    """The last `capacity` visited states (n, dim), oldest overwritten first, and draws from them."""

    def __init__(self, dim: int, capacity: int = 10_000, seed: int = 0) -> None:
        self.dim = check_whole("dim", dim)
        self.capacity = check_whole("capacity", capacity)
        self.seed = check_whole("seed", seed, least=0)
        self.added = 0
        self.draws = 0
        self._states: Floats = np.empty((self.capacity, self.dim))

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, states: Any) -> None:
        """Append states (n, dim)."""
        states = check_array("states", states, (None, self.dim))
        kept = states[-self.capacity :]
        first = self.added + len(states) - len(kept)
        self._states[(first + np.arange(len(kept))) % self.capacity] = kept
        self.added += len(states)

    def sample(self, count: int) -> Floats:
        """`count` states, drawn with replacement; the n-th call gives the same draw after a restore."""
        check_whole("count", count)
        if not len(self):
            raise InputError("the probe buffer is empty: add states before sampling")
        rng = np.random.default_rng((self.seed, PROBE_STREAM, self.draws))
        self.draws += 1
        return self._states[rng.integers(len(self), size=count)]

    def state(self) -> Arrays:
        """States, counters and settings, as arrays."""
        settings = {
            "kind": BUFFER_KIND,
            "dim": self.dim,
            "capacity": self.capacity,
            "seed": self.seed,
            "added": self.added,
            "draws": self.draws,
        }
        return pack(settings, {"probe": {"states": self._states[: len(self)].copy()}})

    @classmethod
    def from_state(cls, state: Arrays) -> "ProbeBuffer":
        settings, parts = unpack(state, BUFFER_KIND)
        buffer = cls(settings["dim"], settings["capacity"], settings["seed"])
        states = parts["probe"]["states"]
        buffer._states[: len(states)] = states
        buffer.added, buffer.draws = settings["added"], settings["draws"]
        return buffer


class OffPolicyEmbedding:
    """Points (s, π(s)), states and actions each in units of their own running spread; compare them with the `l2` cost.

    Call `observe` with what one policy did, the reference, then `__call__` with either policy's actions.
    """

    def __init__(self, state_dim: int, action_dim: int) -> None:
        self.states = Moments.empty(check_whole("state_dim", state_dim))
        self.actions = Moments.empty(check_whole("action_dim", action_dim))

    def observe(self, states: Any, actions: Any) -> None:
        """Take states (n, s) and actions (n, a) into the running statistics."""
        states, actions = self._checked(states, actions)
        self.states = self.states.merge(Moments.of(states))
        self.actions = self.actions.merge(Moments.of(actions))

    def __call__(self, states: Any, actions: Any) -> Floats:
        """States (n, s) and actions (n, a) to points (n, s + a)."""
        states, actions = self._checked(states, actions)
        return np.concatenate([self.states.standardize(states), self.actions.standardize(actions)], axis=1)

    def of_policy(self, policy: Callable[[Floats], Any], states: Any) -> Floats:
        """Points (n, s + a) of a policy, a callable (n, s) -> (n, a), in the given states."""
        states = check_array("states", states, (None, len(self.states.mean)))
        return self(states, policy(states))

    def state(self) -> Arrays:
        """Both blocks' statistics, as arrays."""
        parts = {"states": self.states.to_arrays(), "actions": self.actions.to_arrays()}
        return pack({"kind": EMBEDDING_KIND}, parts)

    @classmethod
    def from_state(cls, state: Arrays) -> "OffPolicyEmbedding":
        _, parts = unpack(state, EMBEDDING_KIND)
        embedding = cls(len(parts["states"]["mean"]), len(parts["actions"]["mean"]))
        embedding.states = Moments.from_arrays(parts["states"])
        embedding.actions = Moments.from_arrays(parts["actions"])
        return embedding

    def _checked(self, states: Any, actions: Any) -> tuple[Floats, Floats]:
        states = check_array("states", states, (None, len(self.states.mean)))
        actions = check_array("actions", actions, (len(states), len(self.actions.mean)))
        if len(states) == 0:
            raise InputError("states is empty: an embedding needs at least one state")
        return states, actions
