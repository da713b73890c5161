"""Evaluations of unperturbed policies: their episodes, and what is said of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bges.core.work import Played
from bges.randomness import Stream, generator

NOT_EVALUATED = {"score": float("nan"), "success_rate": float("nan")}


def evaluation_seeds(seed: int, iteration: int, policy: int, episodes: int) -> NDArray[np.uint64]:
    return generator(seed, Stream.EVALUATION, iteration, policy).integers(0, 2**64, episodes, np.uint64)


def summary(result: Played) -> dict[str, float]:
    """The score of an evaluation, and the share of its episodes with each flag."""
    metrics = {"score": result.score, "score_std": float(result.returns.std()), **shares([result])}
    metrics["success_rate"] = metrics.pop("success", float("nan"))
    return metrics


def shares(results: Sequence[Played], prefix: str = "") -> dict[str, float]:
    """The share of all episodes in which each flag was set."""
    names = results[0].flags if results else {}
    return {f"{prefix}{name}": float(np.concatenate([r.flags[name].ravel() for r in results]).mean()) for name in names}


def returns_summary(returns: NDArray[np.float64]) -> dict[str, float]:
    """Mean, maximum and spread of the returns that were learned from; NaN where there are none."""
    known = len(returns) > 0
    return {
        "return_mean": float(returns.mean()) if known else float("nan"),
        "return_max": float(returns.max()) if known else float("nan"),
        "return_std": float(returns.std()) if known else float("nan"),
    }
