import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bges.cli import app
from bges.config.common import EmbeddingConfig
from bges.config.loading import load_config
from bges.core.problem import Problem
from bges.errors import InputError
from bges.evolution.parts import make_novelty
from bges.runs.behaviors import read_expert, read_rows, write_behaviors
from bges.runs.directory import Run
from bges.runs.scoring import score_table
from bges.training.local import run_alone
from tests.evolution.conftest import merged, small_config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = small_config({"iterations": 3, "evaluation": {"episodes": 2}})
    return run_alone(Problem.of(config), tmp_path_factory.mktemp("runs") / "run")


def config_with(path, **novelty):
    return small_config({"novelty": {"expert": str(path), **novelty}})


def test_saved_behaviours_are_those_of_the_episodes_played(run, tmp_path):
    file = tmp_path / "expert.parquet"
    done = CliRunner().invoke(app, ["eval", str(run.path), "--episodes", "5", "--save-behavior", str(file), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["behavior"] == str(file)
    table = pq.read_table(file)
    assert table.column_names == ["embedding"]
    points = read_expert(config_with(file), 6)
    assert points.shape == (5, 6)
    np.testing.assert_allclose(points, table["embedding"].to_pylist())


def test_behaviours_are_embedded_for_another_run(run, tmp_path):
    file, pupil = tmp_path / "expert.parquet", tmp_path / "pupil.yaml"
    changes = {"embedding": {"name": "state_moments", "kwargs": {"indices": [0, 1]}}, "novelty": {"expert": str(file)}}
    config = small_config(changes)
    pupil.write_text(json.dumps(config.model_dump(mode="json")))
    words = ["eval", str(run.path), "--episodes", "5", "--embed-for", str(pupil)]
    done = CliRunner().invoke(app, [*words, "--save-behavior", str(file)])
    assert done.exit_code == 0, done.output
    assert read_expert(config, 5).shape == (5, 5)
    with pytest.raises(InputError, match="it was embedded with"):
        read_expert(config_with(file), None)
    refused = CliRunner().invoke(app, words)
    assert str(refused.exception) == "--embed-for needs --save-behavior"


def test_an_expert_has_its_share_of_the_base(rng, tmp_path):
    expert, seen = (
        rng.normal(size=(5, 3)) + 2,
        [(rng.normal(size=(6, 2, 3)), rng.normal(size=(4, 3))) for _ in range(2)],
    )
    scores = {}
    for weight in (0.0, 0.25, 1.0):
        config = small_config({"novelty": {"name": "l2", "expert": "any", "expert_weight": weight}})
        novelty = make_novelty(config, expert)
        assert novelty.score(0, *seen[0]) is None
        scores[weight] = novelty.score(1, *seen[1])
    np.testing.assert_allclose(scores[0.25], 0.75 * scores[0.0] + 0.25 * scores[1.0])
    plain = make_novelty(small_config({"novelty": {"name": "l2"}}))
    plain.score(0, *seen[0])
    assert np.array_equal(plain.score(1, *seen[1]), scores[0.0])


@pytest.mark.parametrize("beta", [0.5, -0.5])
def test_bges_goes_to_the_expert_or_away_from_it(rng, beta):
    """Of perturbed policies in a row, the one nearest to the expert weighs most for beta < 0 and least for beta > 0."""
    expert = rng.normal(5.0, 0.3, size=(30, 1))
    row = np.linspace(0.0, 5.0, 20)[:, None, None]
    novelty = make_novelty(small_config({"novelty": {"expert": "any", "solver": "sinkhorn"}}), expert)
    novelty.score(0, row, row[0])
    weights = beta * novelty.score(1, row, row[0])
    assert (np.argmax(weights) > 16) == (beta < 0)
    assert (np.argmin(weights) > 16) == (beta > 0)


@pytest.mark.parametrize("name", ["wasserstein", "l2"])
def test_an_expert_far_away_is_not_near_by_its_own_measure(rng, name):
    """What lies between policies and the expert counts in units of the policies' spread, and so outweighs the rest."""
    expert = rng.normal([100.0, 0.0], 0.1, size=(20, 2))
    rows = rng.normal(size=(40, 1, 2))
    novelty = make_novelty(small_config({"novelty": {"name": name, "expert": "any", "solver": "sinkhorn"}}), expert)
    novelty.score(0, rows, rows[0])
    assert np.corrcoef(novelty.score(1, rows, rows[0]), rows[:, 0, 0])[0, 1] < -0.99


def test_a_run_with_an_expert_is_resumed_byte_for_byte(run, tmp_path):
    file = tmp_path / "expert.parquet"
    write_behaviors(file, np.random.default_rng(0).normal(size=(7, 6)), EmbeddingConfig())
    changes = {"iterations": 4, "novelty": {"expert": str(file), "beta": -0.5}, "checkpoint": {"every": 2, "keep": 9}}
    whole = run_alone(Problem.of(small_config(changes)), tmp_path / "whole")
    run_alone(Problem.of(small_config(merged(changes, {"iterations": 2}))), tmp_path / "parts")
    parts = run_alone(Problem.of(small_config(changes)), tmp_path / "parts", resume=True)
    assert whole.policy("last").theta.tobytes() == parts.policy("last").theta.tobytes()
    without = run_alone(Problem.of(small_config(merged(changes, {"novelty": {"expert": None}}))), tmp_path / "without")
    assert whole.policy("last").theta.tobytes() != without.policy("last").theta.tobytes()


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_mistakes_in_files_are_one_line(run, tmp_path, rng):
    text = tmp_path / "text.parquet"
    text.write_text("no")
    wrong = {
        "does not exist": tmp_path / "none.parquet",
        "cannot be read": text,
        "has no rows": write(tmp_path / "empty.parquet", embedding=pa.array([], pa.list_(pa.float32(), 6))),
        "there is no column 'embedding', nor 'observations', 'rewards'": write(tmp_path / "columns.parquet", x=[1.0]),
        "2 numbers each, those of .* have 6": write(tmp_path / "size.parquet", embedding=[[1.0, 2.0]]),
        "must be an array of numbers": write(tmp_path / "ragged.parquet", embedding=[[1.0], [1.0, 2.0]]),
        "non-finite": write(tmp_path / "nan.parquet", embedding=[[np.nan] * 6]),
        r"row 0: observations has shape \(1, 6\), expected \(3, any\)": write(
            tmp_path / "short.parquet", observations=[[[0.0] * 6]], rewards=[[0.0, 0.0]]
        ),
        "expected 1 to 12": write(tmp_path / "long.parquet", observations=[[[0.0] * 6] * 21], rewards=[[0.0] * 20]),
    }
    for message, path in wrong.items():
        with pytest.raises(InputError, match=message) as error:
            score_table(run, path)
        assert "\n" not in str(error.value)
    other = tmp_path / "other.parquet"
    write_behaviors(other, rng.normal(size=(2, 6)), EmbeddingConfig(name="total_reward"))
    with pytest.raises(InputError, match=r"embedded with .*total_reward.* this run embeds with .*final_state"):
        score_table(run, other)
    with pytest.raises(InputError, match=r"novelty\.expert is '.*none\.parquet': there is no such file; `bges eval"):
        read_expert(config_with(tmp_path / "none.parquet"), None)
    with pytest.raises(InputError, match=r"novelty\.expert .* 2 numbers each, those of this run 6"):
        read_expert(config_with(wrong["2 numbers each, those of .* have 6"]), 6)
    with pytest.raises(InputError, match="compares with nothing"):
        config_with("any", name="random")
    with pytest.raises(InputError, match=r"novelty\.expert is 'nobody': there is no such file"):
        read_expert(config_with("nobody"), None)


def test_the_shipped_expert_swims_as_well_as_its_preset_says():
    """Its first reward to go is its return, above 360 on average."""
    changes = {"embedding.name": "reward_to_go", "embedding.kwargs": {}, "novelty.expert": "swimmer-expert"}
    points = read_expert(load_config("swimmer-imitation", changes), None)
    assert points.shape == (20, 1000)
    assert points[:, 0].mean() > 360
    assert (np.abs(points[:, -1]) < 5).all()


def test_scores_are_added_and_ranked(run, tmp_path, rng):
    """Whole episodes score as their embeddings do; their other columns stay."""
    observations = rng.normal(size=(4, 13, 6))
    episodes = {"observations": observations.tolist(), "rewards": np.zeros((4, 12)).tolist(), "name": list("abcd")}
    whole = score_table(run, write(tmp_path / "whole.parquet", **episodes))
    write_behaviors(tmp_path / "points.parquet", observations[:, -1], run.config.embedding)
    points = score_table(run, tmp_path / "points.parquet")
    np.testing.assert_allclose(whole["score"].to_numpy(), points["score"].to_numpy(), rtol=1e-4)
    assert whole["name"].to_pylist() == list("abcd")
    order = np.argsort(-points["score"].to_numpy())
    assert points["rank"].to_numpy()[order].tolist() == [1, 2, 3, 4]
    done = CliRunner().invoke(
        app,
        ["score", str(run.path), str(tmp_path / "points.parquet"), "--out", str(tmp_path / "scored.parquet"), "--json"],
    )
    assert done.exit_code == 0, done.output
    assert [row["row"] for row in json.loads(done.stdout)] == order.tolist()
    assert read_rows(tmp_path / "scored.parquet").column_names == [
        "embedding",
        "rank",
        "score",
        "lambda_mu",
        "lambda_nu",
    ]


def test_a_run_without_test_functions_cannot_score(tmp_path):
    run_alone(Problem.of(small_config({"algorithm": "es", "iterations": 1})), tmp_path / "run")
    with pytest.raises(InputError, match="holds no fitted test functions"):
        score_table(Run(tmp_path / "run"), tmp_path / "any.parquet")


def test_the_shipped_stroke_is_a_wave_through_both_joints():
    """Each joint's speed goes with the other's angle, in opposite directions."""
    points = read_expert(load_config("swimmer-imitation"), 14)
    assert points.shape == (20, 14)
    first_with_second, second_with_first = points[:, 7], points[:, 9]
    assert (first_with_second > 1.5).all()
    np.testing.assert_allclose(second_with_first, -first_with_second, rtol=0.05)
