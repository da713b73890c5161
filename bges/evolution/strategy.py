"""Evolution strategies with a novelty term, as ask and tell: no Ray, no disk."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.learner import Report
from bges.core.work import Context, Result, Unit
from bges.errors import InputError
from bges.evolution.elites import Best, Candidate, Elites
from bges.evolution.evaluator import draw_perturbations
from bges.evolution.members import Array, Arrays, Member, part
from bges.evolution.noise import Float32, noise_table, weighted_sum
from bges.evolution.novelty import ArchiveNovelty, make_novelty
from bges.evolution.perturbations import Perturbations
from bges.evolution.reduction import Play, sum_by_workers
from bges.evolution.schedules import SCHEDULES
from bges.evolution.shaping import SHAPINGS
from bges.randomness import Stream, generator


class Strategy:
    """`ask` for the units of an iteration, play them anywhere in any order, `tell` all their results.

    θ after any number of iterations is a function of the configuration alone. `thetas` are the members' first
    parameters: one row, or as many as NSR-ES evolves; `table` is the shared noise table, made here when not given;
    `expert` (n, d) are the behaviours that `novelty.expert` names.
    """

    def __init__(
        self, config: RunConfig, thetas: Any, table: Float32 | None = None, expert: Array | None = None
    ) -> None:
        thetas = np.atleast_2d(np.asarray(thetas, np.float64))
        if len(thetas) != num_members(config):
            raise InputError(f"thetas has {len(thetas)} rows, expected one for each of {num_members(config)} members")
        self.config = config
        self.table = noise_table(config.seed, config.es.noise_table) if table is None else table
        self.members = [Member(config, theta) for theta in thetas]
        self.current = 0
        self.iteration = 0
        self.env_steps = 0
        self.best: Best | None = None
        self.novelty = make_novelty(config, expert)
        self.schedule = SCHEDULES[config.novelty.schedule](config.novelty, config.iterations)
        self._shape = SHAPINGS[config.es.shaping]
        self._play: Play | None = None
        self._updated: int | None = None
        self._candidate: Candidate | None = None
        novelty = config.novelty
        by_score = novelty.finalists == 1 and novelty.settle_from == "score"
        self._elites = None if by_score else Elites(novelty.finalists, novelty.separation)
        if len(self.members) > 1:
            self.current = int(self._choice().integers(len(self.members)))

    @property
    def theta(self) -> Float32:
        """Parameters of the present unperturbed policy, as workers play it."""
        return self.members[self.current].theta.astype(np.float32)

    @property
    def dimension(self) -> int:
        return len(self.members[0].theta)

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    def _evaluated(self) -> list[int]:
        """Members whose unperturbed policy is played in this iteration, the present one first."""
        if self.iteration == 0:
            return [self.current, *(m for m in range(len(self.members)) if m != self.current)]
        if self._updated is not None and self._updated != self.current:
            return [self.current, self._updated]
        if self.novelty is not None or self.iteration % self.config.evaluation.every == 0 or self._last():
            return [self.current]
        return []

    def _last(self) -> bool:
        return self.iteration == self.config.iterations - 1

    def ask(self) -> list[Unit]:
        """The units of this iteration; asking again before telling gives the same."""
        population, chunk = self.config.es.population, self.config.es.chunk
        units: list[Unit] = []
        # Evaluations go first: few episodes, but as long as any.
        rows = list(range(len(self._evaluated())))
        if self._candidate is not None:
            rows.append(max(len(rows), 1))
        for row in rows:
            episodes = self.config.evaluation.episodes
            units.append(self._unit(len(units), kind="evaluate", start=0, stop=episodes, member=row))
        for start in range(0, population, chunk):
            units.append(self._unit(len(units), kind="perturb", start=start, stop=min(start + chunk, population)))
        return units

    def conclude(self) -> dict[str, float]:
        """Nothing is left: the next policy needs all of an update."""
        return {}

    def use(self, play: Play) -> None:
        """Let workers help with an update that is large."""
        self._play = play

    def _unit(self, index: int, **what: Any) -> Unit:
        return Unit(iteration=self.iteration, index=index, **what)

    @property
    def context(self) -> Context:
        """What the units of this iteration share; row 0 is the policy that is perturbed."""
        played: list[Member | Candidate] = [self.members[m] for m in self._evaluated() or [self.current]]
        if self._candidate is not None:
            played.append(self._candidate)
        normalize = self.config.policy.normalize_observations
        return Context(
            iteration=self.iteration,
            thetas=np.stack([member.theta for member in played]).astype(np.float32),
            moments=tuple(member.moments if normalize else None for member in played),
        )

    def tell(self, results: Sequence[Result]) -> Report:
        """Take all results of the units asked for, in any order, and move on to the next iteration."""
        results = sorted(results, key=lambda result: result.unit.index)
        if [result.unit for result in results] != self.ask():
            raise InputError(f"tell needs exactly the results of iteration {self.iteration}'s units")
        evaluations = [result for result in results if result.unit.kind == "evaluate"]
        played = [result for result in results if result.unit.kind == "perturb"]
        member = self.members[self.current]
        self.env_steps += sum(result.steps for result in results)
        rewards = np.concatenate([result.rewards for result in played]).mean(axis=1)
        embeddings = np.concatenate([result.embeddings for result in played])
        if self._candidate is not None:
            self._compare(self._candidate, evaluations.pop())
        metrics = self._hear(evaluations)
        metrics["best_score"] = float("nan") if self.best is None else self.best.score
        improved = self.best is not None and self.best.iteration == self.iteration

        beta = 0.0 if self.novelty is None else self.schedule.beta(self.iteration)
        started = time.perf_counter()
        novelties = self._novelties(embeddings, evaluations)
        seconds = {"scoring": time.perf_counter() - started}
        weights = self._weights(rewards, novelties, beta)
        drawn = draw_perturbations(self.config, self.iteration, self.dimension)
        self._candidate = self._promising(rewards, drawn)
        gradient = self._gradient(weights, drawn)
        member.step(gradient)
        inputs = [result.inputs for result in played if result.inputs is not None]
        for seen in inputs:
            member.see(seen)

        metrics = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            **metrics,
            "reward_mean": float(rewards.mean()),
            "reward_max": float(rewards.max()),
            "reward_std": float(rewards.std()),
            "novelty_mean": float("nan") if novelties is None else float(novelties.mean()),
            "novelty_std": float("nan") if novelties is None else float(novelties.std()),
            "wd": float("nan"),
            "beta": beta,
            "theta_norm": float(np.linalg.norm(member.theta)),
            "grad_norm": float(np.linalg.norm(gradient)),
            "member": self.current,
            **_shares("population_", played),
            **({} if self.novelty is None else self.novelty.metrics()),
        }
        report = Report(
            iteration=self.iteration,
            metrics=metrics,
            rewards=rewards,
            novelties=np.full(len(rewards), np.nan) if novelties is None else novelties,
            embeddings=embeddings,
            signs=drawn.signs,
            improved=improved,
            seconds=seconds,
        )
        self._advance()
        return report

    def _hear(self, evaluations: list[Result]) -> dict[str, float]:
        """Scores of the unperturbed policies: the best is remembered, the schedule told."""
        metrics = {"score": float("nan"), "success_rate": float("nan")}
        for place, (index, result) in enumerate(zip(self._evaluated(), evaluations, strict=True)):
            member, score = self.members[index], float(result.rewards.mean())
            member.behavior, member.score = _behavior(result), score
            self._compare(member, result)
            if place == 0:
                self.schedule.observe(score)
                metrics = {"score": score, "score_std": float(result.rewards.std()), **_shares("", [result])}
                metrics["success_rate"] = metrics.pop("success", float("nan"))
        return metrics

    def _compare(self, policy: Member | Candidate, result: Result) -> None:
        """Remember a policy if its evaluation was the best so far, or one to settle from."""
        score = float(result.rewards.mean())
        found = Best(score=score, iteration=self.iteration, theta=policy.theta.copy(), moments=policy.moments)
        if self.best is None or score > self.best.score:
            self.best = found
        if self._elites is not None and self.iteration < self.schedule.turn:
            peak = self.config.novelty.settle_from == "peak"
            self._elites.offer(found, float(result.peaks.mean()) if peak else score, _behavior(result))

    def _novelties(self, embeddings: NDArray[np.float32], evaluations: list[Result]) -> Array | None:
        if self.novelty is None:
            return None
        clouds = [result.embeddings[0].astype(np.float64) for result in evaluations]
        if isinstance(self.novelty, ArchiveNovelty):
            for index, cloud in zip(self._evaluated(), clouds, strict=True):
                if not self.members[index].archived:
                    self.novelty.add(cloud.mean(axis=0, keepdims=True))
                    self.members[index].archived = True
        return self.novelty.score(self.iteration, embeddings.astype(np.float64), clouds[0])

    def _weights(self, rewards: Array, novelties: Array | None, beta: float) -> Array:
        """(1 - |β|) shape(R) + β shape(N), for each perturbation."""
        if novelties is None or beta == 0.0:
            return self._shape(rewards)
        of_reward = 1 - beta if self.config.novelty.paper_weights else 1 - abs(beta)
        return of_reward * self._shape(rewards) + beta * self._shape(novelties)

    def _promising(self, rewards: Array, drawn: Perturbations) -> Candidate | None:
        """The perturbed policy that did best, if better than any: its episodes may have been lucky ones."""
        k = int(np.argmax(rewards))
        if not self.config.evaluation.candidates or (self.best is not None and rewards[k] <= self.best.score):
            return None
        theta = drawn.thetas(self.theta, self.config.es.sigma, self.table, k, k + 1)[0]
        return Candidate(theta=theta.astype(np.float64), moments=self.members[self.current].moments)

    def _gradient(self, weights: Array, drawn: Perturbations) -> Array:
        """(1/nσ) Σ_k w_k ε_k, as a sum over directions: the two of a pair share one."""
        es = self.config.es
        copies = 2 if es.antithetic else 1
        signed, used = (weights * drawn.signs).reshape(-1, copies), len(weights)
        if es.top is not None:
            kept = _top_directions(weights.reshape(-1, copies), es.top)
            signed, used = np.where(kept[:, None], signed, 0.0), es.top * copies
        weights = signed.sum(axis=1)
        total = None if self._play is None else sum_by_workers(self._play, self.iteration, weights, self.dimension)
        if total is None:
            total = weighted_sum(self.table, drawn.directions, weights, self.dimension)
        return total / (used * es.sigma)

    def _advance(self) -> None:
        self._updated = self.current
        self.iteration += 1
        if self.schedule.restarts(self.iteration) and self.best is not None:
            self._settle()
        elif self.schedule.settled(self.iteration):
            self._take_turns()
        elif len(self.members) > 1:
            self.current = self._choose()

    def _settle(self) -> None:
        """From here on only the best policies count, whichever member they came from."""
        assert self.best is not None
        chosen = [self.best] if self._elites is None else self._elites.policies
        rate = self.config.es.learning_rate * self.config.novelty.settle_rate
        self.members, self.current, self._updated = [], 0, 0
        for policy in chosen:
            member = Member(self.config, policy.theta)
            member.restart(policy.theta, policy.moments, rate)
            member.score = policy.score
            self.members.append(member)

    def _take_turns(self) -> None:
        """Half of what is left after the restart is shared by the finalists in turn; then the best of them goes on."""
        count, left = len(self.members), self.config.iterations - self.schedule.turn
        place = (self.iteration - self.schedule.turn) * 2 * count // max(left, 1)
        best = max(range(count), key=lambda index: self.members[index].score)
        if place < count:
            self.current = place
        elif self._updated == self.current == count - 1 > 0:
            # The last one is evaluated once more, after its last step, before the choice is final.
            self.current = best if best != count - 1 else 0
        elif count > 1:
            self.members = [self.members[best]]
            self.current = self._updated = 0

    def _choice(self) -> np.random.Generator:
        return generator(self.config.seed, Stream.MEMBER, self.iteration)

    def _choose(self) -> int:
        """The next member, drawn in proportion to the novelty of its last known behaviour."""
        assert isinstance(self.novelty, ArchiveNovelty)
        behaviors = np.stack([member.behavior for member in self.members if member.behavior is not None])
        novelty = self.novelty.of(behaviors)
        total = novelty.sum()
        shares = novelty / total if total > 0 else None
        return int(self._choice().choice(len(self.members), p=shares))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything that the next iterations depend on, as plain values and arrays."""
        arrays: Arrays = {}
        for i, member in enumerate(self.members):
            arrays |= {f"member{i}/{name}": array for name, array in member.state().items()}
        if self.novelty is not None:
            arrays |= {f"novelty/{name}": array for name, array in self.novelty.state().items()}
        if self._elites is not None:
            arrays |= {f"elites/{name}": array for name, array in self._elites.state().items()}
        if self._candidate is not None:
            arrays |= {f"candidate/{name}": array for name, array in self._candidate.arrays().items()}
        values: dict[str, Any] = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "members": len(self.members),
            "current": self.current,
            "updated": self._updated,
            "schedule": self.schedule.state(),
            "best": None,
        }
        if self.best is not None:
            values["best"] = {"score": self.best.score, "iteration": self.best.iteration}
            arrays |= {f"best/{name}": array for name, array in self.best.arrays().items()}
        return values, arrays

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Go on from a `state`, byte for byte."""
        self.members = [Member(self.config, self.members[0].theta) for _ in range(values["members"])]
        for i, member in enumerate(self.members):
            member.restore(part(arrays, f"member{i}"))
        if self._elites is not None:
            self._elites.restore(part(arrays, "elites"))
        if self.novelty is not None:
            self.novelty.restore(part(arrays, "novelty"))
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self.current, self._updated = values["current"], values["updated"]
        self.schedule.restore(values["schedule"])
        self.best = self._candidate = None
        if values["best"] is not None:
            self.best = Best(**values["best"], **Candidate.parts(part(arrays, "best")))
        if "candidate/theta" in arrays:
            self._candidate = Candidate(**Candidate.parts(part(arrays, "candidate")))


def _behavior(result: Result) -> Array:
    """The mean embedding of an evaluation."""
    return result.embeddings[0].astype(np.float64).mean(axis=0)


def num_members(config: RunConfig) -> int:
    return config.nsres.members if config.algorithm == "nsres" else 1


def _top_directions(weights: Array, top: int) -> NDArray[np.bool_]:
    """Which of the directions (n, copies) are among the `top` whose better sign weighs most."""
    chosen = np.argsort(-weights.max(axis=1), kind="stable")[:top]
    kept = np.zeros(len(weights), np.bool_)
    kept[chosen] = True
    return kept


def _shares(prefix: str, results: list[Result]) -> dict[str, float]:
    """The share of episodes in which each flag was set."""
    names = results[0].flags if results else {}
    return {f"{prefix}{name}": float(np.concatenate([r.flags[name].ravel() for r in results]).mean()) for name in names}
