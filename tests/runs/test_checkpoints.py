import shutil

import numpy as np
import pytest

from bges.core.learner import State
from bges.errors import InputError
from bges.runs.checkpoints import Checkpoint, Checkpoints, DamagedCheckpoint


def made(iteration, values=None, arrays=None, policies=None, functions=None):
    state = State(values=values or {}, arrays=arrays or {}, policies=policies or {}, functions=functions or {})
    return Checkpoint(iteration=iteration, config_hash="hash", state=state)


@pytest.fixture
def saved(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=2)
    for iteration in range(10, 60, 10):
        arrays = {"theta": np.full(50, iteration, float), "deep/count": np.array(iteration)}
        values = {"iteration": iteration, "weight": float("-inf")}
        checkpoints.save(made(iteration, values, arrays, {"last": "deep"}), best=iteration == 20)
    return checkpoints


def test_the_latest_the_best_and_nothing_else_are_kept(saved):
    assert saved.iterations() == [20, 40, 50]
    assert (saved.folder / "best").resolve().name == "000020"
    assert (saved.folder / "last").resolve().name == "000050"
    assert sorted(path.name for path in saved.folder.iterdir()) == ["000020", "000040", "000050", "best", "last"]


def test_every_nth_is_kept_when_asked(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1, keep_every=20)
    for iteration in range(10, 90, 10):
        checkpoints.save(made(iteration), best=False)
    assert checkpoints.iterations() == [10, 20, 40, 60, 80]


def test_what_is_saved_is_loaded(saved):
    loaded = saved.load(50)
    assert loaded.state.values == {"iteration": 50, "weight": float("-inf")}
    assert loaded.state.arrays["theta"].tobytes() == np.full(50, 50.0).tobytes()
    assert loaded.state.arrays["deep/count"] == 50
    assert loaded.state.policies == {"last": "deep"}
    assert loaded.config_hash == "hash"


def test_policies_are_found_by_their_names():
    arrays = {f"{place}/theta": np.full(2, value) for value, place in enumerate(("a", "b", "c"))}
    lone = made(1, arrays=arrays, policies={"last": "a", "best": "b"})
    assert lone.policy("last").theta.tolist() == lone.policy("last", 0).theta.tolist() == [0, 0]
    assert lone.policy("best").theta.tolist() == [1, 1]
    several = made(1, arrays=arrays, policies={"last": "a", "last/0": "a", "last/1": "c", "best/1": "b"})
    assert several.policy("last", 1).theta.tolist() == [2, 2]
    assert several.policy("best", 1).theta.tolist() == [1, 1]
    for which, member, message in (
        ("worst", None, "expected best or last"),
        ("last", 2, "member is 2, expected 0 to 1"),
        ("best", None, "keeps no best policy"),
        ("best", 0, "best policy of member 0: ask for the last"),
    ):
        with pytest.raises(InputError, match=message):
            several.policy(which, member)


@pytest.mark.parametrize("name", ["arrays.npz", "state.json", "SHA256SUMS"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "empty"])
def test_damage_is_noticed_and_the_one_before_is_used(saved, name, damage):
    path = saved.folder / "000050" / name
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "truncate":
        path.write_bytes(content[:-7])
    elif damage == "remove":
        path.unlink()
    else:
        path.write_bytes(b"")
    with pytest.raises(DamagedCheckpoint, match="000050"):
        saved.load(50)
    loaded, problems = saved.load_newest()
    assert loaded.iteration == 40
    assert len(problems) == 1
    assert "000050" in problems[0]


def test_all_damaged_is_a_clear_error(saved):
    for iteration in saved.iterations():
        (saved.folder / f"{iteration:06d}" / "state.json").write_text("{}")
    with pytest.raises(InputError, match=r"no checkpoint that can be read: .*000050.*000020") as caught:
        saved.load_newest()
    assert "using the checkpoint before it" not in str(caught.value)


def test_none_left_is_a_clear_error(saved):
    for iteration in saved.iterations():
        shutil.rmtree(saved.folder / f"{iteration:06d}")
    with pytest.raises(InputError, match="holds no checkpoint"):
        saved.load_newest()


def test_repeated_iterations_drop_what_came_after(saved):
    saved.drop_after(40)
    assert saved.iterations() == [20, 40]
    assert (saved.folder / "last").resolve().name == "000040"
    assert (saved.folder / "best").resolve().name == "000020"


def test_a_pickle_in_the_arrays_is_never_loaded(saved, tmp_path):
    """Somebody else's checkpoint, with its sums in order, still executes nothing."""
    import hashlib

    folder = saved.folder / "000050"
    np.savez(folder / "arrays.npz", theta=np.array([{"a": 1}], dtype=object))
    files = ("arrays.npz", "state.json")
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in files]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    with pytest.raises(DamagedCheckpoint, match="pickle"):
        saved.load(50)


def test_nothing_half_written_stays_behind(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep=3)
    checkpoints.save(made(1, arrays={"x": np.zeros(3)}), best=True)

    def broken(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(made(2, arrays={"x": np.zeros(3)}), best=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "best", "last"]
    assert (tmp_path / "last").resolve().name == "000001"
