"""The paper's three statements about exact distances, on random finite MDPs with every trajectory enumerated."""

from itertools import product

import numpy as np
import ot
from hypothesis import given, settings
from hypothesis import strategies as st

from bges.behavior import make_cost, make_embedding
from bges.trajectories import Trajectories

TOLERANCE = 1e-9


class FiniteMdp:
    """S states, A actions, H steps; transitions (S, A, S), start (S,), rewards (S, A)."""

    def __init__(self, rng, states, actions, horizon):
        self.states, self.actions, self.horizon = states, actions, horizon
        self.start = rng.dirichlet(np.ones(states))
        self.transitions = rng.dirichlet(np.ones(states), size=(states, actions))
        self.rewards = rng.normal(size=(states, actions))

    def trajectories(self):
        """Every sequence s_0, a_0, .., s_H as `Trajectories`, and its probability apart from the policy."""
        spaces = [range(self.states), range(self.actions)] * self.horizon + [range(self.states)]
        sequences = np.array(list(product(*spaces)))
        visited, done = sequences[:, 0::2], sequences[:, 1::2]
        probability = self.start[visited[:, 0]]
        for t in range(self.horizon):
            probability = probability * self.transitions[visited[:, t], done[:, t], visited[:, t + 1]]
        episodes = Trajectories.from_arrays(
            observations=visited[:, :, None], actions=done[:, :, None], rewards=self.rewards[visited[:, :-1], done]
        )
        return episodes, visited, done, probability

    def layered(self):
        """The same MDP with time in the state, so that values do not depend on it otherwise."""
        twin = object.__new__(FiniteMdp)
        s, h = self.states, self.horizon
        twin.states, twin.actions, twin.horizon = s * (h + 1), self.actions, h
        twin.start = np.concatenate([self.start, np.zeros(s * h)])
        twin.rewards = np.concatenate([np.tile(self.rewards, (h, 1)), np.zeros((s, self.actions))])
        twin.transitions = np.zeros((twin.states, self.actions, twin.states))
        for t in range(h):
            twin.transitions[t * s : (t + 1) * s, :, (t + 1) * s : (t + 2) * s] = self.transitions
        return twin


def under(policy, visited, done, probability):
    """Probability of each trajectory when `policy` (S, A) acts."""
    for t in range(done.shape[1]):
        probability = probability * policy[visited[:, t], done[:, t]]
    return probability


def exact_distance(points, first, second, cost):
    """WD_0 between two laws on the same points, by linear programming."""
    places, index = np.unique(points, axis=0, return_inverse=True)
    weights = [np.bincount(index.ravel(), law, minlength=len(places)) for law in (first, second)]
    weights = [law / law.sum() for law in weights]
    return ot.emd2(*weights, cost(places, places))


def random_policies(rng, mdp, closeness):
    policy = rng.dirichlet(np.ones(mdp.actions), size=mdp.states)
    other = rng.dirichlet(np.ones(mdp.actions), size=mdp.states)
    return policy, closeness * policy + (1 - closeness) * other


problems = st.tuples(
    st.integers(0, 2**32), st.integers(2, 3), st.integers(2, 2), st.integers(1, 3), st.sampled_from([0.0, 0.5, 0.95])
)


@settings(max_examples=40, deadline=None)
@given(problems, st.sampled_from([1.0, 1.5, 2.0, 3.0]))
def test_zero_distance_of_pair_counts_means_equal_policies(problem, power):
    seed, states, actions, horizon, closeness = problem
    rng = np.random.default_rng(seed)
    mdp = FiniteMdp(rng, states, actions, horizon)
    episodes, visited, done, free = mdp.trajectories()
    counts = make_embedding("visitation", states=states, actions=actions)(episodes)
    policy, other = random_policies(rng, mdp, closeness)
    cost = make_cost("lp", p=power)
    first, second = (under(each, visited, done, free) for each in (policy, other))
    assert abs(exact_distance(counts, first, first, cost)) < TOLERANCE
    gap = np.abs(first @ counts - second @ counts)
    assert gap.max() > 0
    # By Jensen the distance is at least the gap of the mean counts, from which each policy can be read off.
    assert exact_distance(counts, first, second, cost) >= (gap**power).sum() * (1 - 1e-6) > 0
    means = (first @ counts).reshape(states, actions)
    np.testing.assert_allclose(means / means.sum(axis=1, keepdims=True), policy, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_policies_that_differ_where_nobody_goes_are_not_told_apart(seed):
    rng = np.random.default_rng(seed)
    mdp = FiniteMdp(rng, 3, 2, 2)
    mdp.start[2] = 0.0
    mdp.start /= mdp.start.sum()
    mdp.transitions[:, :, 2] = 0.0
    mdp.transitions /= mdp.transitions.sum(axis=2, keepdims=True)
    episodes, visited, done, free = mdp.trajectories()
    counts = make_embedding("visitation", states=3, actions=2)(episodes)
    policy, other = random_policies(rng, mdp, 0.0)
    other[:2] = policy[:2]
    laws = [under(each, visited, done, free) for each in (policy, other)]
    assert abs(exact_distance(counts, *laws, make_cost("l1"))) < TOLERANCE


@settings(max_examples=40, deadline=None)
@given(problems)
def test_distance_of_state_counts_bounds_the_visitation_gap(problem):
    seed, states, actions, horizon, closeness = problem
    rng = np.random.default_rng(seed)
    mdp = FiniteMdp(rng, states, actions, horizon)
    episodes, visited, done, free = mdp.trajectories()
    counts = make_embedding("visitation", states=states)(episodes)
    laws = [under(each, visited, done, free) for each in random_policies(rng, mdp, closeness)]
    visitation_gap = np.abs(laws[0] @ counts - laws[1] @ counts).sum()
    assert exact_distance(counts, *laws, make_cost("l1")) >= visitation_gap - TOLERANCE


@settings(max_examples=40, deadline=None)
@given(problems)
def test_policy_improvement_bound(problem):
    seed, states, actions, horizon, closeness = problem
    rng = np.random.default_rng(seed)
    flat = FiniteMdp(rng, states, actions, horizon)
    mdp = flat.layered()
    policy, other = random_policies(rng, mdp, closeness)

    # All trajectories of the layered MDP are those of the flat one with the time added to the state.
    _, visited, done, _ = flat.trajectories()
    visited = visited + states * np.arange(horizon + 1)
    episodes = Trajectories.from_arrays(
        observations=visited[:, :, None], actions=done[:, :, None], rewards=mdp.rewards[visited[:, :-1], done]
    )
    free = mdp.start[visited[:, 0]]
    for t in range(horizon):
        free = free * mdp.transitions[visited[:, t], done[:, t], visited[:, t + 1]]
    first, second = (under(each, visited, done, free) for each in (policy, other))
    assert np.isclose(first.sum(), 1.0)

    action_values = np.zeros((mdp.states, actions))
    for _ in range(horizon):
        action_values = mdp.rewards + mdp.transitions @ (policy * action_values).sum(axis=1)
    advantages = action_values - (policy * action_values).sum(axis=1, keepdims=True)

    counts = make_embedding("visitation", states=mdp.states)(episodes)
    value, other_value = first @ episodes.returns, second @ episodes.returns
    surrogate = value + (first @ counts) @ (other * advantages).sum(axis=1)
    # The performance-difference identity, an independent check of the advantages.
    np.testing.assert_allclose(value + (second @ counts) @ (other * advantages).sum(axis=1), other_value, atol=1e-9)
    delta = exact_distance(counts, first, second, make_cost("l1"))
    assert other_value >= surrogate - delta * np.abs(advantages).max() - TOLERANCE
