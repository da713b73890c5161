from typing import get_args

import pytest
import yaml

from bges.config.loading import load_config, parse_override, preset_names
from bges.config.run import RunConfig
from bges.errors import InputError


def test_every_preset_is_valid_and_prints_whole():
    assert "point" in preset_names()
    for name in preset_names():
        config = load_config(name)
        again = RunConfig.parse(yaml.safe_load(config.to_yaml()))
        assert again == config
        assert again.hash() == config.hash()


def test_every_key_has_a_description():
    def walk(model, path=""):
        for name, field in model.model_fields.items():
            sections = [
                kind for kind in (field.annotation, *get_args(field.annotation)) if hasattr(kind, "model_fields")
            ]
            for section in sections:
                walk(section, f"{path}{name}.")
            assert sections or field.description, f"{path}{name}"

    walk(RunConfig)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"es": {"sigm": 1}}, "unknown key 'es.sigm' (did you mean 'sigma'?)"),
        ({"iteration": 3}, "unknown key 'iteration' (did you mean 'iterations'?)"),
        ({"es": {"sigma": 0}}, "es.sigma is 0: input should be greater than 0"),
        ({"es": {"sigma": float("nan")}}, "es.sigma is nan"),
        ({"es": {"population": 7}}, "es: population is 7, expected an even number"),
        ({"es": {"population": 8, "top": 5}}, "es: top is 5, expected at most the number of directions, 4"),
        ({"novelty": {"beta": 1.0}}, "novelty.beta is 1.0: input should be less than 1"),
        ({"novelty": {"name": "wassertein"}}, "novelty.name is 'wassertein'"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": "many"}, "workers is 'many'"),
        ({"algorithm": "cma"}, "algorithm is 'cma'"),
        ({"seed": -1}, "seed is -1"),
        ({"es": 3}, "es is 3"),
        ({"es": {"sigma": 0.5}}, "es.sigma is 0.5, which the search does not read: see search.*"),
        ({"evaluation": {"every": 3}}, "evaluation.every is 3, which the search does not read"),
        ({"embedding": {"standardize": False}}, "embedding.standardize is False, which the search does not read"),
        ({"iterations": 1}, "iterations is 1, expected at least 2 where search.explore is above 0"),
        ({"novelty": {}, "search": {"explore": 0.5}}, "novelty weighs nothing where search.explore is not 0"),
        ({"algorithm": "es", "repulsion": {}}, "repulsion is a section of algorithm repulsion, and algorithm is es"),
        ({"algorithm": "trpo", "pg": {"target": 1}}, "unknown key 'pg.target' (it is one of algorithm bgpg)"),
        ([1], "expected a mapping of keys, got list"),
    ],
)
def test_mistakes_are_one_line_that_names_the_key_and_the_value(tree, message):
    with pytest.raises(InputError) as caught:
        RunConfig.parse(tree)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sources_and_overrides(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("algorithm: es\nes: {sigma: 0.5}\n")
    config = load_config(file, {"es.population": 20, "env.kwargs.trap_half_width": 3, "seed": 4})
    assert (config.algorithm, config.es.sigma, config.es.population, config.seed) == ("es", 0.5, 20, 4)
    assert config.env.kwargs == {"trap_half_width": 3}
    assert load_config(config, {"es.sigma": 0.1}).es.sigma == 0.1
    for source, message in (
        ("pont", "did you mean 'point'"),
        (tmp_path / "no.yaml", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            load_config(source)
    file.write_text("# nothing\n")
    with pytest.raises(InputError, match="is empty: name at least one key"):
        load_config(file)
    file.write_text("es: {sigma: [")
    with pytest.raises(InputError, match="is not YAML"):
        load_config(file)
    with pytest.raises(InputError, match=r"es\.sigma is a value, not a section"):
        load_config("point", {"es.sigma.x": 3})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("es.sigma=0.1", ("es.sigma", 0.1)),
        ("es.sigma=1e-3", ("es.sigma", 0.001)),
        ("policy.hidden=[8, 8]", ("policy.hidden", [8, 8])),
        ("env.id=Ant-v5", ("env.id", "Ant-v5")),
        ("env.horizon=null", ("env.horizon", None)),
        ("embedding.kwargs={indices: [0, 1]}", ("embedding.kwargs", {"indices": [0, 1]})),
    ],
)
def test_overrides_are_read_as_yaml(text, expected):
    assert parse_override(text) == expected


def test_bad_overrides_are_refused():
    for text in ("es.sigma", "=3", "a=[1"):
        with pytest.raises(InputError, match="--set"):
            parse_override(text)


def test_the_hash_changes_with_what_decides_the_numbers_and_with_nothing_else():
    base = load_config("point")
    for key, value in (("es.sigma", 0.9), ("seed", 5), ("env.kwargs.trap_half_width", 3.0), ("es.chunk", 7)):
        assert load_config("point", {key: value}).hash() != base.hash()
    for key, value in (("workers", 7), ("checkpoint.every", 3), ("faults.attempts", 9)):
        assert load_config("point", {key: value}).hash() == base.hash()
    # Iterations matter only where the schedule counts them.
    assert load_config("point", {"iterations": 9}).hash() != base.hash()
    constant = {"novelty.schedule": "constant"}
    longer = load_config("point", {**constant, "iterations": 9})
    assert longer.hash() == load_config("point", constant).hash()


def test_another_algorithm_leaves_out_what_only_the_first_one_reads():
    config = load_config("bgpg-pendulum", {"algorithm": "trpo", "pg.max_kl": 0.5})
    assert config.pg.method == "trpo"
    assert config.pg.batch == load_config("bgpg-pendulum").pg.batch
    assert "es" not in load_config("point", {"algorithm": "trpo"}).model_dump()
    with pytest.raises(InputError, match="it is one of algorithm bgpg"):
        load_config("bgpg-pendulum", {"algorithm": "trpo", "pg.target": 0.5})


def test_iterations_decide_where_a_share_of_the_run_is_counted():
    changes = {"repulsion.settle_at": 0.5, "iterations": 50}
    assert load_config("repulsion", changes).hash() != load_config("repulsion", changes | {"iterations": 60}).hash()
    changes["repulsion.settle_at"] = 1.0
    assert load_config("repulsion", changes).hash() == load_config("repulsion", changes | {"iterations": 60}).hash()


def test_the_default_search_and_the_papers_algorithm_are_two_runs():
    papers = [
        RunConfig.parse(tree) for tree in ({"novelty": {}}, {"search": {"explore": 0}}, {"novelty": {"beta": 0.5}})
    ]
    assert len({config.hash() for config in papers}) == 1
    assert not any(config.searches for config in papers)
    assert RunConfig().searches
    assert RunConfig().hash() != papers[0].hash()
    assert "novelty" not in RunConfig().model_dump()
    assert RunConfig.parse(RunConfig().model_dump(mode="json")).hash() == RunConfig().hash()


def test_a_key_that_a_later_version_adds_does_not_rename_old_runs():
    class Later(RunConfig):
        added: int = 3

    for source in ("point", "quadruped"):
        config = load_config(source)
        assert Later.parse(config.model_dump(mode="json")).hash() == config.hash()
    assert Later.parse({"added": 4}).hash() != RunConfig().hash()
