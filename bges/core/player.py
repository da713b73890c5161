"""What plays units of work: what all players share."""

import time
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bges.core.evaluation import evaluation_seeds
from bges.core.probes import decisions, probe_states
from bges.core.problem import Problem
from bges.core.work import Context, Evaluate, Outcome, Played, Policies, Unit
from bges.environments import AnyVectorEnv
from bges.moments import Moments
from bges.randomness import Stream, generator
from bges.rollouts import play
from bges.trajectories import Trajectories

NOTHING = np.zeros(0, np.float32)


class Player:
    """Plays one unit at a time. Knows nothing of Ray, of optimisers, or of other players."""

    # What all players of a run hold in common memory.
    shared: NDArray[np.float32] = NOTHING

    def __init__(self, problem: Problem) -> None:
        self.problem, self.config = problem, problem.config
        self._envs: dict[int, AnyVectorEnv] = {}
        first = self._env(1)
        self.policy = problem.make_policy(first.single_observation_space, first.single_action_space)
        self.behavior_size = problem.check_embedding(first, self.policy)

    def initial_theta(self, member: int = 0) -> NDArray[np.float32]:
        return self.policy.initial(generator(self.config.seed, Stream.INITIAL, member))

    def play(self, context: Context, unit: Unit) -> Outcome:
        """What comes of a unit, with the seconds that it took."""
        started = time.perf_counter()
        outcome = self._play(context, unit)
        return replace(outcome, seconds=time.perf_counter() - started)

    def _play(self, context: Context, unit: Unit) -> Outcome:
        """Evaluations; a player's own kinds of units come in its own version of this."""
        assert isinstance(unit, Evaluate)
        assert isinstance(context, Policies)
        seeds = evaluation_seeds(self.config.seed, unit.iteration, unit.policy, unit.episodes)[None]
        return self._episodes(context, unit, unit.policy, context.thetas[unit.policy][None], seeds)

    def _episodes(
        self,
        context: Policies,
        unit: Unit,
        policy: int,
        thetas: NDArray[np.float32],
        seeds: NDArray[np.uint64],
        *,
        count_inputs: bool = False,
    ) -> Played:
        """Whole episodes of parameters (k, d) with seeds (k, e), seen through the eyes of one of the policies."""
        batch = self.policy.batch(thetas, episodes=seeds.shape[1], moments=context.moments[policy])
        played = play(
            self._env(seeds.size),
            batch,
            seeds=seeds.reshape(-1),
            keep=self.problem.embedding.needs,
            action_noise=self.config.policy.action_noise,
            count_inputs=count_inputs,
        )
        return Played(
            unit=unit,
            returns=played.returns.reshape(seeds.shape),
            peaks=played.peaks.reshape(seeds.shape),
            embeddings=self._embedded(played, thetas, context.moments[policy])
            .reshape(*seeds.shape, -1)
            .astype(np.float32),
            steps=int(played.lengths.sum()),
            flags={name: flag.reshape(seeds.shape) for name, flag in played.flags.items()},
            inputs=played.inputs,
        )

    def _embedded(
        self, played: Trajectories, thetas: NDArray[np.float32], moments: Moments | None
    ) -> NDArray[np.float64]:
        """The behaviour of each episode, (k · e, dim); that of a policy is the same in all its episodes."""
        if not self.problem.embedding.of_policies:
            return self.problem.embed(played)
        points = self.problem.embed(decisions(self.policy, thetas, self._probes, moments))
        return np.repeat(points, len(played) // len(thetas), axis=0)

    @cached_property
    def _probes(self) -> NDArray[np.float64]:
        return probe_states(self.problem, self.policy)

    def _env(self, members: int) -> AnyVectorEnv:
        """An environment of that many members; the odd last chunk needs one of its own."""
        if members not in self._envs:
            self._envs[members] = self.problem.make_env(members)
        return self._envs[members]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
        self._envs.clear()
