"""Settling: from an iteration on only the best policies found count, whichever member they came from."""

from bges.config.run import RunConfig
from bges.core.snapshot import Scored
from bges.core.state import Arrays
from bges.core.work import Played
from bges.evolution.elites import Elites
from bges.evolution.population import Finalists


class Settling:
    """Remembers what to settle from in iteration `turn`: the policies with the best score, or the best single steps."""

    def __init__(self, config: RunConfig, turn: int) -> None:
        self._config, self.turn = config, turn
        self._peak = config.novelty.settle_from == "peak"
        self._elites = Elites(config.novelty.finalists, config.novelty.separation)

    def offer(self, policy: Scored, evaluation: Played) -> None:
        if policy.iteration < self.turn:
            merit = float(evaluation.peaks.mean()) if self._peak else policy.score
            self._elites.offer(policy, merit, evaluation.behavior)

    def finalists(self) -> Finalists:
        return Finalists(self._config, self._elites.policies, self.turn)

    def state(self) -> Arrays:
        return self._elites.state()

    def restore(self, arrays: Arrays) -> None:
        self._elites.restore(arrays)
