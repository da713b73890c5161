"""Play units of an evolution strategy: noise slice, perturbed parameters, batched rollout, embedding."""

from bges.config.run import RunConfig
from bges.core.player import Player
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Sums, Unit
from bges.evolution.noise import Float32, check_table, noise_table, weighted_sum
from bges.evolution.perturbations import Perturbations


class Evaluator(Player):
    """Plays perturbed policies; `table` is the shared noise table, made here when none is given."""

    def __init__(self, problem: Problem, table: Float32 | None = None) -> None:
        super().__init__(problem)
        check_table(self.config.es.noise_table, self.policy.num_parameters)
        self.shared = noise_table(self.config.seed, self.config.es.noise_table) if table is None else table
        self._drawn: tuple[int, Perturbations] | None = None

    @property
    def table(self) -> Float32:
        return self.shared

    def _training(self, context: Context, unit: Unit) -> Outcome:
        drawn = self.perturbations(unit.iteration)
        if unit.kind == "sum":
            assert context.weights is not None
            offsets = drawn.directions + unit.start
            values = weighted_sum(self.table, offsets, context.weights, unit.stop - unit.start)
            return Sums(unit=unit, steps=0, values=values)
        theta, sigma = context.thetas[unit.member], self.config.es.sigma
        return self._episodes(
            context,
            unit,
            drawn.thetas(theta, sigma, self.table, unit.start, unit.stop),
            drawn.seeds[unit.start : unit.stop],
            count_inputs=self.config.policy.normalize_observations,
        )

    def perturbations(self, iteration: int) -> Perturbations:
        if self._drawn is None or self._drawn[0] != iteration:
            self._drawn = iteration, draw_perturbations(self.config, iteration, self.policy.num_parameters)
        return self._drawn[1]


def draw_perturbations(config: RunConfig, iteration: int, dimension: int) -> Perturbations:
    return Perturbations.draw(
        seed=config.seed,
        iteration=iteration,
        population=config.es.population,
        antithetic=config.es.antithetic,
        episodes=config.env.episodes,
        table=config.es.noise_table,
        dimension=dimension,
    )
