import pytest

from bges.config.evolution import NoveltyConfig
from bges.evolution.schedules import SCHEDULES


def make(name, iterations=100, **settings):
    return SCHEDULES[name](NoveltyConfig(schedule=name, **settings), iterations)


def test_constant_is_constant():
    schedule = make("constant", beta=-0.3)
    assert {schedule.beta(t) for t in range(100)} == {-0.3}
    assert schedule.turn is None


def test_linear_falls_to_zero_at_the_last_iteration():
    schedule = make("linear", beta=0.5, settle_at=0.5)
    assert schedule.beta(0) == schedule.beta(50) == 0.5
    assert schedule.beta(99) == 0.0
    betas = [schedule.beta(t) for t in range(50, 100)]
    assert betas == sorted(betas, reverse=True)
    assert schedule.beta(75) == pytest.approx(0.5 * 24 / 49)


def test_settling_restarts_once_and_drops_novelty():
    schedule = make("explore_then_settle", beta=0.5, settle_at=0.6)
    assert schedule.turn == 60
    assert schedule.beta(59) == 0.5
    assert schedule.beta(60) == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_adaptive_rises_when_stalled_falls_when_better_and_is_bounded(sign):
    schedule = make("adaptive", beta=0.2 * sign, patience=3, beta_step=0.1, beta_max=0.4)
    schedule.observe(-10.0)
    assert schedule.beta(0) == pytest.approx(0.1 * sign)
    for _ in range(3):
        schedule.observe(-10.0)
    assert schedule.beta(0) == pytest.approx(0.2 * sign)
    for _ in range(30):
        schedule.observe(-11.0)
    assert schedule.beta(0) == pytest.approx(0.4 * sign)
    for score in range(10):
        schedule.observe(float(score))
    assert schedule.beta(0) == 0.0


def test_adaptive_state_is_restored():
    one = make("adaptive", patience=3)
    for score in (1.0, 0.5, 0.2):
        one.observe(score)
    other = make("adaptive", patience=3)
    other.restore(one.state())
    for score in (0.1, 0.0, 3.0, 1.0):
        one.observe(score)
        other.observe(score)
        assert one.beta(0) == other.beta(0)
