"""Vector environments for rollouts, from any Gymnasium id or factory."""

import copy
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.vector.utils import concatenate, iterate
from numpy.typing import NDArray

from bges.checks import check_whole
from bges.errors import InputError, UserCodeError, blamed
from bges.plugins import load_attribute, load_module

AnyVectorEnv = VectorEnv[Any, Any, Any]
Factory = Callable[..., gymnasium.Env[Any, Any]]
EnvSource = EnvSpec | Factory


class _Watched:
    """Says in which step of which episode an environment's code failed."""

    env: Any

    def __init__(self, env: Any, what: str) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        self._what = what

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self._seed, self._steps = seed, 0
        try:
            return self.env.reset(seed=seed, options=options)
        except Exception as error:
            raise blamed(f"{self._what}, reset ({episode(seed)})", error) from None

    def step(self, action: Any) -> Any:
        self._steps += 1
        try:
            return self.env.step(action)
        except Exception as error:
            raise blamed(f"{self._what}, step {self._steps} ({episode(self._seed)})", error) from None


class _WatchedEnv(_Watched, gymnasium.Wrapper[Any, Any, Any, Any]):
    pass


class _WatchedVectorEnv(_Watched, VectorWrapper):
    pass


class EpisodeVectorEnv(SyncVectorEnv):
    """Single environments side by side, one episode each: a finished one is not stepped until the next reset."""

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int) -> None:
        super().__init__([make] * num_envs, copy=False, autoreset_mode=AutoresetMode.DISABLED)
        spec = self.envs[0].spec
        self.horizon = None if spec is None else spec.max_episode_steps

    def step(self, actions: Any) -> Any:
        infos: dict[str, Any] = {}
        # A finished member stays as it ended, with no further reward.
        finished = self._terminations | self._truncations
        self._rewards[finished] = 0.0
        self._terminations[finished] = self._truncations[finished] = False
        for i, action in enumerate(iterate(self.action_space, actions)):
            if self._autoreset_envs[i]:
                continue
            observation, reward, terminated, truncated, info = self.envs[i].step(action)
            self._env_obs[i], self._rewards[i] = observation, reward
            self._terminations[i], self._truncations[i] = terminated, truncated
            if terminated or truncated:
                self._autoreset_envs[i] = True
                # NumPy's booleans would become objects there.
                plain = {name: bool(value) if isinstance(value, np.bool_) else value for name, value in info.items()}
                infos = self._add_info(infos, plain, i)
        self._observations = concatenate(self.single_observation_space, self._env_obs, self._observations)
        return (
            self._observations,
            self._rewards.copy(),
            self._terminations.copy(),
            self._truncations.copy(),
            infos,
        )


def make_vector_env(
    env: str | EnvSource,
    num_envs: int,
    *,
    horizon: int | None = None,
    kwargs: dict[str, Any] | None = None,
    name: str | None = None,
) -> AnyVectorEnv:
    """`num_envs` members of a Gymnasium id, of a factory or of either's name, made for `rollouts.play`.

    An id whose vector environment declares `member_seeds = True` (a seed for each member, `autoreset_mode` and
    `horizon` as arguments, as ours do) is used natively, and so are Gymnasium's MuJoCo tasks that `bges_envs` has a
    batched version of; anything else is stepped one by one.
    """
    check_whole("num_envs", num_envs)
    if horizon is not None:
        check_whole("env.horizon", horizon)
    kwargs = dict(kwargs or {})
    found = find_env(env) if isinstance(env, str) else env
    name = name or (env if isinstance(env, str) else getattr(env, "id", getattr(env, "__name__", repr(env))))
    what = f"environment {name!r}"
    if isinstance(found, EnvSpec) and _native(found):
        if horizon is not None:
            kwargs["horizon"] = horizon
        kwargs["autoreset_mode"] = AutoresetMode.DISABLED
        native: AnyVectorEnv = _made(what, lambda: gymnasium.make_vec(found, num_envs, "vector_entry_point", **kwargs))
        ours = type(native.unwrapped).__module__.partition(".")[0] == "bges_envs"
        return native if ours else _WatchedVectorEnv(native, what)
    batched = _batched(found, num_envs, horizon, kwargs)
    if batched is not None:
        return batched

    def make() -> gymnasium.Env[Any, Any]:
        if isinstance(found, EnvSpec):
            # The checker tells a developer about an environment's first step; here it would cost a tenth of all.
            limit: dict[str, Any] = {"disable_env_checker": True}
            if horizon is not None:
                limit["max_episode_steps"] = horizon
            return _WatchedEnv(_made(what, lambda: gymnasium.make(found, **limit, **kwargs)), what)
        single = _made(what, lambda: found(**kwargs))
        return _WatchedEnv(single if horizon is None else gymnasium.wrappers.TimeLimit(single, horizon), what)

    vector = EpisodeVectorEnv(make, num_envs)
    if horizon is not None:
        vector.horizon = horizon
    if vector.horizon is None:
        vector.close()
        raise InputError(f"{what} has no time limit of its own: set env.horizon")
    return vector


def horizon_of(env: AnyVectorEnv) -> int:
    """The longest episode that a vector environment plays."""
    horizon = getattr(env.unwrapped, "horizon", None)
    if horizon is None and env.spec is not None:
        horizon = env.spec.max_episode_steps
    if horizon is None:
        raise InputError("the environment has no time limit of its own: give a horizon")
    return int(horizon)


def check_autoreset(env: AnyVectorEnv) -> None:
    """Refuse an environment that begins new episodes by itself: rollouts decide when and with which seed."""
    mode = env.metadata.get("autoreset_mode")
    if mode != AutoresetMode.DISABLED:
        raise InputError(
            f"the environment's autoreset_mode is {getattr(mode, 'value', mode)}, expected Disabled: "
            "members that have finished must stay as they ended"
        )


def check_step(steps: Any, seeds: Any, members: NDArray[np.bool_], observations: Any, rewards: Any = 0.0) -> None:
    """Refuse what is not finite, of `members` in these `steps` of episodes that began with `seeds`; 0 is the reset."""
    for what, values in (("observation", observations), ("reward", rewards)):
        finite = np.isfinite(values)
        if finite.all():
            continue
        wrong = members & ~finite.reshape(len(members), -1).all(axis=1)
        if wrong.any():
            first = int(np.argmax(wrong))
            step = np.broadcast_to(steps, len(members))[first]
            when = f"at step {step}" if step else "at its reset"
            raise UserCodeError(f"the environment gave a non-finite {what} {when} ({episode(seeds[first])})")


def episode(seed: Any) -> str:
    """An episode by what its environment was reset with; of several, the first."""
    return f"episode seed {seed}" if np.ndim(seed) == 0 else f"episode seeds {seed[0]} and {len(seed) - 1} more"


def find_env(name: str) -> EnvSource:
    """The Gymnasium specification of an id (`module:Id-v0` imports the module first), or a user's factory.

    Its entry points are the classes themselves, not their names, so that it can travel to where the module is not.
    """
    module, _, attribute = name.rpartition(":")
    if module:
        load_module("env.id", name)
        if hasattr(sys.modules[module], attribute):
            factory: Factory = load_attribute("env.id", name)
            return factory
    try:
        spec = copy.deepcopy(gymnasium.spec(attribute))
    except gymnasium.error.Error as error:
        raise InputError(f"env.id is {name!r}: {error}") from None
    for point in ("entry_point", "vector_entry_point"):
        if isinstance(getattr(spec, point), str):
            setattr(spec, point, load_attribute("env.id", getattr(spec, point)))
    return spec


def _native(spec: EnvSpec) -> bool:
    return bool(getattr(spec.vector_entry_point, "member_seeds", False))


def _batched(found: EnvSource, num_envs: int, horizon: int | None, kwargs: dict[str, Any]) -> AnyVectorEnv | None:
    module = getattr(found.entry_point, "__module__", "") if isinstance(found, EnvSpec) else ""
    if not isinstance(found, EnvSpec) or not module.startswith("gymnasium.envs.mujoco."):
        return None
    # Imports MuJoCo, which Gymnasium's own class has done already.
    from bges_envs.gymnasium_tasks import make_batched

    return make_batched(found, num_envs, horizon=horizon, kwargs=kwargs)


def _made(what: str, make: Callable[[], Any]) -> Any:
    """A refused keyword is one clear line; whatever else the user's code raises is blamed on it."""
    try:
        return make()
    except Exception as error:
        refused = ("unexpected keyword argument", "takes no arguments")
        if isinstance(error, TypeError) and any(said in str(error) for said in refused):
            raise InputError(f"{what}: {str(error).splitlines()[0]}") from None
        raise blamed(f"{what}, __init__", error) from None


def member_seeds(seed: int, members: int) -> NDArray[np.uint64]:
    """A seed for each of `members`, all different and all from one."""
    return np.random.SeedSequence(seed).generate_state(members, np.uint64).astype(np.uint64)
