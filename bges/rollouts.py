"""Play a batch of policies, one episode each, in a vector environment."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice, check_finite, check_positive
from bges.environments import AnyVectorEnv, check_autoreset, check_step, horizon_of
from bges.errors import InputError
from bges.moments import Moments
from bges.policies import PolicyBatch
from bges.trajectories import Trajectories

KEEPABLE = ("observations", "actions")
# Streams of random numbers that belong to one member.
ACTION_NOISE = 1


def play(
    env: AnyVectorEnv,
    policies: PolicyBatch,
    *,
    seeds: Any,
    keep: Collection[str] = (),
    action_noise: float = 0.0,
    count_inputs: bool = False,
) -> Trajectories:
    """One episode of every member of `env`, row i played by row i of `policies`.

    `seeds` (n,) decide everything random about each member: its start, its environment's chances and its action
    noise. So a member's trajectory does not depend on the batch it is played in. `keep` names what the caller needs
    besides rewards and final observations; `count_inputs` collects the moments of what the policies saw.
    """
    n = env.num_envs
    if policies.size != n:
        raise InputError(f"there are {policies.size} policies (times episodes) for {n} environments")
    for name in keep:
        check_choice("keep", name, KEEPABLE)
    check_positive("action_noise", action_noise, zero=True)
    horizon = horizon_of(env)
    seeds = np.asarray(seeds, np.uint64)
    if seeds.shape != (n,):
        raise InputError(f"seeds has shape {seeds.shape}, expected ({n},)")
    check_autoreset(env)
    # Environments of others may feed a seed to a 32-bit generator.
    seed_list: Any = [int(seed) >> 33 for seed in seeds]
    observations, _ = env.reset(seed=seed_list)
    active = np.ones(n, np.bool_)
    check_step(0, seed_list, active, observations)
    record = _Record(env, policies, horizon, keep, observations)
    noise = _action_noise(seeds, horizon, policies, action_noise)
    moments = Moments.empty(policies.policy.input_size) if count_inputs else None
    for t in range(horizon):
        inputs = policies.inputs(observations)
        if moments is not None:
            moments = moments.merge(Moments.of(inputs[active]))
        actions = policies.act(inputs, None if noise is None else noise[:, t])
        check_finite("action", actions)
        after, rewards, terminated, truncated, info = env.step(actions)
        check_step(t + 1, seed_list, active, after, rewards)
        ended = active & (terminated | truncated)
        record.add(t, after, actions, rewards, active, ended, info)
        active &= ~ended
        observations = after
        if not active.any():
            break
    return record.finish(observations, active, info, moments)


def _action_noise(seeds: NDArray[np.uint64], horizon: int, policies: PolicyBatch, scale: float) -> Any:
    """Gaussian noise (n, H, outputs) in float32, each member's from its own seed; None where there is none."""
    if scale == 0:
        return None
    noise = np.empty((len(seeds), horizon, policies.policy.actions.output_size), np.float32)
    # Setting the key of one generator is many times cheaper than making a generator for each member.
    philox = np.random.Philox(key=0)
    generator, state = np.random.Generator(philox), philox.state
    for row, seed in zip(noise, seeds, strict=True):
        state["state"]["key"] = np.array([seed, ACTION_NOISE], np.uint64)
        philox.state = state
        generator.standard_normal(out=row, dtype=np.float32)
    noise *= np.float32(scale)
    return noise


class _Record:
    """Buffers of a rollout in progress."""

    def __init__(
        self,
        env: AnyVectorEnv,
        policies: PolicyBatch,
        horizon: int,
        keep: Collection[str],
        first: NDArray[Any],
    ) -> None:
        n = env.num_envs
        self._horizon = horizon
        self._rewards = np.zeros((n, horizon))
        self._lengths = np.full(n, horizon)
        self._flags: dict[str, NDArray[np.bool_]] = {}
        self._observations = self._actions = None
        if "observations" in keep:
            self._observations = np.empty((n, horizon + 1, policies.policy.observation_size))
            self._observations[:, 0] = first.reshape(n, -1)
        if "actions" in keep:
            size = int(np.prod(policies.policy.actions.shape, dtype=int))
            self._actions = np.empty((n, horizon, size))

    def add(
        self,
        t: int,
        observations: NDArray[Any],
        actions: NDArray[Any],
        rewards: NDArray[Any],
        active: NDArray[np.bool_],
        ended: NDArray[np.bool_],
        info: dict[str, Any],
    ) -> None:
        self._rewards[active, t] = rewards[active]
        if self._observations is not None:
            self._observations[:, t + 1] = observations.reshape(len(observations), -1)
        if self._actions is not None:
            flat = actions.reshape(len(actions), -1)
            self._actions[:, t] = flat if t == 0 else np.where(active[:, None], flat, self._actions[:, t - 1])
        if ended.any():
            self._lengths[ended] = t + 1
            self._take_flags(info, ended)
        self._last = t + 1

    def _take_flags(self, info: dict[str, Any], rows: NDArray[np.bool_]) -> None:
        for name, values in info.items():
            if name.startswith("_") or not isinstance(values, np.ndarray) or values.dtype != np.bool_:
                continue
            # Gymnasium's robotics environments say it this way.
            name = "success" if name == "is_success" else name
            flag = self._flags.setdefault(name, np.zeros(len(rows), np.bool_))
            flag[rows] = values[rows]

    def finish(
        self, final: NDArray[Any], active: NDArray[np.bool_], info: dict[str, Any], moments: Moments | None
    ) -> Trajectories:
        if active.any():
            self._take_flags(info, active)
        last = self._last
        if self._observations is not None:
            self._observations[:, last + 1 :] = self._observations[:, last : last + 1]
        if self._actions is not None:
            self._actions[:, last:] = self._actions[:, last - 1 : last]
        return Trajectories(
            rewards=self._rewards,
            lengths=self._lengths,
            final_observations=final.reshape(len(final), -1).astype(np.float64),
            kept_observations=self._observations,
            kept_actions=self._actions,
            flags=self._flags,
            inputs=moments,
        )
