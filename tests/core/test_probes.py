import numpy as np
import pytest

from bges.algorithms import make_player
from bges.config.run import RunConfig
from bges.core.probes import decisions, probe_states
from bges.core.problem import Problem
from bges.core.work import Perturb, Policies
from bges.errors import InputError
from bges.moments import Moments

PROBED = {
    "env": {"horizon": 12, "episodes": 3},
    "policy": {"hidden": [4], "normalize_observations": True},
    "embedding": {"name": "probe_actions", "kwargs": {"states": 6, "policies": 2}},
    "es": {"population": 8, "noise_table": 20_000},
}
RELU = {"policy": {"hidden": [1], "kwargs": {"activation": "relu"}}}


def player(**changes):
    return make_player(Problem.of(RunConfig.parse({**PROBED, **changes})))


def played(by, start, stop, moments=None):
    theta = by.initial_theta()[None]
    unit = Perturb(iteration=0, index=0, start=start, stop=stop)
    return by.play(Policies(iteration=0, thetas=theta, moments=(moments,)), unit)


def test_all_players_give_the_same_points_and_every_episode_its_policys():
    one, other = player(), player()
    played(other, 0, 1)
    whole = played(one, 0, 8).embeddings
    assert whole.shape == (8, 3, 6 * 2)
    assert one.behavior_size == 12
    assert np.concatenate([played(other, 4, 8).embeddings, played(other, 0, 4).embeddings]).tobytes() == (
        np.concatenate([whole[4:], whole[:4]]).tobytes()
    )
    assert (whole == whole[:, :1]).all()
    assert len(np.unique(whole[:, 0], axis=0)) == 8


def test_probes_are_visited_and_follow_the_seed():
    by = player()
    states = probe_states(by.problem, by.policy)
    assert states.shape == (6, by.policy.observation_size)
    assert len(np.unique(states, axis=0)) > 4
    other = player(seed=1)
    assert not np.array_equal(states, probe_states(other.problem, other.policy))


def test_policies_that_differ_where_nobody_goes_are_alike():
    """The hidden unit is on above a threshold: out of reach, or below every state."""
    by = player(**RELU)
    states = probe_states(by.problem, by.policy)
    inputs, outputs = by.policy.observation_size, by.policy.actions.output_size

    def theta(threshold, weight):
        return np.concatenate([np.ones(inputs), [-threshold], np.full(outputs, weight), np.zeros(outputs)])

    far = decisions(by.policy, np.stack([theta(1e6, 0.0), theta(1e6, 1e-3)]), states, None)
    near = decisions(by.policy, np.stack([theta(-1e3, 0.0), theta(-1e3, 1e-3)]), states, None)
    assert np.array_equal(far[0], far[1])
    assert (near[0] != near[1]).all()


def test_actions_are_those_that_the_policy_takes():
    by = player()
    states = probe_states(by.problem, by.policy)
    moments = Moments.of(np.concatenate([states, states + 1]))
    theta = by.initial_theta()[None] + np.float32(0.3)
    for seen in (None, moments):
        acts = by.policy.batch(theta, episodes=6, moments=seen)(states)
        assert np.array_equal(decisions(by.policy, theta, states, seen)[0], acts)
    assert not np.array_equal(decisions(by.policy, theta, states, None), decisions(by.policy, theta, states, moments))


def test_discrete_actions_are_ones_among_zeros():
    by = player(env={"id": "CartPole-v1", "episodes": 2})
    points = played(by, 0, 4).embeddings[:, 0].reshape(4, 6, 2)
    assert (points.sum(axis=2) == 1).all()
    assert set(points.ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("algorithm", ["trpo", "repulsion"])
def test_algorithms_that_embed_episodes_refuse_it(algorithm):
    tree = {name: section for name, section in PROBED.items() if name != "es"}
    with pytest.raises(
        InputError, match=f"embedding: probe_actions .* algorithm {algorithm} embeds episodes"
    ) as caught:
        Problem.of(RunConfig.parse({**tree, "algorithm": algorithm, "env": {"horizon": 12}}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kwargs", "message"), [({"states": 0}, "states is 0"), ({"state": 3}, "did you mean 'states'")]
)
def test_mistakes_are_named(kwargs, message):
    with pytest.raises(InputError, match=message):
        player(embedding={"name": "probe_actions", "kwargs": kwargs})
