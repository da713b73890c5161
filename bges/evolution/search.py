"""BGES by an archive: explore behaviour space, judge what was found, improve the best; ask and tell."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.evaluation import NOT_EVALUATED, returns_summary, shares, summary
from bges.core.learner import Report, State, in_order
from bges.core.snapshot import Scored, Snapshot
from bges.core.state import part, prefixed
from bges.core.work import Context, Evaluate, Outcome, Perturb, Played, Policies, Unit, Variations, Vary
from bges.evolution.archive import PolicyArchive
from bges.evolution.climber import Climber
from bges.evolution.noise import Float32, noise_table, weighted_sum
from bges.evolution.perturbations import Perturbations
from bges.evolution.variation import first_variations, variations_of, varied
from bges.moments import Moments
from bges.randomness import Stream, generator

Array = NDArray[np.float64]
EXPLORE, JUDGE, IMPROVE = range(3)
# Parents by merit win a tournament of so many.
TOURNAMENT = 32
# The first climber's step, in units of its σ.
FIRST_RATE = 0.5
# The worse half of the finalists goes after each such share of the iterations that are left for them.
ROUND = 0.15


@dataclass(kw_only=True)
class _Plan:
    """What an iteration plays: rows of parameters, which of them are perturbed and evaluated, and variations."""

    thetas: list[NDArray[Any]]
    sigmas: list[float]
    evaluations: list[tuple[int, int]] = field(default_factory=list)
    perturbations: list[tuple[int, int, int]] = field(default_factory=list)
    variations: Variations | None = None


class Search:
    """Three parts of a run. In the first each iteration plays new policies: variations of those in the archive, most
    of them of parents whose behaviour has few neighbours, the others of parents that earn much; and perturbations of
    one that climbs. Then candidates are judged by several episodes. The best, that behave differently, climb side by
    side until one is left.

    Observations are normalised by the moments of all that was seen, the same for all policies.
    """

    # A step is small beside what is played for it.
    delegates = False

    def __init__(self, config: RunConfig, theta: Any, table: Float32 | None = None) -> None:
        self.config = config
        self.table = noise_table(config.seed, config.es.noise_table) if table is None else table
        self._initial = np.array(theta, np.float32)
        self.iteration = self.env_steps = 0
        self.turn = min(max(round(config.search.explore * config.iterations), 1), config.iterations - 1)
        self.archive = PolicyArchive(size=config.search.archive, neighbors=config.search.neighbors)
        self.climbers: list[Climber] = []
        self.best: Scored | None = None
        self.moments: Moments | None = None
        self._tried: list[Array] = []
        self._planned: _Plan | None = None

    @property
    def dimension(self) -> int:
        return len(self._initial)

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    @property
    def phase(self) -> int:
        return EXPLORE if self.iteration < self.turn else JUDGE if self.iteration == self.turn else IMPROVE

    # What is played.

    @property
    def _plan(self) -> _Plan:
        if self._planned is None:
            self._planned = (self._explore, self._judge, self._improve)[self.phase]()
        return self._planned

    def _explore(self) -> _Plan:
        population = self.config.es.population
        if not len(self.archive):
            first = first_variations(self.config, self.iteration, population, self.dimension)
            return _Plan(thetas=[np.zeros_like(self._initial)], sigmas=[0.0], variations=first)
        rng = generator(self.config.seed, Stream.VARIATIONS, self.iteration)
        plan = _Plan(thetas=[climber.theta for climber in self.climbers], sigmas=[c.sigma for c in self.climbers])
        climbing = self._climbing if self.climbers else 0
        if self.climbers:
            plan.perturbations.append((0, 0, climbing))
            plan.evaluations.append((0, self.config.evaluation.episodes))
        chosen = self._parents(rng, population - climbing)
        used, rows = np.unique(np.concatenate(chosen), return_inverse=True)
        parents = self.archive.thetas[used]
        plan.variations = _shifted(variations_of(self.config, rng, parents, *np.split(rows, 2)), len(plan.thetas))
        plan.thetas += list(parents)
        plan.sigmas += [0.0] * len(parents)
        return plan

    @property
    def _climbing(self) -> int:
        """Perturbations of who climbs while the others explore: whole pairs, 0 for nobody."""
        return round(self.config.search.climb * self.config.es.population) // 2 * 2

    def _parents(self, rng: np.random.Generator, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the archive: by novelty or by merit, and whoever to step towards."""
        search, archive = self.config.search, self.archive
        novelty = archive.novelty()
        # In units of the largest, so that no exponent overflows.
        weights = (novelty / novelty.max()) ** search.greed if novelty.max() > 0 else np.ones(len(archive))
        shares = weights / weights.sum()
        first = rng.choice(len(archive), count, p=shares)
        chosen = round(search.merit * count)
        entrants = rng.integers(0, len(archive), (chosen, TOURNAMENT))
        for place, merit in enumerate((archive.scores, archive.late)):
            mine = entrants[place::2]
            first[place:chosen:2] = mine[np.arange(len(mine)), merit[mine].argmax(axis=1)]
        return first, rng.integers(0, len(archive), count)

    def _judge(self) -> _Plan:
        """Candidates by return, by how their episodes end and by their best steps; single episodes lie."""
        episodes = self.config.search.episodes
        played = self.config.es.population * self.config.env.episodes + self.config.evaluation.episodes
        count = max(played // episodes, 1)
        rows: list[int] = []
        for third, merit in enumerate((self.archive.scores, self.archive.late, self.archive.peaks), 1):
            more = [int(row) for row in np.argsort(-merit, kind="stable")[:count] if row not in rows]
            rows += more[: max(-(-count * third // 3) - len(rows), 0)]
        thetas: list[NDArray[Any]] = [self.archive.thetas[row] for row in rows]
        return _Plan(
            thetas=thetas, sigmas=[0.0] * len(rows), evaluations=[(place, episodes) for place in range(len(rows))]
        )

    def _improve(self) -> _Plan:
        live, es = len(self.climbers), self.config.es
        each = es.population // live // 2 * 2
        episodes = max(self.config.evaluation.episodes // live, 1)
        return _Plan(
            thetas=[climber.theta for climber in self.climbers],
            sigmas=[climber.sigma * self._narrowed for climber in self.climbers],
            evaluations=[(place, episodes) for place in range(live)],
            perturbations=[(place, place * each, (place + 1) * each) for place in range(live)],
        )

    @property
    def _left(self) -> float:
        """The share that is left of the iterations after exploring."""
        return 1.0 - (self.iteration - self.turn) / max(self.config.iterations - self.turn, 1)

    @property
    def _narrowed(self) -> float:
        return float((self.config.search.sigma_end / self.config.search.sigma) ** (1.0 - self._left))

    def ask(self) -> list[Unit]:
        """The units of this iteration; asking again before telling gives the same."""
        plan, chunk, units = self._plan, self.config.es.chunk, list[Unit]()
        for policy, episodes in plan.evaluations:
            units.append(Evaluate(iteration=self.iteration, index=len(units), policy=policy, episodes=episodes))
        for policy, first, end in plan.perturbations:
            for start in range(first, end, chunk):
                stop = min(start + chunk, end)
                units.append(Perturb(iteration=self.iteration, index=len(units), policy=policy, start=start, stop=stop))
        count = 0 if plan.variations is None else len(plan.variations.first)
        for start in range(0, count, chunk):
            stop = min(start + chunk, count)
            units.append(Vary(iteration=self.iteration, index=len(units), start=start, stop=stop))
        return units

    @property
    def context(self) -> Context:
        plan = self._plan
        moments = self.moments if self.config.policy.normalize_observations else None
        return Policies(
            iteration=self.iteration,
            thetas=np.stack(plan.thetas).astype(np.float32),
            moments=(moments,) * len(plan.thetas),
            sigmas=tuple(plan.sigmas),
            variations=plan.variations,
        )

    # What is learned.

    def tell(self, results: Sequence[Outcome]) -> Report:
        """Take all results of the units asked for, in any order, and move on to the next iteration."""
        played = [result for result in in_order(results, self) if isinstance(result, Played)]
        plan, phase = self._plan, self.phase
        evaluations = [result for result in played if isinstance(result.unit, Evaluate)]
        learned = [result for result in played if not isinstance(result.unit, Evaluate)] or evaluations
        self.env_steps += sum(result.steps for result in played)
        started = time.perf_counter()
        metrics = self._hear(plan, evaluations)
        perturbed = [result for result in played if isinstance(result.unit, Perturb)]
        norm = self._climb(plan, perturbed) if perturbed else float("nan")
        if phase == EXPLORE:
            self._collect(plan, played)
        elif phase == JUDGE:
            self._choose(plan, evaluations)
        else:
            self._halve()
        for result in played:
            self.moments = Moments.merged(self.moments, result.inputs)
        returns = np.concatenate([result.returns.mean(axis=1) for result in learned])
        report = Report(
            iteration=self.iteration,
            metrics={
                "iteration": self.iteration,
                "env_steps": self.env_steps,
                **metrics,
                **returns_summary(returns),
                "novelty_mean": float("nan"),
                "wd": float("nan"),
                "beta": 0.0,
                "phase": float(phase),
                "archive": float(len(self.archive)),
                "climbers": float(len(self.climbers)),
                "theta_norm": float(np.linalg.norm(self._present.theta)),
                "grad_norm": norm,
                **shares(learned, "population_"),
            },
            returns=returns,
            novelties=np.full(len(returns), np.nan),
            embeddings=_by_policy(learned),
            signs=np.zeros(len(returns), np.float32),
            improved=self.best is not None and self.best.iteration == self.iteration,
            seconds={"scoring": time.perf_counter() - started},
        )
        self.iteration += 1
        self._planned = None
        return report

    def _hear(self, plan: _Plan, evaluations: list[Played]) -> dict[str, float]:
        """The best score of an iteration's evaluations; a policy's own is the mean of its last few."""
        metrics = NOT_EVALUATED
        for (place, episodes), result in zip(plan.evaluations, evaluations, strict=True):
            score = result.score
            if self.phase != JUDGE:
                climber = self.climbers[place]
                climber.scores.append(score)
                climber.endings.append(float(result.late.mean()))
                # One of several climbers plays few episodes at a time.
                count = -(-self.config.evaluation.episodes // episodes)
                score = float(np.mean(climber.scores[-count:])) if len(climber.scores) >= count else -np.inf
            if np.isfinite(score) and (self.best is None or score > self.best.score):
                theta = plan.thetas[place].astype(np.float64)
                self.best = Scored(score=score, iteration=self.iteration, theta=theta, moments=self.moments)
            own = summary(result)
            if not own["score"] <= metrics["score"]:
                metrics = own
        return metrics | {"best_score": float("nan") if self.best is None else self.best.score}

    def _climb(self, plan: _Plan, perturbed: list[Played]) -> float:
        """A step of everyone who was perturbed."""
        drawn = Perturbations.of(self.config, self.iteration, self.dimension)
        share = min(1.0, 2.0 * self._left) if self.phase == IMPROVE else 1.0
        norms = []
        for place, first, end in plan.perturbations:
            own = [r for r in perturbed if isinstance(r.unit, Perturb) and r.unit.policy == place]
            returns, late = (np.concatenate([getattr(r, n).mean(axis=1) for r in own]) for n in ("returns", "late"))
            climber = self.climbers[place]
            climber.trail.append(float(returns.mean()))
            weights = (climber.weights(returns, late) * drawn.signs[first:end]).reshape(-1, 2).sum(axis=1)
            total = weighted_sum(self.table, drawn.offsets[first:end:2], weights, self.dimension)
            gradient = total / (end - first)
            climber.step(gradient, share)
            norms.append(float(np.linalg.norm(gradient)))
        return float(np.mean(norms))

    def _collect(self, plan: _Plan, played: list[Played]) -> None:
        """All that was played joins the archive; a climber that gains nothing goes."""
        thetas, drawn, found = np.stack(plan.thetas).astype(np.float32), None, []
        for result in played:
            unit = result.unit
            if isinstance(unit, Vary):
                assert plan.variations is not None
                rows = varied(thetas, plan.variations, self.table, unit.start, unit.stop)
            elif isinstance(unit, Perturb):
                drawn = drawn or Perturbations.of(self.config, self.iteration, self.dimension)
                sigma = plan.sigmas[unit.policy]
                rows = drawn.thetas(thetas[unit.policy], sigma, self.table, unit.start, unit.stop)
            else:
                assert isinstance(unit, Evaluate)
                rows = thetas[unit.policy][None]
            merits = [getattr(result, name).mean(axis=1) for name in ("returns", "late", "peaks")]
            found.append((rows, result.embeddings.astype(np.float64).mean(axis=1), *merits))
        self.archive.add(*(np.concatenate(column) for column in zip(*found, strict=True)))
        if self.climbers and self.climbers[0].stalled(self.config.search.patience):
            self._tried.append(played[0].behavior)
            self.climbers = []
        if not self.climbers and self._climbing > 0:
            self.climbers = [self._another()]

    def _another(self) -> Climber:
        """First as policies begin, as ES would climb.

        Then whoever is best, by ends of episodes and by returns in turn, and behaves like nobody tried before.
        """
        if not self._tried:
            sigma = self.config.search.first_sigma
            return Climber(self._initial, sigma, FIRST_RATE * sigma, ends=False)
        ends = len(self._tried) % 2 == 1
        merit, separation = self.archive.late if ends else self.archive.scores, self.config.search.separation
        order = np.argsort(-merit, kind="stable")
        behaviors = self.archive.behaviors
        fresh = (r for r in order if all(self.archive.apart(behaviors[r], b) > separation for b in self._tried))
        return self._climber(self.archive.thetas[next(fresh, order[0])], ends=ends)

    def _climber(self, theta: NDArray[Any], *, ends: bool) -> Climber:
        """With perturbations and steps in proportion to its parameters."""
        size = float(np.sqrt(np.mean(np.square(theta, dtype=np.float64)))) or 1.0
        return Climber(theta, self.config.search.sigma * size, self.config.search.rate * size, ends=ends)

    def _choose(self, plan: _Plan, evaluations: list[Played]) -> None:
        """Finalists: half by return, a quarter each by how episodes end and by best steps, no two alike."""
        merits = [np.array([getattr(r, name).mean() for r in evaluations]) for name in ("returns", "late", "peaks")]
        behaviors, search = [result.behavior for result in evaluations], self.config.search
        count = min(search.finalists, self.config.es.population // 2, len(evaluations))
        chosen: list[int] = []
        for merit, until in zip(merits, (-(-count // 2), count - count // 4, count), strict=True):
            for place in np.argsort(-merit, kind="stable"):
                differs = all(self.archive.apart(behaviors[place], behaviors[o]) >= search.separation for o in chosen)
                if len(chosen) < until and differs and place not in chosen:
                    chosen.append(int(place))
        self.climbers = [self._climber(plan.thetas[place], ends=True) for place in chosen]
        if len(self.climbers) == 1:
            self.climbers[0].ends = False

    def _halve(self) -> None:
        """At the end of a round the worse half of the climbers goes; the last one climbs by return alone.

        Of two the one that earns more stays. Before that it is how episodes end: a detour that was just found earns
        less than standing at the wall.
        """
        length = max(round(ROUND * (self.config.iterations - self.turn)), 1)
        if len(self.climbers) > 1 and (self.iteration - self.turn) % length == 0:
            by_return = len(self.climbers) == 2
            self.climbers.sort(key=lambda climber: -(climber.recent_score if by_return else climber.recent_ending))
            self.climbers = self.climbers[: (len(self.climbers) + 1) // 2]
            if len(self.climbers) == 1:
                self.climbers[0].ends = False

    def conclude(self) -> dict[str, float]:
        """Nothing is left: the next policies need all of an update."""
        return {}

    # What is kept.

    @property
    def _present(self) -> Snapshot:
        """The policy that stands for the search: who climbs, or else the best in the archive."""
        if self.climbers:
            return max(self.climbers, key=lambda climber: climber.recent_score).snapshot(self.moments)
        theta = self.archive.thetas[self.archive.scores.argmax()] if len(self.archive) else self._initial
        return Snapshot(theta=theta.astype(np.float64), moments=self.moments)

    def state(self) -> State:
        arrays = prefixed("archive", self.archive.state()) | prefixed("last", self._present.arrays())
        for i, climber in enumerate(self.climbers):
            arrays |= prefixed(f"climbers/{i}", climber.state())
        if self._tried:
            arrays["tried"] = np.stack(self._tried)
        if self.moments is not None:
            arrays |= prefixed("moments", self.moments.to_arrays())
        policies = {"last": "last"}
        if self.best is not None:
            arrays |= prefixed("best", self.best.arrays())
            policies["best"] = "best"
        values = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "climbers": len(self.climbers),
            "best": None if self.best is None else self.best.values(),
        }
        return State(values=values, arrays=arrays, policies=policies, functions={})

    def restore(self, state: State) -> None:
        """Continue from a `state`, byte for byte."""
        values, arrays = state.values, state.arrays
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self.archive.restore(part(arrays, "archive"))
        self.climbers = [Climber.restored(part(arrays, f"climbers/{i}")) for i in range(values["climbers"])]
        self._tried = list(np.array(arrays["tried"], float)) if "tried" in arrays else []
        self.moments = Moments.restored(part(arrays, "moments"))
        self.best = Scored.of(values["best"], part(arrays, "best"))
        self._planned = None


def _shifted(variations: Variations, rows: int) -> Variations:
    """The same, of parents that stand so many rows further down."""
    return Variations(
        first=variations.first + rows,
        second=variations.second + rows,
        lines=variations.lines,
        scales=variations.scales,
        offsets=variations.offsets,
        seeds=variations.seeds,
    )


def _by_policy(results: list[Played]) -> NDArray[np.float32]:
    """The mean behaviour of each policy, (n, 1, dim): some play more episodes than others."""
    return np.concatenate([result.embeddings.mean(axis=1, keepdims=True) for result in results])
