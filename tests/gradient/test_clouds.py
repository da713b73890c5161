import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bges.behavior import RandomFeatures
from bges.config.gradient import BgpgConfig, ParticlesConfig
from bges.gradient.clouds import Comparison, EpisodePoints, action_clouds, episode_clouds
from bges.gradient.networks import Distribution, Network, log_ratio
from bges.gradient.penalty import FeatureMap, Penalty
from bges.stochastic import Layout

KEY = jax.random.key(0)


def policy(theta, states):
    """A Gaussian with mean θ₀ + θ₁ s and log spread θ₂."""
    return Distribution(theta[0] + theta[1] * states, theta[2:3])


def comparison(settings, discrete=False):
    return Comparison(settings, Network(Layout(shapes=((1, 4 if discrete else 1),), discrete=discrete, noisy=False)))


CASES = [
    {},
    {"dual": "sinkhorn", "sinkhorn_steps": 3000},
    {"debias": False},
    {"pairs": "product", "points": "concatenated", "common_noise": False},
    {"pairs": "product", "dual": "sgd", "debias": False, "standardize": False, "common_noise": False},
    {"embedding": "state_actions"},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_the_penaltys_gradient_is_that_of_finite_differences(rng, changes):
    settings = BgpgConfig(**({"actions": 5, "features": 12, "dual": "adam"} | changes))
    with jax.enable_x64(True):
        states = jnp.asarray(rng.standard_normal((7, 1)))
        old = policy(jnp.array([0.1, 0.5, -0.3]), states)
        dim = (5 if settings.points == "concatenated" else 1) + (settings.embedding == "state_actions")
        made = RandomFeatures(dim, 12, 1.0, 0)
        features = FeatureMap(jnp.asarray(made.frequencies) / (2 * np.pi), jnp.asarray(made.phases) / (2 * np.pi))
        weights = jnp.asarray(0.5 * rng.standard_normal((4, 12)))

        @jax.jit
        def distance(theta):
            x, y = action_clouds(settings, old, policy(theta, states), states, KEY)
            functions = () if settings.dual == "sinkhorn" else (weights, features)
            return comparison(settings).penalty(x).value(x, y, *functions)[0]

        theta = jnp.array([0.3, 0.4, -0.1])
        slope = jax.jit(jax.grad(distance))(theta)
        for i, move in enumerate(1e-5 * np.eye(3)):
            expected = (distance(theta + move) - distance(theta - move)) / 2e-5
            assert float(slope[i]) == pytest.approx(float(expected), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("dual", ["adam", "sinkhorn"])
def test_a_debiased_policy_is_at_distance_zero_from_itself_and_its_spread_stays(rng, dual):
    settings = BgpgConfig(dual=dual, features=12)
    states, theta = jnp.asarray(rng.standard_normal((50, 1))), jnp.array([0.1, 0.5, -0.3])
    own = jnp.asarray(0.2 * rng.standard_normal(12))
    features = FeatureMap.of(RandomFeatures(1, 12, 1.0, 0))

    def distance(at, settings):
        x, y = action_clouds(settings, policy(theta, states), policy(at, states), states, KEY)
        functions = (jnp.stack([own, -own, own, own]), features) if dual == "adam" else ()
        return Penalty(settings, 1.0).value(x, y, *functions)[0]

    slopes = jax.jit(jax.value_and_grad(distance), static_argnums=1)
    value, slope = slopes(theta, settings)
    assert float(value) == pytest.approx(0.0, abs=1e-5)
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)
    # What debiasing is there for: without it, a smaller spread is always nearer.
    _, biased = slopes(theta, settings.model_copy(update={"debias": False}))
    assert float(biased[2]) > 0.01


def test_exact_distances_are_twice_the_divergence_of_a_shift(rng):
    settings = BgpgConfig(dual="sinkhorn", actions=200, sinkhorn_steps=100)
    states, theta = jnp.asarray(rng.standard_normal((8, 1))), jnp.array([0.1, 0.5, -0.3])
    old, new = policy(theta, states), policy(theta + jnp.array([0.2, 0.1, 0.0]), states)
    clouds = jax.jit(lambda: action_clouds(settings, old, new, states, KEY))()
    value, _ = jax.jit(Penalty(settings, 1.0).value)(*clouds)
    assert float(value) == pytest.approx(2.0 * float(old.kl(new).mean()), rel=0.02)


def test_discrete_actions_are_weighted_points_at_distance_one(rng):
    settings = BgpgConfig(dual="sinkhorn", gamma=0.02, sinkhorn_steps=2000)
    old, new = (Distribution(jnp.asarray(rng.standard_normal((3, 4))), None) for _ in range(2))
    x, y = action_clouds(settings, old, new, jnp.zeros((3, 2)), KEY)
    penalty = comparison(settings, discrete=True).penalty(x)
    np.testing.assert_allclose(penalty.cost(x, y), np.tile(1.0 - np.eye(4), (3, 1, 1)), atol=1e-6)
    value, _ = jax.jit(penalty.value)(x, y)
    # Without smoothing it would be the total variation.
    p, q = (jax.nn.softmax(d.outputs) for d in (old, new))
    assert float(value) == pytest.approx(float(jnp.abs(p - q).sum(axis=1).mean() / 2.0), rel=0.1)


def test_score_function_and_reparametrised_gradients_agree(rng):
    """One-step episodes whose behaviour is the action: both forms estimate the gradient of the same penalty."""
    count = 4096
    settings = BgpgConfig(features=20, debias=False, dual="adam")
    # Near the old policy, where the weights of the episodes are all alike.
    before, theta = jnp.array([0.0, 0.0, 0.0]), jnp.array([0.1, 0.0, 0.05])
    weights, features = jnp.asarray(rng.standard_normal((4, 20))), FeatureMap.of(RandomFeatures(1, 20, 1.0, 0))
    penalty = Penalty(settings, 1.0)
    states, everyone = jnp.zeros((count, 1)), EpisodePoints.padded(np.zeros((count, 1)), np.arange(count))
    # Both see the same base behaviours; only how the new policy's are made differs.
    base = jnp.asarray(rng.standard_normal((1, 200, 1)), jnp.float32)

    def score_form(at, actions):
        ratios = log_ratio(policy(at, states), policy(before, states), actions)
        _, y = episode_clouds(everyone._replace(points=actions), ratios)
        return penalty.value(base_cloud(y), y, weights, features)[0]

    def pathwise_form(at, noise):
        _, y = episode_clouds(everyone, jnp.zeros(count))
        y = y._replace(points=(policy(at, states).outputs + jnp.exp(at[2]) * noise)[None])
        return penalty.value(base_cloud(y), y, weights, features)[0]

    def base_cloud(like):
        return like._replace(points=base, log_weights=jnp.full((1, 200), -np.log(200.0)))

    noise = [jnp.asarray(rng.standard_normal((count, 1)), jnp.float32) for _ in range(12)]
    score, pathwise = (
        np.stack([slope(theta, drawn) for drawn in noise])[:, [0, 2]]
        for slope in (jax.jit(jax.grad(form)) for form in (score_form, pathwise_form))
    )
    error = np.sqrt((score.var(axis=0) + pathwise.var(axis=0)) / len(noise))
    assert (np.abs(score.mean(axis=0) - pathwise.mean(axis=0)) < 4 * error).all()
    # The comparison means something: both are far from zero by the same measure.
    assert (np.abs(pathwise.mean(axis=0)) > 8 * error).any()


def test_episodes_weigh_what_their_steps_say(rng):
    points, numbers = rng.standard_normal((3, 2)), np.array([0, 0, 1, -1, 2, 2, 2])
    ratios = jnp.asarray(rng.standard_normal(7))
    x, y = episode_clouds(EpisodePoints.padded(points, numbers), ratios)
    assert x.points.shape == y.points.shape == (1, 16, 2)
    sums = np.array([ratios[:2].sum(), ratios[2], ratios[4:].sum()])
    np.testing.assert_allclose(np.exp(y.log_weights[0, :3]), np.exp(sums) / np.exp(sums).sum(), rtol=1e-5)
    np.testing.assert_allclose(np.exp(x.log_weights[0]), [1 / 3] * 3 + [0.0] * 13, rtol=1e-5)
    np.testing.assert_allclose(y.points[0, :3], points, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "shape", "discrete", "expected"),
    [
        (BgpgConfig(), (3, 4), False, 0.005),
        (BgpgConfig(), (3, 4), True, 0.02),
        (BgpgConfig(embedding="trajectories"), (3, 4), False, 0.02),
        (ParticlesConfig(), (3, 2), False, 0.01),
    ],
    ids=["actions", "discrete", "episodes", "particles"],
)
def test_distances_of_actions_are_given_summed_over_their_dimensions(settings, shape, discrete, expected):
    layout = Layout(shapes=(shape,), discrete=discrete, noisy=False)
    assert Comparison(settings, Network(layout)).per_dimension(0.02) == pytest.approx(expected)
