from pathlib import Path

import pytest

from bges.bench.experiment import Experiment, experiment_names, load_experiment
from bges.config.migration import reads
from bges.errors import InputError

TREE = {
    "title": "a test",
    "base": "point",
    "seeds": 3,
    "set": {"iterations": 5},
    "methods": {"BGES": {}, "ES": {"algorithm": "es"}},
    "axes": {"es.sigma": [0.1, 0.2], "env.kwargs.trap_half_width": [2.0]},
    "quick": {"seeds": 1, "set": {"iterations": 2}, "axes": {"es.sigma": [0.3]}, "methods": ["ES"]},
}


def parse(**changes):
    if "methods" in changes:
        changes = {"quick": {}, **changes}
    return Experiment.model_validate({**TREE, **changes})


def test_every_combination_is_a_job_and_seeds_come_in_turn():
    jobs = parse().jobs(Path("runs"))
    assert len(jobs) == 3 * 2 * 2
    assert [job.seed for job in jobs] == [0] * 4 + [1] * 4 + [2] * 4
    assert [job.method for job in jobs[:4]] == ["BGES", "ES"] * 2
    assert [job.config.es.sigma for job in jobs[:4]] == [0.1, 0.1, 0.2, 0.2]
    assert all(job.config.iterations == 5 and job.config.seed == job.seed for job in jobs)
    assert jobs[0].config.env.kwargs["trap_half_width"] == 2.0
    assert len({job.path for job in jobs}) == len(jobs)


def test_equal_runs_of_two_experiments_share_a_directory():
    one = parse().jobs(Path("runs"))
    renamed = parse(title="another", methods={"Evolution": {"algorithm": "es"}}, axes={"es.sigma": [0.2]})
    other = renamed.model_copy(update={"set": {"iterations": 5, "env.kwargs.trap_half_width": 2.0}}).jobs(Path("runs"))
    assert {job.path for job in other} <= {job.path for job in one}
    longer = renamed.model_copy(update={"set": {"iterations": 6, "env.kwargs.trap_half_width": 2.0}})
    assert not {job.path for job in longer.jobs(Path("runs"))} & {job.path for job in one}


def test_quick_is_smaller():
    quick = parse().shrunk()
    jobs = quick.jobs(Path("runs"))
    assert len(jobs) == 1
    assert (jobs[0].config.es.sigma, jobs[0].config.iterations, jobs[0].method) == (0.3, 2, "ES")


def test_the_base_may_be_an_axis_or_a_methods_own():
    several = parse(base=None, axes={"base": ["point", "quadruped"]}, seeds=1, quick={})
    jobs = several.jobs(Path("runs"))
    assert [job.config.env.id.rpartition(":")[2][:11] for job in jobs[::2]] == ["DeceptivePo", "DeceptiveQu"]
    assert jobs[2].label == "BGES, base quadruped, seed 0"
    (own, same) = parse(methods={"a": {"base": "swimmer"}, "b": {}}, axes={}, seeds=1).jobs(Path("runs"))
    assert (own.config.env.id, same.config.env.id) == ("Swimmer-v5", "bges_envs:DeceptivePoint-v0")


@pytest.mark.parametrize("name", experiment_names())
def test_built_in_experiments_are_sound_and_say_what_they_are(name):
    experiment = load_experiment(name)
    assert experiment.title
    for version in (experiment, experiment.shrunk()):
        jobs = version.jobs(Path("runs"))
        assert jobs
        # What one of its cells or methods changes is never undone by another part of the file.
        for job in jobs:
            tree = job.config.model_dump(mode="json")
            changes = {**version.set, **job.cell, **version.methods[job.method]}
            base = changes.pop("base", version.base)
            assert job.path.name.startswith(f"{base}-{job.seed}-")
            for key, value in changes.items():
                if key in version.set and not reads(job.config.algorithm, key):
                    continue
                place = tree
                for part in key.split("."):
                    place = place[part]
                assert place == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: x\nbase: point\nmethods: {a: {}}\nsedes: 3", "unknown key 'sedes' (did you mean 'seeds'?)"),
        ("title: x\nbase: point\nmethods: {a: {}}\nseeds: 0", "seeds is 0"),
        ("title: x\nmethods: {a: {}}", "base is missing"),
        ("- 1", "expected a mapping"),
        ("title: x\nbase: point\nmethods: {a: {}}\nquick: {methods: [b]}", "quick.methods names 'b'"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(text, message, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=str(path)) as caught:
        load_experiment(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_names_and_keys_are_refused():
    with pytest.raises(InputError, match="did you mean 'point-width'"):
        load_experiment("point-widht")
    with pytest.raises(InputError, match="cannot be read"):
        load_experiment("nowhere.yaml")
    with pytest.raises(InputError, match="method 'a': preset point: unknown key"):
        parse(methods={"a": {"es.sigm": 1}}).jobs(Path("runs"))
