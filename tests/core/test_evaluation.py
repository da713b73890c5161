import numpy as np
import pytest

from bges.core.evaluation import evaluation_seeds, returns_summary, shares, summary
from bges.core.work import Evaluate, Played


def played(returns, **flags):
    returns = np.array([returns])
    flags = {name: np.array([values]) for name, values in flags.items()}
    unit = Evaluate(iteration=0, index=0, policy=0, episodes=returns.size)
    return Played(
        unit=unit, steps=1, returns=returns, peaks=returns, late=returns, embeddings=np.zeros((1, 4, 2)), flags=flags
    )


def test_iterations_and_policies_play_different_episodes():
    assert len(np.unique(np.concatenate([evaluation_seeds(0, t, m, 3) for t in range(3) for m in range(2)]))) == 18


def test_an_evaluation_in_numbers():
    found = summary(
        played([1.0, 2.0, 3.0, 6.0], success=[True, False, False, False], fallen=[True, True, False, False])
    )
    assert found == {
        "score": 3.0,
        "score_std": pytest.approx(np.std([1, 2, 3, 6])),
        "success_rate": 0.25,
        "fallen": 0.5,
    }
    assert np.isnan(summary(played([1.0, 2.0, 3.0, 6.0]))["success_rate"])


def test_shares_are_those_of_all_episodes():
    results = [played([0.0] * 4, fallen=[True] * 4), played([0.0] * 4, fallen=[False] * 4)]
    assert shares(results, "population_") == {"population_fallen": 0.5}
    assert shares([]) == {}


def test_no_returns_are_not_a_number():
    assert returns_summary(np.array([1.0, 5.0])) == {"return_mean": 3.0, "return_max": 5.0, "return_std": 2.0}
    assert all(np.isnan(value) for value in returns_summary(np.zeros(0)).values())
