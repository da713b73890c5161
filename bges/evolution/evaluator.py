"""Play units of an evolution strategy: noise slice, perturbed parameters, batched rollout, embedding."""

import numpy as np
from numpy.typing import NDArray

from bges.core.player import Player
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Perturb, Played, Policies, Reduce, Reduced, Unit, Vary, Weights
from bges.evolution.noise import Float32, check_table, noise_table, weighted_sum
from bges.evolution.perturbations import Perturbations
from bges.evolution.variation import varied


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
            drawn, row = self.perturbations(unit.iteration), unit.policy
            sigma = self.config.es.sigma if context.sigmas is None else context.sigmas[row]
            thetas = drawn.thetas(context.thetas[row], sigma, self.table, unit.start, unit.stop)
            return self._learned_from(context, unit, row, thetas, drawn.seeds[unit.start : unit.stop])
        if isinstance(unit, Vary) and isinstance(context, Policies) and context.variations is not None:
            thetas = varied(context.thetas, context.variations, self.table, unit.start, unit.stop)
            return self._learned_from(context, unit, 0, thetas, context.variations.seeds[unit.start : unit.stop])
        if isinstance(unit, Reduce) and isinstance(context, Weights):
            offsets = self.perturbations(unit.iteration).directions + unit.start
            values = weighted_sum(self.table, offsets, context.weights, unit.stop - unit.start)
            return Reduced(unit=unit, steps=0, values=values)
        return super()._play(context, unit)

    def _learned_from(
        self, context: Policies, unit: Unit, row: int, thetas: Float32, seeds: NDArray[np.uint64]
    ) -> Played:
        counts = self.config.policy.normalize_observations
        return self._episodes(context, unit, row, thetas, seeds, count_inputs=counts)

    def perturbations(self, iteration: int) -> Perturbations:
        if self._drawn is None or self._drawn[0] != iteration:
            self._drawn = iteration, Perturbations.of(self.config, iteration, self.policy.num_parameters)
        return self._drawn[1]
