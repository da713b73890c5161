import subprocess
import sys
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

from bges.algorithms import make_player
from bges.config.loading import load_config, preset_names
from bges.core.problem import Problem
from bges.core.work import Policies, Sample
from bges.errors import InputError, UserCodeError
from bges.gradient.episodes import episode_numbers
from bges.gradient.samples import Rollouts, Sampled
from bges.moments import Moments

ENVS = [
    {"id": "tests.gradient.toys:Countdown", "horizon": 6},
    {"id": "bges_envs:MultiGoal-v0", "horizon": 6},
    {"id": "CartPole-v1"},
]


def samples(played, iteration=0, moments=None):
    (policy,) = played.learner.policies
    played.learner.iteration, played.learner.policies = iteration, [replace(policy, moments=moments)]
    return [result for result in played.results() if isinstance(result, Sampled)]


@pytest.mark.parametrize(("env", "method"), [*((env, "trpo") for env in ENVS), (ENVS[1], "noisynet_trpo")])
def test_samples_do_not_depend_on_how_environments_are_cut_into_units(local, env, method):
    whole, *others = ([Rollouts.of(s), s] for s in (samples(local(method, {"chunk": c}, env=env)) for c in (4, 1, 3)))
    for rollouts, parts in others:
        for name in ("inputs", "following", "actions", "rewards", "terminated", "finished", "embeddings", "returns"):
            assert getattr(rollouts, name).tobytes() == getattr(whole[0], name).tobytes(), name
        seen, expected = ([m for part in p for m in part.seen] for p in (parts, whole[1]))
        assert [m.mean.tobytes() + m.m2.tobytes() for m in seen] == [
            m.mean.tobytes() + m.m2.tobytes() for m in expected
        ]


def test_environments_and_iterations_differ(local):
    played = local(env=ENVS[0])
    first = Rollouts.of(samples(played))
    assert len(np.unique(first.actions)) == first.actions.size
    assert not np.isin(Rollouts.of(samples(played, iteration=1)).actions, first.actions).any()


def test_episodes_follow_each_other_and_are_cut_at_the_end(local):
    played = local(env=ENVS[0], policy={"hidden": [4]})
    rollouts = Rollouts.of(samples(played))
    taken, length = rollouts.inputs[..., 0], rollouts.inputs[..., 1]
    # The time limit of 6 comes before the end of episodes of 7 to 9 steps.
    np.testing.assert_array_equal(rollouts.terminated, taken + 1 == length)
    np.testing.assert_array_equal(rollouts.finished, taken + 1 == np.minimum(length, 6))
    np.testing.assert_array_equal(rollouts.rewards, taken + 1)
    np.testing.assert_array_equal(rollouts.following[..., 0], taken + 1)
    np.testing.assert_array_equal(rollouts.following[..., 1], length)
    np.testing.assert_array_equal(rollouts.ended[:, :-1], rollouts.finished[:, :-1])
    assert rollouts.ended[:, -1].all()
    assert not rollouts.finished[:, -1].all()
    assert (taken[:, 1:][rollouts.finished[:, :-1]] == 0).all()
    assert (rollouts.finished & ~rollouts.terminated).any()
    assert rollouts.terminated.any()


def test_embeddings_and_returns_are_those_of_the_finished_episodes(local):
    played = local(env=ENVS[0], embedding={"name": "reward_to_go"}, policy={"hidden": [4]})
    rollouts = Rollouts.of(samples(played))
    lengths = np.minimum(rollouts.inputs[..., 1], 6)[rollouts.finished].astype(int)
    np.testing.assert_allclose(rollouts.returns, lengths * (lengths + 1) / 2)
    assert rollouts.embeddings.shape == (len(lengths), 6)
    for row, length in zip(rollouts.embeddings, lengths, strict=True):
        rewards = np.where(np.arange(6) < length, np.arange(1, 7), 0)
        np.testing.assert_allclose(row, rewards[::-1].cumsum()[::-1])
    numbers = episode_numbers(rollouts.finished)
    assert [(numbers == k).sum() for k in range(len(lengths))] == list(lengths)
    assert numbers.max() == len(lengths) - 1


@pytest.mark.parametrize("name", ["final_state", "state_vector", "actions"])
def test_embeddings_see_whole_episodes_as_a_rollout_would(local, name):
    played = local(env={"id": "bges_envs:MultiGoal-v0", "horizon": 8}, embedding={"name": name})
    (sample, *_) = samples(played)
    before, after = sample.inputs[0, :8], sample.finals[0]
    expected = {
        "final_state": after,
        "state_vector": np.concatenate([before, after[None]]).ravel(),
        "actions": np.clip(sample.actions[0, :8], -1, 1).ravel(),
    }
    np.testing.assert_allclose(sample.embeddings[0], expected[name], rtol=1e-6)


def test_what_is_seen_is_normalised_by_the_contexts_moments(local):
    played = local(env=ENVS[0])
    first = samples(played)
    raw = Rollouts.of(first)
    moments = reduce(Moments.merge, [seen for sample in first for seen in sample.seen])
    np.testing.assert_allclose(moments.mean, raw.inputs.reshape(-1, 2).mean(axis=0), rtol=1e-6)
    # Actions do not matter here, so the same episodes are seen again.
    again = Rollouts.of(samples(played, moments=moments))
    np.testing.assert_allclose(again.inputs, moments.standardize(raw.inputs), atol=1e-6)
    np.testing.assert_allclose(again.following, moments.standardize(raw.following), atol=1e-6)


def test_trajectory_embeddings_need_room_for_an_episode(local):
    with pytest.raises(InputError, match=r"pg.batch / pg.num_envs is 20, expected at least the longest episode, 30"):
        local("bgpg", {"embedding": "trajectories"}, env={"id": "bges_envs:MultiGoal-v0", "horizon": 30})


@pytest.mark.parametrize("preset", [name for name in preset_names() if name.startswith("bgpg-")])
def test_every_preset_can_be_sampled(preset):
    config = load_config(preset)
    sampler = make_player(Problem.of(load_config(preset, {"pg.batch": 5 * config.pg.num_envs})))
    context = Policies(iteration=0, thetas=sampler.initial_theta()[None], moments=(None,))
    sample = sampler.play(context, Sample(iteration=0, index=0, policy=0, start=0, stop=2))
    sample.check()
    assert sample.steps == 10
    # An environment of the preset itself holds a whole episode.
    assert config.pg.steps >= sampler._horizon


def test_workers_do_not_import_jax():
    code = """
import sys
from tests.gradient.conftest import Local
Local.fresh = lambda self: None
from bges.core.work import Policies, Sample
played = Local("noisynet_trpo", {}, {})
theta = played.sampler.initial_theta()
context = Policies(iteration=0, thetas=theta[None], moments=(None,))
sample = played.sampler.play(context, Sample(iteration=0, index=0, policy=0, start=0, stop=2))
sample.check()
print(sample.steps, [name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib", "optax", "ray")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "40 []\n", done.stderr


@pytest.mark.parametrize("what", ["observation", "reward"])
def test_what_is_not_finite_is_blamed_on_the_environment(local, what):
    env = {"id": "tests.gradient.toys:Ill", "horizon": 5, "kwargs": {"what": what}}
    told = rf"the environment gave a non-finite {what} at step 2 \(episode seed \d+\)"
    played = local(env=env)
    unit = next(unit for unit in played.learner.ask() if isinstance(unit, Sample))
    with pytest.raises(UserCodeError, match=told):
        played.sampler.play(played.learner.context, unit)
