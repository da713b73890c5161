"""Evolution strategies with a novelty term, as ask and tell: no Ray, no disk."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bges.config.run import RunConfig
from bges.core.evaluation import NOT_EVALUATED, returns_summary, shares, summary
from bges.core.learner import Report, State, in_order
from bges.core.snapshot import Scored, Snapshot
from bges.core.state import Arrays, part, prefixed
from bges.core.work import Context, Evaluate, Outcome, Perturb, Played, Policies, Reduced, Unit, Work
from bges.errors import InputError
from bges.evolution.member import Array
from bges.evolution.noise import Float32, noise_table, weighted_sum
from bges.evolution.parts import make_parts, num_members
from bges.evolution.perturbations import Perturbations
from bges.evolution.schedules import SCHEDULES
from bges.evolution.settling import Settling
from bges.evolution.step import by_direction, reduction, weights_of
from bges.moments import Moments


@dataclass(frozen=True, kw_only=True)
class _Update:
    """A step that is decided and not yet taken: `weights` of the directions, whose sum is divided by `scale`."""

    drawn: Perturbations
    weights: Array
    scale: float
    inputs: list[Moments]
    report: Report


class Strategy:
    """`ask` for the units of an iteration, play them anywhere in any order, `tell` all their results.

    θ after any number of iterations is a function of the configuration alone. `thetas` are the members' first
    parameters: one row, or as many as NSR-ES evolves; `table` is the shared noise table, made here when not given;
    `expert` (n, d) are the behaviours that `novelty.expert` names. With `delegates`, `tell` hands a large update back
    as more work.
    """

    def __init__(
        self,
        config: RunConfig,
        thetas: Any,
        table: Float32 | None = None,
        expert: Array | None = None,
        *,
        delegates: bool = False,
    ) -> None:
        if config.searches:
            raise InputError("this configuration is for Search: set search.explore to 0, or give a section novelty")
        thetas = np.atleast_2d(np.asarray(thetas, np.float64))
        if len(thetas) != num_members(config):
            raise InputError(f"thetas has {len(thetas)} rows, expected one for each of {num_members(config)} members")
        self.config, self.delegates = config, delegates
        self.table = noise_table(config.seed, config.es.noise_table) if table is None else table
        self.iteration = 0
        self.env_steps = 0
        self.best: Scored | None = None
        self.novelty, self.population = make_parts(config, thetas, expert)
        self.schedule = SCHEDULES[config.novelty.schedule](config.novelty, config.iterations)
        self._settling = None if self.schedule.turn is None else Settling(config, self.schedule.turn)
        self._candidate: Snapshot | None = None
        self._update: _Update | None = None

    @property
    def theta(self) -> Float32:
        """Parameters of the present unperturbed policy, as workers play it."""
        return self.population.present.theta.astype(np.float32)

    @property
    def dimension(self) -> int:
        return len(self.population.present.theta)

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    @property
    def _settled(self) -> bool:
        """Whether novelty weighs nothing from here to the end: then nothing is fitted to it."""
        return self._settling is not None and self.iteration >= self._settling.turn

    def _evaluated(self) -> list[int]:
        """Members whose unperturbed policy is played in this iteration, the present one first."""
        last = self.iteration == self.config.iterations - 1
        due = self.novelty is not None or self.iteration % self.config.evaluation.every == 0 or last
        return self.population.evaluated(due=due)

    def ask(self) -> list[Unit]:
        """The units of this iteration; asking again before telling gives the same."""
        es, episodes = self.config.es, self.config.evaluation.episodes
        # Evaluations go first: few episodes, but as long as any. Row 0 is the policy that is perturbed.
        rows = list(range(len(self._evaluated())))
        if self._candidate is not None:
            rows.append(max(len(rows), 1))
        units: list[Unit] = [
            Evaluate(iteration=self.iteration, index=index, policy=row, episodes=episodes)
            for index, row in enumerate(rows)
        ]
        for start in range(0, es.population, es.chunk):
            stop = min(start + es.chunk, es.population)
            units.append(Perturb(iteration=self.iteration, index=len(units), start=start, stop=stop))
        return units

    @property
    def context(self) -> Context:
        """What the units of this iteration share; row 0 is the policy that is perturbed."""
        rows = [self.population.members[m].snapshot for m in self._evaluated() or [self.population.current]]
        if self._candidate is not None:
            rows.append(self._candidate)
        normalize = self.config.policy.normalize_observations
        return Policies(
            iteration=self.iteration,
            thetas=np.stack([policy.theta for policy in rows]).astype(np.float32),
            moments=tuple(policy.moments if normalize else None for policy in rows),
        )

    def tell(self, results: Sequence[Outcome]) -> Report | Work:
        """Take all results of the units asked for, in any order, and move on to the next iteration.

        Where it gives `Work`, tell what came of that too, or nothing: then the sum is made here.
        """
        if self._update is not None:
            sums = sorted((r for r in results if isinstance(r, Reduced)), key=lambda result: result.unit.index)
            return self._take(self._update, np.concatenate([part.values for part in sums]) if sums else None)
        played = [result for result in in_order(results, self) if isinstance(result, Played)]
        evaluations = [result for result in played if isinstance(result.unit, Evaluate)]
        perturbed = [result for result in played if isinstance(result.unit, Perturb)]
        self.env_steps += sum(result.steps for result in played)
        returns = np.concatenate([result.returns for result in perturbed]).mean(axis=1)
        embeddings = np.concatenate([result.embeddings for result in perturbed])
        metrics = self._hear(evaluations)

        beta = 0.0 if self.novelty is None else self.schedule.beta(self.iteration)
        started = time.perf_counter()
        novelties = None
        if self.novelty is not None and not self._settled:
            present = evaluations[0].embeddings[0].astype(np.float64)
            novelties = self.novelty.score(self.iteration, embeddings.astype(np.float64), present)
        seconds = {"scoring": time.perf_counter() - started}
        drawn = Perturbations.of(self.config, self.iteration, self.dimension)
        self._candidate = self._promising(returns, drawn)
        weights, scale = by_direction(self.config.es, weights_of(self.config, returns, novelties, beta), drawn)
        unknown = np.full(len(returns), np.nan)
        report = Report(
            iteration=self.iteration,
            metrics={
                "iteration": self.iteration,
                "env_steps": self.env_steps,
                **metrics,
                **returns_summary(returns),
                "novelty_mean": float(np.mean(unknown if novelties is None else novelties)),
                "novelty_std": float(np.std(unknown if novelties is None else novelties)),
                "wd": float("nan"),
                "beta": beta,
                "member": self.population.current,
                **shares(perturbed, "population_"),
                **({} if self.novelty is None or self._settled else self.novelty.metrics()),
            },
            returns=returns,
            novelties=unknown if novelties is None else novelties,
            embeddings=embeddings,
            signs=drawn.signs,
            improved=self.best is not None and self.best.iteration == self.iteration,
            seconds=seconds,
        )
        inputs = [result.inputs for result in perturbed if result.inputs is not None]
        self._update = _Update(drawn=drawn, weights=weights, scale=scale, inputs=inputs, report=report)
        work = reduction(self.iteration, weights, self.dimension) if self.delegates else None
        return self._take(self._update, None) if work is None else work

    def _hear(self, evaluations: list[Played]) -> dict[str, float]:
        """Scores of the unperturbed policies: the best is remembered, the parts told."""
        metrics = NOT_EVALUATED
        if self._candidate is not None:
            self._compare(self._candidate, evaluations.pop())
        for place, (index, result) in enumerate(zip(self._evaluated(), evaluations, strict=True)):
            member = self.population.members[index]
            self._compare(member.snapshot, result)
            if self.novelty is not None and not member.seen and not self._settled:
                self.novelty.hear(result.embeddings[0].astype(np.float64))
            member.hear(result)
            if place == 0:
                self.schedule.observe(result.score)
                metrics = summary(result)
        return metrics | {"best_score": float("nan") if self.best is None else self.best.score}

    def _compare(self, policy: Snapshot, result: Played) -> None:
        """Remember a policy if its evaluation was the best so far, or one to settle from."""
        found = Scored(score=result.score, iteration=self.iteration, theta=policy.theta, moments=policy.moments)
        if self.best is None or found.score > self.best.score:
            self.best = found
        if self._settling is not None:
            self._settling.offer(found, result)

    def _promising(self, returns: Array, drawn: Perturbations) -> Snapshot | None:
        """The perturbed policy that did best, if better than any: its episodes may have been lucky ones."""
        k = int(np.argmax(returns))
        if not self.config.evaluation.candidates or (self.best is not None and returns[k] <= self.best.score):
            return None
        theta = drawn.thetas(self.theta, self.config.es.sigma, self.table, k, k + 1)[0]
        return Snapshot(theta=theta.astype(np.float64), moments=self.population.present.moments)

    def _take(self, update: _Update, total: Array | None) -> Report:
        """The present policy's step, and whoever's turn is next."""
        member, self._update = self.population.present, None
        if total is None:
            total = weighted_sum(self.table, update.drawn.directions, update.weights, self.dimension)
        gradient = total / update.scale
        member.step(gradient)
        for seen in update.inputs:
            member.moments = Moments.merged(member.moments, seen)
        norms = {"theta_norm": float(np.linalg.norm(member.theta)), "grad_norm": float(np.linalg.norm(gradient))}
        update.report.metrics.update(norms)
        self.iteration += 1
        if self._settling is not None and self.iteration == self._settling.turn:
            self.population = self._settling.finalists()
        else:
            self.population.advance(self.iteration)
        return update.report

    def conclude(self) -> dict[str, float]:
        """Nothing is left: the next policy needs all of an update."""
        return {}

    def state(self) -> State:
        values, arrays = self.population.state()
        arrays = prefixed("members", arrays)
        policies, functions = {"last": f"members/{self.population.current}"}, {}
        if self.novelty is not None:
            arrays |= prefixed("novelty", self.novelty.state())
            functions = {name: f"novelty/{place}" for name, place in self.novelty.functions().items()}
        if self._settling is not None:
            arrays |= prefixed("settling", self._settling.state())
        for name, policy in (("candidate", self._candidate), ("best", self.best)):
            arrays |= {} if policy is None else prefixed(name, policy.arrays())
        if self.best is not None:
            policies["best"] = "best"
        values = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "population": values,
            "schedule": self.schedule.state(),
            "best": None if self.best is None else self.best.values(),
        }
        return State(values=values, arrays=arrays, policies=policies, functions=functions)

    def restore(self, state: State) -> None:
        """Go on from a `state`, byte for byte."""
        values, arrays = state.values, state.arrays
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        if self._settling is not None:
            self._settling.restore(part(arrays, "settling"))
            if self.iteration >= self._settling.turn:
                self.population = self._settling.finalists()
        self.population.restore(values["population"], part(arrays, "members"))
        if self.novelty is not None:
            self.novelty.restore(part(arrays, "novelty"))
        self.schedule.restore(values["schedule"])
        self.best = Scored.of(values["best"], part(arrays, "best"))
        candidate: Arrays = part(arrays, "candidate")
        self._candidate = Snapshot.restored(candidate) if candidate else None
        self._update = None
