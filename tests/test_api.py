"""What `import bges` offers, as docs/python.md shows it."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import bges
from tests.evolution.conftest import small_config, small_tree, thetas_of

ID = "bges_envs:DeceptivePoint-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    config = bges.RunConfig.parse(small_tree())
    return bges.train(config, seed=2, workers=2, iterations=6, out=folder / "run", overrides={"es.sigma": 0.3})


def test_train_gives_a_run_with_its_metrics(run):
    assert (run.config.seed, run.config.iterations, run.config.es.sigma) == (2, 6, 0.3)
    assert run.metrics()["iteration"].to_pylist() == list(range(6))
    assert len(run.behaviors()) == 6 * 8
    assert bges.Run(run.path).metrics()["return_mean"] == run.metrics()["return_mean"]


def test_train_resumes_and_refuses(run):
    longer = bges.train(run.path / "config.yaml", iterations=8, out=run.path, resume=True)
    assert longer.metrics()["iteration"].to_pylist() == list(range(8))
    with pytest.raises(bges.InputError, match="already holds a run"):
        bges.train("point", out=run.path)
    with pytest.raises(bges.InputError, match="did you mean 'point'"):
        bges.train("pont")


def test_a_trained_policy_rolls_out_in_three_lines(run):
    policy, env = bges.load_policy(run.path, which="best"), gymnasium.make(ID)
    observation, _ = env.reset(seed=0)
    observation, reward, *_ = env.step(policy(observation))
    assert np.isfinite(reward)
    assert env.action_space.contains(policy(observation))
    with pytest.raises(ValueError, match="read-only"):
        policy.theta[0] = 1.0
    batch = np.stack([observation, observation + 0.1])
    np.testing.assert_array_equal(policy(batch)[0], policy(observation))


def test_the_policy_is_the_one_that_was_scored(run):
    """Its own rollouts in the single environment give what `eval` reports for the same start."""
    from bges.environments import member_seeds
    from bges.runs.evaluation import evaluate_policy

    for which in ("best", "last"):
        policy, env = bges.load_policy(run.path, which), gymnasium.make(ID, horizon=12)
        observation, _ = env.reset(seed=int(member_seeds(7, 1)[0]))
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            total, over = total + float(reward), terminated or truncated
        assert evaluate_policy(run, episodes=1, seed=7, which=which)["return_mean"] == pytest.approx(total)


def test_best_and_last_are_told_apart(run):
    checkpoint, _ = run.checkpoints.load_newest()
    best, last = bges.load_policy(run.path, "best"), bges.load_policy(str(run.path), "last")
    assert best.theta.tobytes() == checkpoint.policy("best").theta.astype(np.float32).tobytes()
    assert last.theta.tobytes() == checkpoint.policy("last").theta.astype(np.float32).tobytes()
    assert best.theta.tobytes() != last.theta.tobytes()
    with pytest.raises(bges.InputError, match="expected best or last"):
        bges.load_policy(run.path, "worst")
    with pytest.raises(bges.InputError, match="is not a run directory"):
        bges.load_policy(run.path / "checkpoints")


def test_ask_and_tell_without_ray_make_the_same_run(run):
    config = small_config({"seed": 2, "iterations": 6, "es": {"sigma": 0.3}})
    evaluator = bges.Evaluator(bges.Problem.of(config))
    strategy = bges.Strategy(config, evaluator.initial_theta(), evaluator.table)
    while not strategy.done:
        strategy.tell([evaluator.play(strategy.context, unit) for unit in reversed(strategy.ask())])
    theta = run.metrics()["theta_norm"].to_pylist()[5]
    assert theta == float(np.linalg.norm(np.frombuffer(thetas_of(strategy))))


def test_evolution_imports_neither_ray_nor_jax():
    code = (
        "import sys, bges; small = {'iterations': 2, 'es': {'population': 2}, 'env': {'horizon': 2}}\n"
        "for learner, more in ((bges.Search, {}), (bges.Strategy, {'novelty': {}})):\n"
        "    c = bges.RunConfig(**small, **more); e = bges.Evaluator(bges.Problem.of(c))\n"
        "    s = learner(c, e.initial_theta(), e.table)\n"
        "    while not s.done: s.tell([e.play(s.context, unit) for unit in s.ask()])\n"
        "print(s.done, 'ray' in sys.modules, 'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True False False\n", done.stderr


def test_every_public_name_is_there():
    assert all(getattr(bges, name) is not None for name in bges.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        bges.nonsense  # noqa: B018
