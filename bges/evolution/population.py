"""The policies that a strategy evolves, and whose turn it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bges.config.run import RunConfig
from bges.core.snapshot import Scored
from bges.core.state import Arrays, part, prefixed
from bges.evolution.member import Member
from bges.evolution.novelty import ArchiveNovelty
from bges.randomness import Stream, generator


class Population:
    """One policy, or several of which one is perturbed at a time; `updated` made the last step, None before any."""

    def __init__(self, config: RunConfig, members: Sequence[Member]) -> None:
        self._config, self.members = config, list(members)
        self.current = 0
        self.updated: int | None = None

    @property
    def present(self) -> Member:
        """The policy that is perturbed."""
        return self.members[self.current]

    def evaluated(self, *, due: bool) -> list[int]:
        """Members whose unperturbed policy is played in this iteration, the present one first.

        That is everybody at first, then the present one and who has changed; a lone policy only when that is due.
        """
        if self.updated is None:
            return [self.current, *(m for m in range(len(self.members)) if m != self.current)]
        if self.updated != self.current:
            return [self.current, self.updated]
        return [self.current] if due else []

    def advance(self, iteration: int) -> None:
        """After the present member's step: whose turn it is in `iteration`."""
        self.updated = self.current

    def state(self) -> tuple[dict[str, Any], Arrays]:
        values = {"members": len(self.members), "current": self.current, "updated": self.updated}
        arrays: Arrays = {}
        for i, member in enumerate(self.members):
            arrays |= prefixed(str(i), member.state())
        return values, arrays

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        anything = self.members[0].snapshot
        self.members = [Member(self._config, anything) for _ in range(values["members"])]
        for i, member in enumerate(self.members):
            member.restore(part(arrays, str(i)))
        self.current, self.updated = values["current"], values["updated"]


class NoveltyProportional(Population):
    """NSR-ES: the next member is drawn in proportion to the novelty of its last known behaviour."""

    def __init__(self, config: RunConfig, members: Sequence[Member], archive: ArchiveNovelty) -> None:
        super().__init__(config, members)
        self._archive = archive
        if len(members) > 1:
            self.current = int(self._generator(0).integers(len(members)))

    def advance(self, iteration: int) -> None:
        super().advance(iteration)
        if len(self.members) == 1:
            return
        behaviors = [member.behavior for member in self.members if member.behavior is not None]
        novelty = self._archive.of(np.stack(behaviors))
        total = novelty.sum()
        shares = novelty / total if total > 0 else None
        self.current = int(self._generator(iteration).choice(len(self.members), p=shares))

    def _generator(self, iteration: int) -> np.random.Generator:
        return generator(self._config.seed, Stream.MEMBER, iteration)


class Finalists(Population):
    """Good policies improved in turn, in half of the iterations from `turn` on; then the best of them goes on alone."""

    def __init__(self, config: RunConfig, policies: Sequence[Scored], turn: int) -> None:
        rate = config.es.learning_rate * config.novelty.settle_rate
        super().__init__(config, [_finalist(config, policy, rate) for policy in policies])
        self.updated, self._turn = 0, turn

    def advance(self, iteration: int) -> None:
        super().advance(iteration)
        count, left = len(self.members), self._config.iterations - self._turn
        place = (iteration - self._turn) * 2 * count // max(left, 1)
        best = max(range(count), key=lambda index: self.members[index].score)
        if place < count:
            self.current = place
        elif self.updated == count - 1 > 0:
            # The last one is evaluated once more, after its last step, before the choice is final.
            self.current = best if best != count - 1 else 0
        elif count > 1:
            self.members = [self.members[best]]
            self.current = self.updated = 0


def _finalist(config: RunConfig, policy: Scored, rate: float) -> Member:
    member = Member(config, policy, rate=rate)
    member.score = policy.score
    return member
