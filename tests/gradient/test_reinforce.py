import gymnasium
import numpy as np
import pytest

from bges.gradient.networks import Network
from bges.gradient.reinforce import WholeEpisodes, reinforce
from bges.gradient.samples import Rollouts
from bges.stochastic import StochasticMLP


def rollouts_of(inputs, actions, rewards, finished):
    shape = rewards.shape
    episodes = int(finished.sum())
    return Rollouts(
        inputs=inputs,
        following=inputs,
        actions=actions,
        rewards=rewards,
        terminated=np.zeros(shape, bool),
        finished=finished,
        ended=finished,
        embeddings=np.arange(episodes, dtype=np.float32)[:, None],
        returns=np.zeros(episodes),
    )


def test_the_gradient_is_that_of_finite_differences(rng):
    """Of Σ A log π written out in numpy, with what follows each step counted by a loop; environment 1 ends early."""
    box = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    policy = StochasticMLP(box, box, hidden=(5, 5), initial_std=0.1, activation="relu", orthogonal=False)
    theta = policy.initial(rng) + 0.3 * rng.standard_normal(policy.num_parameters).astype(np.float32)
    inputs = rng.standard_normal((3, 4, 2)).astype(np.float32)
    actions, rewards, extra = rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 4)), rng.standard_normal(3)
    finished = np.zeros((3, 4), bool)
    finished[[0, 2], 3] = finished[1, 1] = finished[1, 3] = True
    episodes = WholeEpisodes.of(rollouts_of(inputs, actions, rewards, finished))
    assert episodes.embeddings[:, 0].tolist() == [0, 1, 3]
    lengths = [4, 2, 4]
    after = [[sum(rewards[i, s] for s in range(t, n)) + extra[i] for t in range(n)] for i, n in enumerate(lengths)]
    above = {}
    for t in range(4):
        alive = [i for i in range(3) if t < lengths[i]]
        for i in alive:
            above[i, t] = after[i][t] - np.mean([after[k][t] for k in alive if k != i])

    def objective(at):
        total, std = 0.0, np.exp(at[-2:].astype(float))
        for (i, t), advantage in above.items():
            x = inputs[i, t].astype(float)
            for depth, (weights, bias) in enumerate(policy.layers(at[None])):
                x = (np.maximum(x, 0) if depth else x) @ weights[0].astype(float) + bias[0]
            total -= advantage * np.sum(0.5 * ((actions[i, t] - x) / std) ** 2 + np.log(std))
        return total / 3

    found = reinforce(Network(policy.layout), theta, episodes, extra)
    wide, expected = theta.astype(np.float64), np.empty(len(theta))
    for k in range(len(theta)):
        nudge = 1e-6 * (np.arange(len(theta)) == k)
        expected[k] = (objective(wide + nudge) - objective(wide - nudge)) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def one_step_episodes(rewards):
    """Of rewards (n,), one for each."""
    shape = (len(rewards), 1)
    nothing = np.zeros((*shape, 1), np.float32)
    return WholeEpisodes.of(rollouts_of(nothing, nothing, rewards.reshape(shape), np.ones(shape, bool)))


def test_the_baseline_of_an_episode_is_made_of_the_others(rng):
    """With two, and a reward that is the action, it decides whether the gradient of E[a] = μ comes out as 1 or as ½."""
    actions = rng.standard_normal((4000, 2))
    advantages = np.stack([one_step_episodes(pair).advantages(np.zeros(2))[:, 0] for pair in actions])
    found = (advantages * actions).mean(axis=1)
    assert found.mean() == pytest.approx(1.0, abs=4 * found.std() / np.sqrt(len(found)))


def test_the_last_episode_that_goes_on_has_no_baseline():
    rewards, finished = np.ones((2, 3)), np.array([[False, True, True], [False, False, True]])
    inputs = np.zeros((2, 3, 1), np.float32)
    episodes = WholeEpisodes.of(rollouts_of(inputs, inputs, rewards, finished))
    np.testing.assert_array_equal(episodes.advantages(np.zeros(2)), [[-1, -1, 0], [1, 1, 1]])
