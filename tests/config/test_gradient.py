import pytest
import yaml

from bges.config.gradient import GRADIENT_SECTIONS, METHODS, BgpgConfig, ParticlesConfig
from bges.config.loading import load_config
from bges.config.run import RunConfig
from bges.errors import InputError


def refused(tree):
    with pytest.raises(InputError) as caught:
        RunConfig.parse(tree)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("pg", {"batch": 100}, "batch is 100, expected a multiple of num_envs, 8"),
        ("bgpg", {"points": "concatenated"}, "pairs is 'per_state', expected product where actions are concatenated"),
        ("bgpg", {"dual": "sinkhorn", "pairs": "product"}, "pairs is 'product', expected per_state with dual sinkhorn"),
        ("bgpg", {"dual": "adam", "pairs": "pooled"}, "pg.pairs is 'pooled': input should be 'per_state' or 'product'"),
        ("trpo", {"discount": 1.0}, "pg.discount is 1.0: input should be less than 1"),
        ("noisynet_trpo", {"noise_scale": -1}, "pg.noise_scale is -1: input should be greater than or equal to 0"),
        ("bgpg", {"betta": 1.0}, "unknown key 'pg.betta' (did you mean 'beta'?), expected one of: batch, num_envs"),
    ],
)
def test_what_does_not_fit_together_is_refused(method, changes, message):
    assert message in refused({"algorithm": method, "pg": changes})


@pytest.mark.parametrize(
    ("method", "key", "owners"),
    [
        ("trpo", "beta", "bgpg, particles"),
        ("trpo", "updates", "pg, bgpg, particles"),
        ("trpo", "noise_scale", "noisynet_trpo"),
        ("pg", "line_search", "bgpg, trpo, noisynet_trpo, particles"),
        ("bgpg", "max_kl", "trpo, noisynet_trpo"),
        ("bgpg", "radius", "particles"),
        # What particles fix is no key of theirs.
        ("particles", "actions", "bgpg"),
        ("particles", "dual", "bgpg"),
    ],
)
def test_a_key_of_another_method_is_refused_with_whose_it_is(method, key, owners):
    message = refused({"algorithm": method, "pg": {key: 1}})
    assert f"unknown key 'pg.{key}' (it is one of algorithm {owners}), expected one of: batch, num_envs" in message
    assert "method" not in message


def test_the_method_is_set_by_the_algorithm_alone():
    assert "pg.method" in refused({"algorithm": "bgpg", "pg": {"method": "trpo"}})
    assert "pg is a section of algorithm bgpg, trpo" in refused({"algorithm": "es", "pg": {"batch": 8}})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_section_of_its_own_that_prints_whole(method):
    config = RunConfig.parse({"algorithm": method, "pg": {"batch": 64}})
    assert type(config.pg) is GRADIENT_SECTIONS[method]
    printed = yaml.safe_load(config.to_yaml())
    assert "method" not in printed["pg"]
    assert RunConfig.parse(printed) == config


@pytest.mark.parametrize("section", GRADIENT_SECTIONS.values())
def test_every_key_is_described(section):
    for name, field in section.model_fields.items():
        assert field.description, name


def test_particles_fix_what_bgpg_chooses_about_a_distance():
    fixed = {"embedding", "points", "pairs", "dual", "standardize", "common_noise", "debias", "actions"}
    settings = ParticlesConfig(particles=7)
    assert settings.actions == 7
    for name in fixed - {"actions"}:
        assert getattr(settings, name) == BgpgConfig.model_fields[name].default, name
    assert not settings.compares_episodes
    assert BgpgConfig(embedding="trajectories").compares_episodes


# As version 0.1 wrote config.yaml: every key of every section.
FIRST_VERSION = """
env: {id: Pendulum-v1, kwargs: {}, horizon: null, episodes: 1}
novelty: {name: wasserstein, beta: 0.5, schedule: constant, cycles: 4, updates: 100, solver: sgd, solver_kwargs: {}}
es: {population: 100, sigma: 0.02}
nsres: {members: 5, neighbors: 10}
pg:
  {batch: 2000, slots: 10, chunk: 5, initial_std: 1.0, discount: 0.99, gae_lambda: 0.95, value_hidden: [64, 64],
  value_rate: 0.001, value_epochs: 10, value_minibatch: 128, updates: 50, minibatch: 128, optimizer: adam,
  learning_rate: 0.001, beta: 3.0, target: 0.02, beta_rate: 0.5, embedding: actions, actions: 10, points: cloud,
  standardize: true, common_noise: true, pairs: per_state, debias: true, gamma: 1.0, dual: sinkhorn, dual_rate: 0.003,
  features: 100, width: median, sinkhorn_steps: 20, max_kl: 0.02, cg_steps: 15, cg_damping: 0.1, line_search: 10,
  shrink: 0.8, noise_scale: 0.1, particles: 16, radius: 0.03}
repulsion: {policies: 2, beta: 10.0, trajectories: 100, chunk: 50, noise: 0.1, learning_rate: 0.01, settle_at: 1.0}
"""


@pytest.mark.parametrize(
    ("method", "kept"),
    [
        ("bgpg", {"beta": 3.0, "updates": 50}),
        ("trpo", {"max_kl": 0.02}),
        ("noisynet_trpo", {"max_kl": 0.02, "noise_scale": 0.1}),
        ("particles", {"beta": 3.0, "updates": 50, "radius": 0.03}),
        ("pg", {"updates": 50}),
    ],
)
def test_a_whole_configuration_of_the_first_version_loads(tmp_path, method, kept):
    path = tmp_path / "config.yaml"
    path.write_text(f"algorithm: {method}\n{FIRST_VERSION}")
    config = load_config(path, {"iterations": 3})
    expected = {"batch": 2000, "num_envs": 10, "chunk": 5, **kept}
    assert {name: getattr(config.pg, name) for name in expected} == expected
    assert (config.env.id, config.iterations) == ("Pendulum-v1", 3)
    assert load_config(config) == config


def test_a_key_of_the_first_version_is_refused_with_its_name_now(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("algorithm: bgpg\npg: {batch: 800, slots: 8}\n")
    with pytest.raises(InputError, match=r"^\S+mine\.yaml: pg\.slots of version 0\.1 is now pg\.num_envs$"):
        load_config(path)
