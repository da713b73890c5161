"""How runs are grouped and named."""

from bges.report.material import Material
from bges.report.methods import differing, flat, group


def material(name, **tree):
    return Material(path=name, tree=tree)


class Named(str):
    """A path as far as grouping needs one."""

    @property
    def name(self):
        return str(self)


def runs_of(*trees):
    return [material(Named(f"run{i}"), **tree) for i, tree in enumerate(trees)]


def test_flat_keys_of_a_tree():
    assert flat({"a": {"b": 1, "c": {}}, "d": "x", "e": None}) == {"a.b": "1", "d": "x", "e": "null"}


def test_differing_keys_include_those_that_only_some_have():
    assert differing([{"a": "1", "b": "2"}, {"a": "1", "c": "3"}]) == ["b", "c"]


def test_seeds_and_how_a_run_is_carried_out_do_not_make_a_method():
    runs = runs_of(
        {"algorithm": "es", "seed": 10, "workers": 1}, {"algorithm": "es", "seed": 2, "workers": 2, "faults": {"x": 1}}
    )
    (method,) = group(runs)
    assert (method.name, [run.seed for run in method.runs], method.differences) == ("ES", [2, 10], {})


def test_methods_are_named_by_what_tells_them_apart():
    novelty = [{"beta": 0.5}, {"beta": 0.1}, {"beta": 0.5}]
    algorithms = ["bges", "bges", "es"]
    trees = [{"algorithm": a, "novelty": n} for a, n in zip(algorithms, novelty, strict=True)]
    methods = group(runs_of(*trees))
    assert [method.name for method in methods] == ["BGES, beta 0.5", "BGES, beta 0.1", "ES"]
    assert [method.index for method in methods] == [0, 1, 2]
    assert methods[1].differences == {"algorithm": "bges", "novelty.beta": "0.1"}


def test_a_key_that_a_method_does_not_have_is_not_in_its_name():
    with_width = {"algorithm": "es", "env": {"kwargs": {"width": 3}}}
    methods = group(runs_of({"algorithm": "es", "env": {"kwargs": {}}}, with_width))
    assert [method.name for method in methods] == ["ES", "ES, width 3"]
    assert [method.differences for method in methods] == [{"env.kwargs.width": "–"}, {"env.kwargs.width": "3"}]
