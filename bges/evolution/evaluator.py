"""Play units of an evolution strategy: noise slice, perturbed parameters, batched rollout, embedding."""

from bges.core.player import Player
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Perturb, Policies, Reduce, Reduced, Unit, Weights
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

    def _play(self, context: Context, unit: Unit) -> Outcome:
        if isinstance(unit, Perturb) and isinstance(context, Policies):
            drawn = self.perturbations(unit.iteration)
            return self._episodes(
                context,
                unit,
                0,
                drawn.thetas(context.thetas[0], self.config.es.sigma, self.table, unit.start, unit.stop),
                drawn.seeds[unit.start : unit.stop],
                count_inputs=self.config.policy.normalize_observations,
            )
        if isinstance(unit, Reduce) and isinstance(context, Weights):
            offsets = self.perturbations(unit.iteration).directions + unit.start
            values = weighted_sum(self.table, offsets, context.weights, unit.stop - unit.start)
            return Reduced(unit=unit, steps=0, values=values)
        return super()._play(context, unit)

    def perturbations(self, iteration: int) -> Perturbations:
        if self._drawn is None or self._drawn[0] != iteration:
            self._drawn = iteration, Perturbations.of(self.config, iteration, self.policy.num_parameters)
        return self._drawn[1]
